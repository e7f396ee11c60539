"""PyArrow: arrays, slices, chunks and tensors, and the examples of its page "The DLPack Protocol"."""

from __future__ import annotations

import arrays
import numpy
import pytest

import dlx

pa = arrays.require("pyarrow")

NAMES = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
         "float32", "float64"]  # fmt: skip
TENSORS = {"contiguous", "column-major", "permuted", "rows", "columns", "broadcast", "5 axes",
           "length 1, reversed", "half aligned", "element aligned", "unaligned",
           "read-only"}  # fmt: skip


def tensor_values(x):
    return x.to_numpy().tolist()


@pytest.mark.parametrize("layout", [x for x in arrays.LAYOUTS if x != "0-d"])
def test_tensor_layouts(layout):
    if layout == "read-only" and not hasattr(pa.Tensor, "from_dlpack"):
        pytest.skip(f"PyArrow {pa.__version__} gives no address of a tensor over read-only data")
    arrays.check_layout(
        layout, pa.Tensor, TENSORS, lambda x: x.to_numpy().ctypes.data, tensor_values
    )


def array_address(x):
    return x.buffers()[1].address + x.offset * x.type.bit_width // 8


@pytest.mark.parametrize("step", [1, 2, -1])
def test_array_layouts(step):
    source = arrays.aligned(12)[::step]
    result = dlx.convert(source, "pyarrow")

    assert isinstance(result, pa.Array)
    assert result.to_pylist() == source.tolist()
    if step == 1:
        assert array_address(dlx.convert(source, pa.Array, copy=False)) == source.ctypes.data
    else:
        with pytest.raises(dlx.CopyRefusedError, match="strides"):
            dlx.convert(source, "pyarrow", copy=False)


def test_booleans_are_refused_with_the_way_out():
    values = numpy.array([True, False, True])
    with pytest.raises(dlx.UnsupportedError, match=r"pyarrow\.array\(dlx\.asarray\(x\)\)"):
        dlx.convert(values, pa)
    assert pa.array(dlx.asarray(values)).to_pylist() == [True, False, True]


def test_the_number_of_axes_decides_between_array_and_tensor():
    assert isinstance(dlx.convert(arrays.aligned(3), "pyarrow"), pa.Array)
    assert isinstance(dlx.convert(arrays.aligned(3, 1), "pyarrow"), pa.Tensor)
    assert isinstance(dlx.convert(arrays.aligned(3), pa.Tensor), pa.Tensor)
    with pytest.raises(dlx.UnsupportedError, match="arrays of 1 axis"):
        dlx.convert(arrays.aligned(3, 1), pa.Array)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", ["Array", "Tensor"])
def test_dtypes(name, kind):
    where = array_address if kind == "Array" else (lambda x: x.to_numpy().ctypes.data)
    result = arrays.check_dtype(name, getattr(pa, kind), where)

    assert isinstance(result, getattr(pa, kind))
    assert result.type == pa.from_numpy_dtype(name)


@pytest.mark.parametrize("name", ["bool", "complex64", "bfloat16"])
def test_dtypes_that_arrow_has_not_are_refused(name):
    with pytest.raises(dlx.UnsupportedError, match="pyarrow takes no"):
        dlx.convert(arrays.numpy_array(name), "pyarrow")


def test_arrays_and_slices_are_imported_read_only():
    source = pa.array(range(10), pa.int32())
    tensor = dlx.asarray(source[3:6])

    assert tensor.tolist() == [3, 4, 5]
    assert tensor.readonly
    assert tensor.data_ptr == array_address(source[3:6]) == array_address(source) + 12


@pytest.mark.parametrize(
    "make",
    [lambda: pa.array([1, None]), lambda: pa.array(["a"]), lambda: pa.array([[1], [2, 3]])],
)
def test_nulls_strings_and_lists_are_refused(make):
    with pytest.raises((TypeError, BufferError, ValueError)) as caught:
        dlx.asarray(make())
    assert str(caught.value)


@pytest.mark.parametrize("kind", ["COOTensor", "CSRMatrix", "CSCMatrix", "CSFTensor"])
def test_sparse_tensors_are_refused_with_the_way_out(kind):
    dense = numpy.eye(2)
    sparse = getattr(pa, f"Sparse{kind}").from_dense_numpy(dense)

    for take in (dlx.asarray, lambda x: dlx.convert(x, "numpy")):
        with pytest.raises(
            dlx.UnsupportedError, match=r"is sparse.*`\.to_numpy\(\)`.*`\.to_tensor"
        ):
            take(sparse)
    assert dlx.asarray(sparse.to_tensor()).tolist() == dense.tolist()
    values = sparse.to_numpy()[0]
    assert dlx.asarray(values).data_ptr == values.ctypes.data


