"""./dev fuzz: each fuzz target of Bazel for some seconds, with libFuzzer.

Beside fuzz_x.cc may lie fuzz_x.dict, a dictionary of libFuzzer, and fuzz_x.corpus: a line of hexadecimal
digits for each input that reaches something new. Every run begins with the corpus, and the tests replay
it in all builds. With --keep the run adds what it found, minimised, and counts its executions in
tests/fuzzed.json. A target whose source is fuzz_x.py embeds CPython (tests/fuzz/embed.cc).
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from . import bazel, debian, environments
from .shell import Failed, Shell
from .summary import SKIPPED

SECONDS = "60"
COUNTS = Path("tests/fuzzed.json")
LARGEST_CORPUS = 60_000  # bytes of inputs of one target
# A tensor that is too large is the caller's error: dlx reports it, not the sanitizer.
# Finding uses of a stack frame after its return takes 40 % of the time where exceptions are thrown.
ENVIRONMENT = {"ASAN_OPTIONS": "allocator_may_return_null=1:detect_stack_use_after_return=0"}
# Where the program that embeds CPython finds the interpreter, and the interpreter its modules.
LIBPYTHON = """
import pathlib, sysconfig, sys
name = sysconfig.get_config_var("INSTSONAME") or ""
places = [sysconfig.get_config_var(word) for word in ("LIBDIR", "LIBPL")]
found = [pathlib.Path(place, name) for place in places if place and ".so" in name]
print(next((str(path) for path in found if path.exists()), ""))
print(sys.base_prefix)
print(sysconfig.get_path("purelib"))
"""
EXECUTED = re.compile(r"^stat::number_of_executed_units: +(\d+)", re.M)


def check(words: Sequence[str]) -> None:
    numbers = [word for word in words if word != "--keep"]
    if len(numbers) > 2 or not all(number.isdigit() for number in numbers):
        raise Failed(f"fuzz [--keep] [SECONDS [SEED]]: got '{' '.join(words)}'")


def run(shell: Shell, *words: str) -> int:
    """With a seed, runs are reproducible: results depend on the change, not on chance."""
    numbers = [word for word in words if word != "--keep"]
    seconds, seed = [*numbers, *(SECONDS, "0")[len(numbers) :]]
    debian.setup_build(shell)
    debian.setup_fuzzing(shell)
    environments.setup_tests(shell)
    if not shutil.which("clang-19"):
        shell.print("skipped: no clang-19")
        return SKIPPED
    targets = bazel.fuzz_targets(shell)
    if not targets:
        raise Failed("fuzz: bazel query found no fuzz targets")
    bazel.build(shell, "--config=libfuzzer", *targets)
    embedding = _embedding(shell)
    found: list[str] = []
    for label in targets:
        target = Target(shell, label)
        if target.embeds and not embedding:
            shell.print(f"{label}: this CPython has no shared library to embed")
            continue
        shell.say(f"fuzzing {label} for {seconds} s")
        target.env.update(embedding if target.embeds else {})
        if target.fuzz(seconds, seed, keep="--keep" in words):
            found.append(label)
    if found:
        shell.print(f"fuzz: findings of {', '.join(found)}")
    return 1 if found else 0


def _embedding(shell: Shell) -> dict[str, str]:
    """What a target that embeds CPython needs; empty if there is no libpython."""
    settings = shell.settings
    told = (shell.ask(settings.interpreter, "-c", LIBPYTHON) or "").splitlines()
    if len(told) != 3 or not told[0]:
        return {}
    folders = ("bindings/python", "tests/fuzz", "tests/python")
    path = [*(str(settings.root / folder) for folder in folders), told[2]]
    library = bazel.built(shell, "libfuzzer", "libdlx.so")
    return {
        "DLX_FUZZ_LIBPYTHON": told[0],
        "PYTHONHOME": told[1],
        "PYTHONPATH": os.pathsep.join(path),
        "DLX_LIBRARY": str(library),
    }


class Target:
    def __init__(self, shell: Shell, label: str) -> None:
        self.shell, self.label = shell, label
        self.path = Path(label[2:].replace(":", "/"))
        self.program = bazel.built(shell, "libfuzzer", str(self.path))
        self.source = shell.settings.root / self.path  # without its suffix
        self.embeds = self.source.with_suffix(".py").exists()
        self.env = dict(ENVIRONMENT)

    def fuzz(self, seconds: str, seed: str, *, keep: bool) -> int:
        with tempfile.TemporaryDirectory() as name:
            found, least = Path(name, "found"), Path(name, "least")
            unpack(self.source.with_suffix(".corpus"), found)
            least.mkdir()
            options = [f"-seed={seed}", f"-max_total_time={seconds}", "-timeout=25"]
            # Not after each input that leaves more memory than it found: that takes most of the time.
            options += [
                "-detect_leaks=0",
                "-error_exitcode=1",  # libFuzzer's own status is 77, which says "skipped" here
                "-print_final_stats=1",
                f"-artifact_prefix={self.shell.settings.root}/",
            ]
            if (words := self.source.with_suffix(".dict")).exists():
                options.append(f"-dict={words}")
            before = os.times()
            status, text = self._call(*options, found)
            if not self.shell.settings.dry:
                self.shell.print(rate(self.label, executions(text), before, os.times()))
            if keep and status == 0 and not self.shell.settings.dry:
                self._call("-merge=1", "-max_len=1024", least, found)
                pack(least, self.source.with_suffix(".corpus"))
                count(self.shell.settings.root / COUNTS, self.label, text, float(seconds))
            return status

    def _call(self, *words: str | Path) -> tuple[int, str]:
        if self.shell.settings.dry:
            return self.shell.run(self.program, *words, env=self.env), ""
        done = subprocess.run(
            [str(word) for word in (self.program, *words)],
            env={**os.environ, **self.env},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        text = done.stdout.decode(errors="replace")
        lines = text.splitlines()
        self.shell.print("\n".join(lines[-200:] if done.returncode else lines[-12:]))
        return done.returncode, text


def unpack(corpus: Path, folder: Path) -> None:
    folder.mkdir()
    for line in corpus.read_text().splitlines() if corpus.exists() else ():
        data = bytes.fromhex(line)
        (folder / hashlib.sha1(data).hexdigest()).write_bytes(data)


def pack(folder: Path, corpus: Path) -> None:
    """The inputs, short ones first, up to LARGEST_CORPUS."""
    inputs = {path.read_bytes() for path in folder.iterdir()}
    left, lines = LARGEST_CORPUS, []
    for data in sorted(inputs, key=lambda data: (len(data), data)):
        if 0 < len(data) <= left:
            left -= len(data)
            lines.append(f"{data.hex()}\n")
    corpus.write_text("".join(lines))


def executions(text: str) -> int:
    found = EXECUTED.search(text)
    return int(found[1]) if found else 0


def rate(label: str, executed: int, before: os.times_result, after: os.times_result) -> str:
    """Of processor time, which other jobs of the machine change little."""
    used = after.children_user + after.children_system
    used -= before.children_user + before.children_system
    return f"{label}: {executed} executions, {executed / max(used, 0.01):.0f} a second of processor time"


def count(file: Path, label: str, text: str, seconds: float) -> None:
    """Adds the executions of a run. The file shows how long each target was fuzzed in all."""
    totals = json.loads(file.read_text()) if file.exists() else {}
    entry = totals.setdefault(label, {"executions": 0, "seconds": 0})
    entry["executions"] += executions(text)
    entry["seconds"] += round(seconds)
    file.write_text(json.dumps(totals, indent=2, sort_keys=True) + "\n")
