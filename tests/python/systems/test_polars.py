"""polars: Series by `__array__` and by the buffers of Arrow."""

from __future__ import annotations

import arrays
import pytest

import dlx

pl = arrays.require("polars")

NAMES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32",
         "float64"]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_series_of_every_dtype(name):
    series = pl.Series("x", arrays.numpy_array(name))
    tensor = dlx.asarray(series)

    assert str(tensor.dtype) == name
    assert tensor.tolist() == series.to_list()
    if name != "bool":  # a bitmap there
        assert tensor.data_ptr == series.to_numpy(allow_copy=False).ctypes.data


@pytest.mark.parametrize("name", NAMES)
def test_series_are_made_of_tensors(name):
    tensor = dlx.asarray(arrays.numpy_array(name))
    series = pl.Series("x", tensor.numpy())

    assert series.to_list() == tensor.tolist()


def test_nulls_are_refused_with_the_way_out():
    series = pl.Series([1, None, 3])

    with pytest.raises(dlx.UnsupportedError, match=r"null.*fill_null"):
        dlx.asarray(series)
    with pytest.raises(dlx.UnsupportedError, match="null"):
        dlx.asarray(pl.DataFrame({"a": series}))
    assert dlx.asarray(series.fill_null(0)).tolist() == [1, 0, 3]


def test_frames():
    frame = pl.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})

    assert dlx.asarray(frame).tolist() == [[1, 3], [2, 4]]
    assert dlx.asarray(frame["b"]).tolist() == [3, 4]


def test_slices():
    series = pl.Series(range(10))

    assert dlx.asarray(series[3:6]).tolist() == [3, 4, 5]


@pytest.mark.parametrize("make", [lambda: pl.Series(["a"]), lambda: pl.Series([[1], [2, 3]])])
def test_what_holds_no_numbers_is_refused(make):
    with pytest.raises((dlx.Error, TypeError)):
        dlx.asarray(make())


def test_lifetimes():
    tensor = dlx.asarray(pl.Series(range(1000)))

    assert tensor.tolist() == list(range(1000))


def test_frames_are_refused_what_their_columns_are():
    if not hasattr(pl, "Extension"):
        pytest.skip(f"Polars {pl.__version__} has no extension types")
    metres = pl.Extension("dlx.tests.metres", pl.Int64)
    series = pl.Series("a", [1, 2]).ext.to(metres)

    for obj in (series, series.to_frame()):
        with pytest.raises(dlx.UnsupportedError, match="extension type"):
            dlx.asarray(obj)
    two = pl.concat([pl.DataFrame({"a": [1]}), pl.DataFrame({"a": [2]})], rechunk=False)
    assert dlx.asarray(two).tolist() == [[1], [2]]


def test_frames_with_columns_of_lists_are_refused_with_the_way_out():
    frame = pl.DataFrame({"a": pl.Series([[1, 2], [3, 4]], dtype=pl.Array(pl.Int32, 2))})
    with pytest.raises(
        dlx.UnsupportedError, match=r"column 'a' holds lists.*export the columns one by one"
    ):
        dlx.asarray(frame)
    assert dlx.asarray(frame["a"]).tolist() == [[1, 2], [3, 4]]


def test_a_lazy_frame_names_the_call_that_reads_it():
    frame = pl.LazyFrame({"a": [1]})
    with pytest.raises(dlx.UnsupportedError, match=r"`\.collect\(\)`"):
        dlx.asarray(frame)
    assert dlx.asarray(frame.collect()).tolist() == [[1]]


def test_a_copy_that_a_frame_needs_is_refused_in_our_words():
    with pytest.raises(dlx.CopyRefusedError, match=r"needs a copy.*copy=False"):
        dlx.asarray(pl.DataFrame({"a": [1], "b": [0.5]}), copy=False)


def test_a_frame_in_chunks_is_never_changed():
    """Polars' own export joins the chunks in the frame itself."""
    chunk = pl.DataFrame({"a": range(1000)})
    frame = pl.concat([chunk, chunk], rechunk=False)

    with pytest.raises(dlx.CopyRefusedError, match=r"several chunks.*`\.rechunk\(\)`"):
        dlx.asarray(frame, copy=False)
    assert dlx.asarray(frame).shape == (2000, 1)
    assert frame.n_chunks() == 2
    joined = frame.rechunk()
    address = joined["a"].to_numpy(allow_copy=False).ctypes.data
    assert dlx.asarray(joined, copy=False).data_ptr == address


def test_every_column_is_converted_by_itself():
    large = 2**53 + 1
    table = pl.DataFrame({"a": [large], "b": [0.5]})
    for source in (table, table.to_struct("x"), table.lazy().collect()):
        assert dlx.asarray(source, dtype="int64").tolist() == [[large, 0]]
    wide = pl.DataFrame({"a": pl.Series([2**62 + 1], dtype=pl.Int128), "b": [5]})
    assert dlx.asarray(wide, dtype="int64").tolist() == [[2**62 + 1, 5]]


@pytest.mark.parametrize("large", [2**53 + 1, 2**63 + 1])
def test_tables_whose_integers_would_be_rounded_are_refused(large):
    """int64 beside uint64 becomes float64."""
    for value in (large, 5):
        source = pl.DataFrame({"a": pl.Series([value], dtype=pl.UInt64), "b": [-1]})
        if value == 5:
            assert dlx.asarray(source).tolist() == [[5.0, -1.0]]
        else:
            with pytest.raises(dlx.UnsupportedError, match=r"integers becomes float64.*cast"):
                dlx.asarray(source)


@pytest.mark.parametrize("kind", ["Int128", "UInt128"])
def test_integers_of_128_bits(kind):
    series = pl.Series("x", [1, 2, 2**100], dtype=getattr(pl, kind))
    tensor = dlx.asarray(series, copy=False)

    assert tensor.dtype == kind.lower()
    assert tensor.tolist() == [1, 2, 2**100]
    for back in (pl.Series(tensor), dlx.convert(tensor, "polars"), dlx.convert(tensor, pl.Series)):
        assert back.dtype == series.dtype
        assert back.to_list() == series.to_list()
    assert dlx.convert(tensor[:, None], "polars").to_series().to_list() == series.to_list()
    with pytest.raises(dlx.UnsupportedError, match=r"takes no u?int128.*dtype='int64'"):
        dlx.convert(tensor, "pyarrow")
    assert dlx.asarray(series[:2], dtype="int64").tolist() == [1, 2]
    assert dlx.asarray(series, dtype="float64").tolist() == [1, 2, 2**100]
    assert dlx.asarray(series[:0], dtype="float32").shape == (0,)
    with pytest.raises(ValueError, match="does not fit int64"):
        dlx.asarray(series, dtype="int64")
    assert dlx.asarray(pl.DataFrame({"a": series, "b": series})).shape == (3, 2)
    with pytest.raises(dlx.UnsupportedError, match="no common dtype"):
        dlx.asarray(pl.DataFrame({"a": series, "b": [1, 2, 3]}))
