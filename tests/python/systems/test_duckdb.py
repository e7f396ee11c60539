"""DuckDB: results as NumPy and Arrow columns, tensors as tables."""

from __future__ import annotations

import arrays
import numpy
import pytest

import dlx

duckdb = arrays.require("duckdb")

TYPES = {"int8": "TINYINT", "int16": "SMALLINT", "int32": "INTEGER", "int64": "BIGINT",
         "uint8": "UTINYINT", "uint16": "USMALLINT", "uint32": "UINTEGER", "uint64": "UBIGINT",
         "float32": "FLOAT", "float64": "DOUBLE", "bool": "BOOLEAN"}  # fmt: skip


@pytest.mark.parametrize("name", TYPES)
def test_columns_of_every_type(name):
    relation = duckdb.sql(f"select (i % 2)::{TYPES[name]} as x from range(4) t(i)")
    column = relation.fetchnumpy()["x"]
    tensor = dlx.asarray(column)

    assert str(tensor.dtype) == name
    assert tensor.tolist() == [0, 1, 0, 1]


def test_nulls_come_as_a_mask_and_are_refused():
    column = duckdb.sql("select * from (values (1), (null), (3)) t(x)").fetchnumpy()["x"]

    assert isinstance(column, numpy.ma.MaskedArray)
    with pytest.raises(dlx.UnsupportedError, match=r"1 masked entries.*\.filled"):
        dlx.asarray(column)
    assert dlx.asarray(column.filled(0)).tolist() == [1, 0, 3]


def test_arrow_columns():
    pyarrow = pytest.importorskip("pyarrow", reason="carries the columns")
    table = duckdb.sql("select i::int as x from range(5) t(i)").to_arrow_table()
    assert isinstance(table, pyarrow.Table)
    column = table.column("x").combine_chunks()

    assert dlx.asarray(column).tolist() == [0, 1, 2, 3, 4]


def test_tensors_are_tables():
    a, b = dlx.asarray(arrays.aligned(4)), dlx.asarray(arrays.aligned(4) * 2)
    data = {"a": a.numpy(), "b": b.numpy()}

    assert duckdb.sql("select sum(a), sum(b) from data").fetchall() == [(6, 12)]
    assert set(data) == {"a", "b"}


def test_relations_are_tables():
    tensor = dlx.asarray(duckdb.sql("select i as x, i / 2 as y from range(4) t(i)"))

    assert tensor.tolist() == [[0, 0], [1, 0.5], [2, 1], [3, 1.5]]
    with pytest.raises(dlx.UnsupportedError, match=r"column 'y': .*strings"):
        dlx.asarray(duckdb.sql("select 1 as x, 'a' as y"))
    with pytest.raises(dlx.UnsupportedError, match=r"column 'x': `array` has 1 null"):
        dlx.asarray(duckdb.sql("select null::int as x"))
