"""dlx/python.h: dlx_python_wrap and dlx_python_unwrap as a C extension calls them."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator
from typing import Any

import pytest
from raw_support import Block, Deleter

from dlx import raw
from dlx._lib import library as loaded

dlx: Any = pytest.importorskip("dlx", reason="dlx cannot be imported")
INVALID = raw.DLX_ERROR_INVALID_ARGUMENT


@pytest.fixture(scope="module")
def c() -> Any:
    try:
        _ = dlx.Tensor
    except ImportError as error:
        pytest.skip(f"no native Tensor here: {error}")
    library = ctypes.PyDLL(loaded.path)  # calls hold the GIL
    library.dlx_python_wrap.argtypes = (ctypes.c_void_p, ctypes.c_void_p)
    library.dlx_python_unwrap.argtypes = (ctypes.c_void_p, ctypes.c_void_p)
    library.dlx_last_error.restype = ctypes.c_char_p
    return library


@pytest.fixture
def counted() -> Iterator[tuple[raw.Handle, Deleter]]:
    """A tensor, and its deleter, which must have run once by the end of the test."""
    block, deleter = Block(6), Deleter()
    yield (
        raw.dlx_tensor_wrap(block.describe([2, 3]), 0, deleter.callback, deleter.token),
        deleter,
    )
    gc.collect()
    assert deleter.calls == [block.address]


def wrap(c: Any, tensor: int) -> Any:
    out = ctypes.c_void_p()
    assert c.dlx_python_wrap(tensor, ctypes.byref(out)) == raw.DLX_OK
    made = ctypes.cast(out, ctypes.py_object).value  # takes a reference of its own
    ctypes.pythonapi.Py_DecRef(ctypes.py_object(made))
    return made


def unwrap(c: Any, made: Any) -> int:
    out = ctypes.c_void_p()
    assert c.dlx_python_unwrap(id(made), ctypes.byref(out)) == raw.DLX_OK
    assert out.value is not None
    return out.value


def test_wrap_takes_a_reference_to_the_tensor(c: Any, counted: tuple[raw.Handle, Deleter]) -> None:
    handle, deleter = counted
    made = wrap(c, handle.address)

    assert type(made) is dlx.Tensor
    assert made.shape == (2, 3)
    assert made.tolist() == [[0, 1, 2], [3, 4, 5]]
    handle.release()
    gc.collect()
    assert deleter.calls == []
    assert made.tolist() == [[0, 1, 2], [3, 4, 5]]
    del made
    gc.collect()
    assert len(deleter.calls) == 1


def test_wrap_leaves_the_reference_of_the_caller(
    c: Any, counted: tuple[raw.Handle, Deleter]
) -> None:
    handle, deleter = counted
    made = wrap(c, handle.address)
    del made
    gc.collect()
    assert deleter.calls == []

    handle.release()
    assert len(deleter.calls) == 1


def test_each_wrap_makes_an_object(c: Any, counted: tuple[raw.Handle, Deleter]) -> None:
    handle, deleter = counted
    one, other = wrap(c, handle.address), wrap(c, handle.address)
    handle.release()

    assert one is not other
    assert one.data_ptr == other.data_ptr
    assert unwrap(c, one) == unwrap(c, other)
    del one
    gc.collect()
    assert deleter.calls == []
    assert other.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_unwrap_borrows(c: Any, counted: tuple[raw.Handle, Deleter]) -> None:
    handle, deleter = counted
    address = handle.address
    made = wrap(c, address)
    handle.release()

    assert [unwrap(c, made) for _ in range(3)] == [address] * 3
    del made
    gc.collect()
    assert len(deleter.calls) == 1


def test_a_retained_tensor_outlives_its_object(c: Any, counted: tuple[raw.Handle, Deleter]) -> None:
    handle, deleter = counted
    made = wrap(c, handle.address)
    handle.release()
    kept = raw.dlx_tensor_retain(unwrap(c, made))
    assert kept is not None
    del made
    gc.collect()

    assert deleter.calls == []
    assert raw.dlx_tensor_shape(kept) == (2, 3)
    kept.release()
    assert len(deleter.calls) == 1


def test_unwrap_of_a_tensor_of_python(c: Any) -> None:
    tensor = dlx.asarray([[1, 2], [3, 4]])
    again = wrap(c, unwrap(c, tensor))

    assert again is not tensor
    assert again.data_ptr == tensor.data_ptr
    del tensor
    gc.collect()
    assert again.tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize("other", [None, 1, [1, 2], object, raw])
def test_unwrap_refuses_other_objects(c: Any, other: object) -> None:
    out = ctypes.c_void_p(1)

    assert c.dlx_python_unwrap(id(other), ctypes.byref(out)) == INVALID
    assert c.dlx_last_error() == b"dlx_python_unwrap: `object` is not a dlx.Tensor"
    assert out.value is None


def test_null_is_refused(c: Any, counted: tuple[raw.Handle, Deleter]) -> None:
    handle, deleter = counted
    made = wrap(c, handle.address)
    out = ctypes.c_void_p(1)

    assert c.dlx_python_wrap(None, ctypes.byref(out)) == INVALID
    assert b"dlx_python_wrap: `tensor`" in c.dlx_last_error()
    assert out.value is None
    assert c.dlx_python_wrap(handle.address, None) == INVALID
    assert b"dlx_python_wrap: `out`" in c.dlx_last_error()
    assert c.dlx_python_unwrap(None, ctypes.byref(out)) == INVALID
    assert b"dlx_python_unwrap: `object`" in c.dlx_last_error()
    assert c.dlx_python_unwrap(id(made), None) == INVALID
    assert b"dlx_python_unwrap: `out`" in c.dlx_last_error()
    handle.release()
    assert deleter.calls == []
