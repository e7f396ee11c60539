"""Arrow's PyCapsule interface: what dlx.asarray makes of PyArrow's arrays, and of producers that err."""

import ctypes

import pytest

import dlx
from arrow_support import IMPORTS, NAMES, OnlyDeviceArray, OnlyStream, address, pyarrow


@pytest.mark.parametrize("protocol", IMPORTS)
@pytest.mark.parametrize("name", NAMES)
def test_numbers_are_shared_and_read_only(name, protocol):
    source = pyarrow.array([1, 2, 3], getattr(pyarrow, name)())
    tensor = dlx.asarray(protocol(source))

    assert str(tensor.dtype) == name
    assert tensor.data_ptr == address(source)
    assert tensor.readonly
    assert tensor.tolist() == [1, 2, 3]


@pytest.mark.parametrize("protocol", IMPORTS)
def test_offsets_are_honoured(protocol):
    source = pyarrow.array(range(10), pyarrow.int16())
    part = source[3:6]

    tensor = dlx.asarray(protocol(part))

    assert tensor.tolist() == [3, 4, 5]
    assert tensor.data_ptr == address(source) + 6
    assert dlx.asarray(protocol(source[4:4])).shape == (0,)


def test_nested_lists_are_shared_whatever_their_offsets():
    inner = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(range(30), pyarrow.int32())[2:], 2)
    source = pyarrow.FixedSizeListArray.from_arrays(inner[1:13], 3)[1:3]

    tensor = dlx.asarray(source)

    assert tensor.shape == (2, 3, 2)
    assert tensor.tolist() == source.to_pylist()
    assert tensor.data_ptr == address(inner) + 4 * source[0].as_py()[0][0]


def test_fixed_shape_tensors_are_shared():
    numpy = pytest.importorskip("numpy")
    values = numpy.arange(24.0).reshape(2, 3, 4)
    source = pyarrow.FixedShapeTensorArray.from_numpy_ndarray(values)

    tensor = dlx.asarray(source[1:])

    assert tensor.shape == (1, 3, 4)
    assert tensor.tolist() == values[1:].tolist()
    assert tensor.data_ptr == values[1:].ctypes.data


def test_permuted_tensors_have_their_logical_shape():
    kind = pyarrow.fixed_shape_tensor(
        pyarrow.int32(), [2, 3, 4], dim_names=["a", 'b"\\', "c"], permutation=[2, 0, 1]
    )
    storage = pyarrow.array(
        [list(range(24)), list(range(24, 48))], pyarrow.list_(pyarrow.int32(), 24)
    )
    source = pyarrow.ExtensionArray.from_storage(kind, storage)

    tensor = dlx.asarray(source)

    assert tensor.shape == (2, 4, 2, 3)
    # Axis i is physical axis permutation[i]; PyArrow 26's own to_tensor() has other numbers here.
    physical = dlx.asarray(range(48)).reshape((2, 2, 3, 4))
    assert tensor.tolist() == physical.permute_dims((0, 3, 1, 2)).tolist()


@pytest.mark.parametrize("protocol", [*IMPORTS, OnlyStream])
def test_booleans_are_unpacked_into_a_writable_copy(protocol):
    values = [i % 3 == 0 for i in range(100)]
    source = pyarrow.array(values)
    if protocol is OnlyStream:
        source = pyarrow.chunked_array([source])

    tensor = dlx.asarray(protocol(source[5:]))

    assert str(tensor.dtype) == "bool"
    assert not tensor.readonly
    assert tensor.tolist() == values[5:]
    assert dlx.asarray(protocol(source), copy=True).tolist() == values
    with pytest.raises(dlx.CopyRefusedError, match="booleans are bits"):
        dlx.asarray(protocol(source), copy=False)


def test_copy_dtype_and_device_mean_what_they_mean_elsewhere():
    source = pyarrow.array([1, 2, 3])
    copy = dlx.asarray(source, copy=True)
    assert copy.data_ptr != address(source)
    assert not copy.readonly
    assert dlx.asarray(source, copy=False).data_ptr == address(source)
    assert dlx.asarray(source, device="cpu").data_ptr == address(source)
    if pytest.importorskip("numpy"):
        assert dlx.asarray(source, dtype="float32").tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("protocol", [*IMPORTS, OnlyStream])
