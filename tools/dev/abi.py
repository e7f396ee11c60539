"""./dev abi: compares the ABI with its committed record."""

from __future__ import annotations

from . import bazel, debian
from .shell import Shell

RECORD = "capi/abi/libdlx.abi"


def run(shell: Shell, *, update: bool) -> int:
    debian.setup_tests(shell)
    bazel.build_library(shell)
    library = shell.settings.library
    if update:
        return shell.run("tests/abi/abidiff.sh", "--update", library, RECORD)
    casters = ("nanobind.h", "pybind11.h")  # they need the headers of other projects
    found = (shell.settings.root / "include/dlx").glob("*.h")
    headers = sorted(str(path) for path in found if path.name not in casters)
    shell.check("tests/abi/exports.sh", library, *headers)
    return shell.run("tests/abi/abidiff.sh", library, RECORD)
