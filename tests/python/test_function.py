"""dlx.function: compiled functions that take arrays of any library, by a contract."""

from __future__ import annotations

import array
import ctypes
import gc
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest

import dlx
from calls import library
from dlx import raw
from dlx._lib import library as dlx_library
from memory import READABLE, failing, stays_flat

F32 = np.float32


def made(name, contract, **options):
    return dlx.function(library()[name], contract, **options)


def fill(**options):
    return made("fill", "fill(x: float32[...] writable, value: float = 1.5)", **options)


def add(words="", **options):
    return made("add", f"add(a: float32[n] {words}, b: float32[n] {words}, out: float32[n] result)")


# ---- what a function gets


def test_a_function_writes_where_the_array_is():
    x = np.zeros((2, 3), F32)

    assert fill()(x) is None
    assert x.tolist() == [[1.5] * 3] * 2
    fill()(x, value=4)
    assert x.tolist() == [[4] * 3] * 2


SEED = random.randrange(2**32)


@pytest.mark.parametrize("words", ["strided", "F", ""])
def test_the_description_is_that_of_the_array(words):
    """Random views: address, shape and strides are NumPy's, dtype is the contract's."""
    chosen = random.Random(SEED)
    describe = made("describe", f"describe(x: any[...] {words}, room: int) -> int")
    room = (ctypes.c_int64 * 20)()
    taken = 0
    for _ in range(300):
        ndim = chosen.randrange(0, 9)
        kind = np.dtype(
            chosen.choice(["b1", "i1", "u2", "i4", "u8", "f2", "f4", "f8", "c8", "c16"])
        )
        whole = np.zeros([chosen.randrange(1, 4) for _ in range(ndim)], kind)
        view = whole[(*(slice(None, None, chosen.choice([1, 1, 2, -1])) for _ in range(ndim)), ...)]
        view = view.transpose(chosen.sample(range(ndim), ndim))
        for given in (view, dlx.asarray(view)):
            try:
                code = describe(given, ctypes.addressof(room))
            except dlx.CopyRefusedError:
                order = "F" if words == "F" else "C"
                assert words != "strided", SEED
                assert not view.flags[f"{order}_CONTIGUOUS"], SEED
                continue
            taken += 1
            assert code % 1000 == kind.itemsize * 8
            assert (room[0], room[1]) == (view.ctypes.data, ndim), SEED
            assert [room[2 + 2 * i] for i in range(ndim)] == list(view.shape), SEED
            steps = [s // kind.itemsize for s in view.strides]
            got = [room[3 + 2 * i] for i in range(ndim)]
            assert all(n <= 1 or a == b for a, b, n in zip(got, steps, view.shape)), SEED
    assert taken > 20


def test_arrays_of_every_kind_are_taken():
    double = add()
    ones = np.ones(3, F32)
    kinds = [ones, dlx.asarray(ones), memoryview(ones), array.array("f", [1, 1, 1])]
    for x in kinds:
        for y in kinds:
            assert np.asarray(double(x, y)).tolist() == [2, 2, 2]


def test_scalars_reach_their_registers():
    mix = made(
        "mix",
        "mix(a: int, b: float, c: int, d: float32, text: str, flag: bool, e: int8, f: float, g: uint64, "
        "h: int32, i: int, j: uint16) -> float",
    )

    assert mix(1, 2, 3, 4, "5", True, 7, 8, 9, 1, 2, 3) == 321987154321
    assert mix(1, 2, 3, 4, "5", False, -7, 8, 9, 1, 2, 3) == pytest.approx(321973054321)
    assert mix(np.int8(1), F32(2), 3, 4, "5", np.True_, 7, 8, 9, 1, 2, j=3) == 321987154321
    assert made("length", "length(text: str = 'four') -> int")() == 4
    assert made("length", "length(text: str) -> int")("ä") == 2


@pytest.mark.parametrize(
    ("kind", "value", "error", "words"),
    [
        ("int", 1.5, TypeError, "`v` must be int (got float)"),
        ("int", "1", TypeError, "must be int"),
        ("int", 2**63, ValueError, "v"),
        ("int8", 128, ValueError, "a number that int8 can hold (got 128)"),
        ("uint8", -1, ValueError, "uint8"),
        ("uint64", -1, ValueError, "uint64"),
        ("uint64", 1.0, TypeError, "uint64"),
        ("float", "1", TypeError, "must be float (got str)"),
        ("float", None, TypeError, "must be float"),
        ("float32", 1e39, ValueError, "float32 can hold (got 1e+39)"),
        ("bool", 1, TypeError, "must be bool (got int)"),
        ("str", b"x", TypeError, "must be str (got bytes)"),
        ("str", "a\0b", ValueError, "a NUL inside"),
    ],
)
def test_wrong_scalars_are_refused(kind, value, error, words):
    function = made("length", f"length(v: {kind}) -> int")

    with pytest.raises(error) as caught:
        function(value)
    assert words in str(caught.value)


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_the_ends_of_each_integers_range(bits):
    signed, unsigned = (
        made("same", f"f(v: int{bits}) -> int"),
        made("same", f"f(v: uint{bits}) -> int"),
    )
    half = 1 << bits - 1

    assert [signed(v) for v in (-half, -1, 0, half - 1)] == [-half, -1, 0, half - 1]
    assert [unsigned(v) for v in (0, half - 1)] == [0, half - 1]
    assert unsigned(2 * half - 1) == (2 * half - 1 if bits < 64 else -1)  # the same word
    for function, value in (
        (signed, half),
        (signed, -half - 1),
        (unsigned, 2 * half),
        (unsigned, -1),
    ):
        with pytest.raises((ValueError, OverflowError)):
            function(value)


def test_floats_that_are_no_numbers_and_defaults():
    widened = made("widened", "f(v: float32 = 0.5) -> float")
    assert [widened(), widened(1e-50), widened(float("-inf"))] == [0.5, 0, float("-inf")]
    assert np.isnan(widened(float("nan")))
    assert [made("same", f"f(v: bool = {v}) -> int")() for v in (True, False)] == [1, 0]
    assert made("same", "f(v: int = -3) -> int")() == -3


def test_optional_arrays_are_null():
    function = made("describe_or_none", "f(x: float32[...] = None) -> int")

    assert function() == function(None) == -1
    assert function(np.zeros((2, 2), F32)) == 2


def test_a_packed_function_gets_all_arguments_as_one_array():
    scale = made("scale", "scale(x: float32[n] writable, factor: float = 2)", packed=True)
    x = np.ones(3, F32)

    scale(x)
    scale(x, factor=5)
    assert x.tolist() == [10, 10, 10]


# ---- contracts


@pytest.mark.parametrize(
    ("x", "words", "error", "advice"),
    [
        (np.zeros(3), "", dlx.InvalidArgumentError, 'dlx.asarray(x, dtype="float32")'),
        (np.zeros((3, 2), F32).T, "", dlx.CopyRefusedError, "dlx.asarray(x).contiguous()"),
        (np.zeros((3, 2), F32), "F", dlx.CopyRefusedError, 'dlx.asarray(x).contiguous(order="F")'),
        (np.broadcast_to(F32(1), 3), "strided writable", dlx.ReadOnlyError, "copy=True"),
        (np.zeros(9, np.uint8)[1:].view(F32), "", dlx.CopyRefusedError, "dlx.asarray(x).copy()"),
        (np.zeros(0, F32), "writable", None, ""),
        ([1.0, 2.0], "", dlx.CopyRefusedError, 'dlx.asarray(x, dtype="float32")'),
        (b"12345678", "writable", dlx.InvalidArgumentError, ""),
    ],
)
def test_what_does_not_fit_is_refused_with_a_call_that_works(x, words, error, advice):
    function = made("describe_or_none", f"look(x: float32[...] {words}) -> int")
    if error is None:
        function(x)
        return

    with pytest.raises(error) as caught:
        function(x)
    text = str(caught.value)
    assert advice in text
    if advice:
        assert text.startswith("look: `x`")
        call = advice if "dlx." in advice else "dlx.asarray(x, copy=True)"
        function(eval(call, {"dlx": dlx, "x": x}))


class Broken:
    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **_):
        raise ValueError("no bytes " * 1000)


