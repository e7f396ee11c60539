"""Operators and NumPy's functions on Tensors: values by NumPy as the oracle, identity of out=,
memory that is written in place, and what type comes back."""

import collections
import operator
import os
import random
import subprocess
import sys

import pytest

import dlx

numpy = pytest.importorskip("numpy")

NUMPY = tuple(map(int, numpy.__version__.split(".")[:2]))
BINARY = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow"]
BITWISE = ["and_", "or_", "xor", "lshift", "rshift"]
COMPARISONS = ["eq", "ne", "lt", "le", "gt", "ge"]
DTYPES = ["bool", "int8", "int32", "int64", "uint8", "uint64", "float16", "float32", "float64", "complex64"]  # fmt: skip


@pytest.fixture
def seeded():
    """A generator whose seed is printed, so that a failure can be repeated with DLX_TEST_SEED."""
    seed = int(os.environ.get("DLX_TEST_SEED") or random.randrange(1 << 32))
    print(f"DLX_TEST_SEED={seed}")
    return numpy.random.default_rng(seed)


def random_array(rng, dtype=None, shape=None):
    """Small numbers, so that no integer power overflows; any layout of strides."""
    dtype = numpy.dtype(dtype or rng.choice(DTYPES))
    shape = tuple(rng.integers(0, 4, rng.integers(0, 4))) if shape is None else shape
    array = numpy.asarray(rng.integers(0, 2 if dtype.kind == "b" else 5, shape)).astype(dtype)
    layout = rng.integers(3) if array.ndim else 0
    return [array, array.T.copy().T, numpy.repeat(array, 2, axis=0)[::2] if array.ndim else array][
        layout
    ]


def outcome(call, *args):
    """The result, or the class of what it raises: the two sides must agree in that as well."""
    with numpy.errstate(all="ignore"):
        try:
            return call(*args)
        except (TypeError, ValueError, OverflowError) as error:
            return next(
                cls for cls in (ValueError, OverflowError, TypeError) if isinstance(error, cls)
            )


def same(tensor, expected):
    if isinstance(expected, type):
        assert tensor is expected, (tensor, expected)
        return
    expected = numpy.asarray(expected)
    assert type(tensor) is dlx.Tensor
    assert tensor.dtype == expected.dtype
    assert tensor.shape == expected.shape
    numpy.testing.assert_array_equal(tensor.numpy(), expected)


@pytest.mark.parametrize("name", BINARY + BITWISE + COMPARISONS)
def test_operators_agree_with_numpy(seeded, name):
    function = getattr(operator, name)
    for _ in range(25):
        a = random_array(seeded)
        b = random_array(seeded, shape=a.shape if seeded.random() < 0.7 else a.shape[1:])
        expected = outcome(function, a, b)
        same(outcome(function, dlx.asarray(a), dlx.asarray(b)), expected)
        same(outcome(function, dlx.asarray(a), b), expected)
        # NumPy's own operator comes first, and hands over; but before 2.3 it takes whatever has
        # __index__ or __float__ for the number in a power.
        if (a.ndim or b.ndim == 0) and not (NUMPY < (2, 3) and name == "pow" and b.size == 1):
            same(outcome(function, a, dlx.asarray(b)), expected)


@pytest.mark.parametrize("name", BINARY + BITWISE + COMPARISONS)
@pytest.mark.parametrize("scalar", [2, 2.5, True, 1 + 2j, numpy.float32(3), numpy.int8(2)])
def test_scalars_of_python_and_numpy_on_both_sides(seeded, name, scalar):
    function = getattr(operator, name)
    for _ in range(6):
        a = random_array(seeded)
        t = dlx.asarray(a)
        same(
            outcome(function, t, scalar),
            outcome(function, a, scalar),
        )
        same(
            outcome(function, scalar, t),
            outcome(function, scalar, a),
        )


@pytest.mark.parametrize("name", ["neg", "pos", "abs", "invert"])
def test_unary_operators(seeded, name):
    function = getattr(operator, name)
    for _ in range(20):
        a = random_array(seeded)
        same(outcome(function, dlx.asarray(a)), outcome(function, a))


