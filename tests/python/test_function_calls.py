"""What a call of dlx.function takes, keeps and tells in its rarer cases."""

from __future__ import annotations

import contextlib
import ctypes
import sys

import numpy as np
import pytest

import dlx
from calls import library
from dlpack_ctypes import DLTensor
from dlx import raw
from dlx._lib import library as dlx_library

F32 = np.float32


def called_back(count, run):
    """A C function of `count` pointers that calls `run`."""
    return ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * count)(run)


def test_a_stream_is_no_argument():
    function = dlx.function(called_back(2, lambda *_: 0), "f(x: float32[n], s: stream)")

    assert "stream" not in function.__doc__
    assert function(np.ones(2, F32)) is None
    with pytest.raises(TypeError, match="unexpected keyword argument 's'"):
        function(np.ones(2, F32), s=1)


def test_a_result_that_is_none_is_made():
    add = dlx.function(library().add, "add(a: float32[n], b: float32[n], out: float32[n] result)")
    ones = np.ones(3, F32)

    assert add(ones, ones, out=None).tolist() == [2, 2, 2]


def test_a_result_is_passed_by_its_name_only():
    add = dlx.function(library().add, "add(a: float32[n], b: float32[n], out: float32[n] result)")
    ones = np.ones(3, F32)

    with pytest.raises(TypeError, match=r"takes 2 positional arguments \(got 3\)"):
        add(ones, ones, ones)


@pytest.mark.parametrize("words", ["", "copy", "strided"])
def test_read_only_memory_is_not_written(words):
    function = dlx.function(library().fill, f"fill(x: float32[...] writable {words}, v: float)")
    memory = bytes(8)

    for x in (memoryview(memory).cast("f"), dlx.asarray(memoryview(memory).cast("f"))):
        with pytest.raises(dlx.ReadOnlyError, match="`x` is written to"):
            function(x, 1)
    assert memory == bytes(8)


def test_a_status_of_no_class_is_a_plain_error():
    function = dlx.function(library().fail_silently, "f(status: int)")

    for status in (9, 77, 254, 256, -1):
        with pytest.raises(RuntimeError, match=f"f: it returned the status {status}$") as caught:
            function(status)
        assert type(caught.value) is RuntimeError


def test_a_temporary_has_the_dtype_that_is_wanted_or_keeps_its_own():
    text = "add(a: float32[n], b: dtype(a)[n] copy, out: float32[n] result)"
    assert dlx.function(library().add, text)(np.ones(3, F32), np.ones(3)).tolist() == [2, 2, 2]

    room = (ctypes.c_int64 * 20)()
    for dtypes in ("float64|float32", "any"):
        text = f"describe(x: {dtypes}[n] copy, room: int) -> int"
        code = dlx.function(library().describe, text)(np.ones(6, F32)[::2], ctypes.addressof(room))
        assert code % 1000 == 32
    text = "describe(x: float32[n, m] F copy, room: int) -> int"
    dlx.function(library().describe, text)(np.ones((2, 3), F32), ctypes.addressof(room))
    assert (room[3], room[5]) == (1, 2)  # the strides


def test_results_follow_the_first_argument_not_a_result_that_was_passed():
    function = dlx.function(
        called_back(3, lambda *_: 0), "f(y: float32[n] result, z: float32[n] result, x: float32[n])"
    )
    given = dlx.empty(3, dtype="float32")

    y, z = function(np.ones(3, F32), y=given)
    assert y is given
    assert type(z) is np.ndarray


@pytest.mark.parametrize("returns", ["status", "int", "float", "tensor"])
def test_an_exception_wins_whatever_the_function_returns(returns):
    """Functions of Python's C API, which take an object as a number."""
    name = {"float": "PyFloat_AsDouble", "tensor": "PyObject_Bytes"}.get(returns, "PyObject_Size")
    function = dlx.function(
        getattr(ctypes.pythonapi, name), f"f(object: int) -> {returns}", gil=True
    )
    wrong = 1 if name == "PyObject_Size" else "no number"
    before = sys.getrefcount(wrong)

    with pytest.raises(TypeError):
        function(id(wrong))
    assert sys.getrefcount(wrong) == before


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("set: too small", "set: too small"),
        ("set:   too small", "set: too small"),
        ("settings are missing", "set: settings are missing"),
        ("too small", "set: too small"),
    ],
)
def test_the_functions_name_stands_once_before_what_it_says(said, message):
    def run():
        raw.dlx_set_last_error(said)
        return 1

    with pytest.raises(dlx.InvalidArgumentError) as caught:
        dlx.function(ctypes.CFUNCTYPE(ctypes.c_int32)(run), "set()")()
    assert str(caught.value) == message


# ---- as C makes callables, and borrows


Release = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Options(ctypes.Structure):
    _fields_ = (
        ("struct_size", ctypes.c_uint32),
        ("natural", ctypes.c_int32),
        ("gil_kept_below", ctypes.c_int64),
        ("context", ctypes.c_void_p),
        ("release", Release),
        ("doc", ctypes.c_char_p),
    )


