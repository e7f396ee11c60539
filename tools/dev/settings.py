"""The folder of the clone, and settings from the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Settings:
    root: Path
    caller: Path  # the folder in which ./dev was called
    kit: Path | None  # DLX_KIT: nothing is built or installed
    python: str  # DLX_PYTHON, or ""
    array_api: Path | None  # DLX_ARRAY_API_TESTS
    no_torch: bool  # DLX_NO_TORCH
    ci: bool  # CI: a machine that must not pass because it tested less
    dry: bool = False  # print the commands, run none

    @property
    def venv(self) -> Path:
        return self.root / ".venv"

    @property
    def library(self) -> Path:
        return self.kit / "libdlx.so" if self.kit else self.root / "bazel-bin/libdlx.so"

    @property
    def interpreter(self) -> str:
        """With a kit the machine's own interpreter, with whatever libraries it has."""
        return self.python or "python3" if self.kit else str(self.venv / "bin/python")

    def elsewhere(self, name: str) -> Path:
        """A virtual environment beside .venv."""
        return self.root / ".venv-systems" / name

    def shown(self, path: Path) -> str:
        """A path for messages."""
        return str(path.relative_to(self.root)) if path.is_relative_to(self.root) else str(path)


def read(environment: Mapping[str, str] = os.environ, *, dry: bool = False) -> Settings:
    caller = Path(environment.get("DLX_DEV_CALLER") or ROOT)

    def folder(name: str) -> Path | None:
        value = environment.get(name)
        return Path(os.path.realpath(caller / value)) if value else None

    return Settings(
        root=ROOT,
        caller=caller,
        kit=folder("DLX_KIT"),
        python=environment.get("DLX_PYTHON", ""),
        array_api=folder("DLX_ARRAY_API_TESTS"),
        no_torch=bool(environment.get("DLX_NO_TORCH")),
        ci=bool(environment.get("CI")),
        dry=dry,
    )
