"""Copies beside their peers: dlx, NumPy, torch, HPTT and libc's memcpy of the same bytes.

usage: python benchmarks/bench_copy.py [--threads N] [--hptt libhptt.so] [--only TEXT]
                                 [--sweep [MEGABYTES]] [--write FOLDER]

Each row times all libraries in turns and keeps the best of each, so that a noisy machine disturbs
all alike. A share is that of the traffic bound: the distinct source lines and the destination,
moved at the rate that memcpy shows beside the row with as many threads. 1 is as fast as memcpy.
--sweep copies a transposition of 1 MB to 4 GB, or to as much as it is given, and draws the curve.
With AVX-512, the same library runs once more with AVX2 alone.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import ctypes
import datetime
import functools
import importlib.metadata
import importlib.util
import itertools
import math
import os
import platform
import shutil
import sys
import tempfile
import time
import unittest.mock
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from bench_exchange import cpu_name

import dlx
from dlx import raw
from dlx._lib import library

LINE = 64
BIG = 64 << 20  # bytes beyond the caches
ROUNDS = 5
SECONDS = 0.3

AVX2_ALONE = "dlx, AVX2 alone"
LIBRARIES = (AVX2_ALONE, "NumPy", "torch", "HPTT")  # beside which dlx is timed
TO_RGBA = "planes into RGB of RGBA u8"


def source(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    array = np.empty(shape, dtype)
    array.reshape(-1).view(np.uint8)[::512] = 1  # every page is there before the clock runs
    return array


def big_layouts(
    source: Callable[[tuple[int, ...], str], np.ndarray] = source,
) -> list[tuple[str, Callable[[], np.ndarray]]]:
    """Views by name; `source` makes the array that they are views of."""

    def t(*axes: int) -> Callable[[np.ndarray], np.ndarray]:
        return lambda a: a.transpose(axes)

    make = [
        ("transpose f32 8192×4096", (8192, 4096), "f4", t(1, 0)),
        ("transpose u8 8192×8192", (8192, 8192), "u1", t(1, 0)),
        ("transpose i16 6000×5001", (6000, 5001), "i2", t(1, 0)),
        ("transpose f64 4000×3000", (4000, 3000), "f8", t(1, 0)),
        ("transpose c128 2048×2048", (2048, 2048), "c16", t(1, 0)),
        ("transpose f32 7×4·10⁶", (7, 4_000_000), "f4", t(1, 0)),
        ("transpose f32 4·10⁶×7", (4_000_000, 7), "f4", t(1, 0)),
        ("NHWC→NCHW u8, 3 channels", (16, 1200, 1200, 3), "u1", t(0, 3, 1, 2)),
        ("NCHW→NHWC u8, 3 channels", (16, 3, 1200, 1200), "u1", t(0, 2, 3, 1)),
        ("NHWC→NCHW f16, 3 channels", (16, 900, 900, 3), "f2", t(0, 3, 1, 2)),
        ("NHWC→NCHW f32, 3 channels", (16, 600, 700, 3), "f4", t(0, 3, 1, 2)),
        ("NCHW→NHWC f32, 3 channels", (16, 3, 600, 700), "f4", t(0, 2, 3, 1)),
        ("NHWC→NCHW f16, 64 channels", (48, 112, 112, 64), "f2", t(0, 3, 1, 2)),
        ("NCHW→NHWC f32, 64 channels", (24, 64, 112, 112), "f4", t(0, 2, 3, 1)),
        ("NHWC→NCHW u8, 64 channels", (96, 112, 112, 64), "u1", t(0, 3, 1, 2)),
        ("BSHD→BHSD f16", (8, 2048, 32, 64), "f2", t(0, 2, 1, 3)),
        ("BSHD→BHDS f16", (8, 2048, 32, 64), "f2", t(0, 2, 3, 1)),
        ("3-D 210 f32", (300, 310, 290), "f4", t(2, 1, 0)),
        ("3-D 102 f32", (300, 310, 290), "f4", t(1, 0, 2)),
        ("4-D reversal f32 72×68×76×64", (72, 68, 76, 64), "f4", t(3, 2, 1, 0)),
        ("5-D f32", (24, 30, 26, 36, 28), "f4", t(4, 1, 3, 0, 2)),
        ("6-D f32", (20, 16, 22, 12, 24, 14), "f4", t(4, 2, 5, 1, 3, 0)),
        ("u8 [::3]", (180_000_000,), "u1", lambda a: a[::3]),
        ("f32 [:, ::2]", (8192, 4096), "f4", lambda a: a[:, ::2]),
        ("f32 [::2]", (8192, 4096), "f4", lambda a: a[::2]),
        ("f64 [::-1]", (12_000_000,), "f8", lambda a: a[::-1]),
        ("u8 [:, ::-1]", (9000, 8001), "u1", lambda a: a[:, ::-1]),
        ("crop to 64-byte rows u8", (1_200_000, 128), "u1", lambda a: a[:, 32:96]),
        ("crop to 100 columns f32", (200_000, 160), "f4", lambda a: a[:, 7:107]),
        ("broadcast along columns f32", (8192, 1), "f4", lambda a: np.broadcast_to(a, (8192, 4096))),
        ("broadcast along rows f32", (1, 4096), "f4", lambda a: np.broadcast_to(a, (8192, 4096))),
        ("RGB→BGR u8", (24_000_000, 3), "u1", lambda a: a[:, ::-1]),
        ("RGB flipped left to right u8", (8000, 3000, 3), "u1", lambda a: a[:, ::-1]),
        ("RGBA→RGB u8", (24_000_000, 4), "u1", lambda a: a[:, :3]),
        ("RGB flipped left to right u8, 224 wide", (500, 224, 224, 3), "u1", lambda a: a[:, :, ::-1]),
        ("12-byte items transposed", (2400, 2500, 3), "f4", t(1, 0, 2)),
        ("6-byte items transposed", (3000, 3000, 3), "u2", t(1, 0, 2)),
        ("RGB image transposed u8", (5000, 5000, 3), "u1", t(1, 0, 2)),
        ("4-D reversal c128 40×41×42×43", (40, 41, 42, 43), "c16", t(3, 2, 1, 0)),
        ("24 axes of 2 reversed f32", (2,) * 24, "f4", t(*reversed(range(24)))),
        ("NCHW→NHWC u8, 64 channels", (96, 64, 112, 112), "u1", t(0, 2, 3, 1)),
        (TO_RGBA, (3, 4320, 3840), "u1", t(1, 2, 0)),
    ]  # fmt: skip
    return [(n, lambda s=s, d=d, f=f: f(source(s, d))) for n, s, d, f in make]


def destination(name: str, view: np.ndarray) -> np.ndarray:
    """Compact, but for the layout that is about its destination."""
    if name == TO_RGBA:
        return source((*view.shape[:-1], 4), view.dtype.str)[..., :3]
    return source(view.shape, view.dtype.str)


def l2_layouts() -> list[tuple[str, Callable[[], np.ndarray]]]:
    def t(*axes: int) -> Callable[[np.ndarray], np.ndarray]:
        return lambda a: a.transpose(axes)

    make = [
        ("transpose f32 64×64", (64, 64), "f4", t(1, 0)),
        ("transpose f32 300×300", (300, 300), "f4", t(1, 0)),
        ("NCHW→NHWC f32 1×16×24×24", (1, 16, 24, 24), "f4", t(0, 2, 3, 1)),
        ("transpose u8 512×512", (512, 512), "u1", t(1, 0)),
        ("transpose i16 400×401", (400, 401), "i2", t(1, 0)),
        ("transpose f64 200×200", (200, 200), "f8", t(1, 0)),
        ("transpose c128 128×128", (128, 128), "c16", t(1, 0)),
        ("transpose f32 7×10000", (7, 10000), "f4", t(1, 0)),
        ("transpose f32 10000×7", (10000, 7), "f4", t(1, 0)),
        ("NHWC→NCHW u8, 3 channels", (1, 300, 300, 3), "u1", t(0, 3, 1, 2)),
        ("NHWC→NCHW f16, 64 channels", (1, 40, 40, 64), "f2", t(0, 3, 1, 2)),
        ("BSHD→BHSD f16", (1, 128, 8, 64), "f2", t(0, 2, 1, 3)),
        ("BSHD→BHDS f16", (1, 128, 8, 64), "f2", t(0, 2, 3, 1)),
        ("3-D 210 f32", (40, 41, 42), "f4", t(2, 1, 0)),
        ("4-D reversal f32", (16, 17, 18, 19), "f4", t(3, 2, 1, 0)),
        ("5-D f32", (8, 12, 10, 9, 11), "f4", t(4, 1, 3, 0, 2)),
        ("6-D f32", (6, 7, 8, 5, 9, 6), "f4", t(4, 2, 5, 1, 3, 0)),
        ("u8 [::3]", (300_000,), "u1", lambda a: a[::3]),
        ("f32 [:, ::2]", (300, 300), "f4", lambda a: a[:, ::2]),
        ("f64 [::-1]", (30_000,), "f8", lambda a: a[::-1]),
        ("crop to 100 columns f32", (600, 160), "f4", lambda a: a[:, 7:107]),
        ("RGB→BGR u8", (90_000, 3), "u1", lambda a: a[:, ::-1]),
        (TO_RGBA, (3, 200, 200), "u1", t(1, 2, 0)),
        ("2×3×4×5 reversed f32", (5, 4, 3, 2), "f4", t(3, 2, 1, 0)),
        ("14 axes of 2 reversed f32", (2,) * 14, "f4", t(*reversed(range(14)))),
    ]  # fmt: skip
    return [(n, lambda s=s, d=d, f=f: f(source(s, d))) for n, s, d, f in make]


def distinct_lines(array: np.ndarray) -> int:
    """Cache lines that hold an element."""
    seen = tuple(slice(None) if step else slice(0, 1) for step in array.strides)
    array = array[seen]  # a repeated element is one element
    low, high = np.lib.array_utils.byte_bounds(array)
    used = np.zeros((high - low) // LINE + 2, bool)
    inner = np.zeros(1, np.int64)
    for extent, step in zip(array.shape[1:], array.strides[1:], strict=True):
        inner = (inner[:, None] + np.arange(extent) * step).reshape(-1)
    start = array.__array_interface__["data"][0] - low + low % LINE
    if len(inner) == 1:  # one axis: all at once
        inner, rows = np.arange(array.shape[0]) * array.strides[0], [0]
    else:
        rows = [i * array.strides[0] for i in range(array.shape[0])]
    for row in rows:
        used[(start + row + inner) // LINE] = True
        used[(start + row + inner + array.itemsize - 1) // LINE] = True
    return int(used.sum())


def description(array: np.ndarray) -> raw.DLTensor:
    """Any array of numbers, as unsigned integers of its size: a copy does not look at values."""
    lanes = max(1, array.itemsize // 8)
    return raw.DLTensor(
        data=array.__array_interface__["data"][0],
        device=(raw.kDLCPU, 0),
        dtype=(raw.kDLUInt, array.itemsize * 8 // lanes, lanes),
        shape=list(array.shape),
        strides=[step // array.itemsize for step in array.strides],
    )


class Memcpy:
    """libc's memcpy of as many bytes, on as many threads."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self.pool = concurrent.futures.ThreadPoolExecutor(threads)
        self.function = ctypes.CDLL(None).memcpy
        self.function.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
        self.function.restype = None

    def of(self, dst: np.ndarray, src: np.ndarray) -> Callable[[], object]:
        to, out = dst.ctypes.data, src.ctypes.data
        if self.threads == 1:
            return lambda: self.function(to, out, dst.nbytes)
        part = dst.nbytes // self.threads
        jobs = [(to + i * part, out + i * part, part) for i in range(self.threads)]
        return lambda: list(self.pool.map(lambda job: self.function(*job), jobs))


