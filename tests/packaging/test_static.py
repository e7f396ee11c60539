"""The static library, and dlx as a part of another project: by add_subdirectory, FetchContent and Meson.
test_bazel.py has Bazel. Not optimized, which compiles in a third of the time."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from packaging_support import HERE, ROOT, run
from test_release import tool

pytestmark = pytest.mark.heavy

RIGHT = re.compile(r"dlx \d+\.\d+\.\d+, sum 12\n")
DEBUG = ("-GNinja", "-DCMAKE_BUILD_TYPE=Debug")

# Another library, whose deleter outlives dlclose().
PLUGIN = """
#include <dlx/dlx.h>
DLManagedTensorVersioned *make(void) {
  const int64_t shape[] = {4};
  const DLDataType float32 = {kDLFloat, 32, 1};
  dlx_tensor *tensor;
  DLManagedTensorVersioned *managed;
  if (dlx_tensor_empty(1, shape, &float32, kDLCPU, 0, NULL, &tensor)) return NULL;
  if (dlx_tensor_to_dlpack_versioned(tensor, NULL, &managed)) return NULL;
  dlx_tensor_release(tensor);
  return managed;
}
"""
HOST = """
#include <dlfcn.h>
#include <stdio.h>
#include <dlx/dlpack.h>
int main(int count, char **words) {
  void *plugin = dlopen(words[count - 1], RTLD_NOW);
  DLManagedTensorVersioned *(*make)(void);
  *(void **)&make = dlsym(plugin, "make");
  DLManagedTensorVersioned *managed = make();
  dlclose(plugin);
  managed->deleter(managed);
  puts("freed");
}
"""
AROUND = """
cmake_minimum_required(VERSION 3.18)
project(around LANGUAGES C CXX)
{brings}
add_executable(app app.c)
target_link_libraries(app PRIVATE dlx::dlx)
"""
BY_FETCH_CONTENT = """
include(FetchContent)
FetchContent_Declare(dlx URL https://example.invalid/dlx.tar.gz)
FetchContent_MakeAvailable(dlx)
"""
BY_MESON = """
project('around', 'c', 'cpp')
cmake = import('cmake')
options = cmake.subproject_options()
options.add_cmake_defines({'BUILD_SHARED_LIBS': 'OFF', 'CMAKE_BUILD_TYPE': 'Debug'})
dlx = cmake.subproject('dlx', options: options).dependency('dlx')
threads = [dependency('threads'), meson.get_compiler('c').find_library('dl')]
executable('app', 'app.c', dependencies: [dlx, threads], link_language: 'cpp')
"""


def tools(*names: str) -> None:
    for name in names:
        if not shutil.which(name):
            pytest.skip(f"no {name}")


@pytest.fixture(scope="module")
def static(tmp_path_factory) -> Path:
    """The prefix of the static library, moved after it was installed."""
    tools("cmake", "ninja", "pkg-config")
    folder = tmp_path_factory.mktemp("static")
    run("cmake", "-S", ROOT, "-B", folder / "tree", *DEBUG, "-DBUILD_SHARED_LIBS=OFF",
        f"-DCMAKE_INSTALL_PREFIX={folder / 'prefix'}", "-DCMAKE_INSTALL_LIBDIR=lib")  # fmt: skip
    run("ninja", "-C", folder / "tree", "-j2", "install")
    return (folder / "prefix").rename(folder / "moved")


def flags(prefix: Path) -> list[str]:
    env = {"PKG_CONFIG_PATH": str(prefix / "lib/pkgconfig")}
    return run("pkg-config", "--cflags", "--libs", "dlx", env=env).split()


def test_a_static_library_only(static):
    assert [path.name for path in (static / "lib").glob("libdlx*")] == ["libdlx.a"]


def test_a_program_of_c_needs_no_library_of_dlx(static, tmp_path):
    run("gcc", HERE / "consumer.c", "-o", tmp_path / "app", *flags(static))

    assert RIGHT.fullmatch(run(tmp_path / "app"))
    assert "dlx" not in run("ldd", tmp_path / "app")


def test_by_find_package(static, tmp_path):
    shutil.copy(HERE / "consumer.c", tmp_path / "app.c")
    (tmp_path / "CMakeLists.txt").write_text(AROUND.format(brings="find_package(dlx 0.1 REQUIRED)"))
    run("cmake", "-S", tmp_path, "-B", tmp_path / "tree", *DEBUG, f"-DCMAKE_PREFIX_PATH={static}")
    run("ninja", "-C", tmp_path / "tree")

    assert RIGHT.fullmatch(run(tmp_path / "tree/app"))


def test_a_project_of_c_gets_the_runtime(static, tmp_path):
    shutil.copy(HERE / "consumer.c", tmp_path / "app.c")
    text = AROUND.format(brings="find_package(dlx 0.1 REQUIRED)").replace("C CXX", "C")
    (tmp_path / "CMakeLists.txt").write_text(text)
    run("cmake", "-S", tmp_path, "-B", tmp_path / "tree", *DEBUG, f"-DCMAKE_PREFIX_PATH={static}")
    run("ninja", "-C", tmp_path / "tree")

    assert RIGHT.fullmatch(run(tmp_path / "tree/app"))


def test_a_library_hides_the_dlx_in_it_and_stays_loaded(static, tmp_path):
    (tmp_path / "plugin.c").write_text(PLUGIN)
    (tmp_path / "host.c").write_text(HOST)
    plugin = tmp_path / "plugin.so"
    run("gcc", "-shared", "-fPIC", tmp_path / "plugin.c", "-o", plugin, *flags(static))
    run("gcc", tmp_path / "host.c", "-o", tmp_path / "host", f"-I{static}/include", "-ldl")

    assert run(tmp_path / "host", plugin) == "freed\n"
    assert re.findall(r" [TD] dlx_\w+", run("nm", "-D", "--defined-only", plugin)) == []


@pytest.mark.parametrize(
    ("brings", "options"),
    [
        (f"add_subdirectory({ROOT} dlx EXCLUDE_FROM_ALL)", ()),
        (BY_FETCH_CONTENT, (f"-DFETCHCONTENT_SOURCE_DIR_DLX={ROOT}", "-DBUILD_SHARED_LIBS=OFF")),
    ],
    ids=["add_subdirectory-shared", "FetchContent-static"],
)
def test_in_a_project_of_cmake(tmp_path, brings, options):
    tools("cmake", "ninja")
    shutil.copy(HERE / "consumer.c", tmp_path / "app.c")
    (tmp_path / "CMakeLists.txt").write_text(AROUND.format(brings=brings))
    run("cmake", "-S", tmp_path, "-B", tmp_path / "tree", *DEBUG, *options)
    run("ninja", "-C", tmp_path / "tree", "-j2", "app")

    assert RIGHT.fullmatch(run(tmp_path / "tree/app"))
    shared = "libdlx.so.1" in run("ldd", tmp_path / "tree/app")
    assert shared == ("add_subdirectory" in brings)


def test_in_a_project_of_meson(tmp_path):
    meson = tool("meson")
    tools("ninja", "cmake")
    (tmp_path / "subprojects").mkdir()
    (tmp_path / "subprojects/dlx").symlink_to(ROOT)
    shutil.copy(HERE / "consumer.c", tmp_path / "app.c")
    (tmp_path / "meson.build").write_text(BY_MESON)
    run(*meson, "setup", "tree", cwd=tmp_path)
    run("ninja", "-C", tmp_path / "tree", "-j2", "app")

    assert RIGHT.fullmatch(run(tmp_path / "tree/app"))
    assert "dlx" not in run("ldd", tmp_path / "tree/app")
