"""Build the wheel and the source distribution of this tree: python build.py FOLDER [TREE [KIND...]].

KIND is wheel, sdist or editable. All kinds share the CMake build tree TREE, so that the sources are compiled
once. This calls the build backend of pyproject.toml directly, which downloads nothing.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from scikit_build_core import build as backend

ROOT = Path(__file__).resolve().parents[2]


def build(kind: str, folder: Path, tree: str | None = None, source: Path = ROOT) -> Path:
    """Build the wheel, sdist or editable wheel in `folder`, and return its path."""
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
