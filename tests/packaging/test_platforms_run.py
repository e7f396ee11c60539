"""What ./dev wheel --all makes for other platforms runs: the C tests and CPython with the wheel, natively, by
musl's loader, under qemu's user mode and under wine. Nothing here runs macOS or Windows on Arm."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

from dev.wheel import PLATFORMS, Platform
from packaging_support import HERE, ROOT, run
from platforms_support import RUNNABLE, built, call_functions, library_to_link, machine
from test_wheel import PYTHONS, find_python

pytestmark = pytest.mark.heavy

FOREIGN_PYTHONS = [
    p for p in PLATFORMS if p.name in ("linux-aarch64", "musl-x86_64", "windows-x86_64")
]
C_TESTS = sorted(file.stem for file in (ROOT / "tests/capi").glob("test_*.c"))
# Their libraries are NumPy and what Python brings, and under an emulator they take minutes.
PYTHON_TESTS = (
    "buffers capsules conformance_d1 conformance_d2 conformance_d4 conformance_d5 conformance_d6"
    " conformance_d7 from_pointer indexing lifetimes bad_input hostile_input function array_parameter"
).split()
# qemu 7.2 stops in it ("cpu_exec_longjmp_cleanup: assertion failed"): a fork beside threads.
NOT_BY_QEMU = (
    "tests/python/test_lifetimes.py::test_a_forked_child_can_use_and_free_what_it_inherited"
)
# Prints the way of a transposition, which names the instruction set.
WAY = """
#include <dlx/dlx.h>
#include <stdio.h>
int main(void) {
  static float from[512 * 512], to[512 * 512];
  int64_t shape[] = {512, 512}, strides[] = {1, 512}, rows[] = {512, 1};
  const DLTensor src = {from, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, strides, 0};
  const DLTensor dst = {to, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, rows, 0};
  char way[500];
  if (dlx_copy_plan_describe(&dst, &src, way, sizeof way)) return 1;
  puts(way);
}
"""


@pytest.fixture(params=RUNNABLE, ids=lambda platform: platform.name)
def platform(request) -> Platform:
    return request.param


def best_instructions(platform: Platform) -> str:
    """What the processor that runs the platform's programs has; qemu's has NEON."""
    if "aarch64" in platform.name:
        return "neon"
    flags = re.search(r"^flags\s*:(.*)$", Path("/proc/cpuinfo").read_text(), re.M)[1].split()
    if {"avx2", "avx512f", "avx512bw", "avx512vl", "avx512dq"} <= set(flags):
        return "avx512"
    return "avx2" if "avx2" in flags else "sse2"


def test_it_copies_by_the_best_instructions_of_the_processor(platform):
    """zig's own runtime knows no processor: a library that asked it would use SSE2, in silence."""
    computer = machine(platform)
    source = computer.folder / "way.c"
    source.write_text(WAY)
    program = computer.compile("way", source, library_to_link(platform))

    assert f" {best_instructions(platform)};" in computer.run(program)


@pytest.mark.parametrize("test", C_TESTS)
def test_the_c_tests(platform, test):
    computer = machine(platform)
    words = (ROOT / f"tests/capi/{test}.c", *computer.cmocka())
    computer.run(computer.compile(test, *words, library_to_link(platform), "-lpthread"))


def test_calls_go_by_the_platforms_convention(platform):
    """dlx.function calls C functions whose types it learns at run time."""
    computer = machine(platform)
    sources = (ROOT / "tests/src/system/test_natural_call.cc", ROOT / "src/system/natural_call.cc")
    program = computer.compile("natural_call", *sources, *computer.cmocka(), compiler="c++")
    computer.run(program)


@pytest.mark.parametrize("instructions", ["sse2", "avx2", "avx512"])
def test_random_copies_by_each_instruction_set(platform, instructions):
    order = ["neon", "sse2", "avx2", "avx512"]
    if order.index(instructions) > order.index(best_instructions(platform)):
        pytest.skip(f"no {instructions}")
    computer = machine(platform)
    words = (ROOT / "tests/capi/test_copy_random.c", *computer.cmocka())
    program = computer.compile("random", *words, library_to_link(platform), "-lpthread")
    computer.run(program, DLX_ISA=instructions)


@pytest.mark.parametrize("version", PYTHONS)
def test_the_wheel_on_a_python_of_this_machine(version):
    [platform] = [p for p in PLATFORMS if p.name == "linux-x86_64"]
    machine(platform).runner({})  # skips elsewhere
    python = find_python(version)
    if not python:
        pytest.skip(f"no CPython {version}")
    site = built(platform).site
    said = run(python, HERE / "smoke.py", env={"PYTHONPATH": str(site)}, cwd=site)
    assert f"works on Python {version}" in said


def test_a_library_for_another_libc_names_what_is_missing():
    """pip would have refused the wheel."""
    name = f"musl-{os.uname().machine}"
    [musl] = [p for p in PLATFORMS if p.name == name] or pytest.skip(f"no {name}")
    with pytest.raises(AssertionError, match=r"dlx: cannot load libdlx[^$]*libc\.musl-\w+\.so\.1"):
        run(sys.executable, "-c", "import dlx", env={"PYTHONPATH": str(built(musl).site)})


@pytest.mark.parametrize("platform", FOREIGN_PYTHONS, ids=lambda platform: platform.name)
def test_the_wheel_on_a_python_of_the_platform(platform):
    said = machine(platform).python(HERE / "smoke.py", site=built(platform).site)
    assert "works on Python 3." in said


@pytest.mark.parametrize("test", PYTHON_TESTS)
@pytest.mark.parametrize("platform", FOREIGN_PYTHONS, ids=lambda platform: platform.name)
def test_the_python_tests(platform, test):
    words = ["-q", "-p", "no:cacheprovider", "-o", "pythonpath=tools", "-m", "not heavy"]
    if platform.name == "linux-aarch64":
        words += ["--deselect", NOT_BY_QEMU]
    computer = machine(platform)
    said = computer.python(
        "-m", "pytest", *words, f"tests/python/test_{test}.py", site=built(platform).site,
        PYTHONDONTWRITEBYTECODE="1",
        DLX_CALL_FUNCTIONS=computer.path(call_functions(platform)),
    )  # fmt: skip
    assert " passed" in said


def test_windows_shares_no_memory_and_says_so():
    [windows] = [p for p in FOREIGN_PYTHONS if p.name.startswith("windows")]
    script = "import dlx\ntry: dlx.share(dlx.empty(3))\nexcept dlx.UnavailableError as e: print(e)"
    said = machine(windows).python("-c", script, site=built(windows).site)
    assert "dlx shares memory between processes on Linux only (this is win32)" in said
    script = """
import dlx
from multiprocessing import shared_memory

first = shared_memory.SharedMemory(create=True, size=8)
dlx.asarray(first.buf)[3] = 7
second = shared_memory.SharedMemory(first.name)
print("shared", dlx.asarray(second.buf).tolist()[3])
"""
    said = machine(windows).python("-c", script, site=built(windows).site)
    assert "shared 7" in said


def test_the_static_library_of_an_archive(platform):
    """By a program of C, with the C++ runtime that the library was compiled against."""
    computer = machine(platform)
    library = built(platform).prefix / "lib/libdlx.a"
    words = [HERE / "consumer.c", "-DDLX_STATIC", library, "-lc++"]
    program = computer.compile("static", *words)
    assert "sum 12" in computer.run(program)
