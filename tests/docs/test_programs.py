"""The programs in C and C++ on the pages compile without a warning, and print what they say."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from packaging_support import ROOT

LIBRARY = os.environ.get("DLX_LIBRARY")
pytestmark = pytest.mark.skipif(LIBRARY is None, reason="DLX_LIBRARY does not name a built library")

COMPILERS = {
    "c": ("gcc", "-std=c11", ".c"),
    "cpp": ("g++", "-std=c++17", ".cc"),
}
PAGES = ("docs/runtimes.md", "docs/vendors.md", "docs/site/pages/index.md")
PROGRAMS = [
    (page, language, source)
    for page in PAGES
    for language in COMPILERS
    for source in re.findall(rf"^```{language}\n(.*?)^```", (ROOT / page).read_text(), re.M | re.S)
]


@pytest.mark.parametrize(
    ("page", "language", "source"),
    PROGRAMS,
    ids=[f"{page}-{language}" for page, language, _ in PROGRAMS],
)
def test_a_program(page, language, source, tmp_path):
    compiler, standard, suffix = COMPILERS[language]
    (tmp_path / f"program{suffix}").write_text(source)
    (tmp_path / "libdlx.so.1").symlink_to(Path(LIBRARY).resolve())  # the soname
    subprocess.run(
        [compiler, standard, "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror",
         f"-I{ROOT / 'include'}", f"program{suffix}", "libdlx.so.1", "-o", "program"],
        cwd=tmp_path, check=True)  # fmt: skip

    done = subprocess.run(
        ["./program"], cwd=tmp_path, capture_output=True, text=True,
        env={**os.environ, "LD_LIBRARY_PATH": str(tmp_path)})  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == re.findall(
        r"(?://|/\*) prints: (.*?)(?: \*/)?$", source, re.M
    )
    assert done.stdout


def test_there_is_a_program_for_each_language():
    assert [(page, language) for page, language, _ in PROGRAMS] == [
        ("docs/runtimes.md", "cpp"),
        ("docs/vendors.md", "c"),
        ("docs/site/pages/index.md", "c"),
        ("docs/site/pages/index.md", "cpp"),
    ]
