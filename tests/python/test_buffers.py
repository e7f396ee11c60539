"""Buffers (PEP 3118) of Tensors, as C code gets them: what each request fills, and what it refuses."""

from __future__ import annotations

import ctypes
import math
import random
import struct

import pytest

import dlx
from interpreter import python_api


class PyBuffer(ctypes.Structure):
    _fields_ = [
        ("buf", ctypes.c_void_p),
        ("obj", ctypes.py_object),
        ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t),
        ("readonly", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("format", ctypes.c_char_p),
        ("shape", ctypes.POINTER(ctypes.c_ssize_t)),
        ("strides", ctypes.POINTER(ctypes.c_ssize_t)),
        ("suboffsets", ctypes.POINTER(ctypes.c_ssize_t)),
        ("internal", ctypes.c_void_p),
    ]


SIMPLE, WRITABLE, FORMAT, ND, STRIDES, FULL_RO = 0, 0x1, 0x4, 0x8, 0x18, 0x11C
python = python_api()
python.PyObject_GetBuffer.argtypes = [ctypes.py_object, ctypes.POINTER(PyBuffer), ctypes.c_int]
python.PyBuffer_Release.argtypes = python.PyBuffer_IsContiguous.argtypes = None
python.PyBuffer_Release.restype = None


def buffer(tensor, flags):
    view = PyBuffer()
    python.PyObject_GetBuffer(tensor, ctypes.byref(view), flags)
    return view


def contiguous(view, order):
    return bool(python.PyBuffer_IsContiguous(ctypes.byref(view), ctypes.c_char(order)))


@pytest.mark.parametrize("dtype", ["uint1", "int4", "float6_e3m2fn", "uint1x12"])
@pytest.mark.parametrize("shape", [(), (5,), (5, 3), (2, 0, 3)])
def test_packed_elements_are_bytes_in_a_row(shape, dtype):
    tensor = dlx.empty(shape, dtype=dtype)

    for flags in (SIMPLE, ND, STRIDES):
        view = buffer(tensor, flags)
        assert (view.len, view.itemsize) == (tensor.nbytes, 1)
        if flags != SIMPLE:
            assert (view.ndim, view.shape[0]) == (1, tensor.nbytes)
        if flags == STRIDES:
            assert view.strides[0] == 1
        python.PyBuffer_Release(ctypes.byref(view))


@pytest.mark.parametrize("flags", [SIMPLE, WRITABLE, FORMAT, WRITABLE | FORMAT])
@pytest.mark.parametrize("shape", [(), (4,), (2, 3), (2, 0, 3), (1, 2, 3, 4)])
def test_without_a_shape_it_is_bytes_in_a_row(flags, shape):
    tensor = dlx.empty(shape, dtype="int16")
    view = buffer(tensor, flags)

    assert (view.ndim, view.len) == (1, tensor.nbytes)
    assert not view.shape
    assert not view.strides
    # CPython reads the shape of whatever has more than one axis.
    assert all(contiguous(view, order) for order in (b"C", b"F", b"A"))
    python.PyBuffer_Release(ctypes.byref(view))


@pytest.mark.parametrize("flags", [ND, ND | FORMAT, STRIDES, FULL_RO])
def test_a_scalar_has_neither_shape_nor_strides(flags):
    view = buffer(dlx.asarray(7, dtype="int8"), flags)

    # PEP 3118; CPython's own test exporter takes any shape for that of an axis.
    assert (view.ndim, view.len) == (0, 1)
    assert not view.shape
    assert not view.strides
    python.PyBuffer_Release(ctypes.byref(view))


C_CONTIGUOUS, F_CONTIGUOUS = 0x38, 0x58


@pytest.mark.parametrize(
    ("flags", "expected"),
    [(STRIDES, (24, 8, 8, 4)), (C_CONTIGUOUS, (24, 8, 8, 4)), (F_CONTIGUOUS, None)],
)
def test_axes_that_nothing_steps_along_have_compact_strides(flags, expected):
    tensor = dlx.asarray([[1, 2], [3, 4], [5, 6]], dtype="float32")
    odd = dlx.from_pointer(
        tensor.data_ptr, (1, 3, 1, 2), "float32", strides=(-7, 2, 5, 1), owner=tensor
    )
    assert odd.strides == (-7, 2, 5, 1)
    if expected is None:
        with pytest.raises(BufferError, match="contiguous"):
            buffer(odd, flags)
        odd, expected = odd.mT[:, 0], (4, 4, 8)
    view = buffer(odd, flags)

    assert tuple(view.strides[: view.ndim]) == expected
    python.PyBuffer_Release(ctypes.byref(view))


ANY_CONTIGUOUS = 0x98