def test_tensors_in():
    source = arrays.aligned(3, 4)
    tensor = dlx.asarray(pa.Tensor.from_numpy(source))

    assert tensor.data_ptr == source.ctypes.data
    assert tensor.tolist() == source.tolist()


def test_lifetimes():
    pool = pa.default_memory_pool()
    before = pool.bytes_allocated()
    tensor = dlx.asarray(pa.array(range(100000), pa.int64()))
    assert pool.bytes_allocated() > before
    assert tensor[99999].item() == 99999
    del tensor
    assert pool.bytes_allocated() == before

    released = []
    base = arrays.aligned(4)
    wrapped = dlx.from_pointer(
        base.ctypes.data, (4,), "float32", on_release=lambda: released.append(1)
    )
    result = dlx.convert(wrapped, "pyarrow", copy=False)
    part = result[2:]
    del wrapped, result
    assert part.to_pylist() == [2, 3]
    assert not released
    del part
    dlx.asarray([0])
    assert released == [1]


@pytest.mark.heavy
def test_no_leak():
    arrays.check_no_leak(lambda x: dlx.convert(x, "pyarrow", copy=True))


# ---- the page's examples ------------------------------------------------------------------------


def test_example_into_numpy():
    array = pa.array([2, 0, 2, 4])
    result = dlx.convert(array, "numpy")

    assert result.tolist() == [2, 0, 2, 4]
    assert result.dtype == numpy.int64
    assert not result.flags.writeable  # Arrow's data is immutable


def test_example_into_torch():
    torch = pytest.importorskip("torch", reason="the page's example goes there")
    array = pa.array([2, 0, 2, 4])
    result = dlx.convert(array, "torch")
    assert torch.equal(result, torch.tensor([2, 0, 2, 4]))
    result[0] = 9  # a copy, since torch would change Arrow's immutable data
    assert array.to_pylist() == [2, 0, 2, 4]
    with pytest.raises(dlx.CopyRefusedError, match="read-only"):
        dlx.convert(array, "torch", copy=False)


# ---- tables -------------------------------------------------------------------------------------


class Metres(pa.ExtensionType):
    def __init__(self):
        super().__init__(pa.int64(), "dlx.tests.metres")

    def __arrow_ext_serialize__(self):
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage, serialized):
        return cls()


REFUSED_COLUMNS = {
    "null in a run": lambda: pa.RunEndEncodedArray.from_arrays(
        pa.array([2, 3], pa.int32()), pa.array([1, None])
    ),
    "runs": lambda: pa.RunEndEncodedArray.from_arrays(
        pa.array([2, 3], pa.int32()), pa.array([1, 2])
    ),
    "null in a dictionary": lambda: pa.DictionaryArray.from_arrays(
        pa.array([0, 1, 0]), pa.array([5, None])
    ),
    "dictionary": lambda: pa.array([5, 6, 5]).dictionary_encode(),
    "extension": lambda: pa.ExtensionArray.from_storage(Metres(), pa.array([1, 2, 3])),
    "date": lambda: pa.array([1, 2, 3], pa.timestamp("s")),
}


@pytest.mark.parametrize("name", REFUSED_COLUMNS)
@pytest.mark.parametrize("make", [pa.table, pa.record_batch])
def test_tables_are_refused_what_their_columns_are(make, name):
    column = REFUSED_COLUMNS[name]()
    if not hasattr(make({}), "__array__"):
        pytest.skip(f"PyArrow {pa.__version__} has no __array__ of it")

    with pytest.raises(dlx.UnsupportedError):
        dlx.asarray(column)
    with pytest.raises(dlx.UnsupportedError, match=r"pyarrow\.lib\.\w+: column 'a': "):
        dlx.asarray(make({"n": pa.array([1, 2, 3]), "a": column}))


def test_tables_of_several_chunks_are_taken():
    table = pa.table({"a": pa.chunked_array([[1], [2, 3]]), "b": [0.5, 1.5, 2.5]})

    assert dlx.asarray(table).tolist() == [[1, 0.5], [2, 1.5], [3, 2.5]]
    assert dlx.asarray(pa.table({"a": [True, False]})).tolist() == [[True], [False]]


