"""What each threshold of the copy engine is worth: copies timed with half of its value, and with twice.

usage: python benchmarks/bench_thresholds.py --c PROGRAM [--note N ...] [--only FILE:NAME ...] [--where REGEX]
                                             [--count N] [--seed N] [--rounds N] [--write FILE]

A threshold is a line `constexpr TYPE kName = VALUE;  // ... [note N]` of src/copy. The engine is compiled
with another value in that line, and beside it unchanged, twice: the second one shows the noise. Only
layouts on which the change makes a difference are timed: those that are described otherwise, or that run
another number of basic blocks. All are in one process and in turns; times are processor time on one
thread, the best of all rounds. What seems to differ by 5 % or more is timed again.
"""

from __future__ import annotations

import argparse
import datetime
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import bench_copy
from bench_ways import mean, named, random_layouts, run, timed

ROOT = Path(__file__).resolve().parent.parent
THRESHOLD = re.compile(
    r"^(?P<before>[^/\n]*constexpr (?:int64_t|int|double) (?P<name>k\w+) = )(?P<value>[^;\n]+)"
    r"(?P<after>;[^\n]*\[note (?P<note>\d+)\])",
    re.M,
)
FOLDERS = ("src/base", "src/copy", "src/dtype", "src/system")
FLAGS = (
    "-std=c++17 -O2 -fPIC -DNDEBUG -DDLX_DLPACK_OWN -fvisibility=hidden -fno-semantic-interposition "
    "-falign-functions=64 -fomit-frame-pointer -fno-stack-protector"
).split()
# What benchmarks/ways.cc calls. A library of the engine alone compiles in a second.
DOOR = """
#include "dlx/dlx.h"
#include "src/copy/copy.h"
#include "src/copy/threads/threads.h"
static uint64_t blocks;
extern "C" {
#pragma GCC visibility push(default)
void __sanitizer_cov_trace_pc() { ++blocks; }
uint64_t dlx_blocks() { return blocks; }
dlx_status dlx_copy(const DLTensor* dst, const DLTensor* src, const dlx_copy_options*) {
  dlx::copy_tensor(*dst, false, *src, false);
  return DLX_OK;
}
dlx_status dlx_copy_plan_describe(const DLTensor* dst, const DLTensor* src, char* out, size_t n) {
  dlx::describe_copy(*dst, *src, out, n);
  return DLX_OK;
}
dlx_status dlx_set_num_threads(int32_t n) { dlx::set_num_threads(n); return DLX_OK; }
#pragma GCC visibility pop
}
"""
COUNT = "-fsanitize-coverage=trace-pc"
LITTLE = 0.05  # a difference that is timed again
MOST = 12  # layouts that a change is timed on


class Threshold(NamedTuple):
    path: str
    name: str
    value: str
    line: int
    note: str

    def __str__(self) -> str:
        return f"{self.path.removeprefix('src/copy/')}:{self.name}"


def thresholds() -> Iterator[Threshold]:
    for path in sorted((ROOT / "src/copy").rglob("*.*")):
        text = path.read_text(encoding="utf-8") if path.suffix in (".cc", ".h", ".inc") else ""
        for found in THRESHOLD.finditer(text):
            yield Threshold(
                str(path.relative_to(ROOT)),
                found["name"],
                found["value"],
                text.count("\n", 0, found.start()),
                found["note"],
            )


