"""Copies on, to and from a GPU, and the cost of an exchange: dlx, torch and CuPy.

usage: python benchmarks/bench_gpu.py [--device cuda:0] [--small] [--only TEXT] [--write FILE] [--json FILE]

Each row times all libraries in turns and keeps the best time of each. A share is the speed relative to a
memcpy of as many bytes: within the GPU from device to device, otherwise from or to pinned memory. Data within
the GPU is never on the host: its values do not matter. --small
is a trial run, for example on a fake driver; its figures mean nothing.
"""

from __future__ import annotations

import argparse
import datetime
import importlib
import json
import math
import platform
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from bench_copy import big_layouts

import dlx

ROUNDS = 7
BATCH = 10  # copies between two readings of the clock
# The same for transfers, which take a hundred times as long, and for each random layout.
TRANSFER_ROUNDS, TRANSFER_BATCH = 3, 3
RANDOM_LAYOUTS, RANDOM_ROUNDS, RANDOM_BYTES = 200, 3, 32 << 20

# The tables that were made, for --json.
tables: list[dict[str, Any]] = []


def peers(device: str) -> dict[str, Any]:
    """Return the libraries that work on this machine, by name."""
    found = {}
    for name in ("torch", "cupy"):
        try:
            module = importlib.import_module(name)
            module.from_dlpack(dlx.empty(1, device=device))  # CuPy takes no memory of the CPU
            found[name] = module
        except Exception as error:
            print(f"without {name}: {error}", file=sys.stderr)
    return found


def waiting_for(device: str) -> Callable[[], object]:
    """Return a call that waits for the legacy default stream, which all the libraries use."""
    if dlx.Device(device) == "cpu":
        return lambda: None
    return dlx.Stream(1, device=device).synchronize


def seconds(
    run: Callable[[], object], finish: Callable[[], object], batch: int | None = None
) -> float:
    """Return the time of one run. The device is idle before and after the batch."""
    batch = batch or BATCH
    finish()
    start = time.perf_counter()
    for _ in range(batch):
        run()
    finish()
    return (time.perf_counter() - start) / batch


def best(
    runs: dict[str, Callable[[], object]],
    finish: Callable[[], object],
    rounds: int | None = None,
    batch: int | None = None,
) -> dict[str, float]:
    times: dict[str, list[float]] = {name: [] for name in runs}
    for run in runs.values():  # loads kernels and allocates memory before the measurement
        run()
    for _ in range(rounds or ROUNDS):
        for name, run in runs.items():
            times[name].append(seconds(run, finish, batch))
    return {name: min(values) for name, values in times.items()}


def table(title: str, columns: list[str], rows: list[tuple[str, list[str]]]) -> str:
    tables.append({"title": title, "columns": columns, "rows": dict(rows)})
    lines = [f"## {title}", "", "| | " + " | ".join(columns) + " |"]
    lines.append("|---" * (len(columns) + 1) + "|")
    lines += [f"| {name} | " + " | ".join(cells) + " |" for name, cells in rows]
    return "\n".join(lines) + "\n"


def shrink(array: np.ndarray) -> np.ndarray:
    """Return a corner of at most 2^14 elements."""
    left = 1 << 14
    key = []
    for extent in reversed(array.shape):
        key.append(slice(0, max(1, min(extent, 24, left))))
        left //= key[-1].stop
    return array[tuple(reversed(key))]