def test_nulls_are_refused_with_the_way_out(protocol):
    source = pyarrow.array([1, None, 3, None])
    if protocol is OnlyStream:
        source = pyarrow.chunked_array([source])

    with pytest.raises(
        dlx.UnsupportedError, match=r"2 nulls.*fill_null\(value\)` or `\.drop_null\(\)"
    ):
        dlx.asarray(protocol(source))
    assert dlx.asarray(protocol(source.fill_null(0))).tolist() == [1, 0, 3, 0]
    assert dlx.asarray(protocol(source[2:3])).tolist() == [3]


def test_nulls_within_lists_and_of_lists_are_refused():
    kind = pyarrow.list_(pyarrow.int8(), 2)
    with pytest.raises(
        dlx.UnsupportedError, match=r"1 null, and a tensor cannot hold nulls.*drop_null"
    ):
        dlx.asarray(pyarrow.array([[1, 2], None], kind))
    source = pyarrow.array([[1, None], [3, 4]], kind)
    with pytest.raises(
        dlx.UnsupportedError, match=r"1 null inside its lists.*from_arrays\(pyarrow\.array\(x\)\.fl"
    ):
        dlx.asarray(source)
    filled = pyarrow.FixedSizeListArray.from_arrays(source.flatten().fill_null(0), 2)
    assert dlx.asarray(filled).tolist() == [[1, 0], [3, 4]]
    assert dlx.asarray(pyarrow.array([None, [1, 2]], kind)[1:]).tolist() == [[1, 2]]


REFUSED = {
    "strings": lambda: pyarrow.array(["a"]),
    "binary": lambda: pyarrow.array([b"ab"], pyarrow.binary(2)),
    "dates": lambda: pyarrow.array([1], pyarrow.date32()),
    "timestamps": lambda: pyarrow.array([1], pyarrow.timestamp("ns")),
    "durations": lambda: pyarrow.array([1], pyarrow.duration("s")),
    "decimals": lambda: pyarrow.array([1], pyarrow.decimal128(5)),
    "lists": lambda: pyarrow.array([[1], [2, 3]]),
    "map": lambda: pyarrow.array([[("a", 1)]], pyarrow.map_(pyarrow.string(), pyarrow.int8())),
    "x.type.value_type": lambda: pyarrow.array(["a"]).dictionary_encode(),
    "null type": lambda: pyarrow.array([None]),
    "run_end_decode": lambda: pyarrow.RunEndEncodedArray.from_arrays([2], [1]),
    "arrow.bool8": lambda: pyarrow.array([1], pyarrow.int8()).cast(pyarrow.bool8()),
}


@pytest.mark.parametrize("words", REFUSED)
def test_other_types_are_refused_with_the_reason(words):
    with pytest.raises(dlx.UnsupportedError, match=words.replace(".", r"\.")):
        dlx.asarray(REFUSED[words]())


def test_the_named_ways_out_work():
    assert dlx.asarray(REFUSED["dates"]().cast("int32")).tolist() == [1]
    assert dlx.asarray(REFUSED["decimals"]().cast("float64")).tolist() == [1.0]
    assert dlx.asarray(REFUSED["arrow.bool8"]().storage).tolist() == [1]
    lists = pyarrow.array([[1, 2], [3, 4]]).cast(pyarrow.list_(pyarrow.int64(), 2))
    assert dlx.asarray(lists).tolist() == [[1, 2], [3, 4]]


# ---- chunks and tables ---------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", [lambda source: source, OnlyStream])
def test_one_chunk_is_shared(protocol):
    chunk = pyarrow.array([1, 2, 3])
    source = pyarrow.chunked_array([chunk[:0], chunk, chunk[:0]])

    tensor = dlx.asarray(protocol(source))

    assert tensor.data_ptr == address(chunk)
    assert tensor.readonly


