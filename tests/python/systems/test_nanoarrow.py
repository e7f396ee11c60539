"""nanoarrow, and Arrow's part in Polars and pandas: producers and consumers beside PyArrow."""

import pytest
from arrays import require

import dlx
from arrow_support import counted


def test_nanoarrow_both_ways():
    nanoarrow = require("nanoarrow")
    array = nanoarrow.Array([1, 2, 3], nanoarrow.int32())
    tensor = dlx.asarray(array)
    assert tensor.tolist() == [1, 2, 3]
    assert tensor.data_ptr == dlx.from_dlpack(array.buffers[1]).data_ptr
    assert tensor.readonly
    assert dlx.from_dlpack(array.buffers[1]).readonly  # its capsules are legacy ones
    assert dlx.asarray(nanoarrow.c_array(array)).data_ptr == tensor.data_ptr
    assert dlx.asarray(nanoarrow.Array([True, False], nanoarrow.bool_())).tolist() == [True, False]
    with pytest.raises(dlx.UnsupportedError, match="1 null"):
        dlx.asarray(nanoarrow.Array([1, None], nanoarrow.int32()))

    own, calls = counted([[1, 2], [3, 4]])
    imported = nanoarrow.Array(own)
    del own
    assert list(imported.iter_py()) == [[1, 2], [3, 4]]
    assert calls == []
    del imported
    assert calls == [1]


def test_polars_both_ways():
    polars = require("polars")
    series = polars.Series([1, 2, 3])
    tensor = dlx.asarray(series)
    assert tensor.readonly
    assert tensor.data_ptr == series.to_numpy().ctypes.data
    assert tensor.tolist() == [1, 2, 3]
    arrays = polars.Series([[1, 2], [3, 4]], dtype=polars.Array(polars.Int16, 2))
    assert dlx.asarray(arrays).tolist() == [[1, 2], [3, 4]]
    assert dlx.asarray(polars.Series([True, False])).tolist() == [True, False]
    assert dlx.asarray(polars.DataFrame({"a": [1, 2], "b": [3, 4]})).tolist() == [[1, 3], [2, 4]]
    for bad, words in (
        (polars.Series([1, None]), "1 null"),
        (polars.DataFrame({"a": [1, None]}), "column 'a': `array` has 1 null"),
        (polars.Series(["a"]), "strings"),
        (polars.Series([1]).cast(polars.Date), "dates"),
    ):
        with pytest.raises(dlx.UnsupportedError, match=words):
            dlx.asarray(bad)
    chunks = polars.Series([1]).append(polars.Series([2]))
    assert dlx.asarray(chunks).tolist() == [1, 2]
    with pytest.raises(dlx.CopyRefusedError, match=r"\.rechunk\(\)"):
        dlx.asarray(chunks, copy=False)

    own, calls = counted([[1, 2], [3, 4]])
    imported = polars.Series(own)
    assert imported.to_list() == [[1, 2], [3, 4]]
    assert imported.dtype == polars.Array(polars.Float64, 2)
    assert imported.to_numpy().ctypes.data == own.data_ptr
    del own, imported
    assert calls == [1]


def test_pandas_keeps_its_own_memory_and_its_nulls():
    pandas = require("pandas")
    require("pyarrow")  # pandas' Arrow export needs it
    plain = pandas.Series([1, 2, 3])
    assert dlx.asarray(plain).data_ptr == plain.to_numpy().ctypes.data
    arrow = pandas.Series([1, 2, 3], dtype="int64[pyarrow]")
    assert (
        dlx.asarray(arrow).data_ptr == arrow.array.__arrow_array__().chunk(0).buffers()[1].address
    )
    with pytest.raises(dlx.UnsupportedError, match="null"):
        dlx.asarray(pandas.Series([1, None], dtype="int64[pyarrow]"))
    assert dlx.asarray(pandas.Series([True, False], dtype="boolean")).tolist() == [True, False]

    joined = pandas.concat([arrow, arrow[:0], arrow])
    assert dlx.asarray(joined).tolist() == [1, 2, 3, 1, 2, 3]
    assert not dlx.asarray(joined, copy=True).readonly
    with pytest.raises(dlx.CopyRefusedError):
        dlx.asarray(joined, copy=False)
    dates = arrow.astype("timestamp[s][pyarrow]")
    with pytest.raises(dlx.UnsupportedError, match="timestamps"):
        dlx.asarray(pandas.concat([dates, dates]))

    own = dlx.asarray([1.0, 2.0])
    if hasattr(pandas.Series, "from_arrow"):
        assert pandas.Series.from_arrow(own).tolist() == [1.0, 2.0]


def test_narwhals_is_what_it_wraps():
    narwhals = require("narwhals")
    for library in ("polars", "pandas", "pyarrow"):
        module = require(library)
        make = module.table if library == "pyarrow" else module.DataFrame
        frame = narwhals.from_native(make({"a": [1, 2], "b": [3, 4]}))
        assert dlx.asarray(frame).tolist() == [[1, 3], [2, 4]]
        assert dlx.asarray(frame["a"]).tolist() == [1, 2]
    nulls = narwhals.from_native(require("pyarrow").table({"a": [1, None]}))
    for part in (nulls, nulls["a"]):
        with pytest.raises(dlx.UnsupportedError, match="null"):
            dlx.asarray(part)
