"""dlx.Array in the argtypes of ctypes functions, and dlx.empty_like."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import weakref

import numpy as np
import pytest

import dlx
from calls import library
from dlx import raw
from memory import READABLE, failing, stays_flat

F32 = np.float32


def prototype(name, *argtypes, returns=None):
    function = library()[name]  # a new object each time
    function.argtypes, function.restype = argtypes, returns
    return function


def total(**options):
    return prototype(
        "sum", dlx.Array("float32", ndim=1, **options), ctypes.c_int64, returns=ctypes.c_double
    )


def test_c_gets_the_address_of_the_data():
    x = np.arange(4, dtype=F32)

    assert total()(x, 4) == total()(dlx.asarray(x), 4) == total()(memoryview(x), 4) == 6
    torch = pytest.importorskip("torch", reason="one of the libraries")
    assert total()(torch.arange(4, dtype=torch.float32), 4) == 6


def test_c_writes_where_the_array_is():
    add_one = prototype("add_one", dlx.Array("float32", writable=True), ctypes.c_int64)
    x = np.zeros((2, 2), F32)

    add_one(x, 4)
    assert x.tolist() == [[1, 1], [1, 1]]
    x.flags.writeable = False
    with pytest.raises(ctypes.ArgumentError, match="read-only"):
        add_one(x, 4)


def test_c_gets_a_dltensor():
    function = prototype(
        "sum_tensor",
        dlx.Array("float32", ndim=1, order=None, dltensor=True),
        returns=ctypes.c_double,
    )
    x = np.arange(6, dtype=F32)

    for view in (x, x[::2], x[::-1], dlx.asarray(x)[::3], memoryview(x)[::2]):
        assert function(view) == np.asarray(view).sum()


def test_what_does_not_fit_is_refused_in_dlxs_words():
    cases = [
        (np.zeros(3), "must be float32 (got float64)"),
        (np.zeros((2, 2), F32), "must have 1 axis"),
        (np.zeros(6, F32)[::2], "row-major"),
        ("text", "got str"),
        ([1.0, 2.0], "a list has no memory to share"),
    ]
    for x, words in cases:
        with pytest.raises(ctypes.ArgumentError) as caught:
            total(name="samples")(x, 3)
        assert words in str(caught.value)
    with pytest.raises(ctypes.ArgumentError, match="`samples` must be float32"):
        total(name="samples")(np.zeros(3), 3)


def test_a_temporary_lives_as_long_as_the_call():
    function = total(copy=True)

    assert function([1, 2, 3], 3) == 6
    assert function(np.arange(6)[::2], 3) == 6


def test_owners_are_kept_during_the_call_and_no_longer():
    class Owner(np.ndarray):
        pass

    x = np.ones(3, F32).view(Owner)
    gone = weakref.ref(x)

    assert total()(x, 3) == 3
    del x
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize(
    ("keywords", "words"),
    [
        ({"order": "K"}, '`order` must be "C", "F" or None'),
        ({"order": None}, "an address does not show strides"),
        ({"writable": True, "copy": True}, "exclude each other"),
        ({"ndim": 2, "shape": (3,)}, "`shape` has 1 axes, and `ndim` is 2"),
    ],
)
def test_parameters_that_contradict_each_other(keywords, words):
    with pytest.raises(TypeError) as caught:
        dlx.Array("float32", **keywords)
    assert words in str(caught.value)


def test_a_wrong_dtype_fails_when_the_parameter_is_made():
    with pytest.raises(dlx.InvalidArgumentError, match="float33"):
        dlx.Array("float33")
    assert repr(dlx.Array("float32|float64", shape=(3, None))) == (
        "<dlx.Array array: float32|float64[3, _] C>"
    )


@pytest.mark.heavy
@READABLE
def test_nothing_is_left_behind():
    address, whole = total(copy=True), prototype("sum_tensor", dlx.Array("float32", dltensor=True))
    x = np.ones(3, F32)

    def step():
        address(x, 3)
        address([1.0, 2.0], 2)
        whole(x)
        whole(memoryview(x))
        with contextlib.suppress(ctypes.ArgumentError):
            whole(np.ones(3))
        failing(dlx.Array, "float33")

    stays_flat(step, 4000)


# ---- handles


def test_a_handle_of_raw_is_an_argument_of_ctypes():
    tensor = dlx.asarray([1.0, 2.0, 3.0], dtype="float32")
    with raw.from_tensor(tensor) as handle:
        ndim = raw_function("dlx_tensor_ndim", ctypes.c_int32)
        assert ndim(handle) == 1


def raw_function(name, returns):
    from dlx._lib import library as dlx_library

    function = ctypes.CDLL(str(dlx_library.path))[name]
    function.restype = returns
    return function


def test_an_address_becomes_a_tensor():
    arange = prototype("arange", ctypes.c_int64, returns=ctypes.c_void_p)

    tensor = raw.to_tensor(arange(4))
    assert tensor.tolist() == [0, 1, 2, 3]
    with pytest.raises(dlx.InvalidArgumentError, match="NULL"):
        raw.to_tensor(0)


# ---- dlx.empty_like


def test_an_empty_array_is_like_another_one():
    x = np.zeros((2, 3), F32)

    same = dlx.empty_like(x)
    assert type(same) is np.ndarray
    assert same.shape == (2, 3)
    assert same.dtype == F32
    other = dlx.empty_like(x, shape=(4,), dtype="float64")
    assert other.shape == (4,)
    assert other.dtype == np.float64
    assert other.flags.writeable
    assert type(dlx.empty_like(dlx.asarray(x))) is dlx.Tensor
    assert type(dlx.empty_like(memoryview(x))) is dlx.Tensor
    assert type(dlx.empty_like([1, 2])) is dlx.Tensor


def test_an_empty_array_comes_from_the_librarys_allocator():
    torch = pytest.importorskip("torch", reason="its allocator is under test")

    made = dlx.empty_like(torch.zeros(2, 2), shape=(5,))
    assert type(made) is torch.Tensor
    assert made.dtype == torch.float32
    assert made.is_leaf
    assert not made.requires_grad
    assert made.data_ptr() % 64 == 0
    assert dlx.empty_like(torch.zeros(2), dtype="bfloat16").dtype == torch.bfloat16


def test_what_the_library_lacks_is_refused():
    torch = pytest.importorskip("torch", reason="lacks the dtype")

    with pytest.raises(dlx.UnsupportedError):
        dlx.empty_like(torch.zeros(2), dtype="float6_e2m3fn")
    with pytest.raises(dlx.InvalidArgumentError):
        dlx.empty_like(np.zeros(2), shape=(-1,))
