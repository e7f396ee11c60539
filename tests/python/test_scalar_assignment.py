"""`tensor[key] = value`: a number that fits is stored as NumPy stores it, an array is cast as NumPy's
in-place operators cast it, and all else is refused, by views, masks and index arrays alike."""

from __future__ import annotations

import collections
import math

import pytest

import dlx

numpy = pytest.importorskip("numpy")

DTYPES = "bool int8 uint8 int16 uint16 int32 uint32 int64 uint64 float32 float64".split()
EDGES = [0, 1, -1, True, False, 2**24, 2**24 + 1, 1.5, -2.25, 1e300, math.inf, -math.inf]
EDGES += [sign * 2**bits + delta for bits in (7, 8, 15, 16, 31, 32, 63, 64) for sign in (1, -1)
          for delta in (-1, 0, 1)]  # fmt: skip


def represents(dtype, value):
    """Whether storing loses nothing but float precision."""
    if dtype.kind in "bf":  # every number has a truth value
        return True
    if isinstance(value, float):
        return False
    info = numpy.iinfo(dtype)
    return info.min <= value <= info.max


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("value", EDGES)
def test_a_number_is_stored_or_refused(name, value):
    array = numpy.zeros(3, name)
    tensor = dlx.asarray(array)

    if represents(array.dtype, value):
        tensor[1] = value
        with numpy.errstate(over="ignore"):
            expected = numpy.array([value]).astype(name)[0]
        assert array[1] == expected
        assert array[0] == array[2] == 0
    else:
        with pytest.raises((ValueError, TypeError, OverflowError)):
            tensor[1] = value
        assert not array.any()


def test_nan_is_stored_and_refused_by_integers():
    array = numpy.zeros(2, "f4")
    dlx.asarray(array)[0] = math.nan
    assert numpy.isnan(array[0])
    with pytest.raises(ValueError, match=r"."):
        dlx.asarray(numpy.zeros(2, "i4"))[0] = math.nan


def test_a_number_fills_a_slice():
    array = numpy.zeros((3, 4))
    dlx.asarray(array)[:, ::2] = 7
    assert array.tolist() == [[7, 0, 7, 0]] * 3


KEYS = [0, slice(None), numpy.array([True, False, True]), numpy.array([0, 2]), [2, 0]]


@pytest.mark.parametrize("key", KEYS, ids=str)
@pytest.mark.parametrize("source", DTYPES)
@pytest.mark.parametrize("target", [*DTYPES, "complex64"])
def test_arrays_of_another_dtype_are_cast_as_in_place_operators_cast_them(source, target, key):
    value = numpy.ones(1, source)
    for given in (value, dlx.asarray(value)):
        array = numpy.zeros(3, target)
        expected = array.copy()
        if numpy.can_cast(source, target, "same_kind"):
            expected[key] = value[0]
            dlx.asarray(array)[key] = given
        else:
            with pytest.raises(dlx.InvalidArgumentError, match=f"got {source}.*{target}"):
                dlx.asarray(array)[key] = given
        numpy.testing.assert_array_equal(array, expected)


@pytest.mark.parametrize("key", KEYS, ids=str)
@pytest.mark.parametrize("value", [1.5, 1j, 2**70, math.nan, [1.5], [[1]] * 2, "a", None])
def test_what_an_integer_cannot_hold_is_refused_by_every_key(key, value):
    array = numpy.zeros(3, "int64")
    with pytest.raises((ValueError, TypeError)):
        dlx.asarray(array)[key] = value
    assert not array.any()


@pytest.mark.parametrize("source", ["float64", "float32"])
@pytest.mark.parametrize("key", [0, slice(0, 2)])
def test_shapes_have_to_fit_with_a_cast_and_without(source, key):
    with pytest.raises(ValueError, match=r"shape \(3,\)"):
        dlx.empty(4, dtype="float64")[key] = numpy.ones(3, source)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(
    ("key", "shape"), [(0, (1, 4)), ((), (1, 1, 3, 4)), ((0, 0), (1,)), ((0, 0), (1, 1))]
)
def test_leading_axes_of_one_element_are_dropped_as_numpy_drops_them(dtype, key, shape):
    value = numpy.arange(float(numpy.prod(shape)), dtype=dtype).reshape(shape)
    mine, theirs = numpy.zeros((3, 4)), numpy.zeros((3, 4))
    dlx.asarray(mine)[key] = value
    theirs[key] = value if value.size > 1 else value.item()
    numpy.testing.assert_array_equal(mine, theirs)
    with pytest.raises(ValueError, match="shape"):
        dlx.asarray(mine)[key] = numpy.ones((2, *shape[1:]), dtype)