class Borrowed(ctypes.Structure):
    _fields_ = (
        ("array", DLTensor),
        ("flags", ctypes.c_uint64),
        ("owner", ctypes.c_void_p),
        ("original", ctypes.c_void_p),
        ("room", ctypes.c_int64 * 16),
    )


BRIDGE = ctypes.PyDLL(str(dlx_library.path))
BRIDGE.dlx_python_function.argtypes = (ctypes.c_void_p,) * 4
BRIDGE.dlx_python_borrow.argtypes = (ctypes.c_void_p,) * 3
BRIDGE.dlx_contract_release.argtypes = (ctypes.c_void_p,)


@contextlib.contextmanager
def contract(text):
    made = ctypes.c_void_p()
    assert BRIDGE.dlx_contract_create(text.encode(), ctypes.byref(made)) == 0
    yield made
    BRIDGE.dlx_contract_release(made)


def callable_of_c(function, text, **options):
    out = ctypes.py_object()
    with contract(text) as made:
        given = Options(struct_size=ctypes.sizeof(Options), **options)
        BRIDGE.dlx_python_function(function, made, ctypes.byref(given), ctypes.byref(out))
    result = out.value
    ctypes.pythonapi.Py_DecRef(out)  # `result` has its own
    return result


def test_a_context_is_released_once_with_the_callable():
    seen, released = [], []
    packed = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)(
        lambda context, _: seen.append(context) or 0
    )
    release = Release(released.append)
    function = callable_of_c(packed, "f()", context=77, release=release)

    function()
    assert (seen, released) == ([77], [])
    del function
    assert released == [77]
    with pytest.raises(dlx.InvalidArgumentError, match="must return status"):
        callable_of_c(packed, "f() -> int", context=77, release=release)
    assert released == [77]


def test_the_gil_is_kept_below_the_number_of_elements_that_c_says():
    check = ctypes.cast(ctypes.pythonapi.PyGILState_Check, ctypes.c_void_p).value
    function = callable_of_c(
        library().call_back, "f(a: float32[n], function: int)", natural=1, gil_kept_below=4
    )

    with pytest.raises(dlx.InvalidArgumentError):  # the status is 1: it is held
        function(np.ones(3, F32), check)
    assert function(np.ones(4, F32), check) is None
    text = "f(a: float32[n] strided, function: int)"
    function = callable_of_c(library().call_back, text, natural=1, gil_kept_below=4)
    assert function(np.ones(8, F32)[::2], check) is None


def borrowed(made, *objects):
    room = (Borrowed * len(objects))()
    ctypes.memset(room, 0xFF, ctypes.sizeof(room))
    BRIDGE.dlx_python_borrow(made, (ctypes.py_object * len(objects))(*objects), room)
    return room


def test_c_borrows_what_may_be_left_out_as_null():
    with contract("f(a: uint8[n], b: uint8[n] = None)") as made:
        room = borrowed(made, bytearray(3), None)
        assert (room[0].array.ndim, room[0].flags) == (1, 0)
        assert (room[1].array.data, room[1].array.ndim) == (None, 0)
        assert (room[1].owner, room[1].flags) == (None, 0)
        assert BRIDGE.dlx_python_give_back(room, 2, 1) == 0
        with pytest.raises(dlx.InvalidArgumentError, match="`a` is missing"):
            borrowed(made, None, bytearray(3))


def test_c_borrows_arrays_of_one_dtype_and_no_results():
    x = np.ones(3, F32)
    with contract("f(a: any[n], b: dtype(a)[n])") as made:
        assert BRIDGE.dlx_python_give_back(borrowed(made, x, x), 2, 1) == 0
        with pytest.raises(dlx.InvalidArgumentError, match=r"`b` must be float32 \(got float64\)"):
            borrowed(made, x, np.ones(3))
    for text in ("f(a: float32[n], b: float32[n] result)", "f(a: float32[n], b: int)"):
        refused = pytest.raises(dlx.InvalidArgumentError, match=r"must have arrays only \(got `b`")
        with contract(text) as made, refused:
            borrowed(made, x, x)


def test_a_copy_has_the_layout_and_the_dtype_of_the_contract():
    """A strided array that may be copied; the second has the dtype of the first."""
    x, y = np.arange(12, dtype=F32).reshape(3, 4), np.zeros((4, 3), F32)
    with contract("f(x: float32[a, b] F copy, y: dtype(x)[b, a] writable copy)") as made:
        strided = y[:, ::-1]
        out = borrowed(made, x, strided)
        assert list(out[0].array.strides[:2]) == [1, 3]
        assert list(out[1].array.shape[:2]) == [4, 3]
        (ctypes.c_float * 12).from_address(out[1].array.data)[:] = range(12)
        BRIDGE.dlx_python_give_back(out, 2, 1)
        assert y[0].tolist() == [2, 1, 0]
        out = borrowed(made, x, strided)
        (ctypes.c_float * 12).from_address(out[1].array.data)[:] = [7] * 12
        BRIDGE.dlx_python_give_back(out, 2, 0)
        assert y[0].tolist() == [2, 1, 0]
        with pytest.raises(dlx.InvalidArgumentError, match="`y` must be float32"):
            borrowed(made, x, np.zeros((4, 3)))
