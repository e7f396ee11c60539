"""The examples of README.md compile, run, and print what README.md says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from packaging_support import ROOT

LIBRARY = os.environ.get("DLX_LIBRARY")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", (ROOT / "README.md").read_text(), re.M | re.S)


def expected_output(source: str) -> list[str]:
    """Lines that a comment promises: `// prints: …` and `# prints: …`."""
    return re.findall(r"(?://|#) prints: (.*)$", source, re.M)


def check(source: str, *command, **environment) -> None:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          env={**os.environ, **environment})  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    promised = expected_output(source)
    assert promised, "the example promises no output"
    assert done.stdout.splitlines() == promised


@pytest.mark.skipif(LIBRARY is None, reason="DLX_LIBRARY does not name a built library")
def test_c_example(tmp_path):
    [source] = blocks("c")
    (tmp_path / "example.c").write_text(source)
    library = Path(LIBRARY).resolve()
    # Programs look for the soname.
    (tmp_path / "libdlx.so.1").symlink_to(library)
    subprocess.run(
        ["gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'include'}", "example.c",
         "libdlx.so.1", "-o", "example"], cwd=tmp_path, check=True)  # fmt: skip

    check(source, tmp_path / "example", LD_LIBRARY_PATH=str(tmp_path))


def test_python_example(tmp_path):
    [source] = blocks("python")
    (tmp_path / "example.py").write_text(source)

    check(source, sys.executable, tmp_path / "example.py")
