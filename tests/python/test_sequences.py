"""`dlx.asarray` of numbers and nested sequences."""

import array
import collections
import ctypes
import math
import mmap
import multiprocessing
import struct
import time

import pytest

import dlx

numpy = pytest.importorskip("numpy", reason="is the oracle, and sequences may hold its arrays")


@pytest.mark.parametrize(
    ("value", "dtype", "shape"),
    [
        (True, "bool", ()),
        (3, "int64", ()),
        (2**63, "uint64", ()),
        (2.5, "float64", ()),
        (1j, "complex128", ()),
        ([], "float64", (0,)),
        ([[], []], "float64", (2, 0)),
        ([1, 2.0], "float64", (2,)),
        ([True, 2], "int64", (2,)),
        ([1, 2j], "complex128", (2,)),
        (((1, 2), [3, 4]), "int64", (2, 2)),
        (range(3), "int64", (3,)),
        (collections.UserList([1, 2]), "int64", (2,)),
        (numpy.float32(1.5), "float32", ()),
        (numpy.float64(1.5), "float64", ()),
        (numpy.bool_(True), "bool", ()),
        ([numpy.float32(1), numpy.float32(2)], "float32", (2,)),
        ([numpy.float32(1), 2], "float64", (2,)),
        ([numpy.arange(3, dtype="i2"), numpy.arange(3, dtype="i2")], "int16", (2, 3)),
        ([[numpy.zeros((1, 2))]], "float64", (1, 1, 1, 2)),
    ],
)
def test_numbers_and_sequences(value, dtype, shape):
    tensor = dlx.asarray(value)

    assert (str(tensor.dtype), tensor.shape) == (dtype, shape)
    assert tensor.tolist() == numpy.asarray(value).tolist()
    assert not tensor.readonly  # nor where NumPy's number itself is


@pytest.mark.parametrize(
    ("value", "match"),
    [
        ([[1, 2], [3]], r"obj\[1\] .*1 items.*expected 2"),
        ([[1, 2], 3], r"obj\[1\] .*int.*sequence of 2"),
        ([1, [2]], r"obj\[1\] .*sequence"),
        ([[[1], [2]], [[3], [4, 5]]], r"obj\[1\]\[1\]"),
        ([numpy.zeros(2), numpy.zeros(3)], r"obj\[1\] .*\(3,\)"),
        ([numpy.zeros(2), 1.0], r"obj\[1\]"),
    ],
)
def test_ragged_sequences_name_the_position(value, match):
    with pytest.raises(ValueError, match=match):
        dlx.asarray(value)


def test_a_sequence_that_contains_itself():
    endless = []
    endless.append(endless)

    with pytest.raises(ValueError, match="itself"):
        dlx.asarray(endless)


def test_sequences_that_are_made_anew_each_time_do_not_contain_themselves():
    class Halves:
        def __init__(self, depth):
            self.depth = depth

        def __len__(self):
            return 2

        def __getitem__(self, index):
            return Halves(self.depth - 1) if self.depth > 1 else index

    assert dlx.asarray(Halves(6)).tolist() == (numpy.indices((2,) * 6)[5]).tolist()
    with pytest.raises(ValueError, match="nested too deeply"):
        dlx.asarray(Halves(1000))


class Degrees:
    """As networkx has it: looked up by node, iterates over pairs."""

    def __init__(self, degrees):
        self.degrees = degrees

    def __len__(self):
        return len(self.degrees)

    def __getitem__(self, node):
        return self.degrees[node]

    def __iter__(self):
        return iter(self.degrees.items())


class Keyed(Degrees):
    def __iter__(self):
        return iter(self.degrees)


@pytest.mark.parametrize(
    "value",
    [Degrees({0: 1, 1: 3}), Degrees({5: 1, 6: 1}), Keyed({0: 1, 1: 3}), [Degrees({0: 1, 1: 3})]],
)
def test_what_iterates_over_something_else_than_its_items_is_no_sequence(value):
    with pytest.raises(TypeError, match=r"array|not a number"):
        dlx.asarray(value)