class Hptt:
    """HPTT's C interface: permutations of compact tensors of four types."""

    def __init__(self, path: str | None, threads: int) -> None:
        self.library = ctypes.CDLL(path) if path else None
        self.threads = threads

    def of(self, dst: np.ndarray, view: np.ndarray) -> Callable[[], object] | None:
        axes = sorted(range(view.ndim), key=lambda k: -view.strides[k])
        base = view.transpose(axes)
        names = {"f4": "s", "f8": "d", "c8": "c", "c16": "z"}
        letter = names.get(view.dtype.str[1:])
        if self.library is None or letter is None or not base.flags.c_contiguous or view.ndim < 2:
            return None
        function = getattr(self.library, f"{letter}TensorTranspose")
        ints = ctypes.c_int * view.ndim
        permutation = ints(*(axes.index(k) for k in range(view.ndim)))
        real = ctypes.c_float if letter in "sc" else ctypes.c_double
        one, zero = (real(1), real(0)) if letter in "sd" else ((real * 2)(1, 0), (real * 2)(0, 0))
        if letter in "cz":
            return None  # complex scalars go by value, which ctypes cannot
        size = ints(*base.shape)
        return lambda: function(
            permutation, view.ndim, one, ctypes.c_void_p(base.ctypes.data), size, None, zero,
            ctypes.c_void_p(dst.ctypes.data), None, self.threads, 1
        )  # fmt: skip


