"""C arrays of cffi: views of their memory."""

from __future__ import annotations

import gc

import pytest

import dlx

cffi = pytest.importorskip("cffi", reason="is what these arrays are of")
ffi = cffi.FFI()
ffi.cdef("struct point { double x, y; };")

TYPES = {
    "_Bool": "bool", "signed char": "int8", "short": "int16", "int": "int32", "long long": "int64",
    "int8_t": "int8", "int64_t": "int64", "ssize_t": "int64", "unsigned char": "uint8",
    "unsigned short": "uint16", "unsigned int": "uint32", "uint64_t": "uint64", "size_t": "uint64",
    "float": "float32", "double": "float64", "float _Complex": "complex64",
    "double _Complex": "complex128",
}  # fmt: skip


@pytest.mark.parametrize("name", TYPES)
def test_types(name):
    array = ffi.new(f"{name}[3]")
    tensor = dlx.asarray(array)

    assert (str(dlx.dtype(tensor.dtype)), tensor.shape) == (TYPES[name], (3,))
    assert tensor.data_ptr == int(ffi.cast("uintptr_t", array))


def test_memory_is_shared_and_kept():
    array = ffi.new("double[2][3]")
    tensor = dlx.asarray(array, copy=False)
    assert (tensor.shape, tensor.readonly) == ((2, 3), False)

    array[1][2] = 5
    tensor[0, 1] = 7
    assert array[0][1] == 7
    assert tensor.tolist() == [[0, 7, 0], [0, 0, 5]]
    del array
    gc.collect()
    assert tensor.tolist() == [[0, 7, 0], [0, 0, 5]]


def test_part_of_an_array_and_no_element():
    array = ffi.new("int[2][3]")
    assert dlx.asarray(array[1]).data_ptr == int(ffi.cast("uintptr_t", array)) + 12
    assert dlx.asarray(ffi.new("int[]", 4)).shape == (4,)
    assert dlx.asarray(ffi.new("int[0]")).shape == (0,)


@pytest.mark.parametrize(
    ("make", "way"),
    [
        (lambda: ffi.new("int *"), "from_pointer"),
        (lambda: ffi.NULL, "from_pointer"),
        (lambda: ffi.new("struct point *")[0], "fields"),
        (lambda: ffi.cast("int", 3), r"int\(x\)"),
        (lambda: ffi.new("char[3]"), "ffi.buffer"),
        (lambda: ffi.new("wchar_t[3]"), "ffi.buffer"),
        (lambda: ffi.new("long double[3]"), "ffi.buffer"),
        (lambda: ffi.new("struct point[3]"), "ffi.buffer"),
        (lambda: ffi.new("void *[3]"), "ffi.buffer"),
    ],
)
def test_what_is_no_array_of_numbers_names_the_way_out(make, way):
    with pytest.raises(BufferError, match=f"cffi.CData.*{way}"):
        dlx.asarray(make())


@pytest.mark.parametrize("kind", ["double *", "void *", "unsigned char *"])
def test_from_pointer_takes_pointers(kind):
    array = ffi.new("double[2][3]")
    tensor = dlx.from_pointer(ffi.cast(kind, array), (2, 3), "float64", owner=array)

    tensor[1, 2] = 5
    assert array[1][2] == 5
    assert dlx.from_pointer(ffi.NULL, 0, "float64").shape == (0,)


@pytest.mark.parametrize("make", [lambda: ffi.new("double[3]"), lambda: ffi.cast("int", 3)])
def test_from_pointer_sends_what_is_no_pointer_to_asarray(make):
    with pytest.raises(TypeError, match=r"expected .* pointer of ctypes or cffi.*dlx\.asarray"):
        dlx.from_pointer(make(), 3, "float64")
