"""ml_dtypes: the dtypes that NumPy has not. It speaks neither DLPack nor the buffer protocol."""

from __future__ import annotations

import arrays
import numpy
import pytest

import dlx

ml_dtypes = arrays.require("ml_dtypes")

NAMES = ["bfloat16", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn",
         "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "float6_e2m3fn",
         "float6_e3m2fn", "float4_e2m1fn", "int4", "uint4"]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_dtypes_go_there_and_back_without_a_copy(name):
    source = arrays.numpy_array(name)
    tensor = dlx.asarray(source)
    back = dlx.convert(tensor, "numpy", copy=False)

    assert str(tensor.dtype) == name
    assert tensor.data_ptr == source.ctypes.data == back.ctypes.data
    assert back.dtype == source.dtype
    assert repr(tensor.tolist()) == repr(source.astype("float64").tolist()).replace(
        ".0", "" if "int" in name else ".0"
    )


@pytest.mark.filterwarnings("ignore:invalid value")  # NaNs, of which there are many
@pytest.mark.parametrize("name", NAMES)
def test_every_value_is_decoded_as_ml_dtypes_does(name):
    bits = 8 if name != "bfloat16" else 16
    dtype = numpy.dtype(getattr(ml_dtypes, name))
    width = {"int4": 4, "uint4": 4, "float4_e2m1fn": 4}.get(name, 6 if "float6" in name else bits)
    codes = numpy.arange(1 << width, dtype=f"uint{bits}")
    if name == "int4":  # stored sign-extended
        codes = numpy.where(codes > 7, codes + 240, codes).astype("uint8")
    source = codes.view(dtype)

    expected = source.astype("float64").tolist()
    actual = [float(value) for value in dlx.asarray(source).tolist()]
    assert repr(actual) == repr(expected)


@pytest.mark.parametrize("layout", ["rows", "columns", "reversed", "0-d", "empty", "column-major"])
@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "int4"])
def test_layouts(name, layout):
    shape = arrays.LAYOUTS[layout]()
    source = (numpy.zeros_like(shape) + 1).astype(getattr(ml_dtypes, name))
    source = numpy.lib.stride_tricks.as_strided(
        source, source.shape, source.strides, writeable=True
    )
    tensor = dlx.asarray(source)

    assert tensor.shape == source.shape
    if source.size:
        assert tensor.data_ptr == source.ctypes.data
        source[...] = 2
        assert dlx.asarray(source).tolist() == tensor.tolist() == source.astype(float).tolist()


def test_scalars():
    assert dlx.asarray(ml_dtypes.bfloat16(1.5)).item() == 1.5
    assert str(dlx.asarray(ml_dtypes.float8_e5m2(2)).dtype) == "float8_e5m2"


def test_read_only_data_stays_read_only():
    source = arrays.numpy_array("bfloat16")
    source.flags.writeable = False

    assert dlx.asarray(source).readonly
    assert not dlx.convert(dlx.asarray(source), "numpy").flags.writeable
