"""pkg-config and CMake find what `cmake --install` wrote, for C and for C++."""

from __future__ import annotations

import re
import shutil

import pytest

from packaging_support import HERE, ROOT, run

pytestmark = pytest.mark.heavy

CXX_CONSUMER = """
#include <dlx/dlx.hpp>
extern "C" int consume(void);
#define main c_main
extern "C" {
#include "consumer.c"
}
#undef main
int main() { return consume(); }
"""


def test_files(installed):
    names = {str(p.relative_to(installed)) for p in installed.rglob("*") if not p.is_dir()}
    headers = {f"include/dlx/{p.name}" for p in (ROOT / "include/dlx").iterdir()}

    assert headers <= names
    assert {"lib/libdlx.so", "lib/libdlx.so.1", "lib/pkgconfig/dlx.pc"} <= names
    assert "share/licenses/dlx/LICENSE" in names
    assert (installed / "lib/libdlx.so.1").resolve().is_file()


def test_dlx_check_finds_the_library_beside_it(installed, tmp_path):
    planted = tmp_path / "planted.so"
    source = ROOT / "tests/tools/planted.c"
    run("gcc", "-shared", "-fPIC", f"-I{installed}/include", source, "-o", planted)

    assert "good: 0 broken, 0 warnings" in run(installed / "bin/dlx-check", planted, "good")


def test_pkg_config(installed, tmp_path):
    if not shutil.which("pkg-config"):
        pytest.skip("no pkg-config")
    env = {"PKG_CONFIG_PATH": str(installed / "lib/pkgconfig")}
    flags = run("pkg-config", "--cflags", "--libs", "dlx", env=env).split()
    program = tmp_path / "consumer"
    run("gcc", "-std=c99", HERE / "consumer.c", "-o", program, *flags)

    said = run(program, env={"LD_LIBRARY_PATH": str(installed / "lib")})
    assert said.startswith(f"dlx {run('pkg-config', '--modversion', 'dlx', env=env).strip()}")


def test_cmake_package(installed, tmp_path):
    shutil.copy(HERE / "consumer.c", tmp_path)
    shutil.copy(HERE / "consumer.cmake", tmp_path / "CMakeLists.txt")
    (tmp_path / "consumer.cc").write_text(CXX_CONSUMER)
    run("cmake", "-S", tmp_path, "-B", tmp_path / "tree", f"-DCMAKE_PREFIX_PATH={installed}")
    run("cmake", "--build", tmp_path / "tree")

    # No LD_LIBRARY_PATH: CMake gives the programs a run path to the library.
    for program in ("consumer", "consumer_cxx"):
        assert re.match(r"dlx \d+\.\d+\.\d+, sum 12", run(tmp_path / "tree" / program))
