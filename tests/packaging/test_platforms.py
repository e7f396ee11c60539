"""`./dev wheel --all`: wheels and archives for other systems, compiled by zig: names, sizes, symbols, and
that two builds give the same bytes. test_platforms_run.py runs them."""

from __future__ import annotations

import email
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dev.wheel import PLATFORMS, Platform
from packaging_support import HERE, ROOT, run
from platforms_support import build, built, zig
from test_release import tool

pytestmark = pytest.mark.heavy

MOST_BYTES = 1_200_000  # of a wheel, and of an archive
FILES = {
    "linux": "libdlx.so.1",
    "musl": "libdlx.so.1",
    "macos": "libdlx.1.dylib",
    "windows": "dlx.dll",
}
ARCHITECTURES = {"x86_64": "x86_64", "aarch64": "aarch64", "arm64": "aarch64"}
FORMATS = {"linux": "elf64", "musl": "elf64", "macos": "Mach-O", "windows": "COFF"}
# Each is a part of its system. Windows 10 and later have the api-ms-win-crt-*, which are the C runtime.
NEEDED = {
    "linux": r"lib(c|m|dl|pthread|gcc_s)\.so\.\d|ld-linux-(x86-64|aarch64)\.so\.\d",
    "musl": r"libc\.musl-\w+\.so\.1",
    "macos": r"/usr/lib/libSystem\.B\.dylib",
    "windows": r"(KERNEL32|ADVAPI32|ntdll)\.dll|api-ms-win-crt-\w+-l1-1-0\.dll",
}


@pytest.fixture(params=PLATFORMS, ids=lambda platform: platform.name)
def platform(request) -> Platform:
    return request.param


@pytest.fixture
def system(platform) -> str:
    return platform.name.split("-")[0]


@pytest.fixture
def library(platform, system) -> Path:
    return built(platform).site / "dlx" / FILES[system]


def readobj(*words: str | Path) -> str:
    tool = shutil.which("llvm-readobj-19") or shutil.which("llvm-readobj")
    if not tool:
        pytest.skip("no llvm-readobj (Debian: llvm-19)")
    return run(tool, *words)


def exported(library: Path, system: str) -> list[str]:
    if system == "windows":
        return re.findall(r"^  Name: (\w+)", readobj("--coff-exports", library), re.M)
    if system == "macos":
        tool = shutil.which("llvm-objdump-19") or pytest.skip("no llvm-objdump (Debian: llvm-19)")
        said = run(tool, "--macho", "--exports-trie", library)
        names = [name[1:] for name in re.findall(r"^0x\w+\s+(\w+)", said, re.M)]
        # zig's linker exports these two, which each library has for itself.
        return [name for name in names if name not in ("__dso_handle", "_mh_dylib_header")]
    listed = json.loads(readobj("--elf-output-style=JSON", "--dyn-symbols", library))
    symbols = [entry["Symbol"] for entry in listed[0]["DynamicSymbols"]]
    return [
        re.sub("@.*", "", symbol["Name"]["Name"])
        for symbol in symbols
        if symbol["Section"]["Name"] not in ("Undefined", "")
    ]


def test_name_tags_and_size(platform):
    wheel, site = built(platform).wheel, built(platform).site
    assert wheel.name.endswith(f"-py3-none-{platform.tag}.whl")
    assert wheel.stat().st_size <= MOST_BYTES
    assert built(platform).archive.stat().st_size <= MOST_BYTES
    [metadata] = site.glob("*.dist-info/WHEEL")
    tags = email.message_from_string(metadata.read_text()).get_all("Tag")
    assert sorted(tags) == [f"py3-none-{tag}" for tag in platform.tag.split(".")]


def test_an_index_takes_the_metadata(platform):
    assert "PASSED" in run(*tool("twine"), "check", "--strict", built(platform).wheel)


def test_one_library_of_that_format(platform, system, library):
    files = [file for file in library.parent.glob("*dlx*.*") if file.suffix != ".py"]
    assert files == [library]
    said = readobj("--file-headers", library)
    assert re.search(rf"Format: .*{FORMATS[system]}", said, re.I)
    assert f"Arch: {ARCHITECTURES[platform.name.split('-')[1]]}" in said


def test_it_exports_dlx_only(system, library):
    names = exported(library, system)

    assert len([name for name in names if name.startswith("dlx_")]) > 70
    assert [name for name in names if not name.startswith(("dlx_", "DLX_1"))] == []


def test_it_needs_its_system_only(platform, system, library):
    said = readobj("--needed-libs", library)
    needed = re.findall(r"^  (\S+)$", said.partition("NeededLibraries")[2], re.M)
    needed = [name for name in needed if not name.startswith("@rpath/libdlx")]  # its own name
    assert needed
    assert [name for name in needed if not re.fullmatch(NEEDED[system], name)] == []

    if system == "macos":
        assert "Version: 11.0" in readobj("--macho-version-min", library)
        flags = readobj("--file-headers", library)
        assert "MH_WEAK_DEFINES" not in flags  # nothing to merge with other libraries' C++
        assert "MH_BINDS_TO_WEAK" not in flags
    if system == "linux":
        versions = re.findall(r"GLIBC_([\d.]+)", readobj("--version-info", library))
        assert versions
        assert all(tuple(map(int, version.split("."))) <= (2, 17) for version in versions)


