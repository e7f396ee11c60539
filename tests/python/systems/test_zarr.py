"""zarr: chunks in a store; reading gives ndarrays, writing takes tensors."""

from __future__ import annotations

import arrays
import numpy
import pytest

import dlx

zarr = arrays.require("zarr")


@pytest.mark.parametrize("name", arrays.NUMPY_NAMES)
def test_dtypes(name):
    source = dlx.asarray(arrays.numpy_array(name))
    stored = zarr.create_array({}, shape=(4,), chunks=(2,), dtype=name)
    stored[:] = source.numpy()

    assert dlx.asarray(stored[:]).tolist() == source.tolist()
    tensor = dlx.asarray(stored)
    assert str(tensor.dtype) == name
    assert tensor.tolist() == source.tolist()


@pytest.mark.parametrize("layout", arrays.LAYOUTS)
def test_layouts(layout):
    source = arrays.LAYOUTS[layout]()
    stored = zarr.create_array({}, shape=source.shape, dtype="float32", chunks=source.shape)
    stored[...] = dlx.asarray(source).numpy()

    assert dlx.asarray(numpy.asarray(stored[...])).tolist() == source.tolist()


def test_a_store_has_no_memory_to_share():
    stored = zarr.create_array({}, shape=(4,), dtype="float32")

    with pytest.raises((dlx.CopyRefusedError, ValueError)):
        dlx.asarray(stored, copy=False)


def test_a_group_is_no_sequence():
    with pytest.raises(TypeError, match="cannot make an array of `obj`"):
        dlx.asarray(zarr.group())


def test_every_way_to_write_takes_a_tensor(tmp_path):
    source = numpy.arange(6.0).reshape(2, 3)
    tensor = dlx.asarray(source)
    assigned = zarr.create_array({}, shape=(2, 3), dtype="float64")
    assigned[:] = tensor
    zarr.save(str(tmp_path / "one"), tensor)
    zarr.save_array(str(tmp_path / "two"), tensor)
    for stored in (assigned, zarr.array(tensor), zarr.create_array({}, data=tensor),
                   zarr.load(str(tmp_path / "one")), zarr.load(str(tmp_path / "two"))):  # fmt: skip
        assert numpy.array_equal(stored[:], source)
