"""Numbers and lists of them as the native code reads them, beside two oracles: NumPy, and the Python
code for all other sequences, which a UserList leads to.
"""

import collections
import ctypes
import itertools
import random
import struct

import pytest

import dlx
from interpreter import FREE_THREADED

numpy = pytest.importorskip("numpy", reason="is the oracle")

ENCODED = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
           "bfloat16", "float32", "float64", "complex32", "complex64", "complex128"]  # fmt: skip
NUMBERS = [True, False, 0, 1, -1, 127, 128, 255, 256, 2**24 + 1, 2**31, 2**53 + 1, 2**63 - 1, -(2**63),
           2**63, 2**64 - 1, 2**64, 10**30, 10**400, 0.0, -0.0, 0.1, 1.0, -3.0, 2.5, 65519.0, 65520.0,
           1e-8, 6e-8, 2.0**-24, 2.0**-25, 1.5 * 2.0**-25, 1e-310, 3.4e38, 3.5e38, 1e300, 2.0**63,
           -(2.0**63), 2.0**64, float("inf"), float("-inf"), float("nan"), 1j, 2 + 0j,
           complex(float("nan"), 70000)]  # fmt: skip


def outcome(value, **options):
    """Dtype, shape and bytes of the result, or the error."""
    try:
        tensor = dlx.asarray(value, **options)
    except (ValueError, TypeError) as error:
        return type(error), str(error)
    return (
        str(tensor.dtype),
        tensor.shape,
        ctypes.string_at(tensor.data_ptr, tensor.nbytes),
        tensor.readonly,
    )


@pytest.mark.parametrize("name", [None, *ENCODED])
def test_each_number_is_what_other_sequences_make_of_it(name):
    options = {} if name is None else {"dtype": name}
    for number in NUMBERS:
        expected = outcome(collections.UserList([number]), **options)
        assert outcome([number], **options) == expected
        assert outcome((number,), **options) == expected
        alone = outcome(number, **options)
        assert alone[0] == expected[0]
        if isinstance(alone[0], str):
            assert alone[1:] == ((), *expected[2:])


def test_mixed_numbers_have_the_dtype_that_numpy_gives_them():
    values = [True, 3, 2**63, 0.5, 2j]
    for size in range(1, 5):
        for picked in itertools.product(values, repeat=size):
            tensor, array = dlx.asarray(list(picked)), numpy.asarray(picked)
            ints = {type(number) for number in picked} <= {bool, int}
            if ints and 2**63 in picked:  # NumPy makes float64 of int64 beside uint64
                array = numpy.array(picked, numpy.uint64)
            assert tensor.dtype == array.dtype
            assert tensor.tolist() == array.tolist()
            assert outcome(list(picked)) == outcome(collections.UserList(picked))


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, 1 << 20000], ids=hex)
def test_ints_too_large_for_each_other_are_refused_by_name(value):
    numbers = [-1, value]

    with pytest.raises(ValueError, match="does not fit int64"):
        dlx.asarray(numbers)


def test_an_int_beyond_the_floats_is_refused():
    for numbers in ([10**400, 1.0], [10**5000, 1j]):
        with pytest.raises(ValueError, match=r"an int of \d+ bits does not fit .*range of a float"):
            dlx.asarray(numbers)


def test_an_int_beyond_64_bits_is_a_number_for_a_small_float():
    assert dlx.asarray([2**70, 1.5], dtype="float8_e5m2").tolist() == [float("inf"), 1.5]
    assert dlx.asarray(2**70, dtype="float8_e8m0fnu").item() == 2**70


def test_float16_is_rounded_as_by_numpy():
    rng = random.Random(5)
    doubles = [struct.unpack("d", rng.randbytes(8))[0] for _ in range(2000)]
    halves = numpy.arange(0x7C00, dtype=numpy.uint16).view(numpy.float16).astype(numpy.float64)
    ties = (halves[:-1] + halves[1:]) / 2
    near = [numpy.nextafter(ties, towards) for towards in (-numpy.inf, numpy.inf)]
    values = numpy.concatenate([doubles, halves, ties, *near, -ties, [65519.999, 65520.0]])

    got = dlx.asarray(values.tolist(), dtype="float16").numpy()

    with numpy.errstate(over="ignore", under="ignore"):
        numpy.testing.assert_array_equal(got, values.astype(numpy.float16))


@pytest.mark.parametrize("depth", [1, 2, 31, 32, 33, 64])
def test_depths(depth):
    value = [1, 2]
    for _ in range(depth - 1):
        value = [value]

    assert dlx.asarray(value).shape == (1,) * (depth - 1) + (2,)


def test_what_is_nested_too_deeply_is_refused():
    value = 1
    for _ in range(3000):
        value = [value]

    with pytest.raises(ValueError, match="nested too deeply"):
        dlx.asarray(value)


def test_large_lists():
    rows = [[i * 1000 + j for j in range(1000)] for i in range(1000)]

    tensor = dlx.asarray(rows)
    assert (tensor.shape, str(tensor.dtype)) == ((1000, 1000), "int64")
    numpy.testing.assert_array_equal(tensor.numpy(), numpy.arange(10**6).reshape(1000, 1000))
    rows[999][999] = 0.5
    assert str(dlx.asarray(rows).dtype) == "float64"
    rows[999].append(1)
    with pytest.raises(ValueError, match=r"obj\[999\] .*1001 items"):
        dlx.asarray(rows)
    rows[999][999:] = ["x"]
    with pytest.raises(TypeError, match=r"`obj`\[999\]\[999\] is not a number"):
        dlx.asarray(rows)


