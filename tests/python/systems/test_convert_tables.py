"""dlx.convert to Polars, DuckDB and nanoarrow: memory shared where it can be, names and values."""

from __future__ import annotations

import gc

import arrays
import numpy
import pytest

import dlx

NAMES = {
    "polars": "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64",
    "duckdb": "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64",
    "nanoarrow": "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64",
}
PACKS = ("polars", "nanoarrow")  # bool into bits
LIBRARIES = tuple(NAMES)


@pytest.fixture
def polars():
    return arrays.require("polars")


@pytest.fixture
def duckdb():
    return arrays.require("duckdb")


@pytest.fixture
def nanoarrow():
    return arrays.require("nanoarrow")


def address(series) -> int:
    return series.to_numpy(allow_copy=False).ctypes.data


@pytest.mark.parametrize("library", LIBRARIES)
def test_every_dtype(library):
    arrays.require(library)
    for name in NAMES[library].split():
        source = arrays.numpy_array(name)
        assert source.ndim == 1
        result = dlx.convert(source, library)
        back = dlx.asarray(result)
        expected = source.tolist() if library != "duckdb" else source[:, None].tolist()
        assert back.tolist() == expected, name
        assert str(dlx.dtype(back.dtype)) == name
        if library in PACKS and name == "bool":
            with pytest.raises(dlx.CopyRefusedError, match=f"{library} packs bool into bits"):
                dlx.convert(source, library, copy=False)
        else:
            shared = dlx.convert(source, library, copy=False)
            if library != "duckdb":
                assert dlx.asarray(shared).data_ptr == source.ctypes.data, name
    with pytest.raises(dlx.UnsupportedError, match=f"{library} takes no complex64"):
        dlx.convert(numpy.zeros(3, "complex64"), library)


@pytest.mark.parametrize("library", LIBRARIES)
def test_numbers_of_axes(library):
    arrays.require(library)
    for source in (numpy.float32(1), *([] if library == "nanoarrow" else [numpy.zeros((2, 2, 2))])):
        with pytest.raises(dlx.UnsupportedError, match=f"{library} has arrays of"):
            dlx.convert(dlx.asarray(source), library)
    for shape in ((0,), (0, 2), (1, 2), (2, 1), (3, 4)):
        source = numpy.arange(numpy.prod(shape), dtype="float64").reshape(shape)
        back = dlx.asarray(dlx.convert(source, library)).numpy()
        if library == "duckdb" and len(shape) == 1:
            back = back[:, 0]
        assert back.tolist() == source.tolist()
    assert dlx.convert([[1.5, 2], [3, 4]], library) is not None


@pytest.mark.parametrize("library", LIBRARIES)
def test_values_of_every_layout(library):
    arrays.require(library)
    base = numpy.arange(24.0).reshape(4, 6)
    frozen = base.copy()
    frozen.flags.writeable = False
    layouts = [base.T, base[::-1], base[:, ::-1], base[::2, ::3], base[1:3, 2:5], frozen,
               numpy.broadcast_to(base[0], (3, 6)), base[0], base[:, 1], base[0][::-1]]  # fmt: skip
    for source in layouts:
        for x in (source, dlx.asarray(source)):
            for copy in (None, True):
                back = dlx.asarray(dlx.convert(x, library, copy=copy)).numpy()
                if library == "duckdb" and source.ndim == 1:
                    back = back[:, 0]
                assert back.tolist() == source.tolist()


