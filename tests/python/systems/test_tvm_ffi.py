"""apache-tvm-ffi: it takes every dtype, keeps byte_offset, and ignores what it does not know."""

from __future__ import annotations

import arrays
import pytest

import dlx

tvm_ffi = arrays.require("tvm_ffi")

SHARED = set(arrays.LAYOUTS) - {"read-only"}
NAMES = [*arrays.NUMPY_NAMES, "bfloat16", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz",
         "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz",
         "float8_e8m0fnu"]  # fmt: skip


def address(x):
    return x.data_ptr() if callable(getattr(x, "data_ptr", None)) else dlx.asarray(x).data_ptr


def values(x):
    return dlx.asarray(x).tolist()


@pytest.mark.parametrize("layout", arrays.LAYOUTS)
def test_layouts(layout):
    arrays.check_layout(layout, "tvm_ffi", SHARED, address, values)


@pytest.mark.parametrize("name", NAMES)
def test_dtypes(name):
    result = arrays.check_dtype(name, tvm_ffi, address)

    if name.startswith("complex"):  # carried, but its own `dtype` has no word for it
        with pytest.raises(ValueError, match="unknown type_code"):
            str(result.dtype)
    else:
        assert str(result.dtype) == name


@pytest.mark.parametrize("name", ["int4", "uint4", "float4_e2m1fn"])
def test_one_element_a_byte_is_not_taken_for_two(name):
    with pytest.raises((BufferError, RuntimeError, ValueError)):
        dlx.convert(arrays.numpy_array(name), "tvm_ffi")


def test_packed_elements_go_through():
    packed = dlx.empty((4,), dtype="int4")
    result = dlx.convert(packed, "tvm_ffi", copy=False)

    assert str(result.dtype) == "int4"
    assert address(result) == packed.data_ptr


def test_lifetimes():
    released = []
    base = arrays.aligned(4)
    tensor = dlx.from_pointer(
        base.ctypes.data, (4,), "float32", on_release=lambda: released.append(1)
    )
    result = dlx.convert(tensor, "tvm_ffi", copy=False)
    del tensor
    back = dlx.asarray(result)
    del result
    assert back.tolist() == [0, 1, 2, 3]
    assert not released
    del back
    assert released == [1]


@pytest.mark.heavy
def test_no_leak():
    arrays.check_no_leak(lambda x: dlx.convert(x, "tvm_ffi", copy=True))
    arrays.check_no_leak(lambda x: dlx.asarray(tvm_ffi.from_dlpack(dlx.asarray(x, copy=True))))


def test_dtypes_and_devices_are_arguments_of_its_functions():
    echo = tvm_ffi.convert(lambda x: x)

    for name in ("float32", "bfloat16", "float8_e4m3fn"):
        found = echo(dlx.dtype(name))
        assert found == tvm_ffi.dtype(name)
        assert dlx.dtype(found) == dlx.dtype(name)
    assert echo(dlx.Device("cuda:1")) == tvm_ffi.device("cuda", 1)
