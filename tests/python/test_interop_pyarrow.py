"""PyArrow as producer and consumer."""

import pytest

import dlx

pyarrow = pytest.importorskip("pyarrow", reason="is the library under test here")

NAMES = [
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
]


@pytest.mark.parametrize("name", NAMES)
def test_arrays_are_imported_without_a_copy_and_read_only(name):
    source = pyarrow.array([0, 1, 2], getattr(pyarrow, name)())
    tensor = dlx.from_dlpack(source)

    assert str(tensor.dtype) == name
    assert tensor.data_ptr == source.buffers()[1].address
    assert tensor.readonly
    assert tensor.tolist() == [0, 1, 2]
    assert dlx.dtype(source.type) == name


def test_slices_are_honoured():
    source = pyarrow.array(range(10), pyarrow.int32())[3:6]

    assert dlx.from_dlpack(source).tolist() == [3, 4, 5]


@pytest.mark.parametrize(
    "make",
    [
        lambda: pyarrow.array([1, None]),
        lambda: pyarrow.array([True, False]),
        lambda: pyarrow.array(["a"]),
        lambda: pyarrow.array([[1], [2]]),
    ],
)
def test_what_arrow_cannot_export_is_arrow_s_own_error(make):
    with pytest.raises((pyarrow.ArrowException, BufferError, TypeError)) as caught:
        dlx.from_dlpack(make())
    assert str(caught.value)


def test_buffers_go_both_ways():
    source = pyarrow.py_buffer(b"abcd")
    tensor = dlx.asarray(source)
    assert tensor.data_ptr == source.address
    assert tensor.readonly

    own = dlx.asarray([1.0, 2.0, 3.0])
    buffer = pyarrow.py_buffer(own)
    assert buffer.address == own.data_ptr
    array = pyarrow.Array.from_buffers(pyarrow.float64(), 3, [None, buffer])
    own[1] = 20
    assert array.to_pylist() == [1, 20, 3]


def test_arrow_tensors_go_both_ways():
    numpy = pytest.importorskip("numpy", reason="PyArrow makes its tensors of NumPy arrays")
    values = numpy.arange(6.0).reshape(2, 3)
    source = pyarrow.Tensor.from_numpy(values)
    tensor = dlx.asarray(source)

    assert tensor.tolist() == values.tolist()
    assert pyarrow.Tensor.from_numpy(tensor.numpy()).to_numpy().ctypes.data == tensor.data_ptr
    if hasattr(pyarrow.Tensor, "from_dlpack"):
        assert pyarrow.Tensor.from_dlpack(tensor).to_numpy().tolist() == values.tolist()


def test_arrow_keeps_the_memory():
    calls = []
    memory = bytearray(32)
    inner = dlx.asarray(memory)
    tensor = dlx.from_pointer(
        inner.data_ptr, 4, "float64", owner=inner, on_release=lambda: calls.append(1)
    )
    array = pyarrow.Array.from_buffers(pyarrow.float64(), 4, [None, pyarrow.py_buffer(tensor)])
    part = array[1:]
    del tensor, array
    assert calls == []
    del part
    assert calls == [1]
