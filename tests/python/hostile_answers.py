"""What the methods of a hostile object answer, protocol by protocol: the truth, or something near it, or
rubbish."""

from __future__ import annotations

import contextlib
import ctypes
from typing import Any

import numpy

import dlx
from array_struct import ArrayStruct
from dlpack_ctypes import (
    FROM_OBJECT,
    KEEP,
    LEGACY,
    USED_VERSIONED,
    VERSIONED,
    DLPackVersion,
    ExchangeAPI,
    Export,
    make_capsule,
)
from hostile_arrow import ArrowExport
from hostile_world import number, sequence, text

DTYPES = ["f4", "f8", "i1", "i8", "u2", "?", "c8", "f2"]
CODES = {"f": 2, "i": 0, "u": 1, "?": 6, "c": 5}


def memory_of(world):
    """An array to tell the truth about."""
    dtype = world.pick(DTYPES)
    shape = world.pick([(), (6,), (2, 3), (3, 1, 2), (0, 4)])
    count = int(numpy.prod(shape))
    made = numpy.arange(1, count + 1).reshape(shape).astype(dtype)
    if shape and world.chance(3):
        made = made[::-1] if world.chance(2) else made.T
    return made


def interface(world, truth, honest):
    """The dict of an array interface, and what it needs to live."""
    fields = {
        "version": 3,
        "shape": truth.shape,
        "typestr": truth.dtype.str,
        "strides": truth.strides,
        "data": (truth.ctypes.data, False),
    }
    if honest:
        return fields
    for name in world.rng.sample(sorted(fields), world.rng.randrange(4)):
        if name in ("shape", "strides"):
            fields[name] = sequence(world, [number(world, step) for step in fields[name]])
        elif name == "data":
            block = world.pick([bytearray(64), memoryview(bytes(64)), number(world), None])
            fields[name] = block if world.chance(2) else sequence(
                world, [number(world, truth.ctypes.data), number(world, 0)])  # fmt: skip
            fields["offset"] = number(world, 0)
        elif name == "typestr":
            fields[name] = text(world, truth.dtype.str)
        else:
            fields[name] = number(world, 3)
        if world.chance(6):
            fields.pop(name, None)
    if world.chance(20):
        return world.pick([None, 3, [], sequence(world, fields.items())])
    return fields


