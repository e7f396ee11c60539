"""Runs checks in processes of their own: a crash or a hang ends one check, and no other."""

from __future__ import annotations

import atexit
import contextlib
import faulthandler
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

from dlx.errors import UnavailableError
from dlx.testing._clock import Clock
from dlx.testing._referee import worker
from dlx.testing._referee.catalogue import BY_KEY
from dlx.testing._referee.outcomes import (
    AT_EXIT,
    BAD,
    CRASH,
    FACTORY,
    HANG,
    MALFORMED,
    NOT_APPLICABLE,
)

_WORKER = worker.__file__
_END = 5  # seconds that a process may take to end
_IMPORT = 6  # an import may take this many times as long as a check


class CheckError(UnavailableError):
    """There is nothing to check: the name is not there, or it cannot be imported."""


class Outcome(NamedTuple):
    """What one check gave."""

    key: str
    outcome: str
    text: str
    noise: str = ""


Progress = Callable[[int, int, str], None]


def run(
    name: str,
    contexts: dict[str, Any] | None = None,
    timeout: float = 20,
    progress: Progress | None = None,
) -> list[Outcome]:
    """Run all checks of one target.

    Args:
        name: what a new process imports: "numpy", "module:name", "file.so:symbol".
        contexts: instead of a name, objects of this process, which is forked.
        timeout: seconds that one check may take.

    Raises:
        CheckError: nothing could be imported.
        ValueError: `timeout` is not above 0.
    """
    if not timeout > 0:
        raise ValueError(f"`timeout` must be a number of seconds above 0 (got {timeout!r})")
    with tempfile.TemporaryFile("w+b") as printed:
        with _Server(name, contexts, printed) as server:
            keys = server.keys(timeout * _IMPORT)
            results = _Results(name, keys, progress)
            while results.left():
                left = results.left()
                batch = [key for key in left if not _is_alone(key)] or left[:1]
                server.send(batch)
                _follow(server, batch, results, timeout)
        for outcome in results.suspects():
            alone = outcome.key if contexts is None else ""
            with _Server(name, contexts, printed, alone) as server:
                if not alone:
                    server.keys(timeout * _IMPORT)
                    server.send([outcome.key])
                _follow(server, [outcome.key], results, timeout, timeout * _IMPORT)
    return [results.done[key] for key in keys]


def _is_alone(key: str) -> bool:
    return key in AT_EXIT or BY_KEY[key].item == MALFORMED


class _Results:
    """The outcomes so far."""

    def __init__(self, name: str, keys: list[str], progress: Progress | None) -> None:
        self._name, self._keys, self._progress = name, keys, progress
        self.done: dict[str, Outcome] = {}

    def left(self) -> list[str]:
        return [key for key in self._keys if key not in self.done]

    def suspects(self) -> list[Outcome]:
        """What a fork may be to blame for: it is looked at again, in a process of its own if its
        target has a name, else in another fork."""
        return [
            outcome
            for outcome in self.done.values()
            if outcome.outcome == HANG or (outcome.outcome == CRASH and outcome.key in AT_EXIT)
        ]

    def add(self, outcome: Outcome) -> None:
        self.done[outcome.key] = outcome
        check = BY_KEY[outcome.key]
        if check.item == FACTORY and outcome.outcome in BAD:
            raise CheckError(f"{self._name}: the factory: {outcome.text}")
        if check.gate and outcome.outcome in (*BAD, NOT_APPLICABLE):
            for key in self.left():
                if BY_KEY[key].role == check.role:
                    self.done[key] = Outcome(key, NOT_APPLICABLE, f"see item {check.item}")
        if self._progress:
            self._progress(len(self.done), len(self._keys), outcome.key)


