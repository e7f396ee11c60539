"""Built once for the packaging tests: the wheel, the unpacked wheel, and an installed tree."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from packaging_support import HERE, ROOT, run, unpack


@pytest.fixture(scope="session")
def wheel_tree(tmp_path_factory) -> Path:
    """The CMake build tree of the wheel. Another kind of wheel from the same tree recompiles nothing."""
    return tmp_path_factory.mktemp("tree")


@pytest.fixture(scope="session")
def wheel(wheel_tree, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, HERE / "build.py", folder, wheel_tree)
    [path] = folder.glob("*.whl")
    return path


@pytest.fixture(scope="session")
def unpacked(wheel, tmp_path_factory) -> Path:
    """The wheel's files as pip would install them, for PYTHONPATH."""
    return unpack(wheel, tmp_path_factory.mktemp("site"))


@pytest.fixture(scope="session")
def installed(tmp_path_factory) -> Path:
    """The prefix of `cmake --install`, moved afterwards: nothing may depend on its path."""
    if not shutil.which("cmake"):
        pytest.skip("no cmake")
    folder = tmp_path_factory.mktemp("cmake")
    run("cmake", "-S", ROOT, "-B", folder / "tree", f"-DCMAKE_INSTALL_PREFIX={folder / 'prefix'}",
        "-DCMAKE_INSTALL_LIBDIR=lib")  # fmt: skip
    run("cmake", "--build", folder / "tree", "--parallel", "2")
    run("cmake", "--install", folder / "tree")
    return (folder / "prefix").rename(folder / "moved")
