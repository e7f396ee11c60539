"""Copies of random layouts beside NumPy and PyTorch, for the layouts that no list names.

usage: python benchmarks/bench_layouts.py [--seed N] [--count N] [--bytes N ...] [--write FOLDER]

Random shapes of one to five axes, permuted, each axis whole, stepped, reversed, cropped or repeated;
`--count` of them for each size in bytes, copied into a compact array and into another such view (of
which no axis is repeated). One thread. Each is checked, and timed in turns; where dlx seems behind,
again and longer, so that a noisy machine does not make the list.
"""

from __future__ import annotations

import argparse
import datetime
import math
import platform
import random
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

import dlx

try:
    import torch
except ImportError:
    torch = None  # type: ignore[assignment]

DTYPES = ("u1", "i2", "f4", "f8", "c16")
SIZES = (20_000, 300_000, 2_000_000, 30_000_000)
BEHIND = 1.08
SHOWN = 5


def random_shape(choose: random.Random, size: int, item: int) -> list[int]:
    """Of about `size` bytes."""
    weights = [choose.random() ** 2 + 0.02 for _ in range(choose.randint(1, 5))]
    shape = [max(1, round((size / item) ** (w / sum(weights)))) for w in weights]
    if choose.random() < 0.3:
        shape[choose.randrange(len(shape))] = choose.choice((2, 3, 4, 7, 8, 16, 64))
    if choose.random() < 0.3:  # powers of two, whose lines share the sets of a cache
        shape = [1 << round(math.log2(extent)) for extent in shape]
    while math.prod(shape) * item > 1.5 * size:
        shape[shape.index(max(shape))] //= 2
    return shape


def random_view(choose: random.Random, shape: list[int], dtype: str, repeats: bool) -> np.ndarray:
    """Of that shape, in memory of its own; its axes lie there in any order."""
    axes = list(range(len(shape)))
    if choose.random() < 0.75:
        choose.shuffle(axes)
    stored, parts = [], []
    for extent in (shape[axis] for axis in axes):
        kind = choose.choices(
            ("whole", "stepped", "reversed", "cropped", "repeated"), (50, 17, 10, 10, 8 * repeats)
        )[0]
        step = choose.choice((2, 2, 3)) if kind == "stepped" else 1
        stored.append({"cropped": extent + 5, "repeated": 1}.get(kind, extent * step))
        first = 2 if kind == "cropped" else 0
        whole = slice(first, first + extent * step, step)
        parts.append({"reversed": slice(None, None, -1), "repeated": slice(None)}.get(kind, whole))
    bits = np.random.default_rng(choose.getrandbits(32))
    data = bits.integers(0, 256, math.prod(stored) * np.dtype(dtype).itemsize, dtype=np.uint8)
    view = data.view(dtype).reshape(stored)[tuple(parts)]
    if repeats:
        view = np.broadcast_to(view, [shape[axis] for axis in axes])
    return view.transpose(np.argsort(axes))


def torch_copy(dst: np.ndarray, view: np.ndarray) -> Callable[[], object] | None:
    if torch is None or any(step < 0 for step in (*view.strides, *dst.strides)):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it could be written to, which nobody does
        source = torch.from_numpy(view)
    target = torch.from_numpy(dst)
    return lambda: target.copy_(source)


def time_of(function: Callable[[], object], repeat: int) -> float:
    start = time.perf_counter()
    for _ in range(repeat):
        function()
    return (time.perf_counter() - start) / repeat


def compare(dst: np.ndarray, view: np.ndarray) -> dict[str, float]:
    """Seconds of each library's copy."""
    target, origin = dlx.asarray(dst), dlx.asarray(view)
    functions: dict[str, Callable[[], object]] = {
        "dlx": lambda: dlx.copyto(target, origin),
        "NumPy": lambda: np.copyto(dst, view),
    }
    functions["dlx"]()
    if dst.tobytes() != view.tobytes():
        raise AssertionError(f"the copy of {view.dtype} {view.shape} {view.strides} is wrong")
    peer = torch_copy(dst, view)
    if peer is not None:
        functions["PyTorch"] = peer
    repeat = max(1, int(3e-4 / time_of(functions["dlx"], 1)))
    best = dict.fromkeys(functions, math.inf)
    for turn in range(15):
        for name, function in functions.items():
            best[name] = min(best[name], time_of(function, repeat))
        if turn >= 5 and ratio(best) <= BEHIND:
            break
    return best


def ratio(times: dict[str, float]) -> float:
    return times["dlx"] / min(seconds for name, seconds in times.items() if name != "dlx")


def layout_of(array: np.ndarray) -> str:
    return f"{array.dtype.str[1:]} {array.shape}, strides {array.strides}"


def measure(choose: random.Random, size: int, count: int) -> tuple[str, list[str]]:
    """A row of the table, and the layouts that dlx is furthest behind on."""
    compact, into_views = [], []
    for i in range(count):
        dtype = choose.choice(DTYPES)
        shape = random_shape(choose, size, np.dtype(dtype).itemsize)
        view = random_view(choose, shape, dtype, repeats=True)
        compact.append((compare(np.zeros(shape, dtype), view), layout_of(view)))
        dst = random_view(choose, shape, dtype, repeats=False)
        into_views.append((compare(dst, view), f"{layout_of(view)}, into {dst.strides}"))
        print(f"\r{size} bytes: {i + 1}", end="", file=sys.stderr)
    print(file=sys.stderr)
    row, worst = f"| {size:,} | {count} |", []
    for found in (compact, into_views):
        mean = math.exp(sum(math.log(ratio(times)) for times, _ in found) / count)
        behind = sorted((f for f in found if ratio(f[0]) > BEHIND), key=lambda f: -ratio(f[0]))
        worst += [f"- {ratio(times):.2f}: {layout}" for times, layout in behind[:SHOWN]]
        row += f" {mean:.2f} | {len(behind)} |"
    return row, worst


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--bytes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--write", type=Path, metavar="FOLDER")
    options = parser.parse_args()
    dlx.set_num_threads(1)
    if torch is not None:
        torch.set_num_threads(1)
    choose = random.Random(options.seed)
    rows, worst = [], []
    for size in options.bytes:
        row, layouts = measure(choose, size, options.count)
        rows.append(row)
        worst += layouts
    versions = f"NumPy {np.__version__}" + (f", PyTorch {torch.__version__}" if torch else "")
    text = "\n".join(
        [
            "# Copies of random layouts",
            "",
            f"Made by `./dev bench layouts --seed {options.seed} --count {options.count}`, one thread: "
            "the time of dlx by that of NumPy or\nPyTorch, whichever is faster, in the geometric mean. "
            f"Below 1, dlx is ahead; behind is more than {BEHIND}.",
            "",
            f"{datetime.date.today()}, {versions}, {platform.machine()}.",
            "",
            "| bytes | layouts | into compact arrays | behind | into views | behind |",
            "|--:|--:|--:|--:|--:|--:|",
            *rows,
            *(["", "Furthest behind:", "", *worst] if worst else []),
            "",
        ]
    )
    print(text)
    if options.write is not None:
        options.write.mkdir(parents=True, exist_ok=True)
        (options.write / "layouts.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
