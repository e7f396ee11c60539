"""pandas: Series, Index, columns, nullable arrays, and copy-on-write values, which are read-only."""

from __future__ import annotations

import arrays
import numpy
import pytest

import dlx

pd = arrays.require("pandas")


def address(x):
    return x.to_numpy().ctypes.data


@pytest.mark.parametrize("name", [n for n in arrays.NUMPY_NAMES if n != "float16"])
def test_series_and_values_of_every_dtype_are_shared(name):
    series = pd.Series(arrays.numpy_array(name), copy=False)
    for obj in (series, series.values, series.array, series.to_numpy()):
        tensor = dlx.asarray(obj)
        assert str(tensor.dtype) == name
        assert tensor.data_ptr == address(series)
        assert tensor.tolist() == series.tolist()


def test_copy_on_write_values_are_read_only_and_shared():
    """NumPy cannot export them: a legacy capsule has no mark for read-only."""
    series = pd.Series([1.0, 2.0, 3.0])
    assert not series.values.flags.writeable
    tensor = dlx.asarray(series.values)

    assert tensor.readonly
    assert tensor.data_ptr == address(series)
    with pytest.raises(dlx.ReadOnlyError):
        tensor[0] = 5.0
    assert series.tolist() == [1, 2, 3]
    assert dlx.convert(series.values, "numpy").tolist() == [1, 2, 3]


def test_an_index_is_shared():
    for index in (pd.Index([10, 20, 30]), pd.Index([0.5, 1.5])):
        tensor = dlx.asarray(index)
        assert tensor.tolist() == index.tolist()
        assert tensor.data_ptr == index.values.ctypes.data
    assert dlx.asarray(pd.RangeIndex(3)).tolist() == [0, 1, 2]


def test_columns_and_frames():
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0], "c": [5, 6]})

    assert dlx.asarray(frame["a"]).data_ptr == address(frame["a"])
    assert dlx.asarray(frame["c"]).tolist() == [5, 6]
    assert dlx.asarray(frame[["a", "b"]]).tolist() == [[1, 3], [2, 4]]
    one_block = pd.DataFrame(arrays.aligned(4, 3), copy=False)
    tensor = dlx.asarray(one_block)
    assert tensor.tolist() == one_block.values.tolist()
    assert tensor.data_ptr == one_block.values.ctypes.data


@pytest.mark.parametrize("name", ["Int8", "Int64", "UInt32", "Float32", "Float64", "boolean"])
def test_nullable_arrays_without_a_null_are_taken(name):
    series = pd.Series([1, 0, 1], dtype=name)

    assert dlx.asarray(series).tolist() == [1, 0, 1]
    assert str(dlx.asarray(series).dtype) == {"boolean": "bool"}.get(name, name.lower())


@pytest.mark.parametrize("name", ["Int64", "Float64", "boolean"])
def test_nullable_arrays_with_a_null_are_refused_with_the_way_out(name):
    series = pd.Series([1, None, 0], dtype=name)

    with pytest.raises(dlx.UnsupportedError, match=r"1 nulls.*\.fillna\(value\)"):
        dlx.asarray(series)
    for obj in (series.array, pd.Index(series), pd.DataFrame({"a": series})):
        with pytest.raises(dlx.UnsupportedError, match="null"):
            dlx.asarray(obj)
    filled = series.fillna(False if name == "boolean" else 0)
    assert dlx.asarray(filled).tolist() == [1, 0, 0]


def test_a_nan_in_an_array_of_numpy_is_a_number_as_in_its_series():
    series = pd.Series([1.0, numpy.nan])
    tensor = dlx.asarray(series.array)

    assert tensor.data_ptr == address(series)
    assert str(tensor.tolist()) == "[1.0, nan]"


@pytest.mark.parametrize("kind", ["M8[s]", "m8[s]"])
def test_the_way_out_for_dates_is_there(kind):
    series = pd.Series(numpy.array([5, 7], kind))
    for source in (series, series.to_frame(), series.array, pd.Index(series)):
        with pytest.raises(dlx.UnsupportedError, match=r"numpy\.asarray\(x\)\.astype\('int64'\)`"):
            dlx.asarray(source)
        assert dlx.asarray(source.astype("int64")).reshape((-1,)).tolist() == [5, 7]