def test_ranges_are_sequences_of_ints():
    assert dlx.asarray(range(5, 0, -2)).tolist() == [5, 3, 1]
    assert dlx.asarray(range(2**63, 2**63 + 2)).tolist() == [2**63, 2**63 + 1]
    assert dlx.asarray(range(0)).shape == (0,)
    with pytest.raises(ValueError, match="does not fit uint8"):
        dlx.asarray(range(257), dtype="uint8")


def test_lists_of_numpys_numbers_have_numpys_dtype():
    scalars = [numpy.bool_(1), numpy.int8(-1), numpy.uint16(2), numpy.int64(-2**63), numpy.uint64(3),
               numpy.uint64(2**64 - 1), numpy.float16(1), numpy.float32(0.1), numpy.float64(3),
               numpy.complex64(1j), numpy.complex128(0.1), True, 2, 2**53 + 1, 2**63, 0.5, 1j]  # fmt: skip
    for numbers in itertools.product(scalars, repeat=3):
        if not any(isinstance(number, numpy.generic) for number in numbers):
            continue  # Python's own have rules of dlx's
        for value in ([*numbers], [numbers[:2], numbers[1:]]):
            tensor, array = dlx.asarray(value), numpy.asarray(value)
            assert (tensor.dtype, tensor.shape) == (array.dtype, array.shape), value
            assert tensor.numpy().tobytes() == array.tobytes(), value


@pytest.mark.parametrize("letter", "?bhilqBHILQefdFD")
def test_lists_of_one_class_of_numpys_numbers(letter):
    cls = numpy.dtype(letter).type
    bits = numpy.arange(1, 1 + 6 * cls().itemsize, dtype=numpy.uint8)
    values = list(bits.view(letter) if letter != "?" else bits % 2 == 0)
    dlx.asarray(values)  # from now on native code reads them
    for value in (
        values,
        tuple(values),
        [values[:3], tuple(values[3:])],
        [[values[5]]],
        values[:1],
    ):
        expected = numpy.asarray(value)
        for options in ({}, {"dtype": expected.dtype}):
            tensor = dlx.asarray(value, **options)
            assert (tensor.dtype, tensor.shape) == (expected.dtype, expected.shape)
            assert tensor.numpy().tobytes() == expected.tobytes()
            assert not tensor.readonly
    wide = dlx.asarray(values, dtype="complex128")
    numpy.testing.assert_array_equal(wide.numpy(), numpy.asarray(values, "complex128"))
    with pytest.raises(ValueError, match=r"ragged at obj\[1\]"):
        dlx.asarray([values, values[:5]])
    with pytest.raises(dlx.CopyRefusedError):
        dlx.asarray(values, copy=False)


def test_lists_with_numpys_numbers_that_no_tensor_holds():
    class Own(numpy.float64):
        pass

    half = numpy.float32(0.5)
    assert dlx.asarray([half, half]).dtype == numpy.float32  # from now on native code reads them
    assert dlx.asarray([[half], [Own(2)]]).tolist() == [[0.5], [2.0]]
    for value, match in [([half, numpy.longdouble(1)], "DLPack lacks this type"),
                         ([numpy.timedelta64(1), half], "dates"),
                         ([numpy.int64(1), 2**70], "does not fit")]:  # fmt: skip
        with pytest.raises((dlx.UnsupportedError, ValueError), match=match):
            dlx.asarray(value)
    with pytest.raises(ValueError, match=r"ragged at obj\[1\] .*2 items"):
        dlx.asarray([[half], [half, 2]])
    with pytest.raises(TypeError, match=r"`obj`\[1\] is not a number"):
        dlx.asarray([half, "x"])


@pytest.mark.parametrize(
    "pair", [(0.5, 0.5), (numpy.float32(0.5),) * 2, (0.5, numpy.float32(0.5))], ids=str
)
def test_lists_that_an_allocator_changes_meanwhile_are_read_safely(pair):
    from dlx import raw

    dlx.asarray(pair)
    numbers = [[*pair] for _ in range(100)]
    blocks = []

    def allocate(size, alignment, *_):
        numbers[50].clear()
        numbers[51][1] = "x"
        blocks.append(numpy.empty(size + alignment, numpy.uint8))
        return -(-blocks[-1].ctypes.data // alignment) * alignment

    allocator = raw.dlx_allocator(
        allocate=raw.callback("dlx_allocator.allocate", allocate),
        deallocate=raw.callback("dlx_allocator.deallocate", lambda *_: None),
    )
    raw.dlx_set_allocator(1, allocator)
    try:
        if FREE_THREADED:  # there, the lists are read once, before
            assert dlx.asarray(numbers).tolist() == [[*pair]] * 100
        else:
            with pytest.raises(ValueError, match=r"ragged at obj\[50\]"):
                dlx.asarray(numbers)
    finally:
        raw.dlx_set_allocator(1)
    assert blocks


@pytest.mark.parametrize("dtype", ["uint8", "uint64"])
def test_numpy_integers_become_unsigned_ones(dtype):
    values = [numpy.int64(3), 4, numpy.uint8(255), numpy.uint64(7)]
    assert dlx.asarray(values, dtype=dtype).tolist() == [3, 4, 255, 7]
    with pytest.raises((dlx.InvalidArgumentError, OverflowError)):
        dlx.asarray([4, numpy.int8(-1)], dtype=dtype)


def test_numbers_beside_one_beyond_int64():
    """NumPy's rules decide: numbers of its own are not taken for uint64."""
    assert str(dlx.asarray([2**63, numpy.uint64(1)]).dtype) == "uint64"
    for other in (numpy.int64(1), 1.5):
        expected = numpy.asarray([2**63, other])
        made = dlx.asarray([2**63, other])
        assert (str(made.dtype), made.tolist()) == (str(expected.dtype), expected.tolist())
