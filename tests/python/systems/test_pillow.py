"""Pillow: images by the array interface, which is a read-only copy on their side."""

from __future__ import annotations

import arrays
import numpy
import pytest

import dlx

Image = arrays.require("PIL.Image")

MODES = {"L": ("uint8", (4, 6)), "RGB": ("uint8", (4, 6, 3)), "RGBA": ("uint8", (4, 6, 4)),
         "I": ("int32", (4, 6)), "F": ("float32", (4, 6)), "I;16": ("uint16", (4, 6)),
         "CMYK": ("uint8", (4, 6, 4)), "HSV": ("uint8", (4, 6, 3))}  # fmt: skip


@pytest.mark.parametrize("mode", MODES)
def test_images_of_every_mode(mode):
    name, shape = MODES[mode]
    image = Image.new(mode, (6, 4))
    tensor = dlx.asarray(image)

    assert str(tensor.dtype) == name
    assert tensor.shape == shape
    assert tensor.tolist() == numpy.asarray(image).tolist()


def test_bitmaps():
    image = Image.new("1", (8, 2), 1)

    assert dlx.asarray(image).tolist() == numpy.asarray(image).tolist()


@pytest.mark.parametrize("layout", ["contiguous", "rows", "reversed", "read-only"])
def test_images_are_made_of_tensors(layout):
    tensor = dlx.asarray(arrays.LAYOUTS[layout]())
    for image in (Image.fromarray(tensor.numpy()), Image.fromarray(tensor)):
        assert image.mode == "F"
        assert numpy.asarray(image).tolist() == tensor.tolist()


def test_lifetimes():
    tensor = dlx.asarray(Image.new("L", (100, 100), 7))

    assert {value for row in tensor.tolist() for value in row} == {7}