def test_polars_makes_a_series_or_a_frame(polars):
    source = numpy.arange(6.0)
    for to in ("polars", "pl", polars, polars.Series):
        series = dlx.convert(source, to, copy=False)
        assert type(series) is polars.Series
        assert address(series) == source.ctypes.data
    source[0] = 9
    assert series[0] == 9
    series[1] = 7  # Polars copies before it writes
    assert source[1] == 1
    assert series.to_list() == [9, 7, 2, 3, 4, 5]

    columns = numpy.asfortranarray(source.reshape(3, 2))
    for to in ("polars", polars, polars.DataFrame):
        frame = dlx.convert(columns, to, copy=False)
        assert frame.columns == ["column_0", "column_1"]
        assert [address(column) for column in frame] == [
            columns[:, i].ctypes.data for i in range(2)
        ]
        assert frame.rows() == [tuple(row) for row in columns.tolist()]
    assert dlx.convert(source, polars.DataFrame).shape == (6, 1)
    with pytest.raises(dlx.UnsupportedError, match="arrays of 1 axis"):
        dlx.convert(columns, polars.Series)
    with pytest.raises(dlx.UnsupportedError, match=r"LazyFrame.*polars\.Series, polars\.DataFrame"):
        dlx.convert(columns, polars.LazyFrame)


def test_polars_copies_rows_and_what_is_not_aligned(polars):
    rows = numpy.arange(6.0).reshape(3, 2)
    with pytest.raises(dlx.CopyRefusedError, match="polars takes no columns with gaps"):
        dlx.convert(rows, "polars", copy=False)
    assert dlx.convert(rows, "polars").rows() == [(0, 1), (2, 3), (4, 5)]
    assert dlx.convert(rows[:1], "polars", copy=False).rows() == [(0, 1)]

    memory = numpy.zeros(33, "uint8")[1:]
    assert address(dlx.convert(memory, "polars", copy=False)) == memory.ctypes.data
    with pytest.raises(dlx.CopyRefusedError, match="polars needs 8-byte alignment"):
        dlx.convert(memory.view("float64"), "polars", copy=False)
    assert dlx.convert(memory.view("float64"), "polars").to_list() == [0] * 4
    with pytest.raises(dlx.UnsupportedError, match="no table without columns"):
        dlx.convert(numpy.zeros((3, 0)), "polars")


def test_polars_own_objects_keep_names_nulls_and_text(polars):
    named = polars.Series("name", [1, None])
    frame = polars.DataFrame({"a": ["x", None], "b": [1, 2]})
    for own in (named, frame):
        assert dlx.convert(own, "polars") is own
        assert dlx.convert(own, like=named) is own
        copy = dlx.convert(own, "polars", copy=True)
        assert copy.equals(own, null_equal=True)
        assert type(copy) is type(own)
    assert dlx.convert(named, "polars", copy=True).name == "name"

    source = numpy.arange(3.0)
    series = dlx.convert(source, "polars").alias("x")
    copy = dlx.convert(series, "polars", copy=True)
    source[0] = 9
    assert (series[0], copy[0], copy.name) == (9, 0, "x")
    assert dlx.convert(series, polars.DataFrame).to_dict(as_series=False) == {"column_0": [9, 1, 2]}
    with pytest.raises(dlx.UnsupportedError, match=r"\.collect\(\)"):
        dlx.convert(frame.lazy(), "polars")


def test_duckdb_reads_the_memory_when_it_runs(duckdb):
    source = numpy.arange(6.0).reshape(3, 2)
    for to in ("duckdb", duckdb, duckdb.DuckDBPyRelation, duckdb.sql("select 1")):
        relation = dlx.convert(source, to, copy=False)
        assert isinstance(relation, duckdb.DuckDBPyRelation)
        assert relation.columns == ["column0", "column1"]
    kept = dlx.convert(source, "duckdb", copy=True)
    source[0, 0] = 9
    assert relation.fetchall() == [(9, 1), (2, 3), (4, 5)]
    assert relation.aggregate("sum(column0)").fetchall() == [(15,)]
    assert kept.fetchall() == [(0, 1), (2, 3), (4, 5)]
    with pytest.raises(dlx.CopyRefusedError, match="duckdb takes no negative strides"):
        dlx.convert(source[::-1], "duckdb", copy=False)
    with pytest.raises(dlx.UnsupportedError, match="no table without columns"):
        dlx.convert(numpy.zeros((3, 0)), "duckdb")
    # No table and no variable of the caller is taken for the data.
    numbers = {"column0": numpy.zeros(2)}
    for name in ("numbers", "columns", "variables", "query"):
        duckdb.sql(f"create or replace table {name} as select 5 as column0")
    try:
        relations = [dlx.convert(numpy.full(2, i), "duckdb") for i in range(3)]
        assert [each.fetchall() for each in relations] == [[(i,), (i,)] for i in range(3)]
    finally:
        for name in ("numbers", "columns", "variables", "query"):
            duckdb.sql(f"drop table {name}")
    assert numbers["column0"].tolist() == [0, 0]


