"""./dev coverage: which lines and branches of the library its tests run, a line for each folder.

The sources are built with clang's counters (--config=coverage). The C tests, pytest on both bindings and
pytest on the fake drivers run with that build, and llvm-cov adds up.

A line that no test can run, or a condition that no test can change, ends in a comment `not covered: REASON`,
or follows a line with that comment alone; it counts neither as covered nor as missing. So does each line after `not covered from here: REASON`, up to `covered again`. Functions that are
constexpr run at compile time, where nothing counts; lines of the preprocessor and closing brackets are no
code; and src/driver/*.inc are lists of names.
"""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import bazel, debian, environments
from .runners import Runner
from .shell import Failed, Shell
from .summary import Report

# The least part of the lines and of the branches of a folder, in percent. They only rise.
FLOOR_LINES = 99.5
FLOOR_BRANCHES = 95.0

TESTS = ("//tests/capi/...", "//tests/cpp/...", "//tests/src/...", "//tests/device/...")
EXCLUDED = re.compile(r"// not covered: \S")
EXCLUDED_FROM = re.compile(r"// not covered from here: \S")
EXCLUDED_TO = re.compile(r"// covered again")
NO_CODE = re.compile(r"\s*(#|[]}); ]+$)")
CONSTEXPR = re.compile(r"\s*constexpr [^=;]*\(")
FOLDED = re.compile(r"Branch \((\d+):(\d+)\): \[Folded - Ignored\]")
LISTS = re.compile(r"src/driver/.*\.inc")
Place = tuple[int, int, int, int]


@dataclass
class Covered:
    """What of one file was run."""

    lines: dict[int, int] = field(default_factory=dict)  # line -> how often
    branches: dict[Place, list[int]] = field(default_factory=dict)  # condition -> true, false

    def without(self, excluded: set[int]) -> Covered:
        return Covered(
            {line: count for line, count in self.lines.items() if line not in excluded},
            {place: both for place, both in self.branches.items() if place[0] not in excluded},
        )

    def missing_lines(self) -> list[int]:
        return sorted(line for line, count in self.lines.items() if not count)

    def missing_branches(self) -> list[str]:
        return [
            f"{place[0]}:{place[1]} never {word}"
            for place, both in sorted(self.branches.items())
            for word, count in zip(("true", "false"), both)
            if not count
        ]


def setup(shell: Shell) -> None:
    debian.setup_tests(shell)
    debian.need(shell, "coverage", debian.COVERAGE)
    environments.setup_tests(shell)


def run(shell: Shell, words: Sequence[str]) -> int:
    """`--missing` names each line and branch that was not run."""
    setup(shell)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        failed = _run_tests(shell, folder)
        if shell.settings.dry:
            return 0
        files = _read(shell, folder)
    text, low = table(shell.settings.root, files, missing=bool(words))
    shell.print(text)
    return 1 if failed or low else 0


def _run_tests(shell: Shell, folder: Path) -> bool:
    counts = str(folder / "%m%c.profraw")
    report = Report("coverage", folder)
    runner = Runner(shell, report)
    runner.bazel("c", "--config=coverage", f"--test_env=LLVM_PROFILE_FILE={counts}", *TESTS)
    bazel.build(shell, "--config=coverage", "//:libdlx.so", *bazel.FAKES)
    library = bazel.built(shell, "coverage", "libdlx.so")
    fakes = {
        "DLX_CUDA_PATH": bazel.built(shell, "coverage", "tests/stubs/fake_libcuda.so"),
        "DLX_HIP_PATH": bazel.built(shell, "coverage", "tests/stubs/fake_libamdhip64.so"),
    }
    for binding in ("ctypes", "cffi"):
        env = {"LLVM_PROFILE_FILE": counts, "DLX_LIBRARY": str(library)}
        runner.pytest(binding, binding, "-m", "not heavy", "tests/python", env=env)
        for tests in ("devices", "gpu"):
            env = {**env, **{name: str(path) for name, path in fakes.items()}}
            runner.pytest(f"{binding}-{tests}", binding, f"tests/python/{tests}", env=env)
    report.read()
    for failure in report.failures:
        shell.print(f"FAILED {failure}")
    return report.failed


def _read(shell: Shell, folder: Path) -> dict[str, Covered]:
    """Adds up the counts of all programs and of libdlx.so."""
    profile = folder / "all.profdata"
    _tool("llvm-profdata-19", "merge", "-sparse", *sorted(folder.glob("*.profraw")), "-o", profile)
    library = bazel.built(shell, "coverage", "libdlx.so")
    programs = [
        path
        for path in sorted((library.parent / "tests").rglob("test_*"))
        if path.is_file() and not path.suffix
    ]
    objects = [word for path in programs for word in ("-object", path)]
    words = (library, *objects, "-instr-profile", profile)
    exported = json.loads(
        _tool(
            "llvm-cov-19", "export", "-format=text", "-skip-expansions", "-skip-functions", *words
        )
    )
    lines = _tool("llvm-cov-19", "export", "-format=lcov", "-skip-functions", *words)
    shown = _tool("llvm-cov-19", "show", "-show-branches=count", *words)
    files: dict[str, Covered] = defaultdict(Covered)
    _add_branches(files, exported["data"][0]["files"])
    _add_lines(files, lines.splitlines())
    _drop_folded(files, shown.splitlines())
    return {
        name: files[name]
        for name in sorted(files)
        if name.startswith(("src/", "capi/")) and not LISTS.match(name)
    }