class Silent(Broken):
    def __dlpack__(self, **_):
        raise KeyError(7)


@pytest.mark.parametrize(
    ("x", "error", "words"),
    [
        ([1, 2], dlx.CopyRefusedError, r'a list has no memory .*: pass dlx\.asarray\(x, dtype="float32"\)$'),
        (2.5, dlx.CopyRefusedError, 'a float has no memory'),
        (None, TypeError, "cannot make an array"),
        ("text", TypeError, "cannot make an array"),
        (np.ma.array([1.0, 2.0], mask=[0, 1]), dlx.UnsupportedError, "would lose its mask"),
        (np.array([object()]), dlx.UnsupportedError, "object"),
        (Broken(), ValueError, "(no bytes ){1000}$"),
    ],
)  # fmt: skip
def test_what_cannot_be_imported_is_named(x, error, words):
    with pytest.raises(error, match=f"(?s)^scale: `x`: .*{words}") as caught:
        made("fill", "scale(x: float32[n], value: float)")(x, 1)
    assert type(caught.value) is error


def test_other_exceptions_of_producers_stay_as_they_are():
    with pytest.raises(KeyError) as caught:
        made("fill", "scale(x: float32[n], value: float)")(Silent(), 1)
    assert caught.value.args == (7,)


def test_a_wrong_number_names_the_function():
    with pytest.raises(TypeError, match=r"^fill: `value` must be float \(got str\)"):
        fill()(np.zeros(2, F32), "x")


