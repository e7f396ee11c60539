"""The demo's picture: drawing one, and importing it from Pillow."""

from __future__ import annotations

import math

import dlx

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dlx import Tensor

SIZE = (768, 512)
_SKY = ((24, 38, 92), (255, 168, 104))  # above, below
# Hills: colour, height of the crest as a part of the picture, its waves as (part, number, shift).
_HILLS = (
    ((120, 88, 122), 0.62, ((0.05, 1.3, 0.4), (0.02, 4.1, 2.0))),
    ((70, 62, 104), 0.74, ((0.06, 1.9, 2.2), (0.015, 6.3, 0.3))),
    ((28, 34, 66), 0.87, ((0.05, 2.6, 4.0), (0.01, 9.7, 1.1))),
)


def draw() -> Any:
    """The demo's own picture: a sunset over hills, drawn by Pillow."""
    from PIL import Image, ImageDraw

    width, height = SIZE
    above, below = (Image.new("RGB", SIZE, colour) for colour in _SKY)
    picture = Image.composite(below, above, Image.linear_gradient("L").resize(SIZE))
    pen = ImageDraw.Draw(picture)
    x, y, radius = width * 0.68, height * 0.5, height * 0.13
    pen.ellipse((x - radius, y - radius, x + radius, y + radius), fill=(255, 232, 160))
    for colour, crest, waves in _HILLS:
        line = [
            (x, height * (crest + sum(a * math.sin(n * 6.28 * x / width + s) for a, n, s in waves)))
            for x in range(0, width + 1, 4)
        ]
        pen.polygon([*line, (width, height), (0, height)], fill=colour)
    return picture


def arrow_bytes(capsule: Any) -> tuple[int, int]:
    """(address, number of bytes) of the pixels in an Arrow array of uint8 or of fixed-size lists of them.

    Source: Arrow's C Data Interface; the pixels are buffer 1 of the array or of its only child.
    """
    import ctypes

    class ArrowArray(ctypes.Structure):
        _fields_ = [
            *(
                (name, ctypes.c_int64)
                for name in ("length", "null_count", "offset", "n_buffers", "n_children")
            ),
            ("buffers", ctypes.POINTER(ctypes.c_void_p)),
            ("children", ctypes.POINTER(ctypes.c_void_p)),
        ]

    python = ctypes.PyDLL(None)  # a separate object: ctypes.pythonapi is shared with other code
    get = python.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    array = ArrowArray.from_address(get(capsule, b"arrow_array"))
    pixels = ArrowArray.from_address(array.children[0]) if array.n_children else array
    return (pixels.buffers[1] or 0) + pixels.offset, pixels.length


def import_picture(image: Any) -> tuple[Tensor, str, str]:
    """A decoded Pillow image as a Tensor (height, width, bytes a pixel): (tensor, code, why)."""
    width, height = image.size
    try:
        capsule = image.__arrow_c_array__()[1]
    except (AttributeError, ValueError) as error:  # an old Pillow, or an image in several blocks
        why = f"this Pillow does not lend its pixels ({error}); its array interface makes a copy"
        return dlx.asarray(image), "t = dlx.asarray(image)", why
    address, count = arrow_bytes(capsule)
    depth = count // (width * height)
    tensor = dlx.from_pointer(
        address, (height, width, depth), "uint8", readonly=True, owner=capsule
    )
    code = "t = dlx.from_pointer(address, shape, 'uint8', readonly=True, owner=capsule)"
    why = (
        f"Pillow lends its {len(image.getbands())}-band pixels as an Arrow array, {depth} bytes a "
        "pixel, which is read-only by contract; the Tensor keeps the loan"
    )
    return tensor, code, why


def lends(image: Any, tensor: Tensor) -> bool:
    """Whether a pixel written by Pillow shows in the tensor; the pixel is restored."""
    old = image.getpixel((0, 0))
    image.putpixel((0, 0), _inverted(old))
    seen = tuple(tensor[0, 0, : len(old)].tolist())
    image.putpixel((0, 0), old)
    return seen == _inverted(old)


def borrows(image: Any, pixels: Any) -> bool:
    """Whether a value written to `pixels` (a Tensor or an array) shows in the image."""
    old = int(pixels[0, 0, 0])
    pixels[0, 0, 0] = 255 - old
    seen = image.getpixel((0, 0))[0]
    pixels[0, 0, 0] = old
    return bool(seen == 255 - old)


def _inverted(bands: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(255 - band for band in bands)
