"""./dev COMMAND: checks the arguments, sets up what the command needs, and runs it."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Callable

from . import (
    abi,
    arguments,
    bazel,
    bench,
    budget,
    coverage,
    debian,
    demo,
    docs,
    environments,
    fuzz,
    kit,
    release,
    sbom,
    settings,
    style,
    testing,
    wheel,
)
from .shell import Failed, Shell

USE_BAZEL = ("setup", "build", "test", "bench", "kit", "fuzz", "coverage", "abi", "docs")


def setup(shell: Shell, words: Sequence[str]) -> int:
    arguments.takes("setup", words)
    debian.setup_tests(shell)
    environments.setup_tests(shell)
    shell.print("everything is there")
    return 0


def build(shell: Shell, words: Sequence[str]) -> int:
    arguments.takes("build", words)
    debian.setup_tests(shell)
    if status := bazel.run(shell, "build", "//..."):
        return status
    shell.print(str(shell.settings.library))
    return 0


def make_kit(shell: Shell, words: Sequence[str]) -> int:
    kit.check(words)
    kit.make(shell, words)
    return 0


def run_fuzz(shell: Shell, words: Sequence[str]) -> int:
    fuzz.check(words)
    return fuzz.run(shell, *words)


def run_coverage(shell: Shell, words: Sequence[str]) -> int:
    arguments.takes("coverage", words, "--missing")
    return coverage.run(shell, words)


def run_format(shell: Shell, words: Sequence[str]) -> int:
    arguments.takes("format", words, "--check")
    return style.format(shell, check=bool(words))


def lint(shell: Shell, words: Sequence[str]) -> int:
    arguments.takes("lint", words, "--quick")
    return style.lint(shell, quick=bool(words))


def make_docs(shell: Shell, words: Sequence[str]) -> int:
    arguments.takes("docs", words, "--check")
    return docs.run(shell, check=bool(words))


def generate(shell: Shell, words: Sequence[str]) -> int:
    arguments.takes("generate", words)
    environments.setup(shell, "test")
    return shell.run(shell.settings.interpreter, "bindings/gen/gen.py")


def kernels(shell: Shell, words: Sequence[str]) -> int:
    arguments.takes("kernels", words, "--check", "--budget")
    if "--budget" in words:
        return budget.run(shell, check="--check" in words)
    debian.need(shell, "optional GPU kernels", debian.KERNELS, optional=True)
    return shell.run(sys.executable, "src/gpu/make_images.py", *words)


def run_abi(shell: Shell, words: Sequence[str]) -> int:
    arguments.takes("abi", words, "--update")
    return abi.run(shell, update=bool(words))


def make_wheel(shell: Shell, words: Sequence[str]) -> int:
    return wheel.run(shell, words)


COMMANDS: dict[str, Callable[[Shell, Sequence[str]], int]] = {
    "setup": setup,
    "build": build,
    "demo": demo.run,
    "test": testing.run,
    "bench": bench.run,
    "kit": make_kit,
    "fuzz": run_fuzz,
    "coverage": run_coverage,
    "docs": make_docs,
    "format": run_format,
    "lint": lint,
    "generate": generate,
    "kernels": kernels,
    "abi": run_abi,
    "wheel": make_wheel,
    "sbom": sbom.run,
    "release": release.run,
}


def main(words: list[str]) -> int:
    dry = words[:1] == ["--dry-run"]
    command, *rest = words[dry:] or [""]
    known = settings.read(dry=dry)
    os.environ.pop("DLX_DEV_CALLER", None)
    shell = Shell(known)
    if command not in COMMANDS:
        raise Failed(f"no command '{command}' ({arguments.hint(command, list(COMMANDS))})")
    if known.kit and not known.kit.is_dir():
        raise Failed(f"DLX_KIT names no folder: {known.kit}")
    if command in USE_BAZEL and not known.kit:
        bazel.check_path(known.root)
    return COMMANDS[command](shell, rest)


if __name__ == "__main__":
    os.chdir(settings.ROOT)
    try:
        status = main(sys.argv[1:])
    except Failed as error:
        print(f"dev: {error}", file=sys.stderr)
        status = 1
    except KeyboardInterrupt:
        status = 130
    sys.exit(status)