def _follow(
    server: _Server,
    batch: list[str],
    results: _Results,
    timeout: float,
    first: float | None = None,
) -> None:
    """One process that runs a batch, up to its end."""
    pid, current, ended = 0, "", False
    while not ended:
        line = server.read(first or (timeout if current else min(timeout, _END)), pid)
        first = None
        if line is None:
            if current:
                results.add(Outcome(current, HANG, f"not done after {timeout:g} s"))
            else:
                results.add(Outcome(batch[-1], HANG, "the process does not end"))
            server.kill(pid)
            current, ended = "", server.alone
        elif "pid" in line:
            pid = line["pid"]
        elif "start" in line:
            current = line["start"]
        elif "end" in line:
            current = ""
            results.add(Outcome(line["end"], line["outcome"], line["text"], line["noise"]))
        elif "ended" in line:
            ended, status = True, line["ended"]
            if current:
                results.add(Outcome(current, CRASH, f"the process {_ended(status)}"))
            elif status and batch[0] in AT_EXIT and results.done[batch[0]].outcome != HANG:
                results.add(Outcome(batch[0], CRASH, f"the process {_ended(status)} at its end"))


def _ended(status: int) -> str:
    if status < 0:
        return f"died of {signal.Signals(-status).name}"
    return f"ended with status {status}"


class _Server:
    """The process that imports, and forks: a new one, or a fork of this process."""

    def __init__(
        self, name: str, contexts: dict[str, Any] | None, printed: Any, alone: str = ""
    ) -> None:
        self._name, self.alone = name, bool(alone)
        commands, self._commands = os.pipe()
        self._lines, out = os.pipe()
        self._rest = b""
        if contexts is None:
            job = {"name": name, "commands": commands, "out": out, "path": sys.path, "alone": alone}
            process = subprocess.Popen(
                [sys.executable, "-W", "ignore", _WORKER, json.dumps(job)],
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=printed,
                pass_fds=[commands, out],
                start_new_session=True,
            )
            self._pid = process.pid
            process.returncode = 0  # it is waited for below
        else:
            self._pid = _fork(contexts, commands, out, printed.fileno(), self._commands)
        os.close(commands)
        os.close(out)

    def __enter__(self) -> _Server:
        return self

    def __exit__(self, *error: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)
        os.close(self._commands)
        os.close(self._lines)

    def keys(self, timeout: float) -> list[str]:
        """The checks that there are; CheckError if there are none."""
        line = self.read(timeout)
        if line is None:
            raise CheckError(f"{self._name}: the import is not done after {timeout:g} s")
        if "error" in line:
            raise CheckError(f"{self._name}: {line['error']}")
        return list(line["keys"])

    def send(self, batch: list[str]) -> None:
        os.write(self._commands, (json.dumps(batch) + "\n").encode())

    def read(self, timeout: float, pid: int = 0) -> dict[str, Any] | None:
        """The next line; None if none comes in the time that process `pid`, or the server, may take.
        CheckError if the server is gone."""
        clock = Clock(pid or self._pid, timeout)
        while b"\n" not in self._rest:
            if not select.select([self._lines], [], [], clock.wait)[0]:
                if clock.over():
                    return None
                continue
            data = os.read(self._lines, 65536)
            if not data:
                status = os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])
                if self.alone:
                    return {"ended": status}
                raise CheckError(f"{self._name}: the process {_ended(status)} during the import")
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\n")
        result: dict[str, Any] = json.loads(line)
        return result

    def kill(self, pid: int) -> None:
        """End a process of the server, or the server itself if no other is known (0). os.kill(0) would
        end the group of this process."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid or self._pid, signal.SIGKILL)


def _fork(contexts: dict[str, Any], commands: int, out: int, printed: int, other: int) -> int:
    """A fork of this process that serves; it ends without what this process has to do at its end."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    faulthandler.cancel_dump_traceback_later()  # Python's end would wait for its thread in the fork
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that forking with threads may hang: it is seen
        pid = os.fork()
    if pid:
        return pid
    try:
        os.close(other)
        os.dup2(printed, 1)
        os.dup2(printed, 2)
        sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__
        faulthandler.disable()
        atexit._clear()
        warnings.simplefilter("ignore")
        worker.serve(contexts, commands, out)
    finally:
        os._exit(0)