class Avx2:
    """The same library once more with AVX2 alone, where the machine has AVX-512."""

    def __init__(self, threads: int) -> None:
        self.function = None
        if instruction_set(ctypes.CDLL(library.path)) != "avx512":
            return
        with tempfile.TemporaryDirectory() as folder:
            again = ctypes.CDLL(shutil.copy(library.path, folder))  # one file is one library
        again.dlx_set_num_threads(threads)
        self.function = again.dlx_copy
        self.function.argtypes = [ctypes.c_void_p] * 3
        with unittest.mock.patch.dict(os.environ, DLX_ISA="avx2"):  # the first plan reads it
            chosen = instruction_set(again)
        if chosen != "avx2":
            raise RuntimeError(f"AVX2 alone was asked for, and {chosen} is what came")

    def of(self, dst: raw.DLTensor, src: raw.DLTensor) -> Callable[[], object] | None:
        if self.function is None:
            return None
        function, to, out = self.function, dst.address, src.address
        return lambda: function(to, out, None)


def torch_copy(dst: np.ndarray, view: np.ndarray) -> Callable[[], object] | None:
    if importlib.util.find_spec("torch") is None or any(step < 0 for step in view.strides):
        return None
    import torch

    to = torch.from_numpy(dst)
    out = torch.as_strided(
        torch.from_numpy(np.asarray(view.base if view.base is not None else view).reshape(-1)),
        view.shape, [step // view.itemsize for step in view.strides],
        (view.__array_interface__["data"][0] - np.lib.array_utils.byte_bounds(view.base)[0])
        // view.itemsize,
    )  # fmt: skip
    return lambda: to.copy_(out)


def best_of(functions: dict[str, Callable[[], object] | None], repeat: int) -> dict[str, float]:
    """In turns, each at least ROUNDS times and for SECONDS: what is fast is disturbed as seldom."""
    best = {name: math.inf for name, function in functions.items() if function}
    spent = dict.fromkeys(best, 0.0)
    for turn in itertools.count():
        left = [name for name in best if turn < ROUNDS or spent[name] < SECONDS]
        if not left:
            return best
        for name in left:
            function = functions[name]
            assert function is not None
            start = time.perf_counter()
            for _ in range(repeat):
                function()
            seconds = time.perf_counter() - start
            spent[name] += seconds
            best[name] = min(best[name], seconds / repeat)
    raise AssertionError


class Peers(NamedTuple):
    memcpy: Memcpy
    hptt: Hptt
    avx2: Avx2


def compare(
    view: np.ndarray, dst: np.ndarray, peers: Peers, *, small: bool, beside: Sequence[str]
) -> dict[str, float]:
    """Seconds for memcpy, dlx and those beside it that can do the copy."""
    out, to = description(view), description(dst)
    same = source(view.shape, view.dtype.str)
    compact = dst if dst.flags.c_contiguous else source(view.shape, view.dtype.str)
    functions: dict[str, Callable[[], object] | None] = {
        "memcpy": peers.memcpy.of(compact, same),
        "dlx": lambda: raw.dlx_copy(to, out, None),
        AVX2_ALONE: peers.avx2.of(to, out),
        "NumPy": lambda: np.copyto(dst, view),
        "torch": torch_copy(dst, view),
        "HPTT": peers.hptt.of(dst, view),
    }
    if small:  # what a call costs counts here: the Python interface
        target, origin = dlx.from_dlpack(dst), dlx.asarray(view)
        functions["dlx"] = lambda: dlx.copyto(target, origin)
    raw.dlx_copy(to, out, None)
    part = len(view) // 16 + 1  # NaNs and all, in parts for the sake of memory
    for first in range(0, len(view), part):
        if dst[first : first + part].tobytes() != view[first : first + part].tobytes():
            raise AssertionError("the copy is wrong")
    repeat = max(1, int((4 << 20) / view.nbytes)) if small else 1
    wanted = ("memcpy", "dlx", *beside)
    return best_of({name: functions[name] for name in wanted}, repeat)


def table_of(rows: list[tuple[str, dict[str, float], float, int]]) -> list[str]:
    """Shares of the traffic bound; `bytes` of a row is all its traffic."""
    has_avx2 = any(AVX2_ALONE in times for _, times, _, _ in rows)
    there = ["dlx", *(peer for peer in LIBRARIES if peer != AVX2_ALONE or has_avx2)]
    lines = [
        "| layout | memcpy GB/s | " + " | ".join(there) + " |",
        "|---|--:|" + "--:|" * len(there),
    ]
    shares: dict[str, list[float]] = {name: [] for name in there}
    for name, times, traffic, nbytes in rows:
        bound = traffic / 2 / nbytes * times["memcpy"]
        cells = []
        for peer in there:
            if peer in times:
                shares[peer].append(bound / times[peer])
            cells.append(f"{bound / times[peer]:.2f}" if peer in times else "–")
        lines.append(f"| {name} | {nbytes / times['memcpy'] / 1e9:.1f} | {' | '.join(cells)} |")
    means = [
        f"**{math.exp(sum(map(math.log, values)) / len(values)):.2f}**" if values else "–"
        for values in shares.values()
    ]
    lines.append(f"| **geometric mean** | | {' | '.join(means)} |")
    return lines


def measure_big(peers: Peers, only: str) -> list[str]:
    rows = []
    for name, make in big_layouts():
        if only not in name:
            continue
        print(f"  {name}", file=sys.stderr)
        view = make()
        dst = destination(name, view)
        written = view.nbytes if dst.flags.c_contiguous else distinct_lines(dst) * LINE
        traffic = distinct_lines(view) * LINE + written
        times = compare(view, dst, peers, small=False, beside=LIBRARIES)
        rows.append((name, times, traffic, view.nbytes))
    return table_of(rows) if rows else []


def measure_small(peers: Peers, only: str) -> list[str]:
    beside = ("NumPy", "torch")
    lines = [
        "| layout | memcpy µs | dlx | NumPy | torch | faster than the better one | share of memcpy |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for name, make in l2_layouts():
        if only not in name:
            continue
        view = make()
        times = compare(view, destination(name, view), peers, small=True, beside=beside)
        best = min(times[peer] for peer in beside if peer in times)
        torch = f"{times['torch'] * 1e6:.2f}" if "torch" in times else "–"
        lines.append(
            f"| {name} | {times['memcpy'] * 1e6:.2f} | {times['dlx'] * 1e6:.2f} "
            f"| {times['NumPy'] * 1e6:.2f} | {torch} | {best / times['dlx']:.1f} × "
            f"| {times['memcpy'] / times['dlx']:.2f} |"
        )
    return lines


def measure_new(only: str) -> list[str]:
    """Copies that each make their destination and give it back, as in a loop over batches."""
    has_torch = importlib.util.find_spec("torch") is not None
    sides = {"64 KB": 128, "1 MB": 512, "4 MB": 1024, "32 MB": 2880, "130 MB": 5700}
    lines = [
        "| layout | dlx µs | NumPy | torch | faster than the better one |",
        "|---|--:|--:|--:|--:|",
    ]
    for size, side in sides.items():
        wide = source((side, side + 16), "f4")
        for name, view in (("crop", wide[:, 8:-8]), ("transpose", wide[:, 8:-8].T)):
            if only not in (name := f"{name} f32, {size}"):
                continue
            tensor = dlx.asarray(view)
            functions: dict[str, Callable[[], object] | None] = {
                "dlx": tensor.contiguous,
                "NumPy": functools.partial(np.ascontiguousarray, view),
                "torch": None,
            }
            if has_torch:
                import torch

                functions["torch"] = torch.from_numpy(view).contiguous
            times = best_of(functions, max(1, (1 << 20) // view.nbytes))
            best = min(seconds for peer, seconds in times.items() if peer != "dlx")
            cells = [f"{times[peer] * 1e6:.1f}" if peer in times else "–" for peer in functions]
            lines.append(f"| {name} | {' | '.join(cells)} | {best / times['dlx']:.1f} × |")
    return lines


def sweep(peers: Peers, megabytes: int) -> list[tuple[int, dict[str, float]]]:
    """A transposed square of float32 from 1 MB upwards: nanoseconds per element."""
    points = []
    side = 500
    while side * side * 4 <= megabytes << 20:
        view = source((side, side), "f4").T
        print(f"  {view.nbytes >> 20} MB", file=sys.stderr)
        dst = source(view.shape, "f4")
        times = compare(view, dst, peers, small=view.nbytes < BIG, beside=LIBRARIES)
        points.append((view.nbytes, {n: t / view.size * 1e9 for n, t in times.items()}))
        side = int(side * 1.6)
    return points


def svg_of(points: list[tuple[int, dict[str, float]]]) -> str:
    """Logarithmic on both axes; bytes to the right, nanoseconds per element upwards."""
    width, height, left, bottom = 720, 400, 60, 50
    colours = {"memcpy": "#888888", "dlx": "#c0392b", "NumPy": "#2471a3", "torch": "#d68910",
               "HPTT": "#229954", AVX2_ALONE: "#e59866"}  # fmt: skip
    x0, x1 = math.log10(1e6), math.log10(5e9)
    values = [value for _, times in points for value in times.values()]
    y0, y1 = math.log10(min(values) * 0.8), math.log10(max(values) * 1.25)

    def place(nbytes: float, value: float) -> tuple[float, float]:
        x = left + (math.log10(nbytes) - x0) / (x1 - x0) * (width - left - 90)
        y = height - bottom - (math.log10(value) - y0) / (y1 - y0) * (height - bottom - 20)
        return x, y

    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        'font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="{width / 2}" y="{height - 8}" text-anchor="middle">bytes of a transposed '
        "float32 square</text>",
        f'<text x="14" y="{height / 2}" transform="rotate(-90 14 {height / 2})" '
        'text-anchor="middle">ns per element</text>',
    ]
    for exponent in range(6, 10):
        x, _ = place(10**exponent, 10**y0)
        out.append(f'<line x1="{x}" x2="{x}" y1="20" y2="{height - bottom}" stroke="#dddddd"/>')
        out.append(f'<text x="{x}" y="{height - bottom + 16}" text-anchor="middle">'
                   f"{10 ** (exponent - 6)} MB</text>")  # fmt: skip
    for exponent in range(math.ceil(y0), math.floor(y1) + 1):
        _, y = place(1e6, 10**exponent)
        out.append(f'<line x1="{left}" x2="{width - 90}" y1="{y}" y2="{y}" stroke="#dddddd"/>')
        out.append(f'<text x="{left - 6}" y="{y + 4}" text-anchor="end">{10.0**exponent:g}</text>')
    for name, colour in colours.items():
        curve = [place(nbytes, times[name]) for nbytes, times in points if name in times]
        if not curve:
            continue
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in curve)
        out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        x, y = curve[-1]
        out.append(f'<text x="{x + 6:.1f}" y="{y + 4:.1f}" fill="{colour}">{name}</text>')
    return "\n".join([*out, "</svg>"]) + "\n"


def instruction_set(library: ctypes.CDLL) -> str:
    matrix = source((64, 64), "f4")
    copy = np.empty_like(matrix)
    to, out = description(copy), description(matrix.T)
    plan = ctypes.create_string_buffer(1000)
    library.dlx_copy_plan_describe(
        *map(ctypes.c_void_p, (to.address, out.address)), plan, ctypes.c_size_t(len(plan))
    )
    return plan.value.decode().split(";")[0].split(", ")[-1]


def header(threads: int) -> list[str]:
    versions = []
    for name in ("numpy", "torch"):
        try:
            versions.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            versions.append(f"no {name}")
    isa = instruction_set(ctypes.CDLL(library.path))
    title, option = "# Copies", ""
    if threads > 1:
        title, option = f"# Copies on {threads} threads", f" --threads {threads}"
    return [
        title,
        "",
        f"Made by `./dev bench copy{option} --write docs/benchmarks`. Shares of the traffic bound: the "
        "distinct source lines and the destination, moved at the rate of memcpy beside each row; "
        "1 is as fast as memcpy, – is what a library cannot do.",
        "",
        f"{datetime.date.today().isoformat()}, {cpu_name()}, {isa}, "
        f"{threads} thread(s), {platform.system()}, CPython {platform.python_version()}, "
        f"{', '.join(versions)}.",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--hptt", metavar="LIBRARY", help="a built libhptt.so, to compare with")
    parser.add_argument("--only", default="", help="rows whose name has this text")
    parser.add_argument(
        "--sweep", type=int, nargs="?", const=4096, default=0, metavar="MEGABYTES",
        help="1 MB to so much (default 4096); needs three times that memory",
    )  # fmt: skip
    parser.add_argument(
        "--write", metavar="FOLDER", help="write copy.md, or copy-N-threads.md, and copy.svg there"
    )
    arguments = parser.parse_args()
    raw.dlx_set_num_threads(arguments.threads)
    if importlib.util.find_spec("torch") is not None:
        import torch

        torch.set_num_threads(arguments.threads)
    if arguments.hptt is None:
        print("HPTT is left out: --hptt names its library", file=sys.stderr)
    threads = arguments.threads
    peers = Peers(Memcpy(threads), Hptt(arguments.hptt, threads), Avx2(threads))

    lines = [*header(arguments.threads), "", "## Beyond the caches", ""]
    lines += measure_big(peers, arguments.only)
    if arguments.threads == 1:  # what fits a second-level cache is not shared
        lines += ["", "## In the second-level cache, by `dlx.copyto`", ""]
        lines += measure_small(peers, arguments.only)
        lines += ["", "## Into new memory, by `contiguous()`", "", *measure_new(arguments.only)]
    picture = ""
    if arguments.sweep:
        picture = svg_of(sweep(peers, arguments.sweep))
        title = f"## From 1 MB to {arguments.sweep} MB"
        lines += ["", title, "", "![nanoseconds per element](copy.svg)"]
    print("\n".join(lines))
    if arguments.write:
        folder = Path(arguments.write)
        folder.mkdir(parents=True, exist_ok=True)
        suffix = "" if arguments.threads == 1 else f"-{arguments.threads}-threads"
        (folder / f"copy{suffix}.md").write_text("\n".join(lines) + "\n")
        if picture:
            (folder / "copy.svg").write_text(picture)


if __name__ == "__main__":
    main()
