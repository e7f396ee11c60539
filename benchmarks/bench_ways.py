"""Which way of the copy engine is taken how often, and what each is worth; or two libraries compared.

usage: python benchmarks/bench_ways.py --c PROGRAM [--against OLD.so] [--count N] [--bytes N ...]
                                       [--seed N] [--rounds N] [--only WAY ...] [--write FOLDER]

By default, each way is left out in turn (the library is built once more with --config=ways for that):
how many of `--count` random layouts of each size and of the named ones take it, and how much longer
these take without it. Beside that stands the same library against itself, which is the noise.

--against times the library beside an older one, in one process and in turns: the named layouts,
`--count` random ones, and copies of 64 bytes. All times are processor time on one thread.
"""

from __future__ import annotations

import argparse
import collections
import datetime
import math
import platform
import random
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import bench_copy
import numpy as np
from bench_layouts import DTYPES, random_shape, random_view

from dlx._lib import library

FEW = 12  # layouts that a way is timed on


class Timed(NamedTuple):
    name: str
    way: str
    nanoseconds: list[float]


def line(name: str, view: np.ndarray, dst: np.ndarray, starts: tuple[int, int] = (0, 0)) -> str:
    item = view.itemsize
    fields: Iterable[Iterable[int]] = (
        view.shape, [s // item for s in dst.strides], [s // item for s in view.strides], starts
    )  # fmt: skip
    texts = [" ".join(map(str, numbers)) for numbers in fields]
    return "|".join([name.replace("|", "/"), str(item), *texts])


def named(make: Sequence[tuple[str, object]]) -> list[str]:
    with mock.patch.object(bench_copy, "source", np.empty):
        found = [(name, layout()) for name, layout in make]  # type: ignore[operator]
        return [line(name, view, bench_copy.destination(name, view)) for name, view in found]


class Nothing:
    """Views are described, never filled."""

    def integers(self, low: int, high: int, size: int, dtype: type) -> np.ndarray:
        return np.empty(size, dtype)


def random_layouts(seed: int, size: int, count: int) -> list[str]:
    choose = random.Random(seed * 1_000_003 + size)
    lines = []
    with mock.patch.object(np.random, "default_rng", return_value=Nothing()):
        for i in range(count):
            dtype = choose.choice(DTYPES)
            shape = random_shape(choose, size, np.dtype(dtype).itemsize)
            view = random_view(choose, shape, dtype, repeats=True)
            dst = np.empty(shape, dtype)
            if i % 2:
                dst = random_view(choose, shape, dtype, repeats=False)
            starts = (choose.choice((0, 16)), choose.choice((0, 16)))
            lines.append(line(f"{size} bytes, {i}", view, dst, starts))
    return lines


def run(
    program: str, rounds: int, libraries: Sequence[str], layouts: Sequence[str]
) -> list[list[str]]:
    done = subprocess.run(
        [program, str(rounds), *libraries],
        input="\n".join(layouts) + "\n", text=True, stdout=subprocess.PIPE, check=True,
    )  # fmt: skip
    return [text.split("|") for text in done.stdout.splitlines()]


def timed(
    program: str, rounds: int, libraries: Sequence[str], layouts: Sequence[str]
) -> list[Timed]:
    found = run(program, rounds, libraries, layouts)
    return [Timed(name, way, list(map(float, times))) for name, way, *times in found]


def mean(ratios: Iterable[float]) -> float:
    logarithms = [math.log(ratio) for ratio in ratios]
    return math.exp(sum(logarithms) / len(logarithms)) if logarithms else math.nan


def against(options: argparse.Namespace, folder: Path) -> str:
    old, again, new = (folder / name for name in ("old.so", "again.so", "new.so"))
    shutil.copy(options.against, old)
    shutil.copy(options.against, again)
    shutil.copy(library.path, new)
    libraries = [str(old), str(again), str(new)]
    small = [line(f"64 bytes of {d}", np.empty(64, d)[: 64 // np.dtype(d).itemsize],
                  np.empty(64 // np.dtype(d).itemsize, d)) for d in ("u1", "f4", "c16")]  # fmt: skip
    small.append(line("64 bytes, f4 transposed", np.empty((4, 4), "f4").T, np.empty((4, 4), "f4")))
    each = options.count // len(options.bytes)
    groups = {
        "named, large": named(bench_copy.big_layouts()),
        "named, inside the caches": named(bench_copy.l2_layouts()),
        f"random, {each * len(options.bytes)}": [
            text for size in options.bytes for text in random_layouts(options.seed, size, each)
        ],
    }
    rows = ["| layouts | old by old | new by old | slowest | fastest |", "|:--|--:|--:|--:|--:|"]
    for name, layouts in groups.items():
        found = timed(options.c, options.rounds, libraries, layouts)
        ratios = sorted((t.nanoseconds[2] / t.nanoseconds[0], t.name) for t in found)
        noise = mean(t.nanoseconds[1] / t.nanoseconds[0] for t in found)
        rows.append(
            f"| {name} | {noise:.3f} | {mean(r for r, _ in ratios):.3f} "
            f"| {ratios[-1][0]:.2f} ({ratios[-1][1]}) | {ratios[0][0]:.2f} ({ratios[0][1]}) |"
        )
    rows += ["", "| copy | old, ns | old again, ns | new, ns |", "|:--|--:|--:|--:|"]
    for found_one in timed(options.c, 20 * options.rounds, libraries, small):
        times = " | ".join(f"{t:.1f}" for t in found_one.nanoseconds)
        rows.append(f"| {found_one.name} | {times} |")
    return "\n".join(rows)


def library_with_switch() -> str:
    root = Path(__file__).resolve().parent.parent
    subprocess.run(["bazel", "build", "--config=ways", "//:libdlx.so"], cwd=root, check=True,
                   capture_output=True)  # fmt: skip
    bin_folder = subprocess.run(["bazel", "info", "--config=ways", "bazel-bin"], cwd=root, check=True,
                                capture_output=True, text=True).stdout.strip()  # fmt: skip
    return f"{bin_folder}/libdlx.so"


def worth(options: argparse.Namespace, folder: Path) -> str:
    """Of each way but the last one, which cannot be left out."""
    switched = options.switched or library_with_switch()
    each = options.count // len(options.bytes)
    layouts = named(bench_copy.big_layouts()) + named(bench_copy.l2_layouts())
    names = len(layouts)
    layouts += [text for size in options.bytes for text in random_layouts(options.seed, size, each)]
    said = run(options.c, 0, [switched], layouts)
    ways: dict[str, list[int]] = collections.defaultdict(list)
    for i, (_, text) in enumerate(said):
        ways[text.partition("; way ")[2].partition(":")[0]].append(i)
    rows = ["| way | named | gain | best | random | of random | gain | best | noise |",
            "|:--|--:|--:|--:|--:|--:|--:|--:|--:|"]  # fmt: skip
    for way in sorted(options.only or set(ways) - {"planes"}):
        taken = ways.get(way, [])
        picked = [[i for i in taken if i < names], [i for i in taken if i >= names][:FEW]]
        cells, noise = [], []
        copies = [str(shutil.copy(switched, folder / f"{way}{i}.so")) for i in range(3)]
        copies[2] += f",{way}"
        for part in picked:
            found = (
                timed(options.c, options.rounds, copies, [layouts[i] for i in part]) if part else []
            )
            gains = [t.nanoseconds[2] / t.nanoseconds[0] for t in found]
            noise += [t.nanoseconds[1] / t.nanoseconds[0] for t in found]
            cells.append(f"{mean(gains):.2f} | {max(gains):.2f}" if gains else "|")
        random_ones = len(taken) - len(picked[0])
        rows.append(
            f"| {way} | {len(picked[0])} | {cells[0]} | {random_ones} "
            f"| {random_ones / (len(layouts) - names):.1%} | {cells[1]} | {mean(noise):.2f} |"
        )
        print(rows[-1], flush=True)
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--c", required=True, metavar="PROGRAM")
    parser.add_argument("--against", metavar="OLD.so")
    parser.add_argument(
        "--switched", metavar="LIB.so", help="built with --config=ways; default: do so"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=400)
    parser.add_argument(
        "--bytes", type=int, nargs="+", default=(20_000, 300_000, 2_000_000, 30_000_000)
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", nargs="+", metavar="WAY")
    parser.add_argument("--write", type=Path, metavar="FOLDER")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        table = (against if options.against else worth)(options, Path(folder))
    call = "--against OLD.so " if options.against else ""
    text = "\n".join(
        [
            "# Ways of the copy engine"
            if not options.against
            else "# Two libraries in one process",
            "",
            f"Made by `./dev bench ways {call}--seed {options.seed} --count {options.count}`, one thread, "
            "processor time.",
            "",
            f"{datetime.date.today()}, {platform.machine()}, {bench_copy.cpu_name()}.",
            "",
            table,
            "",
        ]
    )
    print(text)
    if options.write is not None:
        options.write.mkdir(parents=True, exist_ok=True)
        (options.write / "ways.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
