"""./dev test --wheel FOLDER: the wheel that fits this machine, installed, and pytest on it.

For machines without Bazel: macOS and Windows in hosted CI. pip chooses the wheel, and refuses if there is none.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from . import environments
from .shell import Environment, Failed, Shell

WITHOUT: Environment = {"PYTHONPATH": None, "DLX_LIBRARY": None, "DLX_BINDING": None}


def run(shell: Shell, words: Sequence[str]) -> int:
    folder = shell.settings.root / (words[0] if words else "")
    if not words or not folder.is_dir():
        raise Failed(f"test --wheel FOLDER: no folder '{' '.join(words[:1])}'")
    python = _environment(shell)
    for what in (
        ("--no-index", f"--find-links={folder}", "libdlx"),
        ("--only-binary", ":all:", "-r", "third_party/python/demo.txt", *_more(shell)),
    ):
        pip = ("-m", "pip", "--disable-pip-version-check", "install", "-q", *what)
        if shell.run(python, *pip, env=WITHOUT):
            raise Failed(f"test --wheel: pip could not install {what[-1]}")
    if shell.run(python, "tests/packaging/smoke.py", env=WITHOUT):
        return 1
    tests = words[1:] or ("-m", "not heavy", "tests/python")
    options = ("-q", "-p", "no:cacheprovider", "-o", "pythonpath=tools")
    return shell.run(python, "-m", "pytest", *options, *tests, env=WITHOUT)


def _environment(shell: Shell) -> Path:
    """A new virtual environment; Windows calls its folder otherwise."""
    venv = shell.settings.elsewhere("wheel")
    python = environments.find(shell)
    if python is None:
        raise Failed("found no Python 3.9 or newer with venv")
    shell.check(python, "-m", "venv", "--clear", venv)
    return venv / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def _more(shell: Shell) -> list[str]:
    """The pins of pytest and of what most tests beside the demo's packages want."""
    text = environments.requirements(shell, "test").read_text()
    return re.findall(r"^(?:pytest|pyarrow)==.*$", text, re.M)
