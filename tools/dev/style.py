"""./dev format and ./dev lint."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from . import debian, environments
from .shell import Shell

C_FOLDERS = ("benchmarks", "bindings", "capi", "examples", "include", "src", "tests")
C_SUFFIXES = (".c", ".cc", ".h", ".hpp")
CLANG_TIDY = ("-std=c++17", "-DDLX_DLPACK_OWN", "-Wno-deprecated-declarations", "-I.", "-Iinclude")


def c_files(root: Path) -> list[str]:
    files = (path for folder in C_FOLDERS for path in (root / folder).rglob("*"))
    return sorted(str(path.relative_to(root)) for path in files if path.suffix in C_SUFFIXES)


def format(shell: Shell, *, check: bool) -> int:
    environments.setup(shell, "lint")
    tools = shell.settings.venv / "bin"
    clang_format = ("-i", "--dry-run", "-Werror") if check else ("-i",)
    ruff = ("format", "-q", "--check") if check else ("format", "-q")
    return max(
        shell.run(tools / "clang-format", *clang_format, *c_files(shell.settings.root)),
        shell.run(tools / "ruff", *ruff, "."),
    )


def lint(shell: Shell, *, quick: bool) -> int:
    """`quick` leaves out clang's static analyzer, which takes nine tenths of the time."""
    debian.setup_tests(shell)
    environments.setup_tests(shell)
    environments.setup(shell, "lint")
    tools = shell.settings.venv / "bin"
    shell.print("clang-tidy")
    checks = ("--checks=-clang-analyzer-*",) if quick else ()
    statuses = [_clang_tidy(shell, tools / "clang-tidy", *checks)]
    shell.print("ruff")
    statuses.append(shell.run(tools / "ruff", "check", "-q", "."))
    shell.print("mypy --strict")
    statuses.append(shell.run(tools / "mypy"))
    statuses.append(shell.run(tools / "mypy", "-p", "dev", env={"MYPYPATH": "tools"}))
    return 1 if any(statuses) else 0


def _clang_tidy(shell: Shell, program: Path, *checks: str) -> int:
    """One file per process, one process per core."""
    files = [
        file
        for file in c_files(shell.settings.root)
        if file.startswith(("src/", "capi/")) and file.endswith(".cc")
    ]

    def check(file: str) -> int:
        return shell.run(
            program, "--quiet", *checks, file, "--", *CLANG_TIDY, hide="warnings generated"
        )

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return max(pool.map(check, files), default=0)