def test_extents_of_one_name_are_equal():
    with pytest.raises(dlx.InvalidArgumentError, match=r"add: `b` must have the shape \[n=3\]"):
        add()(np.ones(3, F32), np.ones(4, F32))


def test_an_extent_may_be_zero():
    empty, three = np.ones(0, F32), np.ones(3, F32)
    assert add()(empty, empty).tolist() == []
    for a, b in ((empty, three), (three, empty)):
        with pytest.raises(dlx.InvalidArgumentError, match="`b` must have the shape"):
            add()(a, b)
    counted = made("describe", "f(x: any[n], n: int) -> int")
    with pytest.raises(dlx.InvalidArgumentError, match=r"`n` must be 3, .* \(got 0\)"):
        counted(three, 0)


def test_a_temporary_stands_for_what_does_not_fit():
    x = np.arange(6, dtype=np.float64)[::2]
    assert add("copy")(x, [1, 2, 3]).tolist() == [1, 4, 7]  # x: another dtype and layout; a list
    big = np.arange(3, dtype=">f4")
    assert add("copy")(big, big).tolist() == [0, 2, 4]


def test_a_temporary_that_was_written_is_copied_back():
    function = made("fill", "fill(x: float32[...] writable copy, value: float)")
    base = np.zeros((4, 6), F32)

    function(base[::2, 1::2], 3)
    assert (base[::2, 1::2] == 3).all()
    assert base.sum() == 18
    with pytest.raises(dlx.InvalidArgumentError, match="must be float32"):
        function(np.zeros(3), 1)  # nobody would convert back
    with pytest.raises(dlx.CopyRefusedError):
        function([1.0, 2.0], 1)  # nobody would see what was written


def test_repeated_elements_are_refused_before_a_temporary_is_written():
    one = np.zeros(1, F32)
    repeated = np.lib.stride_tricks.as_strided(one, (3,), (0,))
    with pytest.raises(dlx.InvalidArgumentError, match=r"f: `x` is written to.*overlap"):
        made("fail_after_writing", "f(x: float32[n] writable copy)")(repeated)


def test_after_a_failure_nothing_is_copied_back():
    function = made("fail_after_writing", "f(x: float32[...] writable copy)")
    base = np.zeros((4, 4), F32)

    with pytest.raises(dlx.InvalidArgumentError, match="returned the status 1"):
        function(base[:, ::2])
    assert not base.any()


def test_after_a_failure_nothing_is_held():
    function, out = (
        made("fail_after_writing", "f(y: float32[n], x: float32[n] result)"),
        np.ones(3, F32),
    )
    held = sys.getrefcount(out)

    for _ in range(5):
        with pytest.raises(dlx.InvalidArgumentError, match="returned the status 1"):
            function(np.ones(3, F32), x=out)
    assert sys.getrefcount(out) == held


def test_what_c_borrowed_before_a_misfit_is_given_back():
    bridge, contract = ctypes.PyDLL(str(dlx_library.path)), ctypes.c_void_p()
    bridge.dlx_contract_create(b"f(a: uint8[n], b: uint8[n])", ctypes.byref(contract))
    borrow = bridge.dlx_python_borrow
    borrow.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
    first, wrong, room = bytearray(3), np.ones(4, np.uint8), (ctypes.c_int64 * 100)()

    with pytest.raises(dlx.InvalidArgumentError, match="`b` must have the shape"):
        borrow(contract, (ctypes.py_object * 2)(first, wrong), room)
    first.append(1)  # a BufferError while it is borrowed
    bridge.dlx_contract_release(contract)