@pytest.mark.parametrize(
    "make",
    [
        lambda: pd.Series(["a", "b"]),
        lambda: pd.Series(["a", "b"], dtype="category"),
        lambda: pd.Series([object()]),
        lambda: pd.to_datetime(pd.Series(["2020-01-01"])),
        lambda: pd.DataFrame({"a": [1], "b": ["x"]}),
        lambda: pd.Series(pd.timedelta_range("1s", periods=2)),
    ],
)
def test_what_holds_no_numbers_is_refused(make):
    with pytest.raises(dlx.UnsupportedError):
        dlx.asarray(make())


def test_series_and_frames_are_made_without_a_copy():
    source = arrays.aligned(4)
    series = dlx.convert(dlx.asarray(source), "pandas", copy=False)
    assert isinstance(series, pd.Series)
    assert address(series) == source.ctypes.data
    frame = dlx.convert(arrays.aligned(2, 3), "pandas")
    assert isinstance(frame, pd.DataFrame)
    assert frame.shape == (2, 3)
    with pytest.raises(dlx.UnsupportedError, match="1 to 2 axes"):
        dlx.convert(arrays.aligned(1, 2, 3), "pandas")


def test_a_class_of_pandas_gives_that_class():
    line, grid = arrays.aligned(4), arrays.aligned(2, 3)

    assert type(dlx.convert(line, pd.Series)) is pd.Series
    for source in (line, grid):
        frame = dlx.convert(source, pd.DataFrame, copy=False)
        assert type(frame) is pd.DataFrame
        assert frame.values.ctypes.data == source.ctypes.data
    with pytest.raises(dlx.UnsupportedError, match="arrays of 1 axis"):
        dlx.convert(grid, pd.Series)


@pytest.mark.parametrize(
    "layout", ["rows", "columns", "reversed", "empty", "read-only", "unaligned"]
)
def test_layouts_into_a_frame(layout):
    source = arrays.LAYOUTS[layout]()
    frame = dlx.convert(source, "pandas", copy=False)

    assert frame.values.tolist() == source.tolist()
    if source.size:
        assert frame.values.ctypes.data == source.ctypes.data


def test_lifetimes():
    series = pd.Series(numpy.arange(5.0))
    tensor = dlx.asarray(series)
    del series
    assert tensor.tolist() == [0, 1, 2, 3, 4]


# ---- the examples of NumPy's page "Interoperability with NumPy" ---------------------------------


def test_example_a_series_is_no_ndarray_but_becomes_one():
    ser = pd.Series([1, 2, 3, 4])
    result = dlx.asarray(ser)

    assert result.tolist() == [1, 2, 3, 4]
    assert type(dlx.convert(ser, "numpy")) is numpy.ndarray
    assert result.data_ptr == ser.__array__().ctypes.data
    assert numpy.exp(ser).tolist() == dlx.asarray(numpy.exp(ser)).tolist()
    assert dlx.asarray(numpy.add(ser, numpy.array([5, 6, 7, 8]))).tolist() == [6, 8, 10, 12]


def test_sparse_data_names_the_way_out():
    sparse = pd.arrays.SparseArray([0, 1])
    with pytest.raises(dlx.UnsupportedError, match=r"sparse.*`.to_dense\(\)`"):
        dlx.asarray(sparse)
    with pytest.raises(dlx.UnsupportedError, match=r"sparse.*`.sparse.to_dense\(\)`"):
        dlx.asarray(pd.Series(sparse))


def test_arithmetic_with_a_tensor_is_theirs():
    tensor = dlx.asarray(numpy.array([1.0, 2.0, 3.0]))
    series = pd.Series([1.0, 2.0, 3.0], index=list("abc"))

    for result in (tensor + series, series + tensor):
        assert type(result) is pd.Series
        assert result.tolist() == [2, 4, 6]
        assert list(result.index) == list("abc")


@pytest.mark.parametrize("index", [pd.Index([1, 2]), pd.RangeIndex(2)], ids=type)
def test_an_index_is_never_written_to(index):
    # NumPy's array of it can be written to, after which look-ups in the index go wrong.
    tensor = dlx.asarray(index)

    assert tensor.readonly
    assert not dlx.asarray(index, copy=True).readonly
    assert tensor.data_ptr == dlx.asarray(index).data_ptr