def test_matmul_and_divmod(seeded):
    a, b = seeded.random((4, 3, 2)), seeded.random((2, 5))

    same(dlx.asarray(a) @ dlx.asarray(b), a @ b)
    same(a @ dlx.asarray(b), a @ b)
    same(dlx.asarray(a[0, 0]) @ b[:, 0], numpy.asarray(a[0, 0] @ b[:, 0]))
    quotient, rest = divmod(dlx.asarray(a), 0.3)
    same(quotient, a // 0.3)
    same(rest, a % 0.3)
    same(divmod(5, dlx.asarray([2, 3]))[0], numpy.asarray([2, 1]))


IN_PLACE = ["iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow", "iand", "ior", "ixor", "ilshift", "irshift"]  # fmt: skip


@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place_operators_write_into_the_memory(seeded, name):
    function = getattr(operator, name)
    for _ in range(20):
        a, b = random_array(seeded, shape=(3, 2)), random_array(seeded, shape=(2,))
        mine, theirs = a.copy(), a.copy()
        tensor = dlx.asarray(mine)
        address = tensor.data_ptr
        expected = outcome(function, theirs, b)
        result = outcome(function, tensor, dlx.asarray(b))
        if isinstance(expected, type):
            assert result is expected
        else:
            assert result is tensor
            assert tensor.data_ptr == address == mine.ctypes.data
            numpy.testing.assert_array_equal(mine, theirs)


def test_in_place_on_a_tensor_without_axes():
    memory = numpy.asarray(2.0)
    tensor = dlx.asarray(memory)
    tensor *= 3
    assert tensor.item() == memory == 6


def test_in_place_matmul_and_overlapping_operands():
    tensor = dlx.asarray([[1.0, 2.0], [3.0, 4.0]])
    same_one = tensor
    tensor @= dlx.asarray([[0.0, 1.0], [1.0, 0.0]])
    assert tensor is same_one
    assert tensor.tolist() == [[2, 1], [4, 3]]

    row = dlx.asarray([1, 2, 3, 4])
    tail = row[1:]
    tail += row[:-1]  # read before it is written, as NumPy does
    assert row.tolist() == [1, 3, 5, 7]


def test_an_array_takes_a_tensor_in_place():
    array = numpy.ones(3)
    before = array
    array += dlx.asarray([1.0, 2.0, 3.0])

    assert array is before
    assert array.tolist() == [2, 3, 4]


def test_read_only_tensors_are_not_written():
    tensor = dlx.asarray([1.0, 2.0]).as_readonly()

    with pytest.raises(dlx.ReadOnlyError):
        tensor += 1
    with pytest.raises(dlx.ReadOnlyError, match="out"):
        numpy.add(tensor, 1, out=tensor)
    with pytest.raises(dlx.ReadOnlyError, match="out"):
        numpy.sum(dlx.asarray([[1.0, 2.0]]), axis=0, out=tensor)
    with pytest.raises(dlx.ReadOnlyError, match="at"):
        numpy.add.at(tensor, [0], 1)
    with pytest.raises(ValueError, match="read-only"):
        numpy.copyto(tensor, 0)
    assert tensor.tolist() == [1, 2]
    assert (tensor + 1).readonly is False
    assert numpy.negative(tensor).tolist() == [-1, -2]  # who only reads is served
    assert numpy.add.reduce(tensor).item() == 3


def test_out_is_the_object_that_was_given():
    tensor, array = dlx.asarray([1.0, 4.0]), numpy.empty(2)
    out, other = dlx.empty(2, dtype="float64"), dlx.empty(2, dtype="float64")

    assert numpy.sqrt(tensor, out=out) is out
    assert out.tolist() == [1, 2]
    assert numpy.sqrt(tensor, array) is array  # an ndarray stays one
    assert array.tolist() == [1, 2]
    assert numpy.sqrt(array, out=out) is out
    fraction, whole = numpy.modf(tensor, out=(out, other))
    assert fraction is out
    assert whole is other
    zero = dlx.empty((), dtype="float64")
    assert numpy.sum(tensor, out=zero) is zero
    assert numpy.mean(tensor, 0, None, zero) is zero  # by position
    assert zero.item() == 2.5
    assert numpy.concatenate([tensor[:1], tensor[1:]], out=out) is out
    assert numpy.add.reduce(tensor, out=zero) is zero
    fraction, whole = numpy.modf(tensor, out=(None, other))
    assert type(fraction) is dlx.Tensor
    assert whole is other


def test_functions_of_numpy_return_tensors(seeded):
    a = seeded.random((4, 3))
    t = dlx.asarray(a)

    same(numpy.mean(numpy.exp(t)), numpy.asarray(numpy.mean(numpy.exp(a))))
    same(numpy.sum(t, axis=0, keepdims=True), numpy.sum(a, axis=0, keepdims=True))
    same(numpy.concatenate([t, a, t]), numpy.concatenate([a, a, a]))
    same(numpy.where(t > 0.5, t, 0), numpy.where(a > 0.5, a, 0))
    same(numpy.einsum("ij,kj->ik", t, a), numpy.einsum("ij,kj->ik", a, a))
    same(numpy.block([[t], [a]]), numpy.block([[a], [a]]))
    same(numpy.take_along_axis(t, numpy.argsort(t, axis=0), axis=0), numpy.sort(a, axis=0))
    same(numpy.add(t, 1, where=t > 0.5, out=dlx.asarray(a.copy())), numpy.where(a > 0.5, a + 1, a))
    same(numpy.argmax(t), numpy.asarray(numpy.argmax(a)))
    for mine, theirs in zip(numpy.array_split(t, 2), numpy.array_split(a, 2)):
        same(mine, theirs)
    assert numpy.array_equal(t, a) is True
    assert numpy.shape(t) == (4, 3)
    assert numpy.result_type(t, numpy.int8) == numpy.float64
    assert numpy.count_nonzero(t > 2) == 0


def test_named_tuples_and_lists_keep_their_types():
    t = dlx.asarray([[2.0, 1.0], [1.0, 3.0]])
    result = numpy.linalg.qr(t)

    assert type(result) is type(numpy.linalg.qr(t.numpy()))
    same(result[0] @ result[1], result[0].numpy() @ result[1].numpy())
    if hasattr(result, "Q"):  # NumPy 1.25 and newer
        assert type(result.Q) is dlx.Tensor
    assert type(numpy.split(t, 2)) is list
    assert all(type(part) is dlx.Tensor for part in numpy.nonzero(t))


class Items(collections.abc.Sequence):
    """A sequence that is no list."""

    def __init__(self, items):
        self.items = list(items)

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        return self.items[index]


@pytest.mark.parametrize(
    "container",
    [collections.deque, Items, collections.namedtuple("Pair", "low high")._make, collections.UserList,
     type("Several", (list,), {})],
)  # fmt: skip
@pytest.mark.parametrize("name", ["stack", "concatenate", "vstack", "column_stack"])
def test_operands_in_containers_of_any_kind(name, container):
    array = numpy.arange(6.0).reshape(2, 3)
    tensors = container([dlx.asarray(array), dlx.asarray(array)])

    same(getattr(numpy, name)(tensors), getattr(numpy, name)([array, array]))


def test_methods_of_ufuncs(seeded):
    a = seeded.integers(0, 9, (4, 3))
    t = dlx.asarray(a)

    same(numpy.add.reduce(t, axis=1), numpy.add.reduce(a, axis=1))
    same(numpy.add.reduce(t, axis=None), numpy.asarray(a.sum()))
    same(numpy.multiply.accumulate(t), numpy.multiply.accumulate(a))
    same(numpy.add.reduceat(t, [0, 2]), numpy.add.reduceat(a, [0, 2]))
    same(numpy.add.reduceat(t, dlx.asarray([0, 2])), numpy.add.reduceat(a, [0, 2]))
    same(numpy.subtract.outer(t, a), numpy.subtract.outer(a, a))
    expected = a.copy()
    for index in ([0, 0, 1], dlx.asarray([0, 0, 1]), (dlx.asarray([0, 1]), [1, 1]), slice(1, 3)):
        array_index = tuple(numpy.asarray(i) for i in index) if type(index) is tuple else index
        array_index = numpy.asarray(index) if type(index) is dlx.Tensor else array_index
        assert numpy.add.at(t, index, 1) is None
        numpy.add.at(expected, array_index, 1)
        same(t, expected)
    assert t.data_ptr == a.ctypes.data
    numpy.add.at(a, [0], t[:1])  # into an ndarray
    numpy.add.at(expected, [0], expected[:1].copy())
    same(t, expected)


def test_reductions_are_tensors_without_axes():
    total = numpy.sum(dlx.asarray([1.0, 2.0]))

    assert type(total) is dlx.Tensor
    assert total.shape == ()
    assert float(total) == 3
    assert type(dlx.asarray(2.0) * 3) is dlx.Tensor
    assert type(numpy.float64(2) * dlx.asarray(3.0)) is dlx.Tensor


def test_results_that_no_tensor_can_hold_stay_arrays():
    t = dlx.asarray([1, 2])

    assert type(numpy.asarray(["a", "b"], like=t)) is numpy.ndarray
    objects = numpy.add(t, numpy.asarray([None, 1], dtype=object)[1:])
    assert type(objects) is numpy.ndarray
    assert objects.dtype == object
    days = numpy.datetime64("2026-01-01") + numpy.asarray(t).astype("timedelta64[D]")
    assert type(numpy.add(days, t.numpy())) is numpy.ndarray
    swapped = numpy.concatenate([numpy.ones(1, ">f8"), t], dtype=">f8")
    assert type(swapped) is numpy.ndarray  # DLPack has the machine's own byte order only
    if numpy.dtype("longdouble").itemsize > 8:
        assert type(numpy.add(t, numpy.longdouble(1))) is not dlx.Tensor


def test_dtypes_that_others_gave_numpy_are_refused_or_stay_arrays():
    core = "numpy._core" if hasattr(numpy, "_core") else "numpy.core"
    rationals = pytest.importorskip(f"{core}._rational_tests", reason="has such a dtype")
    t = dlx.asarray([1, 2])

    total = rationals.test_add(t, t)
    assert type(total) is numpy.ndarray
    assert total.dtype == rationals.rational
    assert total.tolist() == [2, 4]
    assert type(t.view(total.dtype)) is numpy.ndarray
    for take in (dlx.asarray, dlx.from_dlpack):
        with pytest.raises(
            BufferError,
            match=r"DLPack lacks this type \(got rational\): use `numpy\.asarray\(x\)\.astype",
        ):
            take(total)
    with pytest.raises(BufferError, match="DLPack lacks this type"):
        t[:] = total
    assert t.tolist() == [1, 2]


def test_like_makes_tensors():
    t = dlx.asarray([1])

    for made in (
        numpy.asarray([1, 2], like=t),
        numpy.zeros((2,), like=t),
        numpy.arange(3, like=t),
        numpy.asarray(numpy.ones(2), like=t),
        numpy.empty_like(t),
    ):
        assert type(made) is dlx.Tensor


def test_views_share_memory_and_nothing_is_copied():
    t = dlx.asarray(numpy.arange(12.0).reshape(3, 4))

    assert numpy.transpose(t).data_ptr == t.data_ptr
    assert numpy.reshape(t, (4, 3)).data_ptr == t.data_ptr
    assert numpy.atleast_1d(t) is t
    assert numpy.split(t, 3)[1].data_ptr == t[1].data_ptr
    assert numpy.broadcast_to(t, (2, 3, 4)).readonly
    assert numpy.shares_memory(t, t.numpy())


def test_equality_is_by_element_so_there_is_no_hash():
    t = dlx.asarray([1, 2])

    same(t == t, numpy.asarray([True, True]))
    assert (t == None) is False  # noqa: E711
    assert (t != None) is True  # noqa: E711
    assert (t == "text") is False
    assert (t == object()) is False
    with pytest.raises(TypeError, match="unhashable"):
        hash(t)
    with pytest.raises(ValueError, match="broadcast"):
        _ = t == dlx.asarray([1, 2, 3])


def test_membership():
    t = dlx.asarray([[1, 2], [3, 4]])

    assert 3 in t
    assert 5 not in t
    assert None not in t
    assert "1" not in t
    assert dlx.asarray([1, 2]) in t  # some element equals, as NumPy has it
    with pytest.raises(TypeError, match=r"one number \(got a list\): pass dlx\.asarray\(x\)"):
        _ = [1, 2] in t  # which `t == [1, 2]` would not do: it is False


def test_formats():
    assert f"{dlx.asarray(2.5):.3f}" == "2.500"
    assert f"{dlx.asarray([1, 2])}" == str(dlx.asarray([1, 2]))
    assert f"{dlx.asarray(7):>4}" == "   7"
    assert f"{dlx.asarray(2.5)} {dlx.asarray([True])[0]}" == "2.5 True"  # as of NumPy and PyTorch
    assert f"{dlx.asarray(2.5)!r}" == str(dlx.asarray(2.5))
    for plain in (
        dlx.from_pointer(64, (), "int8", device="cuda:0"),
        dlx.from_pointer(id(bytes), (), "opaque64"),
    ):
        assert f"{plain}" == str(plain)
    with pytest.raises(TypeError, match=r"shape \(2,\)"):
        f"{dlx.asarray([1, 2]):.2f}"


def test_html_for_notebooks():
    html = dlx.asarray([[1, 2], [3, 4]])._repr_html_()
    assert html.count("<tr>") == 2
    assert html.count("<td") == 4
    assert "shape=(2, 2)" in html
    assert "..." in dlx.asarray(list(range(1000)))._repr_html_()
    assert "&lt;" in dlx.from_pointer(64, 3, "int8", device="cuda:0")._repr_html_()
    assert "<td" not in dlx.empty((2, 2, 2))._repr_html_()


def test_wrap_and_priority():
    t = dlx.asarray([1.0])

    assert type(t.__array_wrap__(numpy.ones(2))) is dlx.Tensor
    assert type(t.__array_wrap__(numpy.ones(()), None, True)) is dlx.Tensor
    assert numpy.ones(1).__array_priority__ < t.__array_priority__
    assert t.__array_priority__ < numpy.ma.MaskedArray.__array_priority__


def test_small_floats_compute_with_ml_dtypes():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    for name in ("bfloat16", "float8_e5m2"):
        t = dlx.asarray([1.0, 2.0, 3.0], dtype=name)
        result = t * 2
        assert type(result) is dlx.Tensor
        assert result.dtype == dlx.dtype((t.numpy() * 2).dtype)  # before NumPy 2.1 a float32
        assert result.tolist() == [2, 4, 6]
        assert numpy.sum(t).item() == 6
        address = t.data_ptr
        t += t
        assert t.data_ptr == address
        assert t.tolist() == [2, 4, 6]
    assert (dlx.asarray([1.0], dtype="bfloat16") + numpy.ones(1, ml_dtypes.bfloat16)).item() == 2


def test_small_floats_without_ml_dtypes_name_the_way_out(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "ml_dtypes", None)
    t = dlx.empty(2, dtype="float8_e4m3fn")

    with pytest.raises(dlx.UnsupportedError, match=r"install ml_dtypes.*view\('uint8'\)"):
        t + 1
    with pytest.raises(dlx.UnsupportedError, match=r"dlx\.asarray\(x, dtype='int8'\)"):
        dlx.empty(2, dtype="int4") + 1
    assert (t == None) is False  # noqa: E711


def test_out_that_reaches_the_protocol_as_the_caller_wrote_it():
    # numba's functions call __array_ufunc__ themselves, with no tuple made of `out`.
    x, out = dlx.asarray([1.0, 2.0]), dlx.empty(2, dtype="float64")

    assert x.__array_ufunc__(numpy.add, "__call__", x, x, out=out) is out
    assert out.tolist() == [2.0, 4.0]
    assert x.__array_ufunc__(numpy.multiply, "__call__", x, x, out) is out
    assert out.tolist() == [1.0, 4.0]
    with pytest.raises(dlx.ReadOnlyError, match="out"):
        x.__array_ufunc__(numpy.add, "__call__", x, x, out=out.as_readonly())


def test_out_by_its_position_is_what_comes_back():
    t, frozen = dlx.asarray([1.0, 5.0, 3.0]), dlx.asarray([0.0] * 3).as_readonly()
    rows = dlx.asarray([[1.0, 2.0], [3.0, 4.0]])
    for out in (numpy.zeros(3), dlx.empty(3, dtype="float64")):
        assert numpy.clip(t, 2, 4, out) is out
        assert out.tolist() == [2, 4, 3]
        assert t.cumsum(0, None, out) is out
    for out in (numpy.zeros(2), dlx.empty(2, dtype="float64")):
        assert numpy.sum(rows, 0, None, out, False) is out  # and what follows it
        assert out.tolist() == [4, 6]
    assert numpy.std(rows, 0, None, None, 1).tolist() == [2**0.5, 2**0.5]
    with pytest.raises(dlx.ReadOnlyError, match="`out` is a read-only Tensor"):
        numpy.clip(t, 0, 1, frozen)


@pytest.mark.parametrize(
    "write",
    [
        lambda t: numpy.copyto(t, 1.0),
        lambda t: numpy.put(t, [0], 1.0),
        lambda t: numpy.place(t, numpy.ones((3, 3), bool), [1.0]),
        lambda t: numpy.putmask(t, numpy.ones((3, 3), bool), 1.0),
        lambda t: numpy.fill_diagonal(t, 1.0),
        lambda t: numpy.put_along_axis(t, numpy.zeros((3, 1), int), 1.0, 1),
        lambda t: numpy.copyto(src=dlx.asarray(1.0), dst=t),
        lambda t: numpy.put(a=t, ind=[0], v=1.0),
        lambda t: numpy.place(arr=t, mask=numpy.ones((3, 3), bool), vals=[1.0]),
        lambda t: numpy.putmask(t, mask=numpy.ones((3, 3), bool), values=1.0),
        lambda t: numpy.fill_diagonal(a=t, val=1.0),
        lambda t: numpy.put_along_axis(arr=t, indices=numpy.zeros((3, 1), int), values=1.0, axis=1),
    ],
)
def test_functions_that_write_refuse_read_only_tensors(write):
    t = dlx.asarray(numpy.zeros((3, 3)))
    with pytest.raises(dlx.ReadOnlyError, match="writes, and the Tensor is read-only"):
        write(t.as_readonly())
    assert not numpy.any(t)
    write(t)
    assert numpy.any(t)


def test_astype_knows_the_names_of_dlx():
    pytest.importorskip("ml_dtypes")
    code = "import numpy, dlx; print(dlx.asarray(numpy.ones(2)).astype('bfloat16').dtype)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "bfloat16\n"


def test_astype_without_a_copy_is_the_tensor():
    t = dlx.asarray([1.0, 2.0])
    assert t.astype(t.dtype, copy=False) is t
    assert t.astype("float64").data_ptr != t.data_ptr


def test_operators_of_what_native_code_does_and_of_the_rest():
    one = dlx.asarray([1.0, 0.0])
    (one + one).numpy()  # NumPy is known from here on
    number = dlx.asarray(numpy.array(2.0))
    for result, expected in (
        (number * number, 4.0),
        (1 - number, -1.0),
        (-number, -2.0),
        (number == 2, True),
        (one[0] / 2, 0.5),
    ):
        assert type(result) is dlx.Tensor
        assert (result.shape, result.item(), result.readonly) == ((), expected, False)
    for zero in (one, one[1]):
        with pytest.warns(RuntimeWarning, match="divide by zero") as record:
            assert (1 / zero).size == zero.size
        assert len(record) == 1
    assert (dlx.asarray([1], dtype="bfloat16") + 1).dtype == "bfloat16"
    assert [part.tolist() for part in divmod(one, 1)] == [[1, 0], [0, 0]]
    for wrong in (lambda: dlx.Tensor.__add__(3, 4), lambda: dlx.Tensor.__neg__(3)):
        with pytest.raises(TypeError, match=r"needs a Tensor|requires a"):
            wrong()
    with pytest.raises(TypeError, match="unsupported operand"):
        one + None