def test_assignment_of_overlapping_memory_reads_it_first():
    array = numpy.arange(6)
    dlx.asarray(array)[1:] = dlx.asarray(array)[:-1]
    assert array.tolist() == [0, 0, 1, 2, 3, 4]
    dlx.asarray(array)[[5, 4, 3]] = dlx.asarray(array)[:3]
    assert array.tolist() == [0, 0, 1, 1, 0, 0]


@pytest.mark.parametrize("key", [..., slice(None, None, -1), numpy.ones(8, bool), list(range(8))])
def test_overlapping_memory_of_another_dtype_is_read_first(key):
    small = dlx.asarray(numpy.arange(1, 17, dtype="uint8"))
    large = small.view("uint16")
    large[key] = small[:8]
    assert large[key].tolist() == list(range(1, 9))


def test_overlapping_memory_is_read_first_by_masks():
    array = dlx.asarray(numpy.arange(12))
    array[numpy.arange(12) % 2 == 1] = array[1:7]
    assert array[1::2].tolist() == [1, 2, 3, 4, 5, 6]


INTEGERS = [name for name in DTYPES if "int" in name]


@pytest.mark.parametrize("name", INTEGERS)
@pytest.mark.parametrize("source", INTEGERS)
def test_a_number_of_numpy_has_to_be_a_value_of_the_dtype(name, source):
    """Alone, in a list, or as an array without axes: NumPy itself wraps the last."""
    low, high = numpy.iinfo(name).min, numpy.iinfo(name).max
    for extreme in (numpy.iinfo(source).min, numpy.iinfo(source).max, 0, 1):
        number = numpy.dtype(source).type(extreme)
        for value in (number, [number] * 3, numpy.array(number)):
            tensor = dlx.asarray(numpy.full(3, 5, name))
            if low <= extreme <= high:
                tensor[...] = value
                assert tensor.tolist() == [extreme] * 3
            else:
                with pytest.raises(dlx.InvalidArgumentError, match="does not fit"):
                    tensor[...] = value
                assert tensor.tolist() == [5] * 3


@pytest.mark.parametrize(
    ("name", "low", "high"), [("int4", -8, 7), ("uint4", 0, 15), ("int2", -2, 1), ("uint2", 0, 3)]
)
def test_sub_byte_integers_are_checked_too(name, low, high):
    tensor = dlx.empty(2, dtype=name)
    for value in (low, high, float(high)):
        tensor[...] = value
        assert tensor.tolist() == [value] * 2
        assert dlx.asarray([value], dtype=name).tolist() == [value]
    for value in (low - 1, high + 1, 300, 0.5, math.nan, 1e40):
        with pytest.raises(dlx.InvalidArgumentError):
            tensor[...] = value
        with pytest.raises(dlx.InvalidArgumentError):
            dlx.asarray([[value]], dtype=name)


NUMBERS = [0, 2, -1, 300, 2**40, True, 2.0, 2.5, -0.0, 1e300, math.inf, 2 + 1j, 2 + 0j]


def stored(dtype, key, value):
    """What a Tensor holds after the assignment, or the class of the refusal."""
    tensor = dlx.asarray([5, 5], dtype=dtype)
    try:
        tensor[key] = value
    except dlx.Error as error:
        assert tensor.tolist() == [5, 5]
        return type(error)
    return repr(tensor.tolist())


@pytest.mark.parametrize("key", [0, slice(None), [1]], ids=str)
@pytest.mark.parametrize(
    "dtype", [*DTYPES, "float16", "complex64", "bfloat16", "float8_e5m2", "float8_e4m3fn"]
)
def test_numbers_of_numpy_follow_the_rules_of_python_s(dtype, key):
    if "float8" in dtype or dtype == "bfloat16":
        pytest.importorskip("ml_dtypes")
    for number in NUMBERS:
        expected = stored(dtype, key, number)
        if isinstance(number, complex) and dtype not in ("bool", "complex64"):
            assert not isinstance(expected, str)
        scalar = numpy.asarray(number)[()]
        for value in (scalar, numpy.asarray(number), dlx.asarray(scalar)):
            assert stored(dtype, key, value) == expected, value
    assert stored(dtype, key, numpy.float32(2)) == stored(dtype, key, 2.0)
    assert stored(dtype, key, numpy.complex64(1j)) == stored(dtype, key, 1j)


def test_numbers_of_numpy_go_into_packed_integers():
    pytest.importorskip("ml_dtypes")
    tensor = dlx.empty((2,), dtype="int4")
    tensor[...] = numpy.float32(-8)
    tensor[0] = numpy.int64(7)
    assert tensor.tolist() == [7, -8]
    for value in (numpy.int64(8), numpy.float64(0.5)):
        with pytest.raises(dlx.InvalidArgumentError):
            tensor[0] = value


def write(tensor, value):
    tensor[...] = value