def test_a_tensor_is_no_number_to_pandas():
    tensor = dlx.asarray([1.0, float("nan")])

    assert not pd.api.types.is_scalar(tensor)
    assert pd.isna(tensor).tolist() == [False, True]


def test_tensors_are_assigned_compared_and_used_as_indices():
    tensor, picked = dlx.asarray([5, 7], dtype="int64"), dlx.asarray([2, 0], dtype="int64")
    series = pd.Series([5, 6, 7])

    assert (series[:2] == tensor).tolist() == [True, False]
    assert series.iloc[picked].tolist() == series.take(picked).tolist() == [7, 5]
    assert series.loc[picked].tolist() == series.reindex(picked).tolist() == [7, 5]
    assert series.isin(tensor.numpy()).tolist() == [True, False, True]  # the way out of the docs
    series[:2] = tensor
    assert series.tolist() == [5, 7, 7]


# ---- classes that users derive ------------------------------------------------------------------


class Column(pd.Series):
    pass


class Frame(pd.DataFrame):
    pass


def test_a_derived_class_is_refused_what_its_library_s_class_is():
    with pytest.raises(dlx.UnsupportedError, match=r"in column 'a' with 1 nulls.*\.fillna"):
        dlx.asarray(Frame({"a": pd.array([1, None])}))
    with pytest.raises(dlx.UnsupportedError, match=r"1 nulls.*\.fillna"):
        dlx.asarray(Column(pd.array([1, None])))
    with pytest.raises(dlx.UnsupportedError, match=r"sparse.*`.sparse.to_dense\(\)`"):
        dlx.asarray(Column(pd.arrays.SparseArray([0, 1])))


@pytest.mark.parametrize("values", [[1.0, numpy.nan], [1j], [True, False]])
def test_a_derived_class_on_numpy_memory_shares_it(values):
    series = Column(values)
    tensor = dlx.asarray(series, copy=False)

    assert tensor.data_ptr == address(series)
    assert repr(tensor.tolist()) == repr(values)
    assert dlx.asarray(Frame({"a": values})).shape == (len(values), 1)


# ---- columns of pandas' extension types ---------------------------------------------------------


@pytest.mark.parametrize("values", [[5, None, 7], [0.5, None], [True, None]])
def test_nulls_of_categories_are_refused_with_the_way_out(values):
    categories = pd.Categorical(values)
    for obj in (
        categories, pd.Series(categories), pd.CategoricalIndex(categories),
        pd.DataFrame({"a": categories}),
    ):  # fmt: skip
        with pytest.raises(dlx.UnsupportedError, match=r"1 nulls.*na_value=value"):
            dlx.asarray(obj)
    nullable = pd.Categorical(pd.array([1, None], dtype="Int64"))
    with pytest.raises(dlx.UnsupportedError, match="1 nulls"):
        dlx.asarray(pd.DataFrame({"a": nullable}))


def test_categories_without_a_null_are_their_values():
    categories = pd.Categorical([5, 6, 5])

    for obj in (categories, pd.Series(categories), pd.CategoricalIndex(categories)):
        assert dlx.asarray(obj).tolist() == [5, 6, 5]
    assert dlx.asarray(pd.DataFrame({"a": categories})).tolist() == [[5], [6], [5]]


def test_a_copy_of_categories_can_be_written_to():
    pytest.importorskip("pyarrow")
    categories = pd.Categorical(pd.array([5, 6], dtype="int64[pyarrow]"))
    for obj in (categories, pd.Series(categories), pd.CategoricalIndex(categories)):
        assert not dlx.asarray(obj, copy=True).readonly


def test_columns_without_a_dtype_in_common_are_refused_with_the_way_out():
    frame = pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})
    with pytest.raises(dlx.UnsupportedError, match=r"column 'b' of a pandas\.DataFrame: .*export"):
        dlx.asarray(frame)
    assert dlx.asarray(frame[["a"]]).tolist() == [[1], [2]]


