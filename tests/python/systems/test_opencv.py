"""OpenCV: its images are ndarrays, and it takes nothing else."""

from __future__ import annotations

import arrays
import numpy
import pytest

import dlx

cv2 = arrays.require("cv2")

NAMES = ["uint8", "int8", "uint16", "int16", "int32", "float32", "float64"]


@pytest.mark.parametrize("name", NAMES)
def test_images_go_there_and_back(name):
    source = dlx.asarray(arrays.aligned(4, 6, dtype=name))
    flipped = dlx.asarray(cv2.flip(source.numpy(), 1))

    assert flipped.tolist() == [row[::-1] for row in source.tolist()]
    assert str(flipped.dtype) == name


def test_opencv_writes_into_a_tensor():
    source, target = dlx.asarray(arrays.aligned(4, 6)), dlx.empty((4, 6), dtype="float32")
    view = dlx.convert(target, "numpy", copy=False)
    result = cv2.flip(source.numpy(), 0, view)

    assert result.ctypes.data == target.data_ptr
    assert target.tolist() == source.tolist()[::-1]


@pytest.mark.parametrize("layout", ["rows", "columns", "reversed", "broadcast", "read-only"])
def test_layouts_as_input(layout):
    source = arrays.LAYOUTS[layout]()
    view = dlx.asarray(source).numpy()

    assert numpy.allclose(cv2.transpose(numpy.ascontiguousarray(view)), source.T)


def test_channels():
    image = dlx.asarray(numpy.arange(24, dtype="uint8").reshape(2, 4, 3))
    swapped = cv2.cvtColor(image.numpy(), cv2.COLOR_RGB2BGR)

    assert dlx.asarray(swapped).tolist() == image[:, :, ::-1].tolist()
    planar = image.permute_dims((2, 0, 1)).contiguous()
    assert planar.shape == (3, 2, 4)


def test_transparent_arrays_are_no_arrays():
    with pytest.raises((TypeError, dlx.Error)):
        dlx.asarray(cv2.UMat(numpy.zeros((2, 2), "uint8")))
    assert dlx.asarray(cv2.UMat(numpy.ones((2, 2), "uint8")).get()).tolist() == [[1, 1], [1, 1]]
