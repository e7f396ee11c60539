"""What the packaging tests build once: the wheel, unpacked, and an installed tree."""

from __future__ import annotations

import shutil
import sys
import zipfile
from pathlib import Path

import pytest

from packaging_support import HERE, ROOT, run


@pytest.fixture(scope="session")
def wheel_tree(tmp_path_factory) -> Path:
    """Where CMake builds the wheel; another kind of wheel from it compiles nothing again."""
    return tmp_path_factory.mktemp("tree")


@pytest.fixture(scope="session")
def wheel(wheel_tree, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, HERE / "build.py", folder, wheel_tree)
    [path] = folder.glob("*.whl")
    return path


@pytest.fixture(scope="session")
def unpacked(wheel, tmp_path_factory) -> Path:
    """The wheel as pip would lay it out; to be put on PYTHONPATH."""
    folder = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


@pytest.fixture(scope="session")
def installed(tmp_path_factory) -> Path:
    """The prefix that `cmake --install` wrote, moved afterwards: nothing may depend on its place."""
    if not shutil.which("cmake"):
        pytest.skip("no cmake")
    folder = tmp_path_factory.mktemp("cmake")
    run("cmake", "-S", ROOT, "-B", folder / "tree", f"-DCMAKE_INSTALL_PREFIX={folder / 'prefix'}",
        "-DCMAKE_INSTALL_LIBDIR=lib")  # fmt: skip
    run("cmake", "--build", folder / "tree", "--parallel", "2")
    run("cmake", "--install", folder / "tree")
    return (folder / "prefix").rename(folder / "moved")
