"""dlx.function and dlx_python_borrow at their limits: numbers of arguments, odd names, odd contracts."""

from __future__ import annotations

import contextlib
import ctypes
import sys

import numpy as np
import pytest

import dlx
from calls import library
from dlx._call import programs
from dlx._lib import library as dlx_library

F32 = np.float32
UNENCODABLE = "\ud800"


def parameters(count, kind, of="a"):
    return ", ".join(f"{of}{i}: {kind}" for i in range(count))


# ---- a contract that no function can have


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has places for both kinds")
@pytest.mark.parametrize(
    ("contract", "words"),
    [
        (f"f({parameters(17, 'int')})", "17 and 0"),
        (f"f({parameters(9, 'float')})", "0 and 9"),
        (f"f({parameters(9, 'float32')}, {parameters(2, 'int', 'b')})", "2 and 9"),
    ],
)
def test_more_arguments_than_there_are_places_are_refused(contract, words):
    with pytest.raises(dlx.UnsupportedError, match=rf"(?s)got {words}.*pass a dlx_function"):
        dlx.function(library()["same"], contract)
    dlx.function(library()["same"], contract, packed=True)


def test_a_packed_function_returns_a_status():
    with pytest.raises(dlx.InvalidArgumentError, match="must return status"):
        dlx.function(library()["scale"], "scale(x: float32[n]) -> int", packed=True)


@pytest.mark.parametrize("address", [1 << 70, -1 << 70])
def test_an_address_has_64_bits(address):
    with pytest.raises(OverflowError):
        dlx.function(address, "f()")


def test_texts_that_c_cannot_get():
    with pytest.raises(UnicodeEncodeError):
        dlx.function(library()["same"], f"same(value: int) -> int {UNENCODABLE}")
    with pytest.raises(UnicodeEncodeError):
        dlx.function(library()["same"], "same(value: int) -> int", doc=UNENCODABLE)
    same = dlx.function(library()["same"], "same(value: int) -> int")
    with pytest.raises(UnicodeEncodeError):
        same(**{UNENCODABLE: 1})
    length = dlx.function(library()["length"], "length(text: str) -> int")
    with pytest.raises(UnicodeEncodeError):
        length(UNENCODABLE)


# ---- a call


def test_a_function_that_returns_nothing():
    x = np.zeros(2, F32)
    contract = "fill(x: float32[n] writable, value: float) -> void"
    assert dlx.function(library()["fill"], contract)(x, 3) is None
    assert x.tolist() == [3, 3]


def test_a_stream_is_no_argument():
    function = dlx.function(library()["scale"], "f(x: float32[n], stream: stream)", packed=True)
    assert "stream" not in function.__doc__
    with pytest.raises(TypeError, match="unexpected keyword argument 'stream'"):
        function(np.ones(2, F32), stream=1)


def test_the_function_is_named_once():
    """Its message is repeated in full where it begins with another name, if only by a letter."""
    for name, message in (("fail_with", "the image"), ("fail_wit", "fail_with: the image")):
        with pytest.raises(dlx.InvalidArgumentError, match=f"^{name}: {message} is too small"):
            dlx.function(library()["fail_with"], f"{name}(status: int)")(1)


def test_results_are_of_the_first_array_that_is_there():
    """A left-out optional array has no library; a result that is None is made."""
    contract = "look(n: int, a: float32[n] = None, b: float32[n] = None, out: float32[n] result)"
    function = dlx.function(library()["fill_fourth"], contract, packed=True)
    b = dlx.asarray([1, 2], dtype="float32")

    assert isinstance(function(2, None, b), dlx.Tensor)
    assert isinstance(function(2, b=b, out=None), dlx.Tensor)
    made = function(2)
    assert list(dlx.asarray(made)) == [3, 3]


def test_results_of_numpy_have_the_layout_of_the_contract():
    fill_fourth = "f(n: int, a: any[...], b: any[...] = None, out: float32[n, 2] F result)"
    out = dlx.function(library()["fill_fourth"], fill_fourth, packed=True)(3, np.zeros(1))
    assert (out.shape, out.strides) == ((3, 2), (4, 12))


def test_a_result_of_a_dtype_that_numpy_lacks():
    fill_fourth = "f(n: int, a: any[...], b: any[...] = None, out: bfloat16[n] result)"
    function = dlx.function(library()["fill_fourth"], fill_fourth, packed=True)
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="NumPy's bfloat16")
    assert function(0, np.zeros(1)).dtype == ml_dtypes.bfloat16


@pytest.mark.parametrize("ndim", [8, 9, 32])
def test_ndarrays_of_many_axes(ndim):
    describe = dlx.function(library()["describe_or_none"], "look(x: any[...]) -> int")
    assert describe(np.zeros((1,) * ndim, F32)) == ndim


@pytest.mark.parametrize("device", [(0, 0), (1, -1), (1 << 40, 0), (2, 1 << 40), (-1, 0)])
def test_a_device_that_is_none(device):
    class Odd(Own):
        def __dlpack_device__(self):
            return device

    with pytest.raises((dlx.InvalidArgumentError, OverflowError), match="__dlpack_device__"):
        dlx.from_dlpack(Odd(np.ones(2)))