def refused(tensor, flags):
    """Whether the request fails; then it leaves no owner to release."""
    view = PyBuffer(obj=tensor)
    try:
        python.PyObject_GetBuffer(tensor, ctypes.byref(view), flags)
    except BufferError:
        assert not ctypes.c_void_p.from_buffer(view, PyBuffer.obj.offset).value
        return True
    python.PyBuffer_Release(ctypes.byref(view))
    return False


@pytest.mark.parametrize(
    ("make", "allowed"),
    [
        (lambda t: t, {SIMPLE, ND, C_CONTIGUOUS, ANY_CONTIGUOUS, STRIDES}),
        (lambda t: t.mT, {F_CONTIGUOUS, ANY_CONTIGUOUS, STRIDES}),
        (lambda t: t[:, ::2], {STRIDES}),
    ],
    ids=["C", "F", "neither"],
)
def test_the_order_asked_for_is_the_order_or_refused(make, allowed):
    tensor = make(dlx.asarray([[1, 2, 3], [4, 5, 6]]))

    for flags in (SIMPLE, ND, C_CONTIGUOUS, F_CONTIGUOUS, ANY_CONTIGUOUS, STRIDES):
        assert refused(tensor, flags) == (flags not in allowed), hex(flags)


def test_elements_that_share_bytes_have_only_the_order_of_their_bytes():
    for flags in (STRIDES, F_CONTIGUOUS):
        assert refused(dlx.empty((4, 2), dtype="int4").mT, flags)


def test_no_writable_buffer_of_a_read_only_tensor():
    tensor = dlx.asarray(b"abc")

    assert refused(tensor, WRITABLE)
    assert refused(tensor, FULL_RO | WRITABLE)
    view = buffer(tensor, FULL_RO)
    assert view.readonly
    python.PyBuffer_Release(ctypes.byref(view))


def test_a_stride_that_no_number_of_bytes_is():
    # Nothing steps by it. (The sanitizer sees a product beyond 64 bits.)
    tensor = dlx.asarray([1, 2, 3, 4], dtype="float64")
    for stride in (2**63 - 1, -(2**63), 2**62):
        odd = dlx.from_pointer(
            tensor.data_ptr, (1, 2), "float64", strides=(stride, 2), owner=tensor
        )
        assert memoryview(odd).tolist() == [[1, 3]]


def test_more_axes_than_a_buffer_has():
    tensor = dlx.empty((1,) * 65)

    for take in (memoryview, lambda t: buffer(t, ND), lambda t: buffer(t, FULL_RO)):
        with pytest.raises(BufferError, match="65 axes, and a buffer has at most 64"):
            take(tensor)
    assert bytes(memoryview(tensor.reshape((1,) * 64))) == bytes(memoryview(tensor.reshape(1)))
    view = buffer(tensor, SIMPLE)
    assert view.len == 4
    python.PyBuffer_Release(ctypes.byref(view))


LETTERS = "?bBhHiIlLqQnNefd"


def test_buffers_of_other_objects_at_random():
    """CPython's own test exporter makes every buffer that there is; memoryview says what is in it."""
    testbuffer = pytest.importorskip(
        "_testbuffer", reason="CPython was built without its test modules"
    )
    taken = 0
    for round_ in range(600):
        rng = random.Random(round_)
        letter = rng.choice(LETTERS)
        shape = [rng.choice([0, 1, 2, 3, 5]) for _ in range(rng.randrange(5))]
        count = max(1, math.prod(shape))
        values = [one_of(letter, rng) for _ in range(count)]
        flags = rng.choice([0, testbuffer.ND_WRITABLE]) | rng.choice([0, 0, testbuffer.ND_FORTRAN])
        source = testbuffer.ndarray(
            values if shape else values[0], shape=shape, format=letter, flags=flags
        )
        if rng.random() < 0.6 and shape:
            source = source[tuple(slice(None, None, rng.choice([1, 2, -1, -2])) for _ in shape)]

        tensor = dlx.asarray(source)

        view = memoryview(source)
        assert tensor.shape == view.shape, round_
        assert tensor.readonly or not view.readonly, round_
        assert bytes(memoryview(tensor).tobytes()) == view.tobytes(), round_
        if letter != "e" and view.format[-1] == letter:  # memoryview does not read float16
            assert tensor.tolist() == view.tolist(), round_
        taken += tensor.size > 0
    assert taken > 200


def one_of(letter, rng):
    if letter in "efd":
        return rng.choice([0.5, -2.0, 1.25])
    return struct.unpack(letter, bytes(rng.randrange(256) for _ in range(struct.calcsize(letter))))[
        0
    ]


def test_rows_behind_pointers_are_refused():
    testbuffer = pytest.importorskip(
        "_testbuffer", reason="CPython was built without its test modules"
    )
    rows = testbuffer.ndarray(list(range(6)), shape=[2, 3], format="i", flags=testbuffer.ND_PIL)

    with pytest.raises(BufferError, match=r"suboffsets .*copy it first"):
        dlx.asarray(rows)
