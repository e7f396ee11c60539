"""Foreign functions that leave a Python error, or would clear one: deleters, releases of Arrow's structs, functions
of exchange tables. Those that leave one are in C, because ctypes drops what its callbacks raise."""

from __future__ import annotations

import ctypes
from ctypes import CFUNCTYPE, Structure, c_int64, c_void_p

import numpy as np
import pytest

import calls
import dlx
from dlpack_ctypes import (
    ALLOCATOR,
    BORROW,
    FROM_OBJECT,
    STREAM,
    TO_OBJECT,
    DLPackVersion,
    ExchangeAPI,
    Export,
    Producer,
    make_capsule,
    python,
)
from hostile_arrow import ArrowArray, ArrowSchema

NUMBERS = np.arange(8)


def address(function):
    return ctypes.cast(function, c_void_p).value


@pytest.fixture(scope="module")
def leave():
    """The address of a C function with one argument that leaves a MemoryError."""
    library = calls.library()
    library.use_python.argtypes = [c_void_p] * 3
    library.use_python(
        address(python.PyGILState_Ensure),
        address(python.PyErr_NoMemory),
        address(python.PyGILState_Release),
    )
    return address(library.leave_an_error)


def producer(leave):
    class Leaves(Producer):
        def export(self, **options):
            made = super().export(deleter=False, **options)
            made.struct.deleter = leave
            return made

    return Leaves()


USES = {
    "a list": lambda x: dlx.asarray([x, x]).shape == (2, 2, 3),
    "nested lists": lambda x: dlx.asarray([[x], [x]]).shape == (2, 1, 2, 3),
    "a list with another kind": lambda x: (
        dlx.asarray([x, np.zeros((2, 3), "f4")]).shape == (2, 2, 3)
    ),
    "a copy": lambda x: dlx.asarray(x, copy=True).shape == (2, 3),
    "another dtype": lambda x: dlx.asarray(x, dtype="int8").shape == (2, 3),
    "from_dlpack": lambda x: dlx.from_dlpack(x, copy=True).shape == (2, 3),
    "an element": lambda x: dlx.asarray(x)[1, 2].tolist() == 0,
    "arithmetic": lambda x: (dlx.asarray(x) + 1).shape == (2, 3),
    "copyto": lambda x: dlx.copyto(dlx.empty((2, 3)), x) is None,
    "NumPy": lambda x: dlx.convert(x, "numpy").sum() == 0,
    "PyArrow": lambda x: dlx.convert(x, "pyarrow").shape == (2, 3),
}


@pytest.mark.parametrize("use", USES)
def test_a_deleter_that_leaves_an_error(leave, use):
    if use == "PyArrow":
        pytest.importorskip("pyarrow", reason="is the library under test here")
    assert USES[use](producer(leave))


class Source(Structure):
    """Of call_functions.c: what its stream gives."""

    _fields_ = [("schema", ArrowSchema), ("array", ArrowArray), ("left", c_int64)]


class Stream(Structure):
    _fields_ = [
        (name, c_void_p)
        for name in ("get_schema", "get_next", "get_last_error", "release", "private_data")
    ]


ON_STRUCT = CFUNCTYPE(None, c_void_p)


@ON_STRUCT
def release_stream(stream):
    """Python code, which clears an error that is pending."""
    Stream.from_address(stream).release = None


@ON_STRUCT
def release_nothing(struct):
    """For structs whose memory the test keeps."""


