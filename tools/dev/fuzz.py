"""./dev fuzz: each fuzz target of Bazel for some seconds, with libFuzzer."""

from __future__ import annotations

import shutil
from collections.abc import Sequence

from . import bazel, debian
from .shell import Failed, Shell

SECONDS = "60"


def check(arguments: Sequence[str]) -> None:
    for argument in arguments:
        if not argument.isdigit() or len(arguments) > 2:
            raise Failed(f"fuzz [SECONDS [SEED]]: got '{' '.join(arguments)}'")


def run(shell: Shell, seconds: str = SECONDS, seed: str = "0") -> int:
    """With a seed, runs are reproducible: results depend on the change, not on chance."""
    debian.setup_build(shell)
    debian.setup_fuzzing(shell)
    if not shutil.which("clang-19"):
        shell.print("no clang-19: no fuzzing")
        return 0
    targets = bazel.fuzz_targets(shell)
    if not targets:
        raise Failed("fuzz: bazel query found no fuzz targets")
    bazel.build(shell, "--config=libfuzzer", *targets)
    for target in targets:
        shell.say(f"fuzzing {target} for {seconds} s")
        status = shell.run(
            bazel.built(shell, "libfuzzer", target[2:].replace(":", "/")),
            *(f"-seed={seed}", f"-max_total_time={seconds}", "-timeout=25", "-print_final_stats=1"),
            f"-artifact_prefix={shell.settings.root}/",
            # A tensor that is too large is the caller's error: dlx reports it, not the sanitizer.
            env={"ASAN_OPTIONS": "allocator_may_return_null=1"},
        )
        if status:
            return 1
    return 0