@pytest.mark.parametrize("dtype", ["Int64", "Float32", "boolean", "int64[pyarrow]"])
def test_a_frame_of_an_extension_dtype_is_its_columns(dtype):
    if "pyarrow" in dtype:
        pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"a": [1, 0], "b": [1, 1]}, dtype=dtype)
    names = {"boolean": "bool", "int64[pyarrow]": "int64"}

    for copy in (None, True):
        tensor = dlx.asarray(frame, copy=copy)
        assert tensor.tolist() == [[1, 1], [0, 1]]
        assert str(tensor.dtype) == names.get(dtype, dtype.lower())
        assert not tensor.readonly
    with pytest.raises(dlx.CopyRefusedError, match=r"one by one|pandas"):
        dlx.asarray(frame, copy=False)


def test_columns_get_one_dtype_by_numpy_s_rules():
    columns = {
        "b": [True, False],
        "i": [1, 2],
        "f": numpy.float32([0.5, 1.5]),
        "n": pd.array([3, 4]),
    }
    for names in (["b", "i"], ["b", "f"], ["i", "f"], ["b", "n"], ["f", "n"], ["b", "i", "f", "n"]):
        frame = pd.DataFrame({name: columns[name] for name in names})
        kinds = [numpy.asarray(columns[name]).dtype for name in names if name != "n"]
        expected = numpy.result_type(*kinds, *(["int64"] if "n" in names else []))
        tensor = dlx.asarray(frame)
        assert str(tensor.dtype) == str(expected)
        assert tensor.tolist() == frame.astype(expected).to_numpy().tolist()
        for dtype in ("float32", "complex128"):
            converted = dlx.asarray(frame, dtype=dtype)
            assert str(converted.dtype) == dtype
            assert converted.tolist() == tensor.tolist()


def test_a_frame_of_one_dtype_of_ml_dtypes_is_shared():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    for dtype in (ml_dtypes.bfloat16, ml_dtypes.int4):
        frame = pd.DataFrame(numpy.array([[1, 2], [3, 4]], dtype), copy=False)
        tensor = dlx.asarray(frame, copy=False)
        assert tensor.data_ptr == frame.values.ctypes.data
        assert tensor.tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize("large", [2**53 + 1, 2**63 + 1])
def test_frames_whose_integers_would_be_rounded_are_refused(large):
    """int64 beside uint64 becomes float64."""
    frame = pd.DataFrame({"a": numpy.array([large], "uint64"), "b": [-1]})
    with pytest.raises(dlx.UnsupportedError, match=r"becomes float64.*rounds.*column 'a'.*cast"):
        dlx.asarray(frame)
    frame["a"] = numpy.array([5], "uint64")
    assert dlx.asarray(frame).tolist() == [[5.0, -1.0]]


@pytest.mark.parametrize("copy", [None, True, False])
def test_a_frame_with_a_sparse_column_is_refused(copy):
    sparse = pd.arrays.SparseArray([0.0, 1.0])

    for more in ({}, {"b": [1.0, 2.0]}):
        frame = pd.DataFrame({"a": sparse, **more})
        with pytest.raises(
            dlx.UnsupportedError, match=r"column 'a' is sparse: call `x\['a'\]\.sparse"
        ):
            dlx.asarray(frame, copy=copy)
        frame["a"] = frame["a"].sparse.to_dense()
        assert dlx.asarray(frame).tolist() == frame.values.tolist()
    index = pd.Index(sparse)
    with pytest.raises(dlx.UnsupportedError, match=r"is sparse: call `.array.to_dense\(\)`"):
        dlx.asarray(index)
    assert dlx.asarray(index.array.to_dense()).tolist() == [0, 1]


@pytest.mark.filterwarnings("ignore::pint.UnitStrippedWarning")
def test_units_of_pint_pandas_are_refused_with_the_way_out():
    pytest.importorskip("pint_pandas", reason="gives the series a unit")
    series = pd.Series([1.0, 2.0], dtype="pint[m]")

    for obj in (series, pd.Index(series), pd.DataFrame({"a": series})):
        with pytest.raises(dlx.UnsupportedError, match=r"unit.*`.array.quantity.magnitude`"):
            dlx.asarray(obj)
    with pytest.raises(dlx.UnsupportedError, match=r"unit.*`.quantity.magnitude`"):
        dlx.asarray(series.array)
    assert dlx.asarray(series.array.quantity.magnitude).tolist() == [1, 2]
    pure = pd.Series([1.0, 2.0], dtype="pint[dimensionless]")
    with pytest.raises(dlx.UnsupportedError, match=r"`.astype\('float64'\)`"):
        dlx.asarray(pure)
    assert dlx.asarray(pure.astype("float64")).tolist() == [1, 2]


