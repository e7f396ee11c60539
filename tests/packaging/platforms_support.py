"""Each platform's wheel and archive, built once by the settings of ./dev wheel."""

from __future__ import annotations

import functools
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import NamedTuple

import pytest

from dev import archives
from dev.wheel import PLATFORMS, Platform
from machines import Machine
from packaging_support import ROOT, run, unpack

EPOCH = 1767225600
RUNNABLE = [p for p in PLATFORMS if p.name not in ("macos-arm64", "macos-x86_64", "windows-arm64")]


_folders: list[tempfile.TemporaryDirectory[str]] = []  # removed when the process ends


def fresh(name: str) -> Path:
    _folders.append(tempfile.TemporaryDirectory(prefix=f"{name}-"))
    return Path(_folders[-1].name)


class Built(NamedTuple):
    wheel: Path
    archive: Path
    site: Path  # the unpacked wheel
    prefix: Path  # the unpacked archive


def zig() -> str:
    ziglang = pytest.importorskip("ziglang", reason="./dev test --release installs zig")
    return str(Path(ziglang.__path__[0]) / "zig")


def build(
    platform: Platform, folder: Path, source: Path = ROOT, trees: Path = ROOT / "build"
) -> tuple[Path, Path]:
    """The wheel and the archive."""
    settings = platform.settings(zig(), source)
    run(sys.executable, source / "tests/packaging/build.py", folder, trees / platform.name, "wheel",
        *(f"{name}={value}" for name, value in settings.items()),
        env={"SOURCE_DATE_EPOCH": str(EPOCH)})  # fmt: skip
    [wheel] = folder.glob("*.whl")
    archive = archives.pack(trees / platform.name, folder, f"libdlx-{platform.name}", EPOCH)
    return wheel, archive


@functools.cache
def built(platform: Platform) -> Built:
    folder = fresh(platform.name)
    wheel, archive = build(platform, folder)
    with tarfile.open(archive) as packed:
        packed.extractall(folder)
    return Built(wheel, archive, unpack(wheel, folder / "site"), folder / f"libdlx-{platform.name}")


@functools.cache
def machine(platform: Platform) -> Machine:
    """Compiles and runs programs with the platform's library beside them."""
    files = built(platform)
    folder = fresh(f"{platform.name}-programs")
    for library in (files.site / "dlx").glob("*dlx*.*"):
        if library.suffix != ".py":
            (folder / library.name).write_bytes(library.read_bytes())
    return Machine(platform, zig(), folder)


def library_to_link(platform: Platform) -> Path:
    lib = built(platform).prefix / "lib"
    return lib / ("libdlx.dll.a" if platform.name.startswith("windows") else "libdlx.so.1")


@functools.cache
def call_functions(platform: Platform) -> Path:
    """The compiled functions that the tests of dlx.function call."""
    source = ROOT / "tests/python/call_functions.c"
    return machine(platform).compile(
        "call_functions", "-shared", "-fPIC", source, library_to_link(platform)
    )