@pytest.mark.parametrize(
    "text", ["", "f(x)", "f(x: float33[n])", "f(x: float32[n] cuda)", "f() -> what"]
)
def test_a_wrong_contract_fails_when_it_is_made(text):
    if text == "":
        dlx.function(library()["add"], text)
        return
    with pytest.raises(dlx.InvalidArgumentError) as caught:
        dlx.function(library()["add"], text)
    assert "contract" in str(caught.value)


def test_a_contract_without_a_name_has_that_of_the_function():
    with pytest.raises(dlx.InvalidArgumentError, match=r"^fill: `x` must be float32"):
        made("fill", "x: float32[...] writable, value: float")(np.zeros(3), 1)
    address = ctypes.cast(library()["fill"], ctypes.c_void_p)
    with pytest.raises(dlx.InvalidArgumentError, match=r"^function: `x` must be float32"):
        dlx.function(address, "x: float32[...] writable, value: float")(np.zeros(3), 1)
    with pytest.raises(TypeError, match=r"`contract` must be a str \(got bytes\)"):
        dlx.function(address, b"fill()")


def test_elements_smaller_than_a_byte_have_no_alignment():
    ones = dlx.empty(4, dtype="int4")  # packed

    take = made("describe_or_none", "take(x: int4|float32[n] writable) -> int")
    assert take(ones) == take(np.ones(3, F32)) == 1
    with pytest.raises(dlx.InvalidArgumentError, match=r"must be int4\|float32"):
        take(np.ones(3))


# ---- results


def test_a_result_is_of_the_library_of_the_first_array():
    ones = np.ones(3, F32)
    assert type(add()(ones, ones)) is np.ndarray
    assert type(add()(dlx.asarray(ones), ones)) is dlx.Tensor
    assert type(add()(memoryview(ones), ones)) is dlx.Tensor
    torch = pytest.importorskip("torch", reason="one of the libraries")
    result = add()(torch.ones(3), ones)
    assert type(result) is torch.Tensor
    assert result.tolist() == [2, 2, 2]
    parameter = torch.nn.Parameter(torch.ones(3), requires_grad=False)
    assert type(add()(parameter, ones)) is torch.Tensor
    columns = made("add", "add(a: float32[n, m], b: float32[n, m], out: float32[n, m] F result)")
    assert columns(torch.ones(2, 3), torch.ones(2, 3)).stride() == (1, 2)


def test_a_result_may_be_passed():
    out = np.zeros(3, F32)

    assert add()(np.ones(3, F32), np.ones(3, F32), out=out) is out
    assert out.tolist() == [2, 2, 2]
    strided = np.zeros(6, F32)[::2]
    with pytest.raises(dlx.CopyRefusedError, match="`out`"):
        add()(np.ones(3, F32), np.ones(3, F32), out=strided)
    with pytest.raises(dlx.InvalidArgumentError, match="`out` must have the shape"):
        add()(np.ones(3, F32), np.ones(3, F32), out=np.zeros(4, F32))


def test_several_results_are_a_tuple():
    function = made(
        "split", "split(x: float32[n], low: float64[n] result, high: dtype(x)[n] result)"
    )

    low, high = function(np.array([1, 5], F32))
    assert (low.dtype, high.dtype) == (np.float64, F32)
    assert (low.tolist(), high.tolist()) == ([0, 4], [2, 6])
    given = np.zeros(2, F32)
    low, high = function(np.array([1, 5], F32), high=given)
    assert high is given
    assert given.tolist() == [2, 6]


def test_a_tensor_that_the_function_made_becomes_the_callers_kind():
    assert type(made("arange", "arange(n: int) -> tensor")(3)) is dlx.Tensor
    like = made("arange_like", "arange(x: float32[n]) -> tensor")
    result = like(np.zeros(3, F32))
    assert type(result) is np.ndarray
    assert result.tolist() == [0, 1, 2]
    with pytest.raises(RuntimeError, match="arange: `n` is negative"):
        made("arange", "arange(n: int) -> tensor")(-1)