@pytest.mark.parametrize("protocol", [lambda source: source, OnlyStream])
@pytest.mark.parametrize(
    ("chunks", "kind"),
    [
        ([[1, 2], [], [3]], pyarrow.int16()),
        ([[True], [False, True]], pyarrow.bool_()),
        ([[[1, 2]], [[3, 4], [5, 6]]], pyarrow.list_(pyarrow.float32(), 2)),
    ],
)
def test_several_chunks_are_joined_in_a_copy(protocol, chunks, kind):
    source = pyarrow.chunked_array(chunks, kind)
    for copy in (None, True):
        tensor = dlx.asarray(protocol(source), copy=copy)
        assert tensor.tolist() == [item for chunk in chunks for item in chunk]
        assert not tensor.readonly
    with pytest.raises(dlx.CopyRefusedError, match=r"`?copy`? .*|booleans|\.combine_chunks\(\)"):
        dlx.asarray(protocol(source), copy=False)
    if kind != pyarrow.bool_():
        with pytest.raises(dlx.CopyRefusedError, match=r"several chunks.*\.combine_chunks\(\)"):
            dlx.asarray(protocol(source), copy=False)
        assert dlx.asarray(source.combine_chunks(), copy=False).tolist() == source.to_pylist()


def test_none_in_place_of_the_first_method_is_none():
    class Shown(OnlyDeviceArray):
        __arrow_c_array__ = None

    assert dlx.asarray(Shown(pyarrow.array([1, 2]))).tolist() == [1, 2]


def test_no_chunks_are_an_empty_tensor():
    kind = pyarrow.list_(pyarrow.float32(), 3)
    tensor = dlx.asarray(pyarrow.chunked_array([], kind))
    assert tensor.shape == (0, 3)
    assert str(tensor.dtype) == "float32"


@pytest.mark.parametrize("make", [pyarrow.table, pyarrow.record_batch])
def test_tables_are_put_together_and_keep_no_nulls(make):
    for protocol in (lambda source: source, OnlyStream):
        if protocol is OnlyStream and not hasattr(make({}), "__arrow_c_stream__"):
            continue
        assert dlx.asarray(protocol(make({"a": [1, 2], "b": [3, 4]}))).tolist() == [[1, 3], [2, 4]]
        with pytest.raises(
            dlx.UnsupportedError, match=r"column 'b': `array` has 1 null.*fill_null"
        ):
            dlx.asarray(protocol(make({"a": [1, 2], "b": [1, None]})))
        with pytest.raises(dlx.UnsupportedError, match="columns"):
            dlx.asarray(protocol(make({})))


def test_an_array_of_structs_is_a_table_also_when_it_is_sliced():
    rows = pyarrow.array([{"a": i, "b": 10 * i} for i in range(5)])

    assert dlx.asarray(rows[1:4]).tolist() == [[1, 10], [2, 20], [3, 30]]
    nested = pyarrow.StructArray.from_arrays(
        [pyarrow.array([None, 1, 2])[1:], pyarrow.array([7, 8, 9])[1:]], ["a", "b"]
    )
    assert dlx.asarray(nested[1:]).tolist() == [[2, 9]]
    with pytest.raises(dlx.UnsupportedError, match="1 null"):
        dlx.asarray(pyarrow.array([{"a": 1}, None]))


def test_one_column_is_shared_and_several_are_copied():
    pytest.importorskip("numpy")
    column = pyarrow.array([1, 2, 3])
    one = dlx.asarray(pyarrow.table({"a": column}), copy=False)

    assert one.data_ptr == address(column)
    assert one.tolist() == [[1], [2], [3]]
    table = pyarrow.table({"a": column, "b": column})
    with pytest.raises(dlx.CopyRefusedError, match=r"2 columns.*one by one"):
        dlx.asarray(table, copy=False)
    both = dlx.asarray(table)
    assert not both.readonly
    assert both.data_ptr not in (0, address(column))


def test_columns_get_one_dtype_by_numpy_s_rules():
    numpy = pytest.importorskip("numpy")
    names = ["bool", "int8", "uint8", "int32", "uint64", "float32", "float64"]
    for first in names:
        for second in names:
            kinds = [
                pyarrow.bool_() if n == "bool" else getattr(pyarrow, n)() for n in (first, second)
            ]
            values = [[True, False] if n == "bool" else [1, 0] for n in (first, second)]
            table = pyarrow.table(
                {"a": pyarrow.array(values[0], kinds[0]), "b": pyarrow.array(values[1], kinds[1])}
            )
            tensor = dlx.asarray(table)
            assert str(tensor.dtype) == str(numpy.result_type(first, second))
            assert tensor.tolist() == [[1, 1], [0, 0]]
            assert str(dlx.asarray(table, dtype="float32").dtype) == "float32"


