"""Shared by the packaging tests."""

from __future__ import annotations

import os
import subprocess
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
# Pages whose blocks continue each other (tests/docs); the blocks of all other pages are programs.
STORIES = ("docs/tutorial.md", "docs/why-copied.md", "docs/vendors.md")


def lists_of_flags() -> dict[str, list[str]]:
    lists: dict[str, list[str]] = {}
    exec((ROOT / "src/flags.bzl").read_text(), {}, lists)
    return {name: flags for name, flags in lists.items() if name.isupper()}


LISTS = lists_of_flags()
LANGUAGE = [f"-std=c++{LISTS['CXX_STANDARD'][0]}", *(f"-D{name}" for name in LISTS["DEFINES"])]


def run(*command, **kwargs) -> str:
    """Return the standard output of a command. If it fails, the test shows all its output."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("DLX_", "PYTHONPATH"))}
    environment.update(kwargs.pop("env", {}))
    done = subprocess.run(
        [str(word) for word in command],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        **kwargs,
    )
    words = " ".join(str(word) for word in command)
    assert done.returncode == 0, f"$ {words}\n{done.stdout}{done.stderr}"
    return done.stdout


def unpack(wheel: Path, folder: Path) -> Path:
    """Write the wheel's files into the folder, as pip would install them."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder
