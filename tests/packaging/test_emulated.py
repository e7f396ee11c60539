"""dlx built for aarch64, and run under an emulator: the NEON kernels beside the naive copy, and a
program that uses the library."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from packaging_support import ROOT, run

pytestmark = pytest.mark.heavy

TRIPLE = "aarch64-linux-gnu"
FLAGS = ("-std=c++17", "-O2", "-DDLX_DLPACK_OWN", f"-I{ROOT}", f"-I{ROOT / 'include'}")
TOOLCHAIN = f"""
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER {TRIPLE}-g++)
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory) -> Path:
    """The build tree of CMake."""
    for tool in (f"{TRIPLE}-g++", "qemu-aarch64", "cmake"):
        if not shutil.which(tool):
            pytest.skip(f"no {tool}")
    folder = tmp_path_factory.mktemp("aarch64")
    (folder / "toolchain.cmake").write_text(TOOLCHAIN)
    run("cmake", "-S", ROOT, "-B", folder, f"-DCMAKE_TOOLCHAIN_FILE={folder / 'toolchain.cmake'}")
    run("cmake", "--build", folder, "--parallel", "2")
    return folder


def emulate(tree, *command, **environment) -> str:
    settings = {"LD_LIBRARY_PATH": str(tree), **environment}
    pairs = [word for name, value in settings.items() for word in ("-E", f"{name}={value}")]
    return run("qemu-aarch64", "-L", f"/usr/{TRIPLE}", *pairs, *command)


def test_a_program(tree, tmp_path):
    run(f"{TRIPLE}-g++", *FLAGS, ROOT / "examples/share.cc", tree / "libdlx.so",
        "-o", tmp_path / "share")  # fmt: skip

    assert emulate(tree, tmp_path / "share").splitlines()[1:] == ["(3, 2): 0 3 1 4 2 5", "released"]


def test_copies_agree_with_the_naive_one(tree, tmp_path):
    run(f"{TRIPLE}-g++", *FLAGS, ROOT / "tests/src/copy/fuzz_copy.cc", ROOT / "tests/fuzz_main.cc",
        *tree.glob("CMakeFiles/dlx.dir/src/**/*.o"), "-o", tmp_path / "copies", "-lpthread",
        "-ldl")  # fmt: skip
    inputs = random.Random(20261121)
    files = [tmp_path / f"{number}.bin" for number in range(2000)]
    for file in files:
        file.write_bytes(inputs.randbytes(inputs.randrange(16, 400)))

    assert emulate(tree, tmp_path / "copies", *files) == "2000 file(s) run\n"
