"""dlx.function and dlx.Array at their limits: numbers of arguments, odd names, odd contracts."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import dlx
from calls import library
from dlpack_ctypes import Forwarding
from dlx._call import programs

F32 = np.float32
UNENCODABLE = "\ud800"
OWN_REGISTERS = pytest.mark.skipif(
    sys.platform == "win32", reason="numbers have no registers of their own there"
)


def parameters(count, kind, of="a"):
    return ", ".join(f"{of}{i}: {kind}" for i in range(count))


# ---- a contract that no function can have


@pytest.mark.parametrize(
    ("contract", "words"),
    [
        (f"f({parameters(17, 'int')})", "17 and 0"),
        pytest.param(f"f({parameters(9, 'float')})", "0 and 9", marks=OWN_REGISTERS),
        pytest.param(
            f"f({parameters(9, 'float32')}, {parameters(2, 'int', 'b')})",
            "2 and 9",
            marks=OWN_REGISTERS,
        ),
    ],
)
def test_more_arguments_than_there_are_places_are_refused(contract, words):
    with pytest.raises(dlx.UnsupportedError, match=rf"got {words}\): pass a dlx_function"):
        dlx.function(library()["same"], contract)
    dlx.function(library()["same"], contract, packed=True)


def test_as_many_arguments_as_there_are_places_are_taken():
    dlx.function(library()["same"], f"f({parameters(8, 'float')})")


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
    class Odd(Forwarding):
        def __dlpack_device__(self):
            return device

    with pytest.raises((dlx.InvalidArgumentError, OverflowError), match="__dlpack_device__"):
        dlx.from_dlpack(Odd(np.ones(2)))


def test_a_library_that_takes_no_arrays_gets_tensors():
    add = dlx.function(
        library()["add"], "add(a: float32[n], b: float32[n], out: float32[n] result)"
    )
    made = add(Forwarding(np.ones(2, F32)), np.ones(2, F32))
    assert type(made) is dlx.Tensor
    assert made.tolist() == [2, 2]
    assert type(dlx.empty_like(Forwarding(np.ones(2, F32)))) is dlx.Tensor


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

    class Refuses(Forwarding):
        def __dlpack__(self, **keywords):
            raise OddError(*args)

    add = dlx.function(
        library()["add"], "add(a: float32[n], b: float32[n], out: float32[n] result)"
    )
    with pytest.raises(OddError) as caught:
        add(np.ones(2, F32), Refuses(np.ones(2, F32)))
    if args == ("a text",):
        assert str(caught.value) == "add: `b`: a text"
    else:
        assert caught.value.args == args


def test_other_exceptions_of_the_array_stay_what_they_are():
    class Refuses(Forwarding):
        def __dlpack__(self, **keywords):
            raise LookupError("gone")

    add = dlx.function(
        library()["add"], "add(a: float32[n], b: float32[n], out: float32[n] result)"
    )
    with pytest.raises(LookupError, match=r"^'gone'$|^gone$"):
        add(Refuses(np.ones(2, F32)), np.ones(2, F32))


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
    assert programs.Contract("f(x: float = -inf)").parameters[0].default == -float("inf")
    with pytest.raises(UnicodeEncodeError):
        programs.Contract(f"f({UNENCODABLE}: int)")
