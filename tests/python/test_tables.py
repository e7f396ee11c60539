"""Tables with `dtype=`: each column is converted by itself, never by way of a common dtype that rounds."""

from __future__ import annotations

import numpy as np
import pytest

import dlx
from arrow_support import OnlyStream

pa = pytest.importorskip("pyarrow")

LARGE = 2**53 + 1  # float64 lacks it
COLUMNS = {"a": [LARGE], "b": [0.5]}
WANTED = [[LARGE, 0]]


MAKERS = {
    "table": lambda: pa.table(COLUMNS),
    "batch": lambda: pa.RecordBatch.from_pydict(COLUMNS),
    "structs": lambda: pa.RecordBatch.from_pydict(COLUMNS).to_struct_array(),
    "chunks of structs": lambda: pa.table(COLUMNS).to_struct_array(),
    "only a stream": lambda: OnlyStream(pa.table(COLUMNS)),
}


@pytest.mark.parametrize("name", MAKERS)
def test_every_column_is_converted_by_itself(name):
    table = MAKERS[name]()
    for copy in (None, True):
        tensor = dlx.asarray(table, dtype="int64", copy=copy)
        assert str(tensor.dtype) == "int64"
        assert tensor.tolist() == WANTED
    assert dlx.convert(table, "numpy", dtype="int64").tolist() == WANTED
    assert dlx.asarray([table, table], dtype="int64").tolist() == [WANTED, WANTED]
    assert dlx.asarray(table).tolist() == [[LARGE - 1, 0.5]]  # NumPy's promotion


def test_integers_that_promotion_would_round():
    unsigned = np.array([2**63 + 1], "u8")
    table = pa.table({"a": unsigned, "b": [5]})
    assert dlx.asarray(table, dtype="uint64").tolist() == [[2**63 + 1, 5]]
    with pytest.raises(dlx.UnsupportedError, match="which rounds"):
        dlx.asarray(table)


class Frame:
    """A table of another library, whose `__array__` has NaN in place of nulls."""

    def __init__(self, table):
        self.table = table
        self.columns = table.column_names

    columns = ()

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)

    def __array__(self, dtype=None, copy=None):
        return np.array([[1.0, np.nan]])


@pytest.mark.parametrize("copy", [None, True])
def test_nulls_of_a_table_with_both_protocols_are_not_lost(copy):
    with pytest.raises(dlx.UnsupportedError, match=r"column 'b': `array` has 1 null"):
        dlx.asarray(Frame(pa.table({"a": [1], "b": pa.array([None], "int64")})), copy=copy)
    frame = Frame(pa.table({"a": [LARGE], "b": [2]}))
    assert dlx.asarray(frame, copy=copy).tolist() == [[LARGE, 2]]


def test_a_column_is_shared_unless_its_dtype_changes():
    table = pa.table({"a": [1, 2]})
    address = table["a"].chunk(0).buffers()[1].address
    assert dlx.asarray(table, dtype="int64", copy=False).data_ptr == address
    assert dlx.asarray(table, dtype="float32").tolist() == [[1.0], [2.0]]
    for source, dtype in ((table, "float32"), (pa.table(COLUMNS), "int64")):
        with pytest.raises(dlx.CopyRefusedError):
            dlx.asarray(source, dtype=dtype, copy=False)


def test_long_doubles_in_a_list_take_a_dtype():
    """The dtype says how to round them, as for an array."""
    double = np.longdouble
    assert dlx.asarray([np.ones(2, "g")], dtype="float64").tolist() == [[1.0, 1.0]]
    assert dlx.asarray([double(1), 2, np.float32(0.5)], dtype="float32").tolist() == [1, 2, 0.5]
    assert dlx.asarray([np.clongdouble(1.5j)], dtype="complex64").tolist() == [1.5j]
    with pytest.raises(dlx.InvalidArgumentError, match=r"1\.5 is not a value of int32"):
        dlx.asarray([double(1.5)], dtype="int32")
    with pytest.raises(dlx.UnsupportedError, match=r"`obj`\[0\].*float128|longdouble"):
        dlx.asarray([double(1)])