class Builds:
    """Libraries of the engine, whole or with one line changed."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.made = folder, 0
        self.counted: dict[str, Path | None] = {}
        folder.joinpath("door.cc").write_text(DOOR)
        self.objects: dict[str, Path] = {}
        self.needs: dict[str, str] = {}
        sources = ["door.cc", *(str(p) for f in FOLDERS for p in (ROOT / f).rglob("*.cc"))]
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(self._compile_first, sources))

    def _compile_first(self, source: str) -> None:
        name = source.removeprefix(f"{ROOT}/")
        target = self.folder / (name.replace("/", "+") + ".o")
        done = compiled(self.folder / source, target, [], "-MMD", "-MF", f"{target}.d")
        if done:
            raise SystemExit(done)
        self.objects[name] = target
        self.needs[name] = Path(f"{target}.d").read_text()

    def counting(self, change: Threshold, value: str = "") -> Path | None:
        """With basic blocks counted in the sources that see the threshold."""
        if value:
            return self.library(change, value, COUNT)
        if change.path not in self.counted:
            self.counted[change.path] = self.library(change, change.value, COUNT)
        return self.counted[change.path]

    def library(self, change: Threshold | None = None, value: str = "", *extra: str) -> Path | None:
        """None if the sources do not compile with that value, because a buffer has no room for it."""
        self.made += 1
        place = self.folder / f"{self.made}"
        objects = dict(self.objects)
        if change is not None:
            for name in [name for name, needs in self.needs.items() if change.path in needs]:
                if name == change.path or runs_here(name):
                    objects[name] = place / (name.replace("/", "+") + ".o")
            changed = place / "changed" / change.path
            changed.parent.mkdir(parents=True)
            lines = (ROOT / change.path).read_text(encoding="utf-8").splitlines(keepends=True)
            lines[change.line] = lines[change.line].replace(f"= {change.value};", f"= {value};")
            changed.write_text("".join(lines))
            for name, target in objects.items():
                if target.parent != place:
                    continue
                source = changed if name == change.path else ROOT / name
                if compiled(source, target, [place / "changed"], *extra):
                    return None
        place.mkdir(exist_ok=True)
        library = place / "libcopy.so"
        subprocess.run(["g++", "-shared", *map(str, objects.values()), "-lpthread", "-o", library],
                       check=True)  # fmt: skip
        return library


def compiled(source: Path, target: Path, before: Sequence[Path], *extra: str) -> str:
    target.parent.mkdir(exist_ok=True)
    folders = [f"-I{folder}" for folder in (*before, ROOT, ROOT / "include")]
    done = subprocess.run(["g++", *FLAGS, *extra, *folders, "-c", source, "-o", target],
                          stderr=subprocess.PIPE, text=True, check=False)  # fmt: skip
    return done.stderr if done.returncode else ""


def runs_here(name: str) -> bool:
    """Kernels of other instruction sets are compiled once."""
    flags = Path("/proc/cpuinfo").read_text()
    best = "avx512" if "avx512bw" in flags else "avx2" if " avx2 " in flags else "base"
    return "/isa_" not in name or f"isa_{best}." in name


def values(value: str) -> list[tuple[str, str]]:
    if re.fullmatch(r"[1-3]", value):
        return [("one less", str(int(value) - 1)), ("one more", str(int(value) + 1))]
    return [("half", f"({value}) / 2"), ("twice", f"({value}) * 2")]


def layouts_of(options: argparse.Namespace) -> tuple[list[str], list[str]]:
    """Layouts to compare descriptions of, and fewer to run."""
    large, known = named(bench_copy.big_layouts()), named(bench_copy.l2_layouts())
    known += [f"in place, {n} rows of {row} by {by}|{item}|{n} {row}|{step} {gap}|{step} {gap}|{a} {b}"
              for item in (2, 8) for n, row in ((1, 20_000), (300, 40), (40, 700)) for gap in (1, 3)
              for by in (1, 3, 50, 700, 5000) for a, b in ((0, by * item), (by * item, 0))
              for step in (row * gap + 5,)]  # fmt: skip
    known += [f"a transposed array {n} times|{item}|{n} {rows} {row}|{rows * row} {row} 1|0 1 {rows}|0 16"
              for item in (1, 4, 12) for n in (3, 6, 40)
              for rows, row in ((300, 200), (900, 700), (60, 20_000))
              if n * rows * row * item < 2e7]  # fmt: skip
    sizes = (2_000, 20_000, 300_000, 2_000_000, 30_000_000)
    many = [random_layouts(options.seed, size, options.count) for size in sizes]
    few = [lines[: options.count // (4 if size < 2_000_000 else 24)]
           for size, lines in zip(sizes, many, strict=True)]  # fmt: skip
    return [*large, *known, *chain(*many)], [*known, *chain(*few)]


def differing(program: str, rounds: int, pair: Sequence[Path], layouts: list[str]) -> list[str]:
    found = run(program, rounds, [str(path) for path in pair], layouts)
    return [text for text, (_, one, other) in zip(layouts, found, strict=True) if one != other]


class Effect(NamedTuple):
    word: str
    differ: int  # layouts on which the change makes a difference
    ratios: list[float]  # time with the change by time without, of those timed
    noise: list[float]

    def cells(self) -> str:
        if not self.ratios:
            return f"{self.differ} | | | "
        return (
            f"{self.differ} | {mean(self.ratios):.2f} | {min(self.ratios):.2f} to "
            f"{max(self.ratios):.2f} | {mean(self.noise):.2f}"
        )


def effect(
    options: argparse.Namespace,
    builds: Builds,
    base: Sequence[Path],
    threshold: Threshold,
    word: str,
    value: str,
    layouts: tuple[list[str], list[str]],
) -> Effect | None:
    changed = builds.library(threshold, value)
    if changed is None:
        return None
    found = differing(options.c, 0, (base[0], changed), layouts[0])
    if options.where:
        said = run(options.c, 0, [str(base[0])], layouts[0])
        found = [t for t, (_, text) in zip(layouts[0], said, strict=True)
                 if re.search(options.where, text)]  # fmt: skip
    elif len(found) < MOST // 2:
        counting = [builds.counting(threshold), builds.counting(threshold, value)]
        more = differing(options.c, -1, [c for c in counting if c], layouts[1])
        found += [text for text in more if text not in found]
    picked = random.Random(1).sample(found, min(MOST, len(found)))
    libraries = [str(path) for path in (*base, changed)]
    times = timed(options.c, options.rounds, libraries, picked) if picked else []
    again = [i for i, t in enumerate(times)
             if abs(t.nanoseconds[2] / min(t.nanoseconds[:2]) - 1) >= LITTLE]  # fmt: skip
    if again:
        second = timed(options.c, 3 * options.rounds, libraries, [picked[i] for i in again])
        for i, t in zip(again, second, strict=True):
            times[i] = t
    return Effect(
        word,
        len(found),
        [t.nanoseconds[2] / t.nanoseconds[0] for t in times],
        [t.nanoseconds[1] / t.nanoseconds[0] for t in times],
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--c", required=True, metavar="PROGRAM")
    parser.add_argument("--note", nargs="+", default=["80"])
    parser.add_argument("--only", nargs="+", metavar="FILE:NAME")
    parser.add_argument(
        "--where", metavar="REGEX", help="time the layouts that are described so, whatever differs"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=800)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--write", type=Path, metavar="FILE")
    options = parser.parse_args()
    options.c = options.c if Path(options.c).is_absolute() else f"{Path.cwd()}/{options.c}"
    chosen = [t for t in thresholds()
              if (str(t) in options.only if options.only else t.note in options.note)]  # fmt: skip
    rows = [
        f"{datetime.date.today()}, {bench_copy.cpu_name()}, seed {options.seed}.",
        "",
        "| threshold | value | half: differ | mean | from, to | noise | twice: differ | mean | from, to | noise |",
        "|:--|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    print("\n".join(rows), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        builds = Builds(Path(folder))
        first = builds.library()
        assert first is not None
        base = [first, Path(shutil.copy(first, f"{folder}/again.so"))]
        layouts = layouts_of(options)
        for threshold in chosen:
            cells = []
            for word, value in values(threshold.value):
                try:
                    found = effect(options, builds, base, threshold, word, value, layouts)
                except subprocess.CalledProcessError:  # it crashed
                    found = None
                cells.append(found.cells() if found else "cannot be | | | ")
            rows.append(f"| {threshold} | {threshold.value} | {' | '.join(cells)} |")
            print(rows[-1], flush=True)
    if options.write is not None:
        options.write.write_text("\n".join(rows) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