def _tool(*words: object) -> str:
    done = subprocess.run(
        [str(word) for word in words], stdout=subprocess.PIPE, text=True, check=False
    )
    if done.returncode:
        raise Failed(f"{words[0]} ended with status {done.returncode}")
    return done.stdout


def _add_branches(files: dict[str, Covered], records: Iterable[dict[str, Any]]) -> None:
    """Instances of one template count together."""
    for record in records:
        branches = files[_name(record["filename"])].branches
        for branch in record["branches"]:
            both = branches.setdefault(tuple(branch[:4]), [0, 0])
            both[0] += branch[4]
            both[1] += branch[5]


def _add_lines(files: dict[str, Covered], text: Iterable[str]) -> None:
    name = ""
    for line in text:
        key, _, value = line.partition(":")
        if key == "SF":
            name = _name(value)
        elif key == "DA":
            number, count = map(int, value.split(",")[:2])
            files[name].lines[number] = files[name].lines.get(number, 0) + count


def _drop_folded(files: dict[str, Covered], text: Iterable[str]) -> None:
    """Conditions that the compiler knows, in every instance of a template, are no branches. Only
    `llvm-cov show` says which they are."""
    name = ""
    for line in text:
        if found := FOLDED.search(line):
            at = int(found[1]), int(found[2])
            branches = files[name].branches
            for place in [
                place for place in branches if place[:2] == at and not any(branches[place])
            ]:
                del branches[place]
        elif line.endswith(":") and line[:1] == "/":
            name = _name(line[:-1])


def _name(path: str) -> str:
    """Bazel compiles in a folder of its own."""
    found = re.search(r"(?:^|/)((?:src|capi)/.*)", path)
    return found[1] if found and "/tests/" not in path else path


def without_code(source: str) -> set[int]:
    return {number for number, line in enumerate(source.splitlines(), 1) if NO_CODE.match(line)}


def excluded(source: str) -> set[int]:
    lines: set[int] = set()
    inside = in_constexpr = above = False
    depth = 0
    for number, line in enumerate(source.splitlines(), 1):
        inside = not EXCLUDED_TO.search(line) and (inside or bool(EXCLUDED_FROM.search(line)))
        in_constexpr = in_constexpr or bool(CONSTEXPR.match(line))
        said = bool(EXCLUDED.search(line))
        if inside or in_constexpr or said or above:
            lines.add(number)
        above = said and line.lstrip().startswith("//")
        if in_constexpr:
            depth += line.count("{") - line.count("}")
            in_constexpr = depth > 0 or ("}" not in line and ";" not in line)
    return lines


def table(root: Path, files: dict[str, Covered], *, missing: bool) -> tuple[str, list[str]]:
    """The table of folders, and the folders below the floor."""
    sums: dict[str, Counter[str]] = defaultdict(Counter)
    text = []
    for name, found in files.items():
        source = (root / name).read_text()
        code = found.without(without_code(source))
        covered = code.without(excluded(source))
        folder = "/".join(name.split("/")[:2]) if name.startswith("src/") else "capi"
        for key in (folder, "all"):
            sums[key]["lines"] += len(covered.lines)
            sums[key]["lines missing"] += len(covered.missing_lines())
            sums[key]["branches"] += 2 * len(covered.branches)
            sums[key]["branches missing"] += len(covered.missing_branches())
            sums[key]["excluded"] += len(code.lines) - len(covered.lines)
        if missing:
            text += [f"{name}:{line} not run" for line in covered.missing_lines()]
            text += [f"{name}:{branch}" for branch in covered.missing_branches()]
    text.append("| folder | lines | run | excluded | branches | run |\n|---|--:|--:|--:|--:|--:|")
    low = []
    for folder, count in sums.items():
        lines, branches = (_percent(count, what) for what in ("lines", "branches"))
        text.append(
            f"| {folder} | {count['lines']:,} | {lines:.1f} % | {count['excluded']} "
            f"| {count['branches']:,} | {branches:.1f} % |"
        )
        if lines < FLOOR_LINES or branches < FLOOR_BRANCHES:
            low.append(folder)
    text += [
        f"FAILED {folder}: below {FLOOR_LINES} % of lines or {FLOOR_BRANCHES} % of branches"
        for folder in low
    ]
    return "\n".join(text), low


def _percent(count: Counter[str], what: str) -> float:
    return 100 * (1 - count[f"{what} missing"] / count[what]) if count[what] else 100.0
