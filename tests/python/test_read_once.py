"""Producers that change a number between two reads of dlx. What was checked is what counts, so each number
is read once. changing_page.c makes the change after the n-th read, for each n."""

from __future__ import annotations

import ctypes
import platform
import sys

import pytest

import dlx
from calls import compiled
from dlpack_ctypes import VERSIONED, DLManagedTensorVersioned, Export, make_capsule
from test_hostile_input import array_struct
from test_native_refusals import odd_exporter

numpy = pytest.importorskip("numpy", reason="its memory is what the producers share")
pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64",
    reason="steps over single instructions of x86-64 on Linux",
)
FLOATS = numpy.arange(64, dtype="float32")


@pytest.fixture(scope="module")
def page():
    library = compiled("changing_page.c")
    library.open_page.restype = ctypes.c_void_p
    library.watch.argtypes = ctypes.c_void_p, ctypes.c_int64, ctypes.c_int
    library.address = library.open_page()
    return library


def outcomes(page, words, make, changed, to):
    """What asarray makes of an object whose page has the words, with a change after each read."""
    numbers = (ctypes.c_int64 * len(words)).from_address(page.address)
    found, after, reads = [], 0, 1
    while after <= reads:
        numbers[:] = words
        taken = make(page.address)
        page.watch(page.address + 8 * changed, to, after)
        try:
            tensor = dlx.asarray(taken)
            layout = tensor.shape[-1], tensor.strides[-1]
        except ValueError:
            layout = None
        except BufferError:
            layout = None
        finally:
            reads = page.end_watch()
        found.append(layout)
        after += 1
    assert reads > 0
    return set(found)


def numbers_at(address):
    return ctypes.cast(address, ctypes.POINTER(ctypes.c_ssize_t))


def struct_at(address, ndim):
    strides = (ctypes.c_ssize_t * ndim)(*[4] * (ndim - 1), 6)
    return array_struct(
        nd=ndim, shape=numbers_at(address), strides=strides, data=FLOATS.ctypes.data
    )


def buffer_at(address, ndim):
    strides = (ctypes.c_ssize_t * ndim)(*[4] * (ndim - 1), 6)
    said = {"buf": FLOATS.ctypes.data, "itemsize": 4, "format": b"<f", "ndim": ndim}
    return odd_exporter(shape=numbers_at(address), strides=strides, **said)


@pytest.mark.parametrize("make", [struct_at, buffer_at])
@pytest.mark.parametrize("ndim", [1, 3, 64])
@pytest.mark.parametrize(("extent", "other"), [(1, 6), (6, 1)])
def test_a_shape_that_changes(page, make, ndim, extent, other):
    """6 floats that are 6 bytes apart cannot be described; one such float can."""
    words = [1] * (ndim - 1) + [extent]
    found = outcomes(page, words, lambda address: make(address, ndim), ndim - 1, other)
    assert found <= {None, (1, 1)}


def test_strides_that_change(page):
    def make(address):
        return array_struct(strides=numbers_at(address), data=FLOATS.ctypes.data)

    assert outcomes(page, [4], make, 0, 6) <= {None, (6, 1)}
    assert outcomes(page, [6], make, 0, 8) <= {None, (6, 2)}


def test_version_and_flags_are_read_once(page):
    managed = DLManagedTensorVersioned
    export = Export(FLOATS.ctypes.data, (6,))
    ctypes.memmove(page.address, export.address, ctypes.sizeof(managed))
    managed.from_address(page.address).deleter = None
    capsule = make_capsule(page.address, VERSIONED)
    page.watch(page.address, 1, -1)
    try:
        tensor = dlx.from_dlpack(capsule)
    finally:
        page.end_watch()
    assert tensor.tolist() == [0, 1, 2, 3, 4, 5]
    assert page.reads_of(managed.version.offset) == 1
    assert page.reads_of(managed.flags.offset) == 1
    del tensor
