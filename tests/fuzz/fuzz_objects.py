"""Calls of dlx with hostile objects (tests/python/hostile_calls.py), as the fuzzer decides."""

from __future__ import annotations

import sys

import hostile_calls
from source import Source, settle

LINES = False
unraisable = []
sys.unraisablehook = lambda info: unraisable.append(info.exc_type)


def run(data: bytes) -> None:
    settle()
    hostile_calls.run(lambda: Source(data))
    if SystemError in unraisable:
        raise hostile_calls.Broken("a SystemError in a deleter")
    unraisable.clear()