def test_what_iterates_over_its_items_is_a_sequence():
    class Alike(Degrees):
        def __iter__(self):
            return iter(self.degrees.values())

    assert dlx.asarray(Alike({0: 1, 1: 3})).tolist() == [1, 3]
    assert dlx.asarray(Alike({0: (1, 2), 1: (3, 4)})).tolist() == [[1, 2], [3, 4]]
    assert numpy.isnan(dlx.asarray(Alike({0: float("nan")})).item())
    assert dlx.asarray(Alike({})).shape == (0,)
    assert dlx.asarray(collections.UserList([[1], [2]])).tolist() == [[1], [2]]


@pytest.mark.parametrize(
    "value",
    [
        None,
        "text",
        object(),
        {1: 2},
        {1, 2},
        ["a"],
        [None],
        [[1, "x"]],
        int,
        numpy.ndarray,
        (x for x in "a"),
    ],
)
def test_what_is_no_array_is_a_type_error(value):
    with pytest.raises(TypeError, match="`obj`"):
        dlx.asarray(value)


@pytest.mark.parametrize(
    ("value", "dtype", "match"),
    [
        (300, "uint8", "fit"),
        (-1, "uint64", "fit"),
        (2**64, None, "fit"),
        (1.5, "int32", "not a value"),
        (1j, "float32", "not a value"),
        (float("nan"), "int8", "not a value"),
    ],
)
def test_numbers_that_the_dtype_cannot_hold_are_refused(value, dtype, match):
    with pytest.raises(ValueError, match=match):
        dlx.asarray([value], dtype=dtype)


Point = collections.namedtuple("Point", "x y")


class Own(list):
    """A list like any other."""


class Doubled(list):
    def __getitem__(self, index):
        return 2 * super().__getitem__(index)