def capsule(world, truth, honest, subject):
    """What __dlpack__ returns."""
    code = (CODES[truth.dtype.kind.replace("b", "?")], truth.itemsize * 8, 1)
    strides = [s // truth.itemsize for s in truth.strides]
    options: dict[str, Any] = {"versioned": world.chance(2)}
    shape, address, name = list(truth.shape), truth.ctypes.data, None
    if not honest:
        small = [-1, 0, 1, 7, 255]
        changes = {
            "ndim": world.pick([-1, 65, 10**6, 2**31 - 1]) if world.chance(2) else 0,
            "flags": world.pick([1, 2, 4, 8, 2**63]),
            "device": (world.pick([*small, 2, 2**31 - 1]), world.pick(small)),
            "version": (world.pick([0, 2, 99]), 3),
            "byte_offset": world.pick([1, 2**63, 2**64 - 1]),
            "shape_null": True,
            "deleter": False,
        }
        for key in world.rng.sample(sorted(changes), world.rng.randrange(3)):
            options[key] = changes[key]
        if options.get("ndim", 0) > 0:
            options["shape_null"] = True  # there are no extents that could be read
        code = world.pick([code, code, (99, 8, 1), (2, 0, 1), (2, 32, 0), (17, 4, 2), (3, 64, 1)])
        if shape and world.chance(3):
            shape[0] = world.pick([-1, 2**40, 2**62, 2**63 - 1])
        if strides and world.chance(3):
            strides[0] = world.pick([-(2**63), 2**62, 0, -1])
        address = world.pick([address, address, None])
        strides = world.pick([strides, strides, None, "compact"])
        if world.chance(12):
            return world.pick([None, 3, subject, truth, dlx.asarray(truth), (1, 2)])
        name = world.pick(
            [None, None, None, b"\xff", b"x" * 200, LEGACY, VERSIONED, USED_VERSIONED]
        )
    export = Export(address, shape, strides, code, **options)
    export.owner = truth
    world.exports.append(export)
    if name not in (None, export.name):
        if name in (LEGACY, VERSIONED):  # the other kind of struct would be read wrongly
            name = b"dltensor\xc3"
        export.forsaken = True  # a capsule whose name nobody knows is nobody's to delete
        return make_capsule(export.address, name)
    made = export.capsule()
    if not honest and world.chance(8):
        with contextlib.suppress(BaseException):
            dlx.from_dlpack(made)  # consumed before it is handed over
    return made


def struct_capsule(world, truth, honest, subject):
    """What __array_struct__ is."""
    shape = (ctypes.c_ssize_t * 8)(*truth.shape)
    strides = (ctypes.c_ssize_t * 8)(*truth.strides)
    fields = {"two": 2, "nd": truth.ndim, "typekind": truth.dtype.kind.encode(),
              "itemsize": truth.itemsize, "flags": 0x600, "shape": shape, "strides": strides,
              "data": truth.ctypes.data}  # fmt: skip
    if not honest:
        wrong = {"two": 3, "nd": world.pick([-1, 65, 2**31 - 1, 0, 8]), "typekind": b"\xff",
                 "itemsize": world.pick([0, -1, -(2**31), 3]), "flags": 0x400, "shape": None,
                 "strides": None, "data": None}  # fmt: skip
        for key in world.rng.sample(sorted(wrong), world.rng.randrange(3)):
            fields[key] = wrong[key]
        if world.chance(3):
            shape[0] = world.pick([-1, 2**62, 2**63 - 1])
            strides[0] = world.pick([-(2**63), 2**62, 3, 1])
    struct = ArrayStruct(**fields)
    subject.struct = struct, shape, strides, truth
    return struct.capsule()


def device_pair(world, honest):
    if honest:
        return (1, 0)
    return sequence(world, [number(world, 1), number(world, 0)])


def array_answer(world, truth, honest, subject):
    if honest:
        return truth
    return world.pick([truth.view(type("Sub", (numpy.ndarray,), {})), subject, None, 3, [1, 2],
                       dlx.asarray(truth), truth.astype("O"), truth.astype("M8[s]", copy=True)
                       if truth.dtype.kind == "i" else "x", numpy.ma.masked_array(truth)])  # fmt: skip


def arrow_pair(world, truth, honest, subject):
    export = ArrowExport(world, truth, honest)
    world.arrow.append(export)
    pair = export.capsules()
    if honest:
        return pair
    if world.chance(6):
        return sequence(world, pair)
    return world.pick([pair, pair, pair, (pair[1], pair[0]), (pair[0], pair[0]), pair[0], None])


def exchange_table(world, truth):
    """A class attribute: the capsule of a DLPackExchangeAPI in ctypes."""
    way = world.pick(["serves", "serves", "refuses", "nothing", "old", "name", "none"])
    if way == "none":
        return world.pick([None, 3, "x"])

    def give(address, out):
        if way == "serves":
            made = Export(truth.ctypes.data, truth.shape, None, *world.pick([[], [(2, 0, 1)]]))
            made.owner = truth
            world.exports.append(made)
            out[0] = ctypes.pointer(made.struct)
        return int(way == "refuses") * -1

    table = ExchangeAPI(DLPackVersion(2 if way == "old" else 1, 3))
    table.managed_tensor_from_py_object_no_sync = FROM_OBJECT(give)
    KEEP.append(table)
    name = b"other" if way == "name" else b"dlpack_exchange_api"
    return make_capsule(ctypes.addressof(table), name)


ANSWERS = {
    "__dlpack__": capsule,
    "__array_struct__": struct_capsule,
    "__array__": array_answer,
    "__arrow_c_array__": arrow_pair,
}
