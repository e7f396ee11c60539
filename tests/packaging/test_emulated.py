"""dlx for other processors, under an emulator: the kernels against the naive copy, and a program that uses
the library. aarch64 has NEON, s390x is big-endian, riscv64 has no atomic operations on single bytes."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from packaging_support import LANGUAGE, ROOT, run

pytestmark = pytest.mark.heavy

FLAGS = (*LANGUAGE, "-O2", f"-I{ROOT}", f"-I{ROOT / 'include'}")
TOOLCHAIN = """
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR {0})
set(CMAKE_CXX_COMPILER {0}-linux-gnu-g++)
"""


class Machine:
    def __init__(self, name: str, tree: Path) -> None:
        self.triple = f"{name}-linux-gnu"
        self.emulator = f"qemu-{name}"
        self.tree = tree  # the build tree of CMake

    def build(self) -> None:
        (self.tree / "toolchain.cmake").write_text(TOOLCHAIN.format(self.triple.split("-")[0]))
        run("cmake", "-S", ROOT, "-B", self.tree,
            f"-DCMAKE_TOOLCHAIN_FILE={self.tree / 'toolchain.cmake'}")  # fmt: skip
        run("cmake", "--build", self.tree, "--parallel", "2")

    def compile(self, *arguments) -> None:
        run(f"{self.triple}-g++", *FLAGS, *arguments)

    def run(self, *command) -> str:
        return run(self.emulator, "-L", f"/usr/{self.triple}", "-E",
                   f"LD_LIBRARY_PATH={self.tree}", *command)  # fmt: skip


@pytest.fixture(scope="module", params=["aarch64", "s390x", "riscv64"])
def machine(request, tmp_path_factory) -> Machine:
    made = Machine(request.param, tmp_path_factory.mktemp(request.param))
    for tool in (f"{made.triple}-g++", made.emulator, "cmake"):
        if not shutil.which(tool):
            pytest.skip(f"no {tool}")
    made.build()
    return made


def test_a_program(machine, tmp_path):
    example = ROOT / "examples/filter"
    machine.compile(
        *(example / "use.cc", example / "filter.c", machine.tree / "libdlx.so"),
        *("-o", tmp_path / "use"),
    )

    said = machine.run(tmp_path / "use")
    assert said.splitlines()[-2:] == ["(3, 4): 25 30 40 45", "released"]


def test_copies_agree_with_the_naive_one(machine, tmp_path):
    machine.compile(ROOT / "tests/src/copy/fuzz_copy.cc", ROOT / "tests/fuzz_main.cc",
        *machine.tree.glob("CMakeFiles/dlx*.dir/src/**/*.o"), "-o", tmp_path / "copies",
        "-lpthread", "-ldl")  # fmt: skip
    inputs = random.Random(20261121)
    files = [tmp_path / f"{number}.bin" for number in range(2000)]
    for file in files:
        file.write_bytes(inputs.randbytes(inputs.randrange(16, 400)))

    assert machine.run(tmp_path / "copies", *files) == "2000 file(s) run\n"
