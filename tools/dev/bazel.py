"""Bazel on a terminal and in a log."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from . import debian
from .shell import Environment, Failed, Shell

QUIET = ("--ui_event_filters=-info", "--noshow_progress", "--show_result=0")
IN_A_LOG = ("--curses=no", "--color=no", "--show_progress_rate_limit=15")
FAKES = ("//tests/stubs:fake_libcuda.so", "//tests/stubs:fake_libamdhip64.so")


def check_path(root: Path) -> None:
    """Bazel fails on such a clone with unclear errors."""
    if not all("!" <= letter <= "~" for letter in str(root)):
        raise Failed(f"Bazel needs a clone whose path has no spaces and ASCII letters only: {root}")


def run(shell: Shell, command: str, *arguments: str, env: Environment | None = None) -> int:
    """The exit status of a command of Bazel."""
    if not shell.settings.dry and shutil.which("bazel"):
        # The first call starts a server that stays. Start it separately: it must not keep our
        # pipes open, and the warnings of its JVM are noise.
        subprocess.run(
            ["bazel", "info", "release"],
            cwd=shell.settings.root,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
        )
    log = IN_A_LOG if shell.log or not sys.stderr.isatty() else ()
    return shell.run("bazel", command, *log, *arguments, env=env)


def build(shell: Shell, *targets: str) -> None:
    """Builds quietly, or ends ./dev."""
    if run(shell, "build", *QUIET, *targets):
        raise Failed(f"the build failed: {' '.join(targets)}")


def build_library(shell: Shell, *more: str) -> None:
    debian.setup_build(shell)
    build(shell, "//:libdlx.so", *more)


def built(shell: Shell, config: str, name: str) -> Path:
    """The file of a target that was built with --config."""
    folder = (
        None
        if shell.settings.dry
        else shell.ask("bazel", "info", f"--config={config}", "bazel-bin")
    )
    return Path(folder or f"bazel-bin-of-{config}") / name


def fuzz_targets(shell: Shell) -> list[str]:
    query = 'filter(":fuzz_", kind(cc_binary, //tests/...))'
    if shell.settings.dry:
        shell.run("bazel", "query", query)
        return ["//tests/…:fuzz_…"]
    return (shell.ask("bazel", "query", query) or "").split()


def python_variables(shell: Shell) -> Environment:
    """Tests find the interpreter of ./dev setup by DLX_PYTHON."""
    return {"DLX_PYTHON": os.fspath(shell.settings.venv / "bin/python")}
