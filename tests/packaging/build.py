"""Build the wheel and the source distribution of this tree: python build.py FOLDER [TREE [KIND...]].

CMake works in TREE, so that a second KIND (wheel, sdist, editable) compiles nothing again. Uses the build backend of pyproject.toml directly, so that nothing is downloaded.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from scikit_build_core import build as backend

ROOT = Path(__file__).resolve().parents[2]


def build(kind: str, folder: Path, tree: str | None = None, source: Path = ROOT) -> Path:
    """`kind` is "wheel", "sdist" or "editable"; returns the file that was made in `folder`."""
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    before = os.getcwd()
    os.chdir(source)
    try:
        name = getattr(backend, f"build_{kind}")(str(folder), {"build-dir": tree} if tree else None)
    finally:
        os.chdir(before)
    return folder / name


if __name__ == "__main__":
    into, *rest = sys.argv[1:]
    for kind in rest[1:] or ("sdist", "wheel"):
        print(build(kind, Path(into), *rest[:1]))