def test_arrow_arrays_are_refused_what_pyarrow_s_are():
    pa = pytest.importorskip("pyarrow", reason="makes the arrays")
    for column in (
        pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array([5, None])),
        pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), pa.array([1, None])),
        pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1, 0], pa.int8())),
    ):
        array = pd.arrays.ArrowExtensionArray(column)
        for obj in (array, pd.Index(array), pd.Series(array), pd.DataFrame({"a": array})):
            with pytest.raises(dlx.UnsupportedError, match=r"dictionary|run-end|extension type"):
                dlx.asarray(obj)


@pytest.mark.parametrize(
    "make",
    [
        lambda: pd.DataFrame({"a": [1.0], "b": [2]}),
        lambda: pd.Categorical([1, 2]),
    ],
)
def test_a_copy_that_pandas_needs_is_refused_in_our_words(make):
    with pytest.raises(dlx.CopyRefusedError, match=r"needs a copy.*copy=False") as caught:
        dlx.asarray(make(), copy=False)
    assert type(caught.value.__cause__) is ValueError
    assert dlx.asarray(make()).shape


@pytest.mark.parametrize("to", ["pandas", pd, "class"])
@pytest.mark.parametrize(
    "make",
    [
        lambda: pd.Series([1.0, 2.0], index=["a", "b"], name="n"),
        lambda: pd.DataFrame({"u": [1.0], "v": [2.0]}, index=["a"]),
        lambda: pd.Series([1, None], dtype="Int64"),
        lambda: pd.Series(["a", None]),
        lambda: pd.Series(["a", "b"], dtype="category"),
        lambda: pd.Index([1, 2], name="n"),
        lambda: pd.RangeIndex(3),
        lambda: pd.array([1, None]),
    ],
)
def test_what_is_pandas_own_comes_back_with_all_that_it_says(make, to):
    source = make()
    copy = arrays.check_own(source, type(source) if to == "class" else to)
    assert copy.equals(source)
    if hasattr(source, "name"):
        assert copy.name == source.name
    if hasattr(source, "index"):
        assert copy.index.equals(source.index)


def test_a_copy_of_a_series_has_its_own_memory():
    source = pd.Series(arrays.aligned(4), index=list("abcd"), copy=False)
    copy = dlx.convert(source, "pandas", copy=True)
    copy["a"] = 9.0

    assert address(copy) != address(source)
    assert source.tolist() == [0, 1, 2, 3]


class Measured(pd.Series):
    """What others derive, as geopandas does."""

    @property
    def _constructor(self):
        return Measured


def test_a_class_that_derives_from_theirs_stays_one():
    source = Measured([1.0, 2.0], index=list("ab"))

    for to in ("pandas", pd.Series, Measured):
        assert dlx.convert(source, to) is source
        assert type(dlx.convert(source, to, copy=True)) is Measured


class Nameless(pd.Series):
    """Derived without `_constructor`: pandas itself makes a plain Series of it, copies included."""


def test_a_copy_is_of_the_class_that_was_asked_for():
    source = Nameless([1.0, 2.0])

    assert dlx.convert(source, Nameless) is source
    assert dlx.convert(source, pd.Series, copy=True).tolist() == [1, 2]
    with pytest.raises(dlx.UnsupportedError, match=r"Nameless.*pandas\S*\.Series"):
        dlx.convert(source, Nameless, copy=True)


def test_a_class_that_pandas_makes_of_no_data_is_refused():
    for to in (pd.Index, pd.RangeIndex, pd.Categorical, Measured):
        for source in (arrays.aligned(4), pd.Series([1.0, 2.0])):
            with pytest.raises(dlx.UnsupportedError, match=rf"{to.__name__}.*pandas\.Series"):
                dlx.convert(source, to)