@pytest.mark.parametrize("make", [pa.table, pa.record_batch])
def test_a_copy_that_a_table_needs_is_refused_in_our_words(make):
    with pytest.raises(dlx.CopyRefusedError, match=r"copy"):
        dlx.asarray(make({"a": pa.array([1, 2]), "b": pa.array([3, 4])}), copy=False)


OWN = [
    lambda: pa.array([1, 2, 3]),
    lambda: pa.array([0, 1, None, 3])[1:],
    lambda: pa.array(["a", None]),
    lambda: pa.array([True, False]),
    lambda: pa.array([[1], [2, 3]]),
    lambda: pa.array(["a", "b", "a"]).dictionary_encode(),
    lambda: pa.FixedShapeTensorArray.from_numpy_ndarray(numpy.arange(6.0).reshape(3, 2)),
    lambda: pa.chunked_array([[1], [2, None]]),
    lambda: pa.table({"a": [1, 2], "b": ["x", "y"]}).replace_schema_metadata({"k": "v"}),
    lambda: pa.record_batch([pa.array([1, 2])], names=["a"]),
    lambda: pa.Tensor.from_numpy(numpy.arange(3.0)),
]


@pytest.mark.parametrize("to", ["pyarrow", pa, "class"])
@pytest.mark.parametrize("make", OWN)
def test_what_is_arrows_own_comes_back_with_all_that_it_says(make, to):
    source = make()
    to = type(source) if to == "class" else to

    assert dlx.convert(source, to) is source
    assert dlx.convert(source, to, copy=False) is source
    if isinstance(source, pa.Array):
        assert dlx.convert(source, pa.Array) is source


@pytest.mark.parametrize("make", OWN[:-1])
def test_a_copy_of_arrows_own_keeps_all_that_it_says(make):
    source = make()
    copy = dlx.convert(source, "pyarrow", copy=True)

    assert type(copy) is type(source)
    assert copy.equals(source)
    copy.validate(full=True)
    if isinstance(source, pa.Array):
        shared = {b.address for b in source.buffers() if b and b.size}
        assert not shared & {b.address for b in copy.buffers() if b and b.size}
    if isinstance(source, pa.Table):
        assert copy.schema.metadata == source.schema.metadata


def test_a_copy_of_a_tensor_is_one():
    source = pa.Tensor.from_numpy(numpy.arange(3.0))
    copy = dlx.convert(source, pa.Tensor, copy=True)

    assert copy.equals(source)
    assert copy.to_numpy().ctypes.data != source.to_numpy().ctypes.data


def test_a_copy_of_a_tensor_keeps_the_names_of_its_axes():
    for values in (numpy.arange(6.0).reshape(2, 3), numpy.arange(6.0).reshape(3, 2).T):
        source = pa.Tensor.from_numpy(values, dim_names=["u", "v"])
        copy = dlx.convert(source, pa.Tensor, copy=True)

        assert [str(name) for name in copy.dim_names] == ["u", "v"]
        assert copy.equals(source)
        assert copy.strides == source.strides
        assert copy.to_numpy().ctypes.data != values.ctypes.data


def test_a_copy_of_rows_without_columns_keeps_their_number():
    table = pa.table({"a": [1, 2, 3]})
    for source in (table.select([]), table.to_batches()[0].select([])):
        assert source.num_rows == 3
        assert dlx.convert(source, "pyarrow", copy=True).num_rows == 3


def test_a_class_of_arrow_is_what_comes_or_an_error():
    numbers = arrays.aligned(3, dtype="int32")

    for to in (pa.Int32Array, pa.IntegerArray, pa.Array):
        assert type(dlx.convert(numbers, to, copy=False)) is pa.Int32Array
    for to in (pa.Int64Array, pa.StringArray, pa.Table, pa.ChunkedArray):
        with pytest.raises(dlx.UnsupportedError, match=rf"{to.__name__}.*Int32Array.*pyarrow\.T"):
            dlx.convert(numbers, to)


@pytest.mark.parametrize("large", [2**53 + 1, 2**63 + 1])
def test_tables_whose_integers_would_be_rounded_are_refused(large):
    """int64 beside uint64 becomes float64."""
    for value in (large, 5):
        source = pa.table({"a": pa.array([value], pa.uint64()), "b": [-1]})
        if value == 5:
            assert dlx.asarray(source).tolist() == [[5.0, -1.0]]
        else:
            with pytest.raises(dlx.UnsupportedError, match=r"integers becomes float64.*cast"):
                dlx.asarray(source)
