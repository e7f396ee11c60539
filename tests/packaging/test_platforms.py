"""`./dev wheel --all`: wheels for other systems, compiled by zig. What can run here runs."""

from __future__ import annotations

import email
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dev.wheel import PLATFORMS, Platform
from packaging_support import HERE, ROOT, run, unpack

pytestmark = pytest.mark.heavy

MOST_BYTES = 1_200_000  # of a wheel, compressed
FILES = {
    "linux": "libdlx.so.1",
    "musl": "libdlx.so.1",
    "macos": "libdlx.1.dylib",
    "windows": "dlx.dll",
}
MACHINES = {  # the first bytes of the library: the format, and the processor
    "linux-x86_64": (b"\x7fELF", 18, b"\x3e\x00"),
    "linux-aarch64": (b"\x7fELF", 18, b"\xb7\x00"),
    "musl-x86_64": (b"\x7fELF", 18, b"\x3e\x00"),
    "musl-aarch64": (b"\x7fELF", 18, b"\xb7\x00"),
    "macos-arm64": (b"\xcf\xfa\xed\xfe", 4, b"\x0c\x00\x00\x01"),
    "macos-x86_64": (b"\xcf\xfa\xed\xfe", 4, b"\x07\x00\x00\x01"),
    "windows-x86_64": (b"MZ", None, b"\x64\x86"),
    "windows-arm64": (b"MZ", None, b"\x64\xaa"),
}


def zig() -> str:
    ziglang = pytest.importorskip("ziglang", reason="./dev test --all installs zig")
    return str(Path(ziglang.__path__[0]) / "zig")


def make(platform: Platform, folder: Path) -> Path:
    """The platform's wheel, by the settings of ./dev wheel."""
    run(sys.executable, HERE / "build.py", folder, ROOT / "build" / platform.name, "wheel",
        *(f"{name}={value}" for name, value in platform.settings(zig()).items()),
        env={"SOURCE_DATE_EPOCH": "1767225600"})  # fmt: skip
    [wheel] = folder.glob("*.whl")
    return wheel


@pytest.fixture(scope="module", params=PLATFORMS, ids=lambda platform: platform.name)
def platform(request) -> Platform:
    return request.param


@pytest.fixture(scope="module")
def wheel(platform, tmp_path_factory) -> Path:
    return make(platform, tmp_path_factory.mktemp(platform.name))


@pytest.fixture(scope="module")
def site(wheel, tmp_path_factory) -> Path:
    return unpack(wheel, tmp_path_factory.mktemp("site"))


def test_the_wheel_of_a_platform(platform, wheel, site):
    """One test, because each platform's build takes a minute."""
    assert wheel.name.endswith(f"-py3-none-{platform.tag}.whl")
    assert wheel.stat().st_size <= MOST_BYTES
    [metadata] = site.glob("*.dist-info/WHEEL")
    tags = email.message_from_string(metadata.read_text()).get_all("Tag")
    assert tags == [f"py3-none-{tag}" for tag in platform.tag.split(".")]

    name = FILES[platform.name.split("-")[0]]
    assert [file.name for file in (site / "dlx").glob("*dlx*.*") if file.suffix != ".py"] == [name]
    library = (site / "dlx" / name).read_bytes()
    start, place, machine = MACHINES[platform.name]
    assert library.startswith(start)
    if place is None:  # behind the signature of the PE header
        place = int.from_bytes(library[0x3C:0x40], "little") + 4
    assert library[place : place + len(machine)] == machine

    if "linux" in platform.target:
        check_symbols(site / "dlx" / name, platform)


def check_symbols(library: Path, platform: Platform) -> None:
    """The library defines dlx_* only, and needs the C library only."""
    defined = run("readelf", "--dyn-syms", "-W", library)
    names = re.findall(r"GLOBAL\s+DEFAULT\s+\d+\s+(\w+)", defined)
    assert len(names) > 70
    assert [name for name in names if not name.startswith("dlx_")] == []
    needed = set(re.findall(r"NEEDED.*\[(\w[\w-]*)\.so", run("readelf", "-dW", library)))
    assert needed <= {"libc", "libm", "libdl", "libpthread", "ld-linux-x86-64", "ld-linux-aarch64"}
    versions = [tuple(map(int, v.split("."))) for v in re.findall(r"GLIBC_([\d.]+)", defined)]
    assert all(version <= (2, 17) for version in versions)
    assert bool(versions) == ("gnu" in platform.target)


def test_auditwheel_agrees(platform, wheel):
    if "linux" not in platform.target:
        pytest.skip(f"auditwheel reads Linux wheels only ({platform.name})")
    pytest.importorskip("auditwheel", reason="./dev test --all installs auditwheel")
    said = run(sys.executable, "-m", "auditwheel", "show", wheel)

    assert platform.tag.split(".")[0] in said.replace("\n", " ")


def test_it_copies_by_the_best_instructions_of_this_processor(platform, site):
    """zig's own runtime knows no processor: a library that asked it would use SSE2, in silence."""
    if platform.name != "linux-x86_64" or os.uname().machine != "x86_64":
        pytest.skip(f"this Python cannot load it ({platform.name})")
    flags = re.search(r"^flags\s*:(.*)$", Path("/proc/cpuinfo").read_text(), re.M)[1].split()
    best = "sse2"
    if "avx2" in flags:
        best = "avx2"
    if {"avx2", "avx512f", "avx512bw", "avx512vl", "avx512dq"} <= set(flags):
        best = "avx512"
    said = run(sys.executable, "-m", "dlx", "info", env={"PYTHONPATH": str(site)}, cwd=site)

    assert str(site) in said
    assert f"items, {best};" in said


def test_the_smoke_test_on_this_python(platform, site):
    if platform.name != "linux-x86_64" or os.uname().machine != "x86_64":
        pytest.skip(f"this Python cannot load it ({platform.name})")
    run(sys.executable, HERE / "smoke.py", env={"PYTHONPATH": str(site)}, cwd=site)


def test_two_builds_give_the_same_bytes(platform, wheel, tmp_path):
    """From another folder, and with nothing of the first build."""
    if platform.name != "linux-x86_64":
        pytest.skip("one platform stands for all: the sources are compiled twice")
    copy = tmp_path / "elsewhere"
    names = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    for name in filter(None, names.split("\0")):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, copy / name)
    settings = {
        **platform.settings(zig()),
        "cmake.define.CMAKE_TOOLCHAIN_FILE": str(copy / "cmake/zig.cmake"),
    }
    run(sys.executable, copy / "tests/packaging/build.py", tmp_path / "again", copy / "tree", "wheel",
        *(f"{name}={value}" for name, value in settings.items()),
        env={"SOURCE_DATE_EPOCH": "1767225600"})  # fmt: skip
    [again] = (tmp_path / "again").glob("*.whl")

    assert again.read_bytes() == wheel.read_bytes()
