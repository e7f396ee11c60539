"""./dev kit: fills dist/kit for test --gpu and bench gpu on a machine without compiler and network."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from . import bazel, debian, environments
from .runners import python_variables
from .shell import Failed, Shell

ONLY = "with DLX_KIT there is only ./dev test --gpu and ./dev bench gpu"
# Part of the machine: must be at least as new as here.
C_LIBRARY = re.compile(r"lib(c|m|dl|pthread|rt)\.so")
PLATFORMS = ("manylinux_2_17_x86_64", "manylinux2014_x86_64")
NUMPY = "numpy==2.2.6"  # the newest that Python 3.10 has


def check(versions: Sequence[str]) -> None:
    for version in versions:
        if not re.fullmatch(r"3\.[0-9]+", version):
            raise Failed(f"kit [3.X...]: not a version of Python: '{version}'")


def make(shell: Shell, versions: Sequence[str]) -> None:
    """The library, the device suite with the shared libraries that it needs, pytest, and NumPy for
    those Pythons, in one version that all of them have."""
    settings = shell.settings
    debian.setup_tests(shell)
    environments.setup_tests(shell)
    bazel.build(shell, "//:libdlx.so", "//tests/device/...")
    kit = settings.root / "dist/kit"
    if not settings.dry:
        shutil.rmtree(kit, ignore_errors=True)
        (kit / "lib").mkdir(parents=True)
        (kit / "tests/device").mkdir(parents=True)
    shell.check("strip", "-o", kit / "libdlx.so", settings.library)
    for test in _device_tests(settings.root):
        shell.check("strip", "-o", kit / "tests/device" / test.name, test)
        for name, file in _shared_libraries(shell, test):
            if not settings.dry:
                copy = Path(shutil.copyfile(file, kit / "lib" / name))
                copy.chmod(0o755)
    for copy in sorted((kit / "lib").glob("*")):
        shell.check("strip", "--strip-unneeded", copy)
    _add_packages(shell, kit, versions)
    shell.check("du", "-sh", "dist/kit")


def _device_tests(root: Path) -> list[Path]:
    built = (root / "bazel-bin/tests/device").glob("test_*")
    return sorted(path for path in built if path.is_file() and not path.suffix)


def _shared_libraries(shell: Shell, program: Path) -> Iterator[tuple[str, str]]:
    for line in (shell.ask("ldd", program) or "").splitlines():
        found = re.match(r"\s*(\S+) => (/\S+) ", line)
        if found and not C_LIBRARY.match(found[1]):
            yield found[1], found[2]


def _add_packages(shell: Shell, kit: Path, versions: Sequence[str]) -> None:
    venv = shell.settings.venv
    pinned = re.findall(r"^pytest==.*$", environments.requirements(shell, "test").read_text(), re.M)
    file = kit / "requirements.txt"
    if not shell.settings.dry:
        file.write_text("\n".join(pinned))
    if environments.pip(
        shell, venv, "install", "--no-compile", "--target", str(kit / "python"), "-r", str(file)
    ):
        raise Failed("pytest could not be installed into the kit")
    for version in versions:
        platforms = [word for platform in PLATFORMS for word in ("--platform", platform)]
        options = ["--no-deps", "--only-binary", ":all:", "--python-version", version, *platforms]
        if environments.pip(
            shell, venv, "download", *options, "--dest", str(kit / "wheels"), NUMPY
        ):
            raise Failed(f"found no {NUMPY} for Python {version}")


def unpack(shell: Shell) -> None:
    """NumPy of the kit, for an interpreter that has none."""
    settings = shell.settings
    assert settings.kit is not None
    python = settings.interpreter
    if shell.ask(python, "-c", "import numpy", env=python_variables(shell)) is not None:
        return
    tag = shell.ask(python, "-c", "import sys; print('cp%d%d' % sys.version_info[:2])")
    wheels = sorted((settings.kit / "wheels").glob(f"numpy-*-{tag}-*.whl"))
    if not wheels:
        raise Failed(f"{python} has no NumPy, and the kit has none for it (./dev kit 3.X)")
    for wheel in wheels:
        shell.check(python, "-m", "zipfile", "-e", wheel, settings.kit / "python")
