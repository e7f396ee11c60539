"""MLX on the CPU: it shares what it gives, and copies what it takes."""

from __future__ import annotations

import arrays
import numpy
import pytest

import dlx

mx = arrays.require("mlx.core")
NAMES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
         "float32", "float64", "complex64", "bfloat16"]  # fmt: skip


@pytest.mark.parametrize("layout", arrays.LAYOUTS)
def test_layouts_are_copied_and_said_to_be(layout):
    source = arrays.LAYOUTS[layout]()
    result = dlx.convert(source, "mlx")

    assert isinstance(result, mx.array)
    assert result.tolist() == source.tolist()
    with pytest.raises(dlx.CopyRefusedError, match="copies whatever it gets"):
        dlx.convert(source, mx, copy=False)


@pytest.mark.parametrize("name", NAMES)
def test_dtypes_are_kept(name):
    """mlx.core.array() would make float32 of float64."""
    result = dlx.convert(arrays.numpy_array(name), mx)

    assert str(result.dtype).rpartition(".")[2].strip("_") == name
    assert str(dlx.dtype(dlx.asarray(result).dtype)) == name
    assert dlx.asarray(result).tolist() == [0, 1, 1, 0]


@pytest.mark.parametrize("name", NAMES)
def test_its_dtype_objects_are_read(name):
    own = getattr(mx, name if name != "bool" else "bool_")

    assert dlx.dtype(own) == name
    assert dlx.asarray([1, 1], dtype=own).tolist() == [1, 1]


@pytest.mark.parametrize("name", ["complex128", "float8_e4m3fn", "int4"])
def test_dtypes_that_it_has_not_are_refused(name):
    with pytest.raises(dlx.UnsupportedError, match="mlx takes no"):
        dlx.convert(arrays.numpy_array(name), mx)


def test_imports_are_shared():
    source = mx.arange(6).reshape(2, 3)
    mx.eval(source)
    for obj in (source, memoryview(source)):
        tensor = dlx.asarray(obj)
        assert tensor.tolist() == [[0, 1, 2], [3, 4, 5]]
        assert tensor.data_ptr == numpy.asarray(memoryview(source)).ctypes.data


@pytest.mark.parametrize(
    "change",
    [lambda x: x.T, lambda x: x[::2], lambda x: x[::-1], lambda x: x[:, 1:3], lambda x: x[0, 0]],
)
def test_lazy_layouts_of_mlx(change):
    source = change(mx.arange(12).reshape(3, 4))

    assert dlx.asarray(source).tolist() == source.tolist()
    assert dlx.convert(source, "numpy").tolist() == source.tolist()


def test_an_array_of_mlx_is_returned_as_it_is():
    source = mx.array([1.0])

    assert dlx.convert(source, "mlx") is source


def test_lifetimes():
    tensor = dlx.asarray(mx.arange(1000) + 1)
    assert tensor.tolist() == list(range(1, 1001))


@pytest.mark.heavy
def test_no_leak():
    arrays.check_no_leak(lambda x: mx.eval(dlx.convert(x, "mlx")), count=200)
