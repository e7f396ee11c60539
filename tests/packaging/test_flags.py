"""src/flags.bzl is the only list of the library's flags. test_bazel.py compares both builds file by file."""

from __future__ import annotations

import re

import pytest

from packaging_support import LANGUAGE, LISTS, ROOT

BUILDS = [
    "CMakeLists.txt",
    ".bazelrc",
    "BUILD",
    "src/defs.bzl",
    "tests/defs.bzl",
    *sorted(
        str(file.relative_to(ROOT))
        for folder in ("benchmarks", "capi", "include", "src", "tests")
        for file in (ROOT / folder).rglob("BUILD")
    ),
]


def test_each_flag_is_in_one_list():
    flags = [flag for name, flags in LISTS.items() if name != "CXX_STANDARD" for flag in flags]

    assert len(flags) == len(set(flags)) > 10


@pytest.mark.parametrize("file", BUILDS)
def test_no_build_repeats_a_flag(file):
    text = re.sub(r"^\s*#.*$", "", (ROOT / file).read_text(), flags=re.M)
    words = set(re.findall(r"[^\s\"'=$()]+", text.replace("LINKER:", "-Wl,")))

    # The fake drivers hide their symbols, too.
    allowed = {"-fvisibility=hidden"} if file == "tests/stubs/BUILD" else set()
    assert words & {*LANGUAGE, *(flag for flags in LISTS.values() for flag in flags)} <= allowed