# ---- calling


def test_help_shows_the_parameters():
    function = made("fill", "fill(x: float32[n, _] writable, value: float = 1.5)", doc="Fills.")

    assert function.__name__ == "fill"
    assert function.__text_signature__ == "(x, value=1.5)"
    assert function.__doc__.splitlines() == [
        "Fills.", "", "x: float32[n, _] writable", "value: float",
    ]  # fmt: skip
    assert add().__text_signature__ == "(a, b, *, out=None)"


@pytest.mark.parametrize(
    ("arguments", "keywords", "words"),
    [
        ((), {}, "misses the argument 'x': float32[...] writable"),
        ((1, 2, 3), {}, "takes 2 positional arguments (got 3)"),
        ((1,), {"y": 2}, "unexpected keyword argument 'y'"),
        ((1, 2), {"value": 2}, "multiple values for argument 'value'"),
    ],
)
def test_wrong_calls_are_type_errors(arguments, keywords, words):
    with pytest.raises(TypeError) as caught:
        fill()(*arguments, **keywords)
    assert words in str(caught.value)
    assert "fill()" in str(caught.value)


@pytest.mark.parametrize("status", [1, 2, 3, 4, 5, 6, 7, 8, 255])
def test_a_status_becomes_its_class_with_the_functions_words(status):
    function = made("fail_with", "fail_with(status: int)")

    with pytest.raises(dlx.errors.CLASSES[status]) as caught:
        function(status)
    assert str(caught.value) == "fail_with: the image is too small (got 2, expected 3)"


def test_other_statuses_and_silence():
    with pytest.raises(RuntimeError, match="too small"):
        made("fail_with", "fail_with(status: int)")(-3)
    raw.dlx_set_last_error("an older failure")
    with pytest.raises(dlx.UnsupportedError) as caught:
        made("fail_silently", "fail_silently(status: int)")(3)
    assert str(caught.value) == "fail_silently: it returned the status 3"


@pytest.mark.parametrize("pointer", [None, "x", 1.5, True, print])
def test_what_is_no_pointer_is_refused(pointer):
    with pytest.raises(TypeError, match="`pointer` must be a function of ctypes or cffi"):
        dlx.function(pointer, "f()")


def test_null_is_refused():
    with pytest.raises(dlx.InvalidArgumentError, match="`pointer` is NULL"):
        dlx.function(0, "f()")
    with pytest.raises(TypeError, match="`gil`"):
        fill(gil=3)


def test_a_contract_does_not_end_at_a_zero_byte():
    with pytest.raises(dlx.InvalidArgumentError, match="`contract` has a NUL inside"):
        made("fill", "fill(x: float32[n] writable, value: float)\0 strided")
    with pytest.raises(dlx.InvalidArgumentError, match="`doc` has a NUL inside"):
        fill(doc="a\0b")


COMMA = """
import locale, ctypes, inspect, sys, dlx
from dlx._call.programs import Contract

locale.setlocale(locale.LC_NUMERIC, "de_DE.UTF-8")
print(locale.localeconv()["decimal_point"])
pointer = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(lambda number: number)
text = "f(number: float = 1.5e-3) -> float"
function = dlx.function(pointer, text, gil=True)
print(function(), inspect.signature(function), Contract(text).signature)
try:
    dlx.function(pointer, "f(number: float = 1,5) -> float")
except dlx.InvalidArgumentError:
    print("refused")
"""


def test_a_contract_means_the_same_in_every_locale(tmp_path):
    if shutil.which("localedef") is None or not os.path.exists("/usr/share/i18n/locales/de_DE"):
        pytest.skip("a locale with a comma in its numbers cannot be made here")
    made = tmp_path / "de_DE.UTF-8"
    subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", made], check=True)
    out = subprocess.run(
        [sys.executable, "-c", COMMA],
        env={**os.environ, "LOCPATH": str(tmp_path)},
        check=True,
        capture_output=True,
        text=True,
    )
    point, *lines = out.stdout.splitlines()
    if point != ",":
        pytest.skip("this C library has a point in every locale (musl)")
    assert lines == ["0.0015 (number=0.0015) (number=0.0015)", "refused"]


