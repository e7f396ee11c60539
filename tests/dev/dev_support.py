"""A clone in which ./dev finds all that it would install, and programs that say what they are asked."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from dev.settings import ROOT

FAKES = ("fakes/bazel", ".venv/bin/python", ".venv/bin/ruff", ".venv/bin/clang-format")


class Clone:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / ".venv/bin").mkdir(parents=True)
        (folder / "third_party").mkdir()
        (folder / "fakes").mkdir()
        shutil.copy(ROOT / "dev", folder)
        shutil.copytree(
            ROOT / "tools", folder / "tools", ignore=shutil.ignore_patterns("__pycache__")
        )
        shutil.copytree(ROOT / "third_party/python", folder / "third_party/python")
        for file in (folder / "third_party/python").glob("*.txt"):
            shutil.copy(file, folder / f".venv/{file.stem}.installed")
        self.program("fakes/python3", f'exec {sys.executable} "$@"')
        for name in FAKES:
            self.program(name, f'echo "{Path(name).name} $*"')

    def program(self, name: str, script: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def dev(self, *arguments, where=None, command="./dev", path=None, **variables):
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("DLX_", "CI"))}
        # Without the wrappers of version managers, which take longer than ./dev.
        places = [place for place in environment["PATH"].split(":") if "shims" not in place]
        environment["PATH"] = path or ":".join([str(self.folder / "fakes"), *places])
        return subprocess.run(
            [command, *arguments],
            cwd=where or self.folder,
            env={**environment, **variables},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
        )

    def plan(self, *arguments, **variables) -> list[str]:
        """The lines of a dry run."""
        done = self.dev("--dry-run", *arguments, **variables)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()
