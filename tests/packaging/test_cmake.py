"""CMake obeys the options of packagers and of enclosing projects. These tests only configure."""

from __future__ import annotations

import json
import re
import shutil
import subprocess

import pytest

from packaging_support import LANGUAGE, ROOT
from test_release import tool

AROUND = """
cmake_minimum_required(VERSION 3.18)
project(around LANGUAGES CXX)
add_subdirectory({root} dlx)
"""


@pytest.fixture
def configure(tmp_path):
    """Returns the command that compiles each file of src, and CMake's output."""
    if not shutil.which("cmake"):
        pytest.skip("no cmake")

    def call(*options, source=ROOT):
        tree = tmp_path / "tree"
        done = subprocess.run(
            ["cmake", "-S", source, "-B", tree, "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", *options],
            capture_output=True, text=True, check=True)  # fmt: skip
        units = json.loads((tree / "compile_commands.json").read_text())
        commands = {unit["file"].rpartition("/src/")[2]: unit["command"].split() for unit in units}
        return commands, done.stdout + done.stderr

    return call


def test_flags_as_usual(configure):
    commands, said = configure()

    assert {"-O2", "-DNDEBUG", "-std=c++17"} <= set(commands["copy/copy.cc"])
    assert "-O3" not in commands["copy/copy.cc"]
    assert "-Os" in commands["gpu/launch.cc"]
    assert "Warning" not in said


class Names(dict):
    """Names for a BUILD file; irrelevant rules do nothing."""

    def __missing__(self, name):
        return lambda *arguments, **names: []


def declared() -> tuple[set[str], set[str]]:
    """The files in `leaves` and the files of `small` folders, as Bazel reads the BUILD files of src."""
    leaves, small = set(), set()
    for build in (ROOT / "src").rglob("BUILD"):
        folder = build.parent.relative_to(ROOT / "src")
        libraries: list[dict] = []
        names = Names(dlx_library=lambda into=libraries, **options: into.append(options))
        exec(build.read_text(), {}, names)
        for library in libraries:
            leaves |= {f"{folder}/{name}" for name in library.get("leaves", [])}
            if library.get("small"):
                small |= {f"{folder}/{file.name}" for file in build.parent.glob("*.cc")}
    return leaves, small


def test_leaves_and_small_folders_are_those_of_bazel(configure):
    commands, _ = configure()

    def files_with(flag):
        return {file for file, command in commands.items() if flag in command}

    leaves, small = declared()
    assert len(leaves) >= 3
    assert len(small) > 20
    assert files_with("-fno-exceptions") == files_with("-fno-asynchronous-unwind-tables") == leaves
    assert files_with("-Os") == small


def test_in_a_project_of_meson(tmp_path):
    meson = tool("meson")
    if not shutil.which("ninja"):
        pytest.skip("no ninja")
    (tmp_path / "subprojects").mkdir()
    (tmp_path / "subprojects/dlx").symlink_to(ROOT)
    (tmp_path / "meson.build").write_text(
        "project('around', 'cpp')\nimport('cmake').subproject('dlx').dependency('dlx')\n"
    )
    done = subprocess.run(
        [*meson, "setup", "tree"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout

    units = json.loads((tmp_path / "tree/compile_commands.json").read_text())
    leaves, _ = declared()
    for unit in units:  # Meson gives the options of one file to all files of a target
        is_leaf = unit["file"].rpartition("src/")[2] in leaves
        assert ("-fno-exceptions" in unit["command"]) == is_leaf


def test_flags_that_were_given(configure):
    commands, _ = configure("-DCMAKE_CXX_FLAGS_RELEASE=-O1 -g", "-DCMAKE_CXX_STANDARD=20")

    assert {"-O1", "-g", "-std=c++20"} <= set(commands["copy/copy.cc"])
    assert "-O2" not in commands["copy/copy.cc"]


def test_debug_builds_are_not_optimized(configure):
    commands, _ = configure("-DCMAKE_BUILD_TYPE=Debug")

    assert not [word for command in commands.values() for word in command if word.startswith("-O")]


def test_a_wheel_of_another_project_gets_no_wheel_of_dlx(configure, tmp_path):
    (tmp_path / "around").mkdir()
    (tmp_path / "around/CMakeLists.txt").write_text(AROUND.format(root=ROOT))
    configure("-DSKBUILD=2", "-DCMAKE_INSTALL_LIBDIR=lib", source=tmp_path / "around")

    installs = (tmp_path / "tree/dlx/cmake_install.cmake").read_text()
    assert "lib/pkgconfig" in installs
    assert "RENAME" not in installs


def test_a_package_brings_the_library_with_it(configure, tmp_path):
    """The lines of docs/extensions.md install one file of dlx, and nothing else of it."""
    page = (ROOT / "docs/extensions.md").read_text()
    _, lines = re.findall(r"^```cmake\n(.*?)^```", page, re.M | re.S)
    around = tmp_path / "around"
    around.mkdir()
    (around / "dlx").symlink_to(ROOT)
    (around / "rows.c").write_text("")
    (around / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.18)\nproject(around LANGUAGES C CXX)\n"
        "add_library(rows MODULE rows.c)\n" + lines
    )
    configure(source=around)

    installs = (tmp_path / "tree/cmake_install.cmake").read_text()
    assert 'RENAME "libdlx.so.1"' in installs
    assert "dlx/cmake_install.cmake" not in installs


@pytest.mark.parametrize("standard", ["11", "14"])
def test_a_project_of_an_older_standard(configure, tmp_path, standard):
    (tmp_path / "CMakeLists.txt").write_text(
        AROUND.format(root=ROOT).replace("add_", f"set(CMAKE_CXX_STANDARD {standard})\nadd_")
    )
    commands, _ = configure("-DCMAKE_UNITY_BUILD=ON", source=tmp_path)

    assert "-std=c++17" in commands["copy/copy.cc"]  # not in a unity file


def test_32_bits_are_refused_at_once(configure):
    # Without linking, which would need libraries for 32 bits.
    with pytest.raises(subprocess.CalledProcessError) as error:
        configure("-DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY", "-DCMAKE_CXX_FLAGS=-m32")

    assert "dlx is for 64-bit systems (this is 32-bit Linux)" in error.value.stderr


@pytest.mark.parametrize(
    ("prefix", "expected"), [("/usr", "prefix=/usr"), ("/opt/x", "prefix=${pcfiledir}/../..")]
)
def test_pkg_config_knows_folders_of_the_system(configure, tmp_path, prefix, expected):
    configure(f"-DCMAKE_INSTALL_PREFIX={prefix}", "-DCMAKE_INSTALL_LIBDIR=lib")

    assert (tmp_path / "tree/dlx.pc").read_text().splitlines()[0] == expected


@pytest.mark.parametrize("file", ["capi/views.cc", "src/python/attributes.cc"])
def test_another_standard_library(file):
    compilers = [shutil.which(f"clang++{suffix}") for suffix in ("", "-19", "-14")]
    compiler = next(filter(None, compilers), None)
    if not compiler:
        pytest.skip("no clang")
    check = [compiler, "-stdlib=libc++", *LANGUAGE, "-fsyntax-only", f"-I{ROOT}"]
    probe = subprocess.run([*check, "-xc++", "-"], input="#include <new>", text=True)
    if probe.returncode != 0:
        pytest.skip("no libc++ (Debian: libc++-19-dev)")

    subprocess.run([*check, f"-I{ROOT}/include", ROOT / file], check=True)