def test_a_function_of_cffi_is_taken():
    cffi = pytest.importorskip("cffi", reason="its pointers are under test")
    ffi = cffi.FFI()
    pointer = ffi.cast("void *", ctypes.cast(library().fill, ctypes.c_void_p).value)
    x = np.zeros(3, F32)

    dlx.function(pointer, "fill(x: float32[n] writable, value: float)")(x, 2)
    assert x.tolist() == [2, 2, 2]


def test_the_callable_keeps_the_pointers_object_and_no_longer():
    prototype = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)
    seen = []
    callback = prototype(lambda x: seen.append(x) or 0)
    gone = weakref.ref(callback)
    function = dlx.function(callback, "f(x: float32[n])", gil=True)
    del callback
    gc.collect()

    function(np.ones(2, F32))
    assert len(seen) == 1
    assert gone() is not None
    del function
    gc.collect()
    assert gone() is None


def test_an_exception_inside_the_call_wins():
    # A function of Python's C API that sets an exception.
    function = dlx.function(ctypes.pythonapi.PyErr_BadArgument, "f() -> int", gil=True)
    with pytest.raises(TypeError, match="bad argument type"):
        function()


@pytest.fixture
def interruptible():
    """Python's own handler: a test run in a shell's background ignores the signal."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.skipif(sys.platform == "win32", reason="raise() of C reaches no other C library")
@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("gil", [True, False])
def test_ctrl_c_comes_after_the_call(gil):
    """The function ends first, what it wrote is copied back, and nothing is held."""
    function = made("interrupt", "interrupt(x: float32[n] writable copy)", gil=gil)
    x = np.zeros(6, F32)[::2]
    gone = weakref.ref(x)
    before = sys.getrefcount(x)

    def call(argument):
        function(argument)
        for _ in range(1000):  # where CPython looks for signals
            pass

    with pytest.raises(KeyboardInterrupt):
        call(x)

    assert x.tolist() == [7, 0, 0]
    assert sys.getrefcount(x) == before
    del x
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("urgent", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_an_interruption_while_arguments_are_taken_leaves_nothing(urgent):
    class Interrupted(Broken):
        def __dlpack__(self, **_):
            raise urgent

    function = made("take_two", "take_two(a: float32[n] copy, b: float32[n]) -> int")
    a = np.zeros(6, F32)[::2]
    before = sys.getrefcount(a)
    with pytest.raises(urgent) as caught:
        function(a, Interrupted())
    assert caught.value.args == ()
    del caught
    assert sys.getrefcount(a) == before


def keeps_gil(function, x):
    """Whether the GIL is held inside; `function` is call_back(), and its status is the answer."""
    check = ctypes.cast(ctypes.pythonapi.PyGILState_Check, ctypes.c_void_p).value
    try:
        function(x, check)
    except dlx.InvalidArgumentError:
        return True
    return False


def test_the_gil_is_given_away_by_size():
    small, large = np.ones(3, F32), np.ones(40_000, F32)

    def through(**options):
        return made("call_back", "call_back(x: float32[n], function: int)", **options)

    assert keeps_gil(through(), small)
    assert not keeps_gil(through(), large)
    for x in (small, large):
        assert keeps_gil(through(gil=True), x)
        assert not keeps_gil(through(gil=False), x)


def test_calls_run_in_many_threads():
    function, failures = add("strided"), []

    def work(number):
        x = np.full(5, number, F32)
        for _ in range(300):
            if function(x, x).tolist() != [2 * number] * 5:
                failures.append(number)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


@pytest.mark.heavy
@READABLE
def test_nothing_is_left_behind():
    x, function = np.ones(3, F32), add("copy")
    y, wrong = [1.0, 2.0, 3.0], np.ones(3)[::-1]
    fails = made("fail_after_writing", "f(x: float32[...] writable copy)")

    def step():
        function(x, y)
        function(wrong, x)
        failing(fails, np.ones((2, 4), F32)[:, ::2])
        failing(function, "x", y)
        made("add", "add(a: float32[n], b: float32[n], out: float32[n] result)")

    stays_flat(step, 4000)


def test_the_interpreter_ends_with_callables_alive():
    code = (
        "import dlx, ctypes, numpy\n"
        "f = dlx.function(ctypes.pythonapi.Py_IsInitialized, 'f() -> int', gil=True)\n"
        "class Keeps:\n    def __del__(self):\n        assert f() in (0, 1)\n"
        "k = Keeps()\nprint(f() & 1)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "1\n", "")