KINDS = {
    "of one's own": Own,
    "deque": collections.deque,
    "of named tuples": lambda pairs: [Point(*pair) for pair in pairs],
    "of their own": lambda pairs: tuple(map(Own, pairs)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_lists_of_other_classes_are_read_as_they_are_and_as_fast(kind):
    def seconds(value, **options):
        times = []
        for _ in range(5):
            start = time.process_time()
            tensor = dlx.asarray(value, **options)
            times.append(time.process_time() - start)
        return min(times), tensor

    pairs = [(i, i + 0.5) for i in range(20000)]
    expected, plain = seconds(pairs)
    took, tensor = seconds(KINDS[kind](pairs))

    assert (tensor.dtype, tensor.tolist()) == (plain.dtype, plain.tolist())
    assert took < 30 * expected
    assert str(seconds(KINDS[kind](pairs[:2]), dtype="bfloat16")[1].dtype) == "bfloat16"
    assert dlx.asarray(KINDS[kind]([numpy.ones((2, 3)), numpy.ones((2, 3))])).shape == (2, 2, 3)


def with_attribute(**attributes):
    items = Own([1, 2])
    vars(items).update(attributes)
    return items


@pytest.mark.parametrize(
    "value",
    [
        Point(1, 2),
        Own([1, 2]),
        with_attribute(note="a list, and a note"),
        collections.deque([1, 2]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_few_numbers_of_a_class_of_its_own_are_read_as_a_list(value):
    tensor = dlx.asarray(value)

    assert (str(tensor.dtype), tensor.tolist()) == ("int64", [1, 2])
    assert dlx.asarray(value, dtype="bfloat16", copy=True).tolist() == [1.0, 2.0]
    with pytest.raises(dlx.CopyRefusedError, match=type(value).__name__):
        dlx.asarray(value, copy=False)


def test_what_a_list_or_its_class_says_beside_its_items_counts():
    array = numpy.array([7.5])
    masked = type("Masked", (list,), {"mask": numpy.array([True]), "filled": list})
    seven = type("Seven", (tuple,), {"__array__": lambda self, **_: array})

    assert dlx.asarray(with_attribute(__array__=lambda: array)).tolist() == [7.5]
    assert dlx.asarray(seven([1, 2])).tolist() == [7.5]
    with pytest.raises(dlx.UnsupportedError, match="1 masked entries"):
        dlx.asarray(masked([1]))


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_wrong_in_them_is_named_by_its_position(kind):
    with pytest.raises(dlx.InvalidArgumentError, match="300 does not fit uint8"):
        dlx.asarray(KINDS[kind]([(1, 2), (3, 300)]), dtype="uint8")
    with pytest.raises(TypeError, match=r"`obj`\[1\]\[0\] is not a number"):
        dlx.asarray(KINDS[kind]([(1, 2), ("x", 4)]))


def test_a_list_that_gives_other_items_is_asked_for_each():
    assert dlx.asarray(Doubled([1, 2])).tolist() == [2, 4]


def test_a_list_that_is_an_array_beside_lists_is_not_read_as_one():
    class Measured(list):
        def __array__(self, dtype=None, copy=None):
            return numpy.array([7, 7])

    with pytest.raises(dlx.InvalidArgumentError, match=r"ragged at obj\[1\]"):
        dlx.asarray([[1, 2], Measured([1, 2])])


def test_tensors_of_several_libraries_are_stacked():
    torch = pytest.importorskip("torch")
    ones = [torch.ones(2), numpy.ones(2, "f4"), dlx.asarray(numpy.ones(2, "f4"))]

    assert dlx.asarray([ones, ones]).tolist() == [[[1, 1]] * 3] * 2
    with pytest.raises(dlx.UnsupportedError, match="different dtypes"):
        dlx.asarray([*ones, torch.ones(2, dtype=torch.int32)])
    with pytest.raises(dlx.InvalidArgumentError, match=r"obj\[1\].*shape \(3,\)"):
        dlx.asarray([torch.ones(2), torch.ones(3)])
    assert str(dlx.asarray([torch.ones(2, dtype=torch.bfloat16)] * 2).dtype) == "bfloat16"


def test_sequences_have_nothing_to_share():
    for nothing, name in (([1, 2], "a list"), (3, "an int"), (True, "a bool")):
        with pytest.raises(dlx.CopyRefusedError, match=f"{name} has no memory to share"):
            dlx.asarray(nothing, copy=False)


@pytest.mark.parametrize(
    "name", ["int8", "uint32", "float16", "bfloat16", "float32", "complex64", "complex32", "bool"]
)
def test_numbers_are_rounded_as_ml_dtypes_and_numpy_do(name):
    values = [0, 1, 0.1, -3.3, 1e-3, 65504] if "int" not in name else [0, 1, 100]
    if name == "complex32":
        assert dlx.asarray([0.1 + 2j], dtype=name).tolist() == [0.0999755859375 + 2j]
        return
    if name == "bfloat16":
        oracle = pytest.importorskip("ml_dtypes", reason="is the oracle").bfloat16
    else:
        oracle = name

    got = dlx.asarray(values, dtype=name).tolist()

    assert (
        got
        == numpy.array(values).astype(oracle).astype("c16" if "complex" in name else "f8").tolist()
    )


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32"])
def test_every_nan_stays_nan(name):
    (nan,) = struct.unpack("<d", b"\xff" * 7 + b"\x7f")  # all bits of the mantissa
    assert math.isnan(dlx.asarray([nan], dtype=name).tolist()[0])


@pytest.mark.parametrize("name", ["int8", "int4", "uint2"])
@pytest.mark.parametrize("values", [[5, 300], [1.5, 2.5], [-1, 7]])
def test_arrays_inside_are_cast_as_they_are_alone_and_numbers_are_checked(name, values):
    pytest.importorskip("ml_dtypes")
    array = numpy.array(values)
    alone = dlx.asarray(array, dtype=name).tolist()

    assert dlx.asarray([array], dtype=name).tolist() == [alone]
    assert dlx.asarray([[dlx.asarray(array)], (array,)], dtype=name).tolist() == [[alone]] * 2
    for wrong in ([300], [[0.5]], [numpy.array(300)], numpy.int16(300).item()):
        with pytest.raises(dlx.InvalidArgumentError, match=r"300|0\.5"):
            dlx.asarray(wrong, dtype=name)


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0,)])
@pytest.mark.parametrize("name", ["uint8", "float32"])
def test_memoryviews_inside_are_arrays_of_their_dtype(name, shape):
    arrays = [numpy.full(shape, 7, name), numpy.full(shape, 9, name)]
    views = [memoryview(array) for array in arrays]

    got = dlx.asarray([views, views])

    assert (got.dtype, got.tolist()) == (name, [numpy.array(arrays).tolist()] * 2)
    assert dlx.asarray(views, dtype="int16").tolist() == numpy.array(arrays).tolist()
    got[0] = views[::-1]
    assert got[0].tolist() == numpy.array(arrays[::-1]).tolist()


def test_a_list_beside_an_array_is_told_what_was_expected():
    with pytest.raises(dlx.InvalidArgumentError, match=r"at obj\[1\] .*a number or an array"):
        dlx.asarray([dlx.empty(2), [1, 2]])


@pytest.mark.parametrize(
    ("name", "values", "others"),
    [
        ("float8_e5m2", [math.inf, math.nan, 1e9], []),  # infinity, as in float32
        ("float8_e4m3fn", [math.nan, 448, -0.0], [math.inf, 500, -1e9]),
        ("float8_e8m0fnu", [math.nan, 0.5], [math.inf, 0, -1.0]),
        ("float4_e2m1fn", [6.0, -0.0], [math.nan, math.inf, -math.inf]),
        ("float6_e3m2fn", [28], [math.nan, math.inf]),
    ],
)
def test_numbers_stay_nan_infinite_or_finite(name, values, others):
    pytest.importorskip("ml_dtypes")
    tensor = dlx.asarray([1, 1], dtype=name)
    for value in values:
        tensor[0] = value
        assert str(tensor.tolist()) == str(dlx.asarray([value, 1], dtype=name).tolist())
    tensor[0] = 1
    for value in others:
        for number in (value, numpy.float64(value)):
            with pytest.raises(dlx.InvalidArgumentError, match=f"is not a value of {name}, which"):
                dlx.asarray([[1, number]], dtype=name)
            with pytest.raises(dlx.InvalidArgumentError, match=f"is not a value of {name}, which"):
                tensor[0] = number
    assert tensor.tolist() == [1, 1]


@pytest.mark.parametrize("name", ["int4", "uint2", "float4_e2m1fn"])
def test_lists_of_arrays_below_a_byte_are_stacked_byte_by_byte_or_packed_as_they_are(name):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    array = numpy.array([1, 0, 1], getattr(ml_dtypes, name))
    for one in (array, dlx.asarray(array)):
        got = dlx.asarray([[one], [one]])
        assert got.numpy().tolist() == [[array.tolist()]] * 2
        assert dlx.asarray([one, one], dtype="float32").tolist() == [[1.0, 0.0, 1.0]] * 2
        assert dlx.asarray([one[0], one[1]]).numpy().dtype == array.dtype
    assert dlx.asarray([array[0], array[2]], dtype="float8_e5m2").tolist() == [1.0, 1.0]
    assert dlx.asarray([array[:0]]).shape == (1, 0)
    into = dlx.asarray(numpy.zeros_like(array))
    into[:] = list(array)
    assert into.tolist() == array.tolist()

    packed = dlx.empty(3, dtype=name)
    dlx.copyto(packed, dlx.asarray(array))
    for rows in ([packed, packed], [packed, array]):
        got = dlx.asarray(rows)
        assert got.nbytes == dlx.empty((2, 3), dtype=name).nbytes
        assert got.tolist() == [array.tolist()] * 2


@pytest.mark.parametrize(
    "make",
    [
        lambda: array.array("f", [1.5, 2]),
        lambda: array.array("b", [1, 2]),
        lambda: bytearray(b"ab"),
        lambda: memoryview(b"ab"),
        lambda: (ctypes.c_float * 2)(1, 2),
        lambda: ((ctypes.c_int16 * 2) * 2)(),
        lambda: mmap.mmap(-1, 4),
    ],
)
@pytest.mark.parametrize("wrap", [list, tuple, collections.UserList, collections.deque])
def test_objects_with_typed_memory_keep_their_dtype_in_lists(make, wrap):
    items = [make(), make()]
    expected = numpy.asarray(items)

    tensor = dlx.asarray(wrap(items))

    assert (tensor.dtype, tensor.shape) == (expected.dtype, expected.shape)
    assert tensor.tolist() == expected.tolist()


def test_arrays_of_cffi_keep_their_dtype_in_lists():
    cffi = pytest.importorskip("cffi", reason="has C arrays")
    item = cffi.FFI().new("float[2]", [1, 2])

    assert str(dlx.asarray([item, item]).dtype) == "float32"


def test_a_buffer_that_is_closed_is_named_by_its_place():
    closed = mmap.mmap(-1, 4)
    closed.close()

    with pytest.raises(ValueError, match="closed"):
        dlx.asarray([closed])
    with pytest.raises(TypeError, match=r"`obj`\[0\] is not a number"):
        dlx.asarray([b"ab"])


@pytest.mark.parametrize("bits", [*range(1, 9), 16, 32, 64, 128])
@pytest.mark.parametrize("signed", [True, False])
def test_every_integer_type_takes_its_limits_and_nothing_beyond(bits, signed):
    if bits < 8:
        pytest.importorskip("ml_dtypes", reason="has the integers of less than a byte")
    name = f"int{bits}" if signed else f"uint{bits}"
    low = -(1 << (bits - 1)) if signed else 0
    high = low + (1 << bits) - 1
    assert dlx.asarray([low, high], dtype=name).tolist() == [low, high]
    for beyond in (low - 1, high + 1):
        with pytest.raises(dlx.InvalidArgumentError):
            dlx.asarray([0, beyond], dtype=name)


def test_arrays_with_a_lock_are_shared():
    """multiprocessing's synchronized arrays look like lists, and hold arrays of ctypes."""
    shared = multiprocessing.Array("f", [1.5, 2.5])
    tensor = dlx.asarray(shared, copy=False)
    assert str(tensor.dtype) == "float32"
    tensor[0] = 9
    assert shared[0] == 9
    dlx.copyto(shared, dlx.asarray([3.0, 4.0], dtype="float32"))
    assert shared[:] == [3, 4]
    pair = dlx.asarray([shared, shared])
    assert str(pair.dtype) == "float32"
    assert pair.tolist() == [[3, 4], [3, 4]]
    assert dlx.asarray(multiprocessing.Value("i", 3)).item() == 3
    with pytest.raises(dlx.UnsupportedError, match=r"`x\.get_obj\(\)` of a multiprocessing"):
        dlx.asarray(multiprocessing.Array("c", b"abc"))


def test_an_iterator_of_numpy_is_no_sequence():
    """Its length and items are not those of the array, and asking for them moves it."""
    walk = numpy.nditer(numpy.arange(3))
    for _ in range(2):
        with pytest.raises(dlx.UnsupportedError, match=r"numpy\.nditer.*`\.operands`"):
            dlx.asarray(walk)
    with pytest.raises(TypeError, match=r"`obj`\[0\] is not a number \(got nditer"):
        dlx.asarray([walk])
    assert [int(item) for item in walk] == [0, 1, 2]
    assert dlx.asarray(walk.operands[0]).tolist() == [0, 1, 2]


def test_a_number_that_is_no_integer_names_what_helps():
    for value, way in ((1.5, r"int\(\)"), (float("nan"), "replace it"), (float("inf"), "replace it"),
                       (1j, r"`\.real`")):  # fmt: skip
        for dtype in ("int32", "int4"):
            with pytest.raises(dlx.InvalidArgumentError, match=way):
                dlx.asarray([value], dtype=dtype)