def untouched(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Return an array whose memory is not used: only its views' shapes and strides matter."""
    return np.empty(shape, dtype)


def strided_tensor(array: np.ndarray, device: str) -> dlx.Tensor:
    """Return the same view of memory on the device as `array` is of its base."""
    base = array
    while isinstance(base.base, np.ndarray):
        base = base.base
    whole = dlx.empty(base.size, dtype=base.dtype, device=device)
    offset = array.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    strides = tuple(step // array.itemsize for step in array.strides)
    return dlx.from_pointer(
        whole.data_ptr + offset, array.shape, array.dtype, strides=strides, device=device,
        owner=whole,
    )  # fmt: skip


def first_copies(device: str) -> str:
    """The delay of a process's first copy by each family of kernels, which the driver loads then.

    CUDA's driver keeps what it compiled in ~/.nv/ComputeCache: CUDA_CACHE_DISABLE=1 shows the whole delay.
    """
    finish = waiting_for(device)
    words = untouched((512, 512), "f4")
    layouts = {
        "turn: f32 512×512 transposed": words.T,
        "few: f32 65536×7 transposed": untouched((65536, 7), "f4").T,
        "pattern: u8 512×1024 [:, ::2]": untouched((512, 1024), "u1")[:, ::2],
        "rows: f32 512×512 [:, 1:-1]": words[:, 1:-1],
        "tiles: u8 512×512×3, axes 1, 0, 2": untouched((512, 512, 3), "u1").transpose(1, 0, 2),
        "elements: f32 512×1 to 512×512": np.broadcast_to(words[:, :1], (512, 512)),
    }
    rows = []
    for title, array in layouts.items():
        source = strided_tensor(array, device)
        target = dlx.empty(array.shape, dtype=array.dtype, device=device)
        times = [seconds(lambda s=source, t=target: dlx.copyto(t, s), finish, 1) for _ in range(2)]
        rows.append((title, [f"{each * 1e3:.2f}" for each in times]))
    return table("The first copy by each family of kernels, and the second", ["ms", "ms"], rows)


def copies(
    array: np.ndarray, device: str, libraries: dict[str, Any]
) -> dict[str, Callable[[], object]]:
    """Copies of a tensor like `array` to a compact one, by dlx and the libraries, and memcpy of as much."""
    source = strided_tensor(array, device)
    target = dlx.empty(array.shape, dtype=array.dtype, device=device)
    flat = dlx.empty(array.size, dtype=array.dtype, device=device)
    runs: dict[str, Callable[[], object]] = {
        "memcpy": lambda: dlx.copyto(target.reshape(-1), flat),
        "dlx": lambda: dlx.copyto(target, source),
    }
    for name, module in libraries.items():
        run = peer_copy(name, module, source, target)
        if run is not None:
            runs[name] = run
    return runs


def within(device: str, libraries: dict[str, Any], small: bool, only: str) -> str:
    """Copies of strided to compact tensors on the GPU."""
    finish = waiting_for(device)
    names = ["dlx", *libraries]
    rows, shares = [], {name: [] for name in names}
    for title, make in big_layouts(untouched):
        if only not in title:
            continue
        array = shrink(make()) if small else make()
        times = best(copies(array, device, libraries), finish)
        cells = [f"{array.nbytes / times['memcpy'] / 1e9:.0f} GB/s"]
        for name in names:
            share = times["memcpy"] / times[name] if name in times else math.nan
            if name in times:
                shares[name].append(share)
            cells.append("–" if math.isnan(share) else f"{share:.2f}")
        rows.append((title, cells))
    if rows:
        means = [
            f"**{math.exp(np.mean(np.log(shares[n]))):.2f}**" if shares[n] else "–" for n in names
        ]
        rows.append(("geometric mean", ["", *means]))
    if not only:
        rows += random_layouts(device, libraries, small)
    return table("Within the GPU: shares of memcpy", ["memcpy", *names], rows)


def random_view(choices: random.Random, nbytes: int) -> np.ndarray:
    """Return a view with 1 to 5 axes: permuted, sliced, with steps, backwards."""
    itemsize = choices.choice((1, 2, 4, 4, 8, 16))
    ndim = choices.randint(1, 5)
    left = nbytes // itemsize
    shape = []
    for axis in range(ndim):
        most = max(1, round(left ** (1 / (ndim - axis))))
        shape.append(left if axis == ndim - 1 else choices.randint(max(1, most // 4), most * 2))
        left = max(1, left // shape[-1])
    view = untouched(tuple(shape), "c16" if itemsize == 16 else f"u{itemsize}")
    key = []
    for extent in shape:
        kind = choices.random()
        if kind < 0.6 or extent < 8:
            key.append(slice(None))
        elif kind < 0.8:
            key.append(
                slice(choices.randint(1, extent // 4), extent - choices.randint(0, extent // 4))
            )
        elif kind < 0.9:
            key.append(slice(None, None, choices.randint(2, 3)))
        else:
            key.append(slice(None, None, -1))
    axes = list(range(ndim))
    choices.shuffle(axes)
    return view[tuple(key)].transpose(axes)


def random_layouts(
    device: str, libraries: dict[str, Any], small: bool
) -> list[tuple[str, list[str]]]:
    """Rows about many random layouts, the same ones each time."""
    finish = waiting_for(device)
    choices = random.Random(48)
    names = ["dlx", *libraries]
    shares: dict[str, list[float]] = {name: [] for name in names}
    behind = 0
    worst = (math.inf, "")
    count = 5 if small else RANDOM_LAYOUTS
    for _ in range(count):
        array = random_view(choices, 1 << 12 if small else RANDOM_BYTES)
        times = best(copies(array, device, libraries), finish, RANDOM_ROUNDS)
        for name in names:
            if name in times:
                shares[name].append(times["memcpy"] / times[name])
        share = times["memcpy"] / times["dlx"]
        worst = min(worst, (share, f"{array.dtype} {array.shape} by {array.strides}"))
        behind += any(times[name] < times["dlx"] for name in libraries if name in times)
    means = [f"{math.exp(np.mean(np.log(shares[n]))):.2f}" if shares[n] else "–" for n in names]
    lowest = [f"{min(shares[n]):.2f}" if shares[n] else "–" for n in names]
    return [
        (f"{count} random layouts, geometric mean", ["", *means]),
        (f"the worst of them ({worst[1]})", ["", *lowest]),
        ("of them behind another library", ["", str(behind), *([""] * len(libraries))]),
    ]


def peer_copy(
    name: str, module: Any, source: dlx.Tensor, target: dlx.Tensor
) -> Callable[[], object] | None:
    """Return the same copy by a peer, or None if the peer cannot have such a view."""
    try:
        if name == "torch":
            a, b = module.from_dlpack(source), module.from_dlpack(target)
            if a.data_ptr() != source.data_ptr:  # torch copied negative strides
                return None
            return lambda: b.copy_(a)
        a, b = module.from_dlpack(source), module.from_dlpack(target)
        return lambda: module.copyto(b, a)
    except (BufferError, RuntimeError, TypeError, ValueError):
        return None


def across(device: str, libraries: dict[str, Any], small: bool, only: str) -> str:
    """Copies between host and GPU: compact, strided, pageable and pinned."""
    finish = waiting_for(device)
    n = 64 if small else 8192
    base = np.zeros((n, n), "f4")
    views = {"compact": base, "transposed": base.T, "f32 [:, ::2]": base[:, ::2]}
    names = ["dlx", *libraries]
    rows = []
    for direction in ("to the GPU", "to the host"):
        for title, view in views.items():
            if only not in title:
                continue
            host = dlx.asarray(view)
            there = dlx.empty(view.shape, dtype="float32", device=device)
            pinned = dlx.empty(view.size, dtype="float32", device=pinned_by(device))
            flat = there.reshape(-1)
            if direction == "to the GPU":
                runs: dict[str, Callable[[], object]] = {
                    "memcpy": lambda f=flat, p=pinned: dlx.copyto(f, p),
                    "dlx": lambda t=there, h=host: dlx.copyto(t, h),
                }
            else:
                runs = {
                    "memcpy": lambda f=flat, p=pinned: dlx.copyto(p, f),
                    "dlx": lambda t=there, h=host: dlx.copyto(h, t),
                }
            for name, module in libraries.items():
                runs[name] = peer_transfer(name, module, direction, view, there)
            times = best(runs, finish, TRANSFER_ROUNDS, TRANSFER_BATCH)
            cells = [f"{there.nbytes / times['memcpy'] / 1e9:.1f} GB/s"]
            cells += [f"{times['memcpy'] / times[name]:.2f}" for name in names]
            rows.append((f"{title}, {direction}", cells))
    title = "Between host and GPU: shares of memcpy with pinned memory"
    return table(title, ["memcpy", *names], rows)


def pinned_by(device: str) -> str:
    return "cpu" if dlx.Device(device) == "cpu" else "cuda_host"


def peer_transfer(
    name: str, module: Any, direction: str, view: np.ndarray, there: dlx.Tensor
) -> Callable[[], object]:
    on_gpu = module.from_dlpack(there)
    if name == "torch":
        here = module.from_numpy(view)
        if direction == "to the GPU":
            return lambda: on_gpu.copy_(here)
        return lambda: here.copy_(on_gpu)
    if direction == "to the GPU":
        return lambda: on_gpu.set(np.ascontiguousarray(view))
    return lambda: np.copyto(view, on_gpu.get())


class Shown:
    """An object that has only the CUDA array interface."""

    def __init__(self, interface: dict[str, Any]) -> None:
        self.__cuda_array_interface__ = interface


def exchange(device: str, libraries: dict[str, Any], small: bool) -> str:
    """The cost of an exchange, in nanoseconds a call."""
    tensor = dlx.empty((3, 4), device=device)
    try:
        import tvm_ffi
    except ImportError:
        tvm_ffi = None
    calls: dict[str, Callable[[], object]] = {
        "dlx: __dlpack__(max_version=(1, 3))": lambda: tensor.__dlpack__(max_version=(1, 3)),
        "dlx.from_dlpack(dlx)": lambda: dlx.from_dlpack(tensor),
    }
    if tensor.device != "cpu":
        calls["dlx: __dlpack__(stream=1, …)"] = lambda: tensor.__dlpack__(
            stream=1, max_version=(1, 3)
        )
        calls["dlx: __cuda_array_interface__"] = lambda: tensor.__cuda_array_interface__
    for name, module in libraries.items():
        array = module.from_dlpack(tensor)
        calls[f"dlx.from_dlpack({name})"] = lambda a=array: dlx.from_dlpack(a)
        calls[f"{name}.from_dlpack(dlx)"] = lambda m=module: m.from_dlpack(tensor)
        calls[f"{name}.from_dlpack({name})"] = lambda m=module, a=array: m.from_dlpack(a)
        calls[f'dlx.convert(dlx, "{name}")'] = lambda n=name: dlx.convert(tensor, n)
        calls[f"dlx.convert(dlx, {name})"] = lambda m=module: dlx.convert(tensor, m)
        if hasattr(array, "__cuda_array_interface__"):
            calls[f"{name}: __cuda_array_interface__"] = lambda a=array: a.__cuda_array_interface__
            shown = Shown(array.__cuda_array_interface__)
            calls[f"dlx.asarray(__cuda_array_interface__ of {name})"] = lambda s=shown: dlx.asarray(
                s
            )
        if name == "torch":
            from torch.utils.dlpack import from_dlpack as by_capsule

            calls["torch.utils.dlpack.from_dlpack(dlx: __dlpack__(max_version=(1, 3)))"] = lambda: (
                by_capsule(tensor.__dlpack__(max_version=(1, 3)))
            )
        if tvm_ffi is not None:
            calls[f"tvm_ffi.from_dlpack({name})"] = lambda a=array: tvm_ffi.from_dlpack(a)
    for one in libraries:
        for other in libraries:
            if one != other:
                a = libraries[one].from_dlpack(tensor)
                calls[f"{other}.from_dlpack({one})"] = lambda m=libraries[other], a=a: (
                    m.from_dlpack(a)
                )
    batch = 10 if small else 2000
    finish = waiting_for(device)
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(ROUNDS):
        for name, call in calls.items():
            times[name].append(seconds(call, finish, batch))
    rows = [(name, [f"{min(values) * 1e9:.0f}"]) for name, values in times.items()]
    return table("Handing over", ["ns a call"], rows)


def heading(device: str, libraries: dict[str, Any]) -> str:
    where = dlx.Device(device)
    versions = {"dlx": dlx.__version__, "NumPy": np.__version__}
    versions.update({name: module.__version__ for name, module in libraries.items()})
    listed = ", ".join(f"{name} {version}" for name, version in versions.items())
    return (
        f"{where.description} ({where.architecture}, {(where.memory_total or 0) / 2**30:.0f} GiB, "
        f"driver {where.driver_version}), Python {platform.python_version()}, "
        f"{datetime.date.today()}: {listed}.\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument(
        "--small", action="store_true", help="a trial run: the figures mean nothing"
    )
    parser.add_argument("--probe", action="store_true", help="only see whether the device is there")
    parser.add_argument("--only", default="", metavar="TEXT", help="rows whose title has this text")
    parser.add_argument("--write", type=Path, metavar="FILE", help="also write the tables to FILE")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write them to FILE as JSON")
    options = parser.parse_args()
    if dlx.Device(options.device).count == 0:
        from dlx._lib import capi

        sys.exit(f"no GPU: {capi.device_reason(dlx.Device(options.device).device_type)}")
    if options.probe:
        return
    if options.small:
        global ROUNDS, BATCH, TRANSFER_ROUNDS, TRANSFER_BATCH, RANDOM_ROUNDS
        ROUNDS = BATCH = TRANSFER_ROUNDS = TRANSFER_BATCH = RANDOM_ROUNDS = 1
    libraries = peers(options.device)
    parts = [heading(options.device, libraries)]
    print(parts[0])
    for part in (
        lambda: first_copies(options.device),
        lambda: within(options.device, libraries, options.small, options.only),
        lambda: across(options.device, libraries, options.small, options.only),
        lambda: exchange(options.device, libraries, options.small),
    ):
        parts.append(part())
        print(parts[-1])
    if options.json:
        page = {"machine": parts[0].strip(), "tables": tables}
        options.json.write_text(json.dumps(page, ensure_ascii=False, indent=1), encoding="utf-8")
    if options.write:
        options.write.write_text("# On a GPU\n\n" + "\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
