"""Runs commands, or prints them in a dry run."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Optional, TextIO, Union

from .settings import Settings

Word = Union[str, Path]
Environment = Mapping[str, Optional[str]]  # variables to add; None takes one away
STARTED = time.monotonic()
NOT_FOUND = 127  # as a shell has it


class Failed(Exception):
    """Ends ./dev, or one job of it, with a line that says why."""


def minutes(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


def _environment(changes: Environment) -> dict[str, str]:
    merged = {**os.environ, **changes}
    return {name: value for name, value in merged.items() if value is not None}


class Shell:
    """Runs commands in the clone, with output to the terminal or to the log of one job."""

    def __init__(self, settings: Settings, log: TextIO | None = None) -> None:
        self.settings = settings
        self.log = log

    def print(self, text: str) -> None:
        print(text, file=self.log or sys.stdout, flush=True)

    def say(self, text: str) -> None:
        self.print(f"\n== {text} (after {minutes(time.monotonic() - STARTED)})")

    def warn(self, text: str) -> None:
        print(f"dev: {text}", file=self.log or sys.stderr, flush=True)

    def run(
        self,
        *command: Word,
        env: Environment | None = None,
        cwd: Path | None = None,
        hide: str | None = None,
    ) -> int:
        """Returns the exit status. Output lines that contain `hide` are left out."""
        words = [str(word) for word in command]
        if self.settings.dry:
            self.print(self._line(words, env or {}, cwd))
            return 0
        try:
            done = subprocess.run(
                words,
                env=_environment(env or {}),
                cwd=cwd or self.settings.root,
                stdin=subprocess.DEVNULL if self.log else None,
                stdout=subprocess.PIPE if hide else self.log,
                stderr=subprocess.STDOUT if self.log or hide else None,
                check=False,
            )
        except FileNotFoundError:
            self.warn(f"{words[0]}: not found")
            return NOT_FOUND
        if hide:
            lines = done.stdout.decode(errors="replace").splitlines(keepends=True)
            text = "".join(line for line in lines if hide not in line)
            print(text, end="", file=self.log or sys.stdout, flush=True)
        return done.returncode

    def check(
        self, *command: Word, env: Environment | None = None, cwd: Path | None = None
    ) -> None:
        if status := self.run(*command, env=env, cwd=cwd):
            words = [str(word) for word in command[:3]]
            raise Failed(f"{shlex.join(words)} … ended with status {status}")

    def ask(self, *command: Word, env: Environment | None = None) -> str | None:
        """The standard output of a command that changes nothing; None if it fails."""
        try:
            done = subprocess.run(
                [str(word) for word in command],
                env=_environment(env or {}),
                cwd=self.settings.root,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                check=False,
            )
        except OSError:
            return None
        return done.stdout.strip() if done.returncode == 0 else None

    def _line(self, words: list[str], env: Environment, cwd: Path | None) -> str:
        parts = [f"-u {name}" for name, value in env.items() if value is None]
        parts = ["env", *parts] if parts else []
        parts += [
            f"{name}={shlex.quote(value)}" for name, value in env.items() if value is not None
        ]
        line = " ".join([*parts, shlex.join(words)])
        line = line.replace(f"{self.settings.root}/", "")
        return f"(cd {shlex.quote(str(cwd))} && {line})" if cwd else line
