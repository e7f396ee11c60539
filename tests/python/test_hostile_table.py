"""Arrays of a library whose exchange table misbehaves, on the CPU."""

from __future__ import annotations

import ctypes
import sys

import numpy as np
import pytest

import dlx
from dlpack_ctypes import (
    ALLOCATOR,
    BORROW,
    DELETER,
    FROM_OBJECT,
    STREAM,
    TO_OBJECT,
    DLPackVersion,
    ExchangeAPI,
    Export,
    make_capsule,
    python,
)

LIBRARIES = []  # dlx remembers the type: a library is never unloaded


def delete(managed):
    ctypes.cast(managed.contents.deleter, DELETER)(ctypes.addressof(managed.contents))


class Library:
    """A class with an exchange table; `fault` says what goes wrong."""

    def __init__(self, *without):
        self.fault = ""
        library = self

        class Array:
            def __init__(self, values=(1, 2, 3)):
                self.values = np.array(values, np.int32)

            def __dlpack__(self, **keywords):
                return self.values.__dlpack__(**keywords)

            def __dlpack_device__(self):
                return (1, 0)

        def export(values):
            address, shape = values.ctypes.data, values.shape
            made = Export(address, shape, dtype=(0, 32, 1), device=(1, 0))
            made.values = values
            return ctypes.pointer(made.struct)

        def from_object(address, out):
            array = ctypes.cast(address, ctypes.py_object).value
            if library.fault == "shows nothing":
                return -1
            if library.fault != "gives nothing":
                out[0] = export(array.values)
            return 0

        def to_object(managed, out):
            if library.fault in ("makes nothing", "makes an error"):
                delete(managed)
                return 0 if library.fault == "makes nothing" else -1
            tensor = managed.contents.dl_tensor
            array = Array(np.zeros(list(tensor.shape[: tensor.ndim])))
            delete(managed)
            python.Py_IncRef(ctypes.py_object(array))
            out[0] = id(array)
            return 0

        def allocate(prototype, out, error_context, set_error):
            shape = list(prototype.contents.shape[: prototype.contents.ndim])
            if library.fault == "has no memory":
                return -1
            if library.fault != "allocates nothing":
                out[0] = export(np.zeros(shape, np.int32))
            return 0

        self.table = ExchangeAPI(
            DLPackVersion(1, 3),
            None,
            ALLOCATOR() if "allocator" in without else ALLOCATOR(allocate),
            FROM_OBJECT(from_object),
            TO_OBJECT() if "to_object" in without else TO_OBJECT(to_object),
            BORROW(),
            STREAM(lambda *_: 0),
        )
        Array.__dlpack_c_exchange_api__ = make_capsule(
            ctypes.addressof(self.table), b"dlpack_exchange_api"
        )
        self.Array = Array


def library(fault="", *without):
    made = Library(*without)
    made.fault = fault
    LIBRARIES.append(made)
    return made


def test_a_table_without_fault():
    found = library()
    assert dlx.asarray(found.Array()).tolist() == [1, 2, 3]
    assert type(dlx.empty_like(found.Array(), shape=(2, 2))) is found.Array


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("shows nothing", "refused, without a reason"),
        ("gives nothing", "gave no tensor, and no error"),
    ],
)
def test_what_the_table_does_not_show(fault, words):
    array = library(fault).Array()
    held = sys.getrefcount(array)
    for _ in range(3):
        with pytest.raises(BufferError, match=words):
            dlx.from_dlpack(array)
    assert sys.getrefcount(array) == held


@pytest.mark.parametrize("fault", ["has no memory", "allocates nothing"])
def test_an_allocator_that_refuses_leaves_the_work_to_dlx(fault):
    """Nothing here has a `from_dlpack`, so the result stays a Tensor."""
    made = dlx.empty_like(library(fault).Array(), shape=(4,))
    assert type(made) is dlx.Tensor
    assert (made.shape, str(made.dtype)) == ((4,), "int32")


@pytest.mark.parametrize("without", ["allocator", "to_object"])
def test_a_table_without_a_function(without):
    assert type(dlx.empty_like(library("", without).Array())) is dlx.Tensor


@pytest.mark.parametrize("fault", ["makes nothing", "makes an error"])
def test_an_array_that_the_table_does_not_make(fault):
    found = library()
    array = found.Array()
    assert type(dlx.empty_like(array)) is found.Array
    found.fault = fault
    with pytest.raises(BufferError, match="made no array, and no error"):
        dlx.empty_like(array)