def test_duckdb_own_relations(duckdb):
    values = {"x": numpy.arange(2.0)}
    relation = duckdb.sql("select x, 'text' as y from values")
    assert dlx.convert(relation, "duckdb") is relation
    if not hasattr(relation, "materialize"):
        with pytest.raises(dlx.UnsupportedError, match=r"\.create\(name\)"):
            dlx.convert(relation, "duckdb", copy=True)
        return
    copy = dlx.convert(relation, "duckdb", copy=True)
    values["x"][0] = 9
    assert copy.fetchall() == [(0, "text"), (1, "text")]
    assert copy.columns == ["x", "y"]
    assert relation.fetchall() == [(9, "text"), (1, "text")]


def test_nanoarrow(nanoarrow):
    source = numpy.arange(24, dtype="int32").reshape(2, 3, 4)
    for x in (source, source[0, 0], dlx.asarray(source).as_readonly()):
        for to in ("nanoarrow", nanoarrow, nanoarrow.Array, nanoarrow.Array([1], nanoarrow.int8())):
            array = dlx.convert(x, to, copy=False)
            assert type(array) is nanoarrow.Array
            back = dlx.asarray(array)
            assert back.data_ptr == source.ctypes.data
            assert back.tolist() == x.tolist()
    source[0, 0, 0] = 9
    assert back[0, 0, 0] == 9
    with pytest.raises(dlx.CopyRefusedError, match="nanoarrow takes no strides other than"):
        dlx.convert(source[:, ::2], "nanoarrow", copy=False)
    own = nanoarrow.Array([1, None], nanoarrow.int32())
    assert dlx.convert(own, "nanoarrow") is own


@pytest.mark.parametrize("library", LIBRARIES)
def test_memory_lives_as_long_as_the_result(library):
    arrays.require(library)
    released = []
    source = numpy.asfortranarray(numpy.arange(6.0).reshape(3, 2))
    for pick in (lambda t: t, lambda t: t[:, 0]):
        if library == "nanoarrow":
            pick = lambda t: t[:, 0]  # noqa: E731
        tensor = dlx.from_pointer(source.ctypes.data, (3, 2), "float64", strides=(1, 3),
                                  on_release=lambda: released.append(1))  # fmt: skip
        result = dlx.convert(pick(tensor), library, copy=False)
        del tensor
        gc.collect()
        assert not released
        assert dlx.asarray(result).shape[0] == 3
        del result
        gc.collect()
        assert released.pop() == 1


@pytest.mark.parametrize("library", LIBRARIES)
def test_explain_and_options(library):
    module = arrays.require(library)
    source = numpy.asfortranarray(numpy.arange(6.0).reshape(3, 2))
    column = source[:, 0]
    assert dlx.explain(column, library).outcome == "shared"
    assert dlx.explain(column, module).to == library
    assert dlx.explain(column[::-1], library).why == f"{library} takes no negative strides"
    frozen = column.copy()
    frozen.flags.writeable = False
    assert dlx.explain(frozen, library).outcome == "shared"  # it never writes
    result = dlx.convert(column, library, dtype="int16")
    assert str(dlx.dtype(dlx.asarray(result).dtype)) == "int16"
    again = dlx.convert([1.5], like=result)
    assert type(again) is type(result)