def test_like_leaves_dates_alone_and_refuses_nulls():
    pa = pytest.importorskip("pyarrow")
    tensor = dlx.asarray([1.0])
    dates = pd.Series([1, 2], dtype=pd.ArrowDtype(pa.timestamp("s")))

    assert numpy.asarray(dates, like=tensor).astype("int64").tolist() == [1, 2]
    for lossy in (pd.Series([1, None], dtype="Int64"), pd.Series([0.0, 1], dtype="Sparse[float]")):
        with pytest.raises(dlx.UnsupportedError, match=r"nulls|sparse"):
            numpy.asarray(lossy, like=tensor)
    with pytest.raises(dlx.UnsupportedError, match="timestamps"):
        dlx.asarray(dates)


@pytest.mark.parametrize("dtype", ["float64", "Float64", "double[pyarrow]"])
def test_what_is_stored_is_not_cast_without_a_word(dtype):
    if "pyarrow" in dtype:
        pytest.importorskip("pyarrow")
    series = pd.Series([1.5, 70000], dtype=dtype)
    array = numpy.zeros(2, "i2")
    tensor = dlx.asarray(array)
    for source in (series, series.to_frame(), pd.Index(series)):
        with pytest.raises(dlx.InvalidArgumentError, match=r"float64.*int16"):
            tensor[...] = source
    with pytest.raises(dlx.InvalidArgumentError, match=r"float64.*int16"):
        dlx.copyto(tensor, series)
    assert not array.any()
    dlx.asarray(numpy.zeros(2, "f4"))[...] = series


@pytest.mark.parametrize("large", [2**53 + 1, 2**63 + 1])
def test_tables_whose_integers_would_be_rounded_are_refused(large):
    """int64 beside uint64 becomes float64."""
    for value in (large, 5):
        source = pd.DataFrame({"a": numpy.array([value], "u8"), "b": [-1]})
        if value == 5:
            assert dlx.asarray(source).tolist() == [[5.0, -1.0]]
        else:
            with pytest.raises(dlx.UnsupportedError, match=r"integers becomes float64.*cast"):
                dlx.asarray(source)


def test_frames_of_types_that_dlpack_lacks():
    swapped = pd.DataFrame(numpy.ones((2, 2), numpy.dtype("f4").newbyteorder("S")))
    for arguments in ({}, {"copy": True}):
        assert str(dlx.asarray(swapped, **arguments).dtype) == "float32"
    assert dlx.asarray(swapped, dtype="int32").tolist() == [[1, 1], [1, 1]]
    with pytest.raises(dlx.CopyRefusedError, match=r"pandas\.DataFrame.*\.astype\('float32'\)"):
        dlx.asarray(swapped, copy=False)
    long = pd.DataFrame(numpy.ones((2, 2), "g"))
    assert dlx.asarray(long, dtype="float64").tolist() == [[1, 1], [1, 1]]
    with pytest.raises(dlx.UnsupportedError, match=r"`__array__` of pandas\.DataFrame.*\.astype"):
        dlx.asarray(long)


def test_every_column_of_a_table_is_converted_by_itself():
    """NumPy's common dtype of int64 and float64 would round the integers first."""
    large = 2**53 + 1
    frame = pd.DataFrame({"a": [large], "b": [0.5]})
    for table in (frame, frame.convert_dtypes()):
        for copy in (None, True):
            assert dlx.asarray(table, dtype="int64", copy=copy).tolist() == [[large, 0]]
        assert dlx.asarray([table, table], dtype="int64").tolist() == [[[large, 0]]] * 2
        assert dlx.convert(table, "numpy", dtype="int64").tolist() == [[large, 0]]
    for value, other in ((2**64 - 1, 1.5), (2**63 + 1, 1)):
        table = pd.DataFrame({"a": numpy.array([value], "u8"), "b": [other]})
        assert dlx.asarray(table, dtype="uint64").tolist() == [[value, 1]]
    with pytest.raises(dlx.UnsupportedError, match=r"column 'b'.*imaginary"):
        dlx.asarray(pd.DataFrame({"a": [1], "b": [1j]}), dtype="float32")