class Arrow:
    """An array, a table of two columns, or a stream of either in so many chunks, whose release is at `release`."""

    def __init__(self, release=None, formats=(b"l",), table=False, chunks=1):
        self.release = release or address(release_nothing)
        self.release_stream = release or address(release_stream)
        self.keep = []
        self.columns = [self.column(name) for name in formats]
        self.schema, self.array = self.table() if table else self.columns[0]
        self.chunks = chunks

    def column(self, name):
        schema = ArrowSchema(name, b"x", None, 0, release=self.release)
        buffers = (c_void_p * 2)(None, NUMBERS.ctypes.data)
        array = ArrowArray(8, 0, 0, 2, 0, buffers, release=self.release)
        self.keep.append(buffers)
        return schema, array

    def table(self):
        count = len(self.columns)
        pointers = [
            (c_void_p * max(1, count))(*[ctypes.addressof(pair[kind]) for pair in self.columns])
            for kind in (0, 1)
        ]
        buffers = (c_void_p * 1)()
        self.keep += [*pointers, buffers]
        schemas, arrays = (ctypes.cast(pointer, c_void_p) for pointer in pointers)
        schema = ArrowSchema(b"+s", b"", None, 0, count, schemas, release=self.release)
        return schema, ArrowArray(8, 0, 0, 1, count, buffers, arrays, release=self.release)

    def __arrow_c_array__(self, requested_schema=None):
        return (
            make_capsule(ctypes.addressof(self.schema), b"arrow_schema"),
            make_capsule(ctypes.addressof(self.array), b"arrow_array"),
        )


class Streamed(Arrow):
    __arrow_c_array__ = None

    def __arrow_c_stream__(self, requested_schema=None):
        functions = calls.library()
        source = Source(self.schema, self.array, self.chunks)
        stream = Stream(
            address(functions.stream_schema),
            address(functions.stream_next),
            None,
            self.release_stream,
            ctypes.addressof(source),
        )
        self.keep += [source, stream]
        return make_capsule(ctypes.addressof(stream), b"arrow_array_stream")


@pytest.mark.parametrize("kind", [Arrow, Streamed])
@pytest.mark.parametrize("copy", [None, True])
@pytest.mark.parametrize("shape", [(b"l",), (b"b",), (b"l", b"l")])
def test_a_release_that_leaves_an_error(leave, kind, copy, shape):
    made = kind(leave, shape, table=len(shape) == 2)
    tensor = dlx.asarray(made, copy=copy)
    assert tensor.shape == ((8, 2) if len(shape) == 2 else (8,))
    del tensor
    assert sum([1, 2]) == 3  # a SystemError if the error is still there


def test_the_releases_of_a_stream_in_chunks(leave):
    assert dlx.asarray(Streamed(leave, chunks=3)).tolist() == [*range(8)] * 3


@pytest.mark.parametrize("kind", [Arrow, Streamed])
def test_a_refusal_outlives_a_release_that_runs_python(kind):
    with pytest.raises(dlx.UnsupportedError, match="a table without columns"):
        dlx.asarray(kind(formats=(), table=True))
    with pytest.raises(dlx.CopyRefusedError, match="joining the 2 columns"):
        dlx.asarray(kind(formats=(b"l", b"g"), table=True), copy=False)
    with pytest.raises(dlx.UnsupportedError, match="strings"):
        dlx.asarray(kind(formats=(b"u",)))


def test_a_refusal_outlives_a_release_that_leaves_an_error(leave):
    for kind in (Arrow, Streamed):
        with pytest.raises(dlx.CopyRefusedError, match="joining the 2 columns"):
            dlx.asarray(kind(leave, (b"l", b"g"), table=True), copy=False)


def test_a_function_of_an_exchange_table_that_leaves_an_error_beside_success(leave):
    library = calls.library()
    made = Export(NUMBERS.ctypes.data, (8,), dtype=(0, 64, 1), deleter=False)
    made.struct.deleter = leave
    ctypes.c_void_p.in_dll(library, "exported").value = made.address
    give = ctypes.cast(address(library.give_and_leave_an_error), FROM_OBJECT)
    table = ExchangeAPI(
        DLPackVersion(1, 3), None, ALLOCATOR(), give, TO_OBJECT(), BORROW(), STREAM()
    )

    class Array(Producer):
        __dlpack_c_exchange_api__ = make_capsule(ctypes.addressof(table), b"dlpack_exchange_api")

    Array.kept = table  # dlx remembers the type
    for _ in range(2):
        assert dlx.asarray(Array()).tolist() == [*range(8)]