# ---- producers that err --------------------------------------------------------------------------


def test_errors_of_a_producer_pass_through():
    class Broken:
        def __arrow_c_array__(self, requested_schema=None):
            raise KeyError("its own")

        def __array__(self, *arguments, **keywords):
            raise AssertionError("the next protocol is not tried")

    with pytest.raises(KeyError, match="its own"):
        dlx.asarray(Broken())


def test_elements_of_lists_that_no_tensor_has_name_a_call_that_reaches_them():
    """`.cast("int32")` of the whole array fails."""
    day = pyarrow.array([1, 2], pyarrow.int32()).cast(pyarrow.date32())
    names = pyarrow.array(["a", "b"]).dictionary_encode()
    for values in (day, names):
        lists = pyarrow.FixedSizeListArray.from_arrays(values, 2)
        nested = pyarrow.FixedSizeListArray.from_arrays(lists, 1)
        for source in (lists, nested, pyarrow.chunked_array([lists, lists])):
            with pytest.raises(dlx.UnsupportedError, match=r"inside lists.*`pyarrow\.array\(x\)"):
                dlx.asarray(source)
            assert pyarrow.array(source).flatten(recursive=True).type == values.type


def test_capsules_that_are_none_are_refused():
    class Stream:
        def __init__(self, capsule):
            self.capsule = capsule

        def __arrow_c_stream__(self, requested_schema=None):
            return self.capsule

    good = pyarrow.array([1]).__arrow_c_array__()
    for schema, array in ((1, good[1]), (good[0], None), good[::-1], (good[0], good[0])):
        with pytest.raises(dlx.InvalidArgumentError, match="PyCapsule named"):
            dlx._native._from_arrow(schema, array, None)
    with pytest.raises(dlx.InvalidArgumentError, match="arrow_array_stream"):
        dlx._native._from_arrow_stream(Stream(good[1]), None, None)
    dlx._native._from_arrow(*good, None)
    with pytest.raises(dlx.InvalidArgumentError, match="released or moved"):
        dlx._native._from_arrow(*good, None)


# Arrow's C structs, for streams that fail.
ERRNO = 5


class Stream(ctypes.Structure):
    _fields_ = (
        ("get_schema", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)),
        ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)),
        ("get_last_error", ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)),
        ("release", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
        ("private_data", ctypes.c_void_p),
    )


class FailingStream:
    """A stream of int64 that fails in one of its calls."""

    def __init__(self, fails, words=b"the disk is full"):
        self.words = ctypes.create_string_buffer(words) if words is not None else None
        self.stream = Stream()
        types = dict(Stream._fields_)
        for name in ("get_schema", "get_next"):
            function = self.fail if name == fails else getattr(self, name)
            setattr(self.stream, name, types[name](function))
        words_at = ctypes.addressof(self.words) if self.words else None
        self.stream.get_last_error = types["get_last_error"](lambda stream: words_at)
        self.stream.release = types["release"](lambda stream: None)

    def fail(self, stream, out):
        return ERRNO

    def get_schema(self, stream, out):
        pyarrow.int64()._export_to_c(out)
        return 0

    def get_next(self, stream, out):
        return 0  # `out` says that it is released: the end

    def __arrow_c_stream__(self, requested_schema=None):
        prototype = ctypes.PYFUNCTYPE(
            ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p
        )
        self.name = b"arrow_array_stream"
        new = prototype(("PyCapsule_New", ctypes.pythonapi))
        return new(ctypes.addressof(self.stream), self.name, None)


@pytest.mark.parametrize("fails", ["get_schema", "get_next"])
def test_a_stream_that_fails_shows_its_words(fails):
    with pytest.raises(dlx.InvalidArgumentError, match=f"{fails} failed .* 5: the disk is full"):
        dlx.asarray(FailingStream(fails))
    with pytest.raises(dlx.InvalidArgumentError, match="no reason given"):
        dlx.asarray(FailingStream(fails, words=None))
    assert dlx.asarray(FailingStream("nothing")).shape == (0,)


def test_a_stream_that_was_released_is_refused():
    source = FailingStream("nothing")
    ctypes.memset(ctypes.addressof(source.stream) + Stream.release.offset, 0, 8)
    with pytest.raises(dlx.InvalidArgumentError, match="released or moved"):
        dlx.asarray(source)
