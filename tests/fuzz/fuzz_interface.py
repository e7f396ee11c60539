"""Dicts of array interfaces, whose memory is a buffer. What dlx takes lies inside the buffer and has the
elements that NumPy finds there; NumPy may refuse what dlx takes, and the other way round."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy

import dlx
from source import Source, settle

LINES = False
FIELDS = ("version", "shape", "typestr", "strides", "data", "offset", "mask", "descr")
TYPES = (
    "<f4",
    "<i8",
    "|u1",
    "|b1",
    "<c8",
    ">f4",
    "=i2",
    "<f2",
    "|S3",
    "|V8",
    "<M8[s]",
    "|O",
    "<U2",
    "<i",
    "f4",
)
NUMBERS = (2**31 - 1, 2**31, 2**62, 2**63 - 1, 2**63, 2**64 - 1, 2**64, -(2**63))
ODD = (None, True, 2.5, "2", b"2", (), [2], {}, numpy.int64(2), numpy.arange(2))
REFUSALS = (dlx.Error, TypeError, ValueError, OverflowError)


def number(source: Source) -> Any:
    kind = source.randrange(32)
    if kind < 28:
        return kind - 8
    return source.choice(NUMBERS if kind < 31 else ODD)


def numbers(source: Source) -> Any:
    if source.randrange(24) == 0:
        return source.choice(ODD)
    made = [number(source) for _ in range(source.randrange(5))]
    return made if source.randrange(8) == 0 else tuple(made)


def any_interface(source: Source, block: Any) -> dict[str, Any]:
    fields: dict[str, Any] = {"version": 3, "shape": numbers(source), "data": block}
    text = source.bytes(source.randrange(6)).decode("latin-1")
    fields["typestr"] = source.choice((*TYPES, text))
    if source.randrange(2):
        fields["strides"] = numbers(source)
    if source.randrange(2):
        fields["offset"] = number(source)
    if source.randrange(8) == 0:
        fields[source.choice(FIELDS)] = source.choice(ODD)
    if source.randrange(8) == 0:
        fields.pop(source.choice(FIELDS), None)
    return fields


def run(data: bytes) -> None:
    settle()
    source = Source(data)
    memory = bytearray(range(1, 1 + source.choice((0, 1, 7, 8, 64, 200))))
    interface = any_interface(source, bytes(memory) if source.randrange(4) == 0 else memory)
    obj = type("Foreign", (), {"__array_interface__": interface})()
    try:
        tensor = dlx.asarray(obj, copy=source.choice((None, False)))
    except REFUSALS as error:
        if not str(error):
            raise
        return
    with contextlib.suppress(*REFUSALS):
        expected = numpy.asarray(obj)
        swapped = not expected.dtype.isnative  # dlx copies those
        block = memoryview(interface["data"])  # any_interface may have put another in its place
        if tensor.readonly is not block.readonly and not swapped:
            raise AssertionError(f"read-only: {tensor.readonly}, on {block}")
        if tensor.shape != expected.shape or tensor.size > 1000:
            return
        expected = expected.astype(expected.dtype.newbyteorder("="))
        if numpy.asarray(tensor).tobytes() != expected.tobytes():
            raise AssertionError(f"got {tensor!r}, expected {expected!r}")