class Own:
    """An array of a module that can make none of what dlx has."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **keywords):
        return self.array.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return (1, 0)


def test_a_library_that_takes_no_arrays_gets_tensors():
    add = dlx.function(
        library()["add"], "add(a: float32[n], b: float32[n], out: float32[n] result)"
    )
    made = add(Own(np.ones(2, F32)), np.ones(2, F32))
    assert type(made) is dlx.Tensor
    assert made.tolist() == [2, 2]
    assert type(dlx.empty_like(Own(np.ones(2, F32)))) is dlx.Tensor


class OddError(BufferError):
    """Its arguments are not a text."""

    def __init__(self, *args):
        super().__init__()
        self.args = args


@pytest.mark.parametrize(
    "args", [(), (1,), ("two", "texts"), ("\ud800",), (b"bytes",), ("a text",)], ids=repr
)
def test_an_exception_of_the_array_stays_what_it_is(args):
    """The function and the argument are told where an exception has one text, and only there."""

    class Refuses(Own):
        def __dlpack__(self, **keywords):
            raise OddError(*args)

    add = dlx.function(
        library()["add"], "add(a: float32[n], b: float32[n], out: float32[n] result)"
    )
    with pytest.raises(OddError) as caught:
        add(np.ones(2, F32), Refuses(None))
    if args == ("a text",):
        assert str(caught.value) == "add: `b`: a text"
    else:
        assert caught.value.args == args


def test_other_exceptions_of_the_array_stay_what_they_are():
    class Refuses(Own):
        def __dlpack__(self, **keywords):
            raise LookupError("gone")

    add = dlx.function(
        library()["add"], "add(a: float32[n], b: float32[n], out: float32[n] result)"
    )
    with pytest.raises(LookupError, match=r"^'gone'$|^gone$"):
        add(Refuses(None), np.ones(2, F32))


# ---- dlx.Array


@pytest.mark.parametrize("name", ["x: int, y", "x: float32[2], y"])
def test_a_parameter_is_one_array(name):
    with pytest.raises(dlx.InvalidArgumentError, match="must describe one array"):
        dlx.Array("float32", ndim=1, name=name)


def test_a_name_that_c_cannot_get():
    with pytest.raises(UnicodeEncodeError):
        dlx.Array("float32", name=UNENCODABLE)


# ---- a contract as Python reads it


def test_a_contract_in_python_has_the_same_defaults_and_extents():
    text = (
        "f(x: any[_, n, 3], y: dtype(x)[...] writable grad, n: int, on: bool = True, off: bool = False,"
        ' factor: float = 0.1, word: str = "it\'s \\\\ it",'
        " s: stream)"
    )
    contract = programs.Contract(text)
    x, y, _n, on, off, factor, word, stream = contract.parameters
    assert x.extents == (None, "n", 3)
    assert (y.writable, y.takes_grad, y.like) == (True, True, 0)
    assert (on.default, off.default, factor.default) == (True, False, 0.1)
    assert "it's" in word.default
    assert stream.kind == "stream"
    with pytest.raises(UnicodeEncodeError):
        programs.Contract(f"f({UNENCODABLE}: int)")


# ---- arrays borrowed in C


class Borrowed(ctypes.Structure):
    """dlx_borrowed."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("ndim", ctypes.c_int32),
        ("dtype", ctypes.c_uint32),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
        ("flags", ctypes.c_uint64),
        ("owner", ctypes.c_void_p),
        ("original", ctypes.c_void_p),
        ("room", ctypes.c_int64 * 16),
    )


@contextlib.contextmanager
def borrowing(contract):
    """borrow(objects) and give_back(borrowed, succeeded) by C for a contract."""
    bridge, made = ctypes.PyDLL(str(dlx_library.path)), ctypes.c_void_p()
    assert bridge.dlx_contract_create(contract.encode(), ctypes.byref(made)) == 0
    bridge.dlx_python_borrow.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)

    def borrow(*objects):
        out = (Borrowed * len(objects))()
        pointers = (ctypes.c_void_p * len(objects))(
            *(None if each is None else id(each) for each in objects)
        )
        bridge.dlx_python_borrow(made, pointers, out)
        return out

    def give_back(out, succeeded=True):
        bridge.dlx_python_give_back(out, len(out), int(succeeded))

    yield borrow, give_back
    bridge.dlx_contract_release(made)


@pytest.mark.parametrize(
    ("contract", "name"),
    [
        ("f(x: float32[n], factor: float)", "factor"),
        ("f(x: float32[n], out: float32[n] result)", "out"),
    ],
)
def test_only_arrays_are_borrowed(contract, name):
    refused = pytest.raises(dlx.InvalidArgumentError, match=f"must have arrays only .got `{name}`")
    with borrowing(contract) as (borrow, _), refused:
        borrow(np.ones(2, F32), np.ones(2, F32))


def test_an_array_that_is_not_there():
    with borrowing("f(x: float32[n], y: float32[n] = None)") as (borrow, give_back):
        out = borrow(np.ones(2, F32), None)
        assert (out[0].ndim, out[1].data, out[1].ndim) == (1, None, 0)
        give_back(out)
        with pytest.raises(dlx.InvalidArgumentError, match="`x` is missing"):
            borrow(None, np.ones(2, F32))


def test_a_copy_has_the_layout_and_the_dtype_of_the_contract():
    """A strided array that may be copied; the second has the dtype of the first."""
    x, y = np.arange(12, dtype=F32).reshape(3, 4), np.zeros((4, 3), F32)
    contract = "f(x: float32[a, b] F copy, y: dtype(x)[b, a] writable copy)"
    with borrowing(contract) as (borrow, give_back):
        strided = y[:, ::-1]
        out = borrow(x, strided)
        assert list(out[0].strides[:2]) == [1, 3]
        assert list(out[1].shape[:2]) == [4, 3]
        (ctypes.c_float * 12).from_address(out[1].data)[:] = range(12)
        give_back(out)
        assert y[0].tolist() == [2, 1, 0]
        out = borrow(x, strided)
        (ctypes.c_float * 12).from_address(out[1].data)[:] = [7] * 12
        give_back(out, succeeded=False)
        assert y[0].tolist() == [2, 1, 0]
        with pytest.raises(dlx.InvalidArgumentError, match="`y` must be float32"):
            borrow(x, np.zeros((4, 3)))