def test_auditwheel_agrees(platform, system):
    if system not in ("linux", "musl"):
        pytest.skip(f"auditwheel reads Linux wheels only ({platform.name})")
    pytest.importorskip("auditwheel", reason="./dev test --release installs auditwheel")
    said = run(sys.executable, "-m", "auditwheel", "show", built(platform).wheel)

    assert f'"{platform.tag.split(".")[-1]}"' in " ".join(said.split())


def test_pip_takes_it_on_that_platform_only(platform, tmp_path):
    wheel = built(platform).wheel
    pip = (sys.executable, "-m", "pip", "-q")
    for tag in platform.tag.split("."):
        run(*pip, "download", "--no-index", "--no-deps", "--only-binary", ":all:", "--platform", tag,
            "--find-links", wheel.parent, "--dest", tmp_path / tag, "libdlx")  # fmt: skip
        assert [file.name for file in (tmp_path / tag).iterdir()] == [wheel.name]
    if platform.name != f"linux-{os.uname().machine}":
        with pytest.raises(AssertionError, match="not a supported wheel on this platform"):
            run(*pip, "install", "--no-index", "--target", tmp_path, wheel)


def test_the_archive(platform, system):
    files = built(platform)
    names = {
        str(path.relative_to(files.prefix)) for path in files.prefix.rglob("*") if not path.is_dir()
    }
    shared = {
        "linux": {"lib/libdlx.so", "lib/libdlx.so.1"},
        "musl": {"lib/libdlx.so", "lib/libdlx.so.1"},
        "macos": {"lib/libdlx.dylib", "lib/libdlx.1.dylib"},
        "windows": {"bin/dlx.dll", "lib/libdlx.dll.a"},
    }
    wanted = {
        *(f"include/dlx/{header.name}" for header in (ROOT / "include/dlx").glob("*.h*")),
        *shared[system],
        "lib/libdlx.a",
        "lib/cmake/dlx/dlxConfig.cmake",
        "lib/pkgconfig/dlx.pc",
        "share/licenses/dlx/LICENSE",
    }
    assert wanted <= names
    assert "prefix=${pcfiledir}/../..\n" in (files.prefix / "lib/pkgconfig/dlx.pc").read_text()


BY_CMAKE = """
cmake_minimum_required(VERSION 3.18)
project(app LANGUAGES C)
find_package(dlx REQUIRED)
add_executable(app consumer.c)
target_link_libraries(app dlx::dlx_static)
"""


def test_a_program_of_c_by_the_static_library_of_the_archive(platform, tmp_path):
    """zig's cc needs no more than find_package; GCC, which has no libc++, is told."""
    if platform.name != f"linux-{os.uname().machine}":
        pytest.skip(f"CMake compiles for this machine ({platform.name})")
    shutil.copy(HERE / "consumer.c", tmp_path)
    (tmp_path / "CMakeLists.txt").write_text(BY_CMAKE)
    found = f"-DCMAKE_PREFIX_PATH={built(platform).prefix}"

    def configure(name: str, compiler: str) -> str:
        tree = tmp_path / name
        return run("cmake", "-S", tmp_path, "-B", tree, "-GNinja", found, env={"CC": compiler})

    assert "cannot be linked" not in configure("zig", f"{zig()} cc")
    run("ninja", "-C", tmp_path / "zig")
    assert run(tmp_path / "zig/app").endswith("sum 12\n")
    said = configure("gcc", "gcc")
    has_libcxx = Path(run("gcc", "-print-file-name=libc++.so").strip()).is_absolute()
    assert ("dlx::dlx_static cannot be linked here: it needs libc++" in said) != has_libcxx


def test_no_file_names_a_folder_of_the_build(platform):
    """Else two builds differ, and packages tell where they were made."""
    files = built(platform)
    folders = [f"{folder}/".encode() for folder in (ROOT, Path.home(), Path(zig()).parent)]
    parts = [path for root in (files.site, files.prefix) for path in root.rglob("*")]
    content = {path: path.read_bytes() for path in parts if path.is_file()}
    assert [str(path) for path, data in content.items() if any(f in data for f in folders)] == []


def test_two_builds_give_the_same_bytes(platform, tmp_path):
    """From another folder, and with nothing of the first build."""
    first = built(platform)
    elsewhere = tmp_path / "elsewhere"
    names = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    for name in filter(None, names.split("\0")):
        (elsewhere / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, elsewhere / name)
    wheel, archive = build(platform, tmp_path / "again", elsewhere, trees=elsewhere / "build")

    assert wheel.read_bytes() == first.wheel.read_bytes()
    assert archive.read_bytes() == first.archive.read_bytes()


@pytest.mark.parametrize("language", [("/std:c11", "/TC"), ("/std:c++17", "/TP")], ids="".join)
def test_msvc_takes_the_headers_of_c(language, tmp_path):
    """Clang takes MSVC's place, and MinGW's C headers those of Windows."""
    source = tmp_path / "program.c"
    headers = ("dlx.h", "arrow.h", "call.h", "dlpack.h")
    source.write_text("".join(f"#include <dlx/{name}>\n" for name in headers))
    folder = Path(zig()).parent / "lib"
    run(
        *(zig(), "clang", "--driver-mode=cl", "--target=x86_64-pc-windows-msvc"),
        *("/Zs", "/W4", "/WX", f"/I{ROOT / 'include'}"),
        *("-imsvc", folder / "include", "-imsvc", folder / "libc/include/any-windows-any"),
        *(*language, source),
    )
