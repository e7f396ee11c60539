"""ONNX Runtime's OrtValue: compact legacy capsules, without byte_offset or read-only."""

from __future__ import annotations

import arrays
import numpy
import pytest

import dlx

ort = arrays.require("onnxruntime")

SHARED = {"contiguous", "0-d", "half aligned", "element aligned", "unaligned", "5 axes",
          "length 1, reversed"}  # fmt: skip
NAMES = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
         "float32", "float64"]  # fmt: skip


def address(x):
    return x.data_ptr()


def values(x):
    return x.numpy().tolist()


@pytest.mark.parametrize("layout", arrays.LAYOUTS)
def test_layouts(layout):
    arrays.check_layout(layout, "onnxruntime", SHARED, address, values)


@pytest.mark.parametrize("name", NAMES)
def test_dtypes(name):
    source = arrays.numpy_array(name)
    result = dlx.convert(source, ort, copy=False)

    assert isinstance(result, ort.OrtValue)
    assert address(result) == source.ctypes.data
    assert result.numpy().dtype == source.dtype
    back = dlx.asarray(result)
    assert str(back.dtype) == name
    assert back.data_ptr == source.ctypes.data


def test_bfloat16():
    source = arrays.numpy_array("bfloat16")
    result = dlx.convert(source, ort, copy=False)

    assert result.data_type() == "tensor(bfloat16)"
    assert address(result) == source.ctypes.data


@pytest.mark.parametrize("name", ["bool", "complex64", "float8_e4m3fn"])
def test_dtypes_that_it_mistakes_are_refused(name):
    with pytest.raises(dlx.UnsupportedError, match=r"onnxruntime takes no"):
        dlx.convert(arrays.numpy_array(name), "ort")


def test_an_offset_is_not_lost():
    base = dlx.asarray(arrays.aligned(8))

    assert values(dlx.convert(base[3:], "onnxruntime")) == [3, 4, 5, 6, 7]


def test_imports_are_shared():
    source = ort.OrtValue.ortvalue_from_numpy(numpy.arange(4.0))
    tensor = dlx.asarray(source)
    tensor[0] = 9.0

    assert tensor.data_ptr == address(source)
    assert values(source) == [9, 1, 2, 3]


def test_lifetimes():
    arrays.check_release("onnxruntime", values)
