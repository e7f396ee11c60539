"""h5py: data sets in a file; reading gives ndarrays, writing takes tensors."""

from __future__ import annotations

import arrays
import pytest

import dlx

h5py = arrays.require("h5py")


@pytest.fixture
def file(tmp_path):
    with h5py.File(tmp_path / "data.h5", "w") as file:
        yield file


@pytest.mark.parametrize("name", arrays.NUMPY_NAMES)
def test_dtypes(file, name):
    source = dlx.asarray(arrays.numpy_array(name))
    dataset = file.create_dataset("x", data=source.numpy())

    for obj in (dataset, dataset[:]):
        assert str(dlx.asarray(obj).dtype) == name
        assert dlx.asarray(obj).tolist() == source.tolist()


@pytest.mark.parametrize("layout", arrays.LAYOUTS)
def test_layouts(file, layout):
    source = arrays.LAYOUTS[layout]()
    file.create_dataset("x", data=dlx.asarray(source).numpy())

    assert dlx.asarray(file["x"][...]).tolist() == source.tolist()


def test_reading_into_a_tensor(file):
    dataset = file.create_dataset("x", data=arrays.aligned(3, 4))
    target = dlx.empty((3, 4), dtype="float32")
    dataset.read_direct(target.numpy())

    assert target.tolist() == arrays.aligned(3, 4).tolist()


def test_a_file_has_no_memory_to_share(file):
    dataset = file.create_dataset("x", data=arrays.aligned(4))

    with pytest.raises((dlx.CopyRefusedError, ValueError)):
        dlx.asarray(dataset, copy=False)


def test_strings_are_refused(file):
    file["s"] = ["a", "b"]

    with pytest.raises(dlx.UnsupportedError):
        dlx.asarray(file["s"])


def test_a_group_is_no_sequence():
    file = h5py.File("unused", "w", driver="core", backing_store=False)
    with file, pytest.raises(TypeError, match="cannot make an array of `obj`"):
        dlx.asarray(file)
