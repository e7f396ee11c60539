"""TensorFlow: every dtype and layout both ways. It takes compact legacy capsules only, and aborts on
data that is not 64-byte aligned: each result is computed with."""

from __future__ import annotations

import sys

import arrays
import numpy
import pytest

import dlx

tf = arrays.require("tensorflow")

SHARED = {"contiguous", "0-d", "5 axes", "length 1, reversed", "read-only"}


def address(x):
    """By the buffer protocol, which is not what dlx imports by."""
    return numpy.frombuffer(memoryview(x).cast("B"), numpy.uint8).ctypes.data


def values(x):
    computed = tf.identity(x) + tf.zeros_like(x)  # aborts if the alignment is not what it wants
    return computed.numpy().tolist()


@pytest.mark.parametrize("layout", arrays.LAYOUTS)
def test_layouts(layout):
    arrays.check_layout(layout, "tensorflow", SHARED, address, values)


@pytest.mark.parametrize("shift", [1, 2, 4, 8, 16, 32])
def test_no_alignment_aborts(shift):
    arrays.run_alone(f"""
import sys
sys.path = {sys.path!r}
import arrays, dlx, tensorflow as tf
for dtype in ("float32", "float64", "int8"):
    x = arrays.aligned(64, dtype=dtype, shift={shift})
    y = dlx.convert(x, "tf")
    assert (tf.reduce_sum(y * y + y)).numpy() == (x * x + x).sum(dtype=x.dtype), dtype
""")


@pytest.mark.parametrize("name", [*arrays.NUMPY_NAMES, "bfloat16"])
def test_dtypes(name):
    def by_dlpack(x):
        return dlx.asarray(x).data_ptr

    result = arrays.check_dtype(name, tf, by_dlpack)

    assert result.dtype.name == name


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2", "int4", "uint4"])
def test_dtypes_without_a_capsule_are_refused(name):
    with pytest.raises(dlx.UnsupportedError, match="tensorflow takes no"):
        dlx.convert(arrays.numpy_array(name), "tensorflow")


def test_imports_are_read_only_and_shared():
    source = tf.constant([1.0, 2.0])
    tensor = dlx.asarray(source)

    assert tensor.readonly
    assert tensor.data_ptr == address(source)
    assert dlx.convert(source, "tensorflow") is source


def test_variables_are_imported_by_their_value():
    variable = tf.Variable([1.0, 2.0])

    assert dlx.asarray(variable.value()).tolist() == [1, 2]
    assert dlx.asarray(variable).tolist() == [1, 2]


def test_computing_does_not_write_to_read_only_data():
    source = arrays.LAYOUTS["read-only"]()
    before = source.tolist()
    result = dlx.convert(source, "tensorflow", copy=False)
    variable = tf.Variable(result)
    variable.assign_add(tf.ones_like(variable))

    @tf.function
    def chain(x):
        return tf.nn.relu(tf.nn.relu(x * 2) + 1)

    chain(result)
    tf.raw_ops.Relu(features=result)
    assert source.tolist() == before


@pytest.mark.parametrize("make", [tf.constant, tf.Variable, tf.convert_to_tensor])
def test_its_own_constructors_copy_arrays_and_share_tensors(make):
    """docs/convert.md warns of it."""
    tensor = dlx.empty((2, 3), dtype="float32")  # aligned to 64 bytes
    tensor[...] = 1
    shared, copied = make(tensor), make(tensor.numpy())
    if make is tf.Variable:
        gradient = tf.ones_like(shared)
        tf.raw_ops.ResourceApplyGradientDescent(var=shared.handle, alpha=1.0, delta=gradient)
        assert shared.numpy().tolist() == [[0] * 3] * 2
        assert tensor.tolist() == [[1] * 3] * 2  # never written to
        shared = make(tensor)

    tensor[...] = 7

    assert shared.numpy().tolist() == [[7] * 3] * 2
    assert copied.numpy().tolist() == [[1] * 3] * 2


def test_sparse_and_ragged_tensors_are_refused_with_the_way_out():
    sparse = tf.sparse.from_dense([[0.0, 1.0]])
    with pytest.raises(dlx.UnsupportedError, match=r"`\.values` and `\.indices`"):
        dlx.asarray(sparse)
    assert dlx.asarray(sparse.values).tolist() == [1]
    ragged = tf.ragged.constant([[1], [2, 3]])
    with pytest.raises(dlx.UnsupportedError, match=r"`.flat_values`"):
        dlx.asarray(ragged)
    assert dlx.asarray(ragged.flat_values).tolist() == [1, 2, 3]


def test_strings_are_refused_without_an_abort():
    arrays.run_alone("""
import dlx, tensorflow as tf
try:
    dlx.asarray(tf.constant(["a", "b"]))
except BufferError as error:
    assert "string" in str(error), error
else:
    raise AssertionError("strings are no numbers")
""")


def test_symbolic_tensors_are_refused_with_the_way_out():
    @tf.function
    def function(x):
        with pytest.raises(dlx.UnsupportedError, match=r"no data yet.*py_function"):
            dlx.asarray(x)
        return x

    assert function(tf.constant(1.0)).numpy() == 1


def test_lifetimes():
    released = []
    base = arrays.aligned(4)
    tensor = dlx.from_pointer(
        base.ctypes.data, (4,), "float32", on_release=lambda: released.append(1)
    )
    result = dlx.convert(tensor, "tensorflow", copy=False)
    del tensor
    assert result.numpy().tolist() == [0, 1, 2, 3]
    assert not released
    del result
    dlx.asarray([0])
    assert released == [1]


@pytest.mark.heavy
def test_no_leak():
    arrays.check_no_leak(lambda x: dlx.convert(x, "tensorflow", copy=True), count=200)


def test_quantised_tensors_name_the_way_out():
    with pytest.raises(dlx.UnsupportedError, match=r"qint8.*tf\.bitcast\(x, tf\.int8\)"):
        dlx.asarray(tf.cast(tf.constant([1.0]), tf.qint8))


@pytest.mark.parametrize("name", ["float8_e5m2", "float8_e4m3fn", "int2", "int4", "uint2", "uint4"])
def test_dtypes_without_a_capsule_name_the_way_out(name):
    values = arrays.numpy_array(name)
    source = tf.constant(values)

    for take in (dlx.asarray, dlx.from_dlpack):
        with pytest.raises(dlx.UnsupportedError, match=rf"dtype {name}: pass `x\.numpy\(\)`"):
            take(source)
    assert dlx.asarray(source.numpy()).numpy().tobytes() == values.tobytes()


@pytest.mark.parametrize("read", [dlx.asarray, dlx.from_dlpack])
def test_a_copy_of_a_tensor_although_it_refuses_to_make_one(read):
    source = tf.constant([1.0, 2.0])
    for device in (None, "cpu"):
        tensor = read(source, copy=True, device=device)
        tensor[0] = 5
        assert tensor.tolist() == [5, 2]
    assert source.numpy().tolist() == [1, 2]


def test_lists_of_tensors():
    numbers = tf.range(3.0)

    assert dlx.asarray([numbers, numbers + 1]).tolist() == [[0, 1, 2], [1, 2, 3]]
    quantised = tf.bitcast(tf.zeros(3, tf.int8), tf.qint8)
    for strange in (quantised, tf.constant(["a", "b", "c"])):  # both have buffers
        with pytest.raises(dlx.UnsupportedError, match=r"`obj`\[0\]: "):
            dlx.asarray([strange, strange])
    with pytest.raises(dlx.UnsupportedError, match="different dtypes"):
        dlx.asarray([numbers, tf.range(3)])
