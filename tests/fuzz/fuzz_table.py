"""DLPack's exchange table, both ways: a foreign class whose table answers as the fuzzer says, and dlx's own
table, called with what the fuzzer says. What is taken over is released once; a table that tells the truth
gives its elements."""

from __future__ import annotations

import ctypes
import gc
from ctypes import POINTER, c_void_p
from typing import Any

import numpy

import dlx
from dlpack_ctypes import (
    ALIVE,
    ALLOCATOR,
    BORROW,
    DOUBLE_FREES,
    FROM_OBJECT,
    SET_ERROR,
    STREAM,
    TO_OBJECT,
    DLManagedTensorVersioned,
    DLPackVersion,
    DLTensor,
    ExchangeAPI,
    Export,
    make_capsule,
    table_of,
)
from source import Source, settle

LINES = False
MEMORY = numpy.arange(1, 65, dtype="f4")
NAME = b"dlpack_exchange_api"
NUMBERS = (0, 1, -1, 3, 255, 2**31 - 1, 2**40, 2**62, 2**63 - 1, -(2**63))
DTYPES = ((2, 32, 1), (2, 32, 1), (0, 8, 1), (6, 8, 1), (5, 64, 1), (2, 64, 2), (3, 64, 1),
          (17, 4, 2), (99, 8, 1), (2, 0, 1), (2, 32, 0), (1, 255, 65535))  # fmt: skip
DEVICES = ((1, 0), (1, 0), (1, 7), (2, 0), (10, 0), (14, 0), (12, 0), (-1, 0), (2**31 - 1, -1))
REFUSALS = (
    dlx.Error,
    BufferError,
    TypeError,
    ValueError,
    OverflowError,
    AttributeError,
    MemoryError,
)


class Answers:
    """What the foreign table does in the call under way."""

    source = Source(b"")
    honest = False


def any_export(source: Source, honest: bool) -> Export:
    shape = [source.randrange(4) for _ in range(source.randrange(4))]
    if honest:
        return Export(MEMORY.ctypes.data, shape)
    options: dict[str, Any] = {}
    strides = source.choice(("compact", None, [source.choice(NUMBERS) for _ in shape]))
    if shape and source.randrange(4) == 0:
        shape[0] = source.choice(NUMBERS)
    if source.randrange(3) == 0:
        options["flags"] = source.choice((1, 2, 4, 7, 8, 2**63))
    if source.randrange(3) == 0:
        options["device"] = source.choice(DEVICES)
    if source.randrange(4) == 0:
        options["byte_offset"] = source.choice((4, 3, 2**62, 2**63, 2**64 - 1))
    if source.randrange(6) == 0:
        options["version"] = (source.choice((0, 1, 2, 255)), source.randrange(256))
    if source.randrange(6) == 0:
        options["shape_null"] = True
        options["ndim"] = source.choice((-1, 0, 1, 65, 5000, 2**31 - 1))
    options["deleter"] = source.randrange(8) != 0
    data = source.choice((MEMORY.ctypes.data, MEMORY.ctypes.data + 1, None))
    return Export(data, shape, strides, source.choice(DTYPES), **options)


@FROM_OBJECT
def from_object(address: int, out: Any) -> int:
    source = Answers.source
    way = 0 if Answers.honest else source.randrange(8)
    if way == 6:
        out[0] = None
        return 0
    if way == 7:  # a refusal without a reason
        return -1
    out[0] = ctypes.pointer(any_export(source, Answers.honest).struct)
    return 0


@STREAM
def current_stream(device_type: int, device_id: int, out: Any) -> int:
    out[0] = Answers.source.choice((None, 1, 2, 2**40))
    return -1 if Answers.source.randrange(4) == 0 else 0


