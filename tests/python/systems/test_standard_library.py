"""What Python brings along: memoryview, bytes, array, ctypes, mmap, shared memory, pickle buffers."""

from __future__ import annotations

import array
import ctypes
import io
import mmap
import multiprocessing.shared_memory
import pickle

import arrays
import pytest

import dlx

CODES = {"b": "int8", "h": "int16", "i": "int32", "q": "int64", "B": "uint8", "H": "uint16",
         "I": "uint32", "Q": "uint64", "f": "float32", "d": "float64"}  # fmt: skip


@pytest.mark.parametrize("code", CODES)
def test_typed_arrays_are_shared_and_locked(code):
    source = array.array(code, [0, 1, 2])
    tensor = dlx.asarray(source)
    tensor[0] = 7

    assert str(tensor.dtype) == CODES[code]
    assert tensor.data_ptr == source.buffer_info()[0]
    assert source.tolist() == [7, 1, 2]
    with pytest.raises(BufferError):
        source.append(1)
    del tensor
    source.append(1)


@pytest.mark.parametrize("layout", [x for x in arrays.LAYOUTS if x != "unaligned"])
def test_memoryviews_of_every_layout(layout):
    source = arrays.LAYOUTS[layout]()
    view = memoryview(source)
    tensor = dlx.asarray(view)

    assert tensor.tolist() == source.tolist()
    assert tensor.readonly == view.readonly
    back = memoryview(tensor)
    assert back.tolist() == source.tolist()
    assert back.format == view.format
    assert back.strides == view.strides or source.size <= max(source.shape, default=1)
    if source.size:
        assert tensor.data_ptr == source.ctypes.data


@pytest.mark.parametrize("name", [n for n in arrays.NUMPY_NAMES if "complex" not in n])
def test_memoryviews_of_every_dtype(name):
    source = arrays.numpy_array(name)
    tensor = dlx.asarray(memoryview(source))

    assert str(tensor.dtype) == name
    assert memoryview(tensor).format == memoryview(source).format


def test_bytes_are_read_only_and_bytearrays_are_not():
    assert dlx.asarray(b"abc").readonly
    source = bytearray(b"abc")
    tensor = dlx.asarray(source)
    tensor[0] = 100

    assert source == b"dbc"
    with pytest.raises(BufferError):
        source.append(0)
    assert dlx.convert(b"abc", "numpy").tolist() == [97, 98, 99]


def test_ctypes_arrays():
    source = (ctypes.c_int32 * 3 * 2)((1, 2, 3), (4, 5, 6))
    tensor = dlx.asarray(source)

    assert tensor.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert tensor.data_ptr == ctypes.addressof(source)


def test_mapped_files(tmp_path):
    path = tmp_path / "data"
    path.write_bytes(bytes(range(16)))
    with open(path, "r+b") as file:
        mapped = mmap.mmap(file.fileno(), 0)
        tensor = dlx.asarray(mapped)
        tensor[0] = 99
        with pytest.raises(BufferError):
            mapped.close()
        del tensor
        mapped.close()
    assert path.read_bytes()[:3] == bytes([99, 1, 2])


def test_a_read_only_map(tmp_path):
    path = tmp_path / "data"
    path.write_bytes(b"abcd")
    with open(path, "rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        assert dlx.asarray(mapped).readonly
        mapped.close()


def test_shared_memory():
    block = multiprocessing.shared_memory.SharedMemory(create=True, size=16)
    try:
        tensor = dlx.asarray(block.buf).view("float32")
        tensor[0] = 2.5
        other = multiprocessing.shared_memory.SharedMemory(block.name)
        assert dlx.asarray(other.buf).view("float32")[0].item() == 2.5
        other.close()
        with pytest.raises(BufferError):
            block.close()
        del tensor
    finally:
        block.close()
        block.unlink()


def test_pickle_buffers_and_bytes_io():
    stream = io.BytesIO(b"\1\2\3")
    tensor = dlx.asarray(stream.getbuffer())
    tensor[0] = 9
    del tensor

    assert stream.getvalue() == b"\x09\2\3"
    assert dlx.asarray(pickle.PickleBuffer(b"abc")).tolist() == [97, 98, 99]


def test_lifetimes():
    tensor = dlx.asarray(bytearray(range(100)))[10:20]

    assert tensor.tolist() == list(range(10, 20))