@pytest.mark.parametrize("store", [write, dlx.copyto])
def test_arrays_without_a_protocol_are_not_cast_by_themselves(store):
    """What asarray reads in Python: it was asked for no dtype, other than for numbers."""
    array = numpy.zeros((1, 2), "i2")
    with pytest.raises(dlx.InvalidArgumentError, match=r"float64.*int16"):
        store(dlx.asarray(array), [numpy.array([1.5, 70000.0])])
    with pytest.raises(dlx.InvalidArgumentError, match=r"float64.*int16"):
        store(dlx.asarray(array), [dlx.asarray([1.5, 70000.0])])
    with pytest.raises(dlx.InvalidArgumentError, match=r"float64.*int16"):
        store(dlx.asarray(array), collections.deque([numpy.array([1.5, 70000.0])]))
    assert not array.any()
    store(dlx.asarray(array), [numpy.array([1, -2], "i2")])
    assert array.tolist() == [[1, -2]]
    store(dlx.asarray(array), [[3, numpy.array(4.0)]])
    assert array.tolist() == [[3, 4]]


@pytest.mark.parametrize("store", [write, dlx.copyto])
def test_c_arrays_of_cffi_are_not_cast_by_themselves(store):
    ffi = pytest.importorskip("cffi").FFI()
    array = numpy.zeros(2, "i2")
    with pytest.raises(dlx.InvalidArgumentError, match=r"float64.*int16"):
        store(dlx.asarray(array), ffi.new("double[]", [1.5, 70000.0]))
    store(dlx.asarray(array), ffi.new("short[]", [1, -2]))
    assert array.tolist() == [1, -2]


@pytest.mark.parametrize("key", [0, slice(None), [1]], ids=str)
@pytest.mark.parametrize("dtype", [*DTYPES, "complex64", "bfloat16", "float8_e4m3fn", "int4"])
def test_numbers_of_ml_dtypes_follow_the_rules_of_python_s(dtype, key):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    numbers = [ml_dtypes.bfloat16(value) for value in (1, 0.5, 7.5, 65536, math.inf)]
    for number in [*numbers, ml_dtypes.float8_e5m2(-2), ml_dtypes.int4(-1), ml_dtypes.uint4(9)]:
        assert stored(dtype, key, number) == stored(dtype, key, dlx.asarray(number).item()), number


ML_KINDS = {"bfloat16": "f4", "float8_e4m3fn": "f4", "int4": "i1", "uint4": "u1"}


@pytest.mark.parametrize("target", ["int8", "uint8", "float32", "complex64", *ML_KINDS])
@pytest.mark.parametrize("source", ["int8", "uint8", "float32", "complex64", *ML_KINDS])
def test_arrays_of_ml_dtypes_are_cast_as_numpy_s_of_their_kind(source, target):
    """NumPy lets everything be cast to these, imaginary parts and fractions included."""
    pytest.importorskip("ml_dtypes")
    value = numpy.array([1, 2]).astype(source)
    plain = [numpy.dtype(ML_KINDS.get(name, name)) for name in (source, target)]
    for key in (..., [0, 1]):
        array = numpy.zeros(2, target)
        if source == target or numpy.can_cast(*plain, "same_kind"):
            dlx.asarray(array)[key] = value
            assert array.astype("c16").tolist() == [1, 2]
        else:
            with pytest.raises(dlx.InvalidArgumentError, match=f"got {source}.*{target}"):
                dlx.asarray(array)[key] = value
            assert not array.astype("c16").any()


def test_complex_arrays_of_ml_dtypes_keep_their_values():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    if not hasattr(ml_dtypes, "bcomplex32"):
        pytest.skip("an older ml_dtypes")
    for source in ("complex32", "complex64", "complex128"):
        array = numpy.zeros(2, "bcomplex32")
        dlx.asarray(array)[...] = numpy.array([1 + 2j, -3]).astype(source)
        assert array.astype("complex64").tolist() == [1 + 2j, -3]


def test_in_place_operators_lose_nothing_of_ml_dtypes():
    pytest.importorskip("ml_dtypes")
    for name, other in (("bfloat16", numpy.array([1j])), ("bfloat16", 1j), ("int4", 0.5)):
        array = numpy.ones(1, name)
        tensor = dlx.asarray(array)
        with pytest.raises(dlx.InvalidArgumentError):
            tensor += other
        assert array.astype("f4") == 1
    tensor = same = dlx.asarray(array)
    tensor += 2
    tensor *= numpy.array([2], "int4")
    assert tensor is same
    assert array.astype("i4") == 6


def test_in_place_operators_repeat_nothing_of_ml_dtypes():
    pytest.importorskip("ml_dtypes")
    for name in ("float32", "bfloat16"):
        array = numpy.ones((3, 3), name)
        tensor = dlx.asarray(array)
        with pytest.raises(ValueError, match=r"dimensions|shape"):
            tensor @= numpy.arange(3).astype(name)
        with pytest.raises(ValueError, match="shape"):
            tensor += numpy.ones((1, 3, 3), name)
        assert (array == 1).all()