def foreign_class(source: Source, honest: bool) -> type:
    """A class with a table of its own, which lives as long as the class."""
    tables = []
    for _ in range(1 if honest else 1 + source.randrange(3)):
        major = 1 if honest else source.choice((1, 1, 1, 0, 2, 2**32 - 1))
        table = ExchangeAPI(DLPackVersion(major, source.randrange(4)), None, ALLOCATOR(), from_object,
                            TO_OBJECT(), BORROW(), current_stream)  # fmt: skip
        if not honest and source.randrange(8) == 0:
            table.managed_tensor_from_py_object_no_sync = FROM_OBJECT()
        if source.randrange(4) == 0:
            table.current_work_stream = STREAM()
        tables.append(table)
    for newer, older in zip(tables, [*tables[1:], tables[0]]):
        last = newer is tables[-1]
        if not last or source.randrange(4) == 0:  # the last one's chain may be a ring
            newer.prev_api = ctypes.addressof(older)
    body = {
        "__dlpack__": lambda self, **_: any_export(source, honest).capsule(),
        "__dlpack_device__": lambda self: (1, 0) if honest else source.choice(DEVICES),
        "tables": tables,
        "__dlpack_c_exchange_api__": make_capsule(ctypes.addressof(tables[0]), NAME),
    }
    return type("Foreign", (), body)


def take(source: Source) -> None:
    honest = source.randrange(2) == 0
    Answers.source, Answers.honest = source, honest
    cls = foreign_class(source, honest)
    for _ in range(2):  # the second time the class is known
        call = source.choice((dlx.from_dlpack, dlx.asarray))
        try:
            tensor = call(cls(), copy=None if honest else False)
        except REFUSALS as error:
            if honest or not str(error):
                raise
            continue
        finally:
            Answers.source = source
        if honest and tensor.tolist() != MEMORY[: tensor.size].reshape(tensor.shape).tolist():
            raise AssertionError(f"other elements: {tensor!r}")


OWN = table_of(dlx.Tensor)
TENSORS = [
    dlx.asarray(MEMORY),
    dlx.asarray(MEMORY)[::-2],
    dlx.asarray(bytes(8)),
    dlx.asarray(MEMORY).reshape(8, 8).T,
]
STRANGERS = [None, 3, MEMORY, dlx.Tensor, object()]
errors_set = []


@SET_ERROR
def note_error(context: int, kind: bytes, message: bytes) -> None:
    errors_set.append((kind, message))


def give(source: Source) -> None:
    """Each function of dlx's table; ctypes raises the exception that it set."""
    obj = source.choice(TENSORS if source.randrange(4) else STRANGERS)
    way = source.randrange(4)
    managed = POINTER(DLManagedTensorVersioned)()
    try:
        if way == 0:
            OWN.managed_tensor_from_py_object_no_sync(id(obj), ctypes.byref(managed))
        elif way == 1:
            OWN.dltensor_from_py_object_no_sync(id(obj), ctypes.byref(DLTensor()))
        elif way == 2:
            export, out = any_export(source, honest=source.randrange(2) == 0), c_void_p()
            try:
                OWN.managed_tensor_to_py_object_no_sync(
                    ctypes.pointer(export.struct), ctypes.byref(out)
                )
            finally:
                if not out.value:
                    ALIVE.pop(export.address, None)  # still the caller's, or dropped already
            made = ctypes.cast(out, ctypes.py_object).value
            drop_reference(made)
        else:
            prototype = any_export(source, honest=source.randrange(2) == 0)
            ALIVE.pop(prototype.address)
            count = 1
            for extent in prototype._shape:
                count *= max(1, min(abs(extent), 2**31))
            errors_set.clear()
            if count < 2**12 or count > 2**50:
                status = OWN.managed_tensor_allocator(
                    ctypes.pointer(prototype.struct.dl_tensor),
                    ctypes.byref(managed),
                    None,
                    note_error,
                )
                if (status == 0) is not bool(managed) or (status == 0) is bool(errors_set):
                    raise AssertionError(f"status {status}, {managed}, {errors_set}")
    except REFUSALS:
        if managed:
            raise
    if managed and managed.contents.deleter:
        ctypes.CFUNCTYPE(None, c_void_p)(managed.contents.deleter)(
            ctypes.addressof(managed.contents)
        )


drop_reference = ctypes.PyDLL(None).Py_DecRef
drop_reference.restype, drop_reference.argtypes = None, [ctypes.py_object]


def run(data: bytes) -> None:
    settle()
    source = Source(data)
    (take if source.randrange(2) == 0 else give)(source)
    Answers.source = Source(b"")
    gc.collect(0)
    for address, export in list(ALIVE.items()):
        if not export.struct.deleter:
            del ALIVE[address]
    if ALIVE or DOUBLE_FREES:
        raise AssertionError(f"{len(ALIVE)} not released, {len(DOUBLE_FREES)} released twice")
