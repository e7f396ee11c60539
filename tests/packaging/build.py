"""Build the wheel and the source distribution of this tree.

usage: python build.py FOLDER [TREE [KIND...] [SETTING=VALUE...]]

KIND is wheel, sdist or editable. All kinds share the CMake build tree TREE, so that the sources are compiled
once. A SETTING is one of scikit-build-core, such as wheel.tags. This calls the build backend of
pyproject.toml directly, which downloads nothing.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from scikit_build_core import build as backend

ROOT = Path(__file__).resolve().parents[2]


def build(
    kind: str,
    folder: Path,
    tree: str | None = None,
    source: Path = ROOT,
    settings: dict[str, str] | None = None,
) -> Path:
    """Build the wheel, sdist or editable wheel in `folder`, and return its path."""
    given = {**({"build-dir": tree} if tree else {}), **(settings or {})}
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    before = os.getcwd()
    os.chdir(source)
    try:
        name = getattr(backend, f"build_{kind}")(str(folder), given or None)
    finally:
        os.chdir(before)
    return folder / name


if __name__ == "__main__":
    into, *words = sys.argv[1:]
    given_settings = dict(word.split("=", 1) for word in words if "=" in word)
    rest = [word for word in words if "=" not in word]
    for kind in rest[1:] or ("sdist", "wheel"):
        print(build(kind, Path(into), *rest[:1], settings=given_settings))
