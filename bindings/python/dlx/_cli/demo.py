"""`python -m dlx demo`: a picture passes through several array libraries.

Every step is run, timed and checked by addresses while the demo runs. Each is compared with the same
step without dlx.
"""

from __future__ import annotations

import importlib
import os
import sys
import tempfile

import dlx
from dlx._cli.demo_paper import Journey, Paper, Place, layout_of, timed
from dlx._cli.demo_picture import arrow_bytes, borrows, draw, import_picture, lends
from dlx._lib.classes import an
from dlx.errors import InvalidArgumentError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dlx import Tensor
    from dlx._cli.demo_paper import Instead

__all__ = ["run"]

_BOX = (0.18, 0.05, 0.62, 0.62)  # the crop: top, left, bottom, right as fractions of the picture


class Demo:
    """The steps, in order; each continues with the result of the step before."""

    def __init__(self, journey: Journey, image: Any) -> None:
        self.journey = journey
        self.image = image
        self.numpy = _import("numpy")
        self.torch = _import("torch")
        self.pyarrow = _import("pyarrow")
        self.nanoarrow: Any = None if self.pyarrow else _import("nanoarrow")

    def run(self) -> Tensor:
        picture = self.receive()
        planes = self.turn(picture)
        compact = self.compact(planes)
        arrays = self.hand_out(compact)
        self.write(compact, arrays)
        return compact

    def give_back(self, compact: Tensor) -> Any:
        """A Pillow image of the planes: gathered once into Pillow's layout, then shared with it."""
        from PIL import Image

        _, height, width = compact.shape
        pixels = dlx.empty((height, width, 4), dtype="uint8")
        pixels[:, :, 3] = 255

        def gather() -> Tensor:
            dlx.copyto(pixels[:, :, :3], compact.permute_dims((1, 2, 0)))
            return pixels

        _, seconds = timed(gather)
        why = (
            "Pillow wants 4 bytes a pixel side by side; the planes are "
            f"{compact.strides[0]:,} bytes apart"
        )
        instead = None
        if self.numpy is not None:
            source = self.numpy.asarray(compact)
            other, took = timed(lambda: self.numpy.ascontiguousarray(source.transpose(1, 2, 0)))
            name = "numpy.ascontiguousarray(a.transpose(1, 2, 0))"
            instead = (name, took, other.ctypes.data == compact.data_ptr)
        code = "dlx.copyto(q[:, :, :3], c.permute_dims((1, 2, 0)))"
        self._tensor("CHW → HWC for Pillow", code, seconds, pixels, why, instead)
        size = (width, height)
        image, seconds = timed(lambda: Image.frombuffer("RGBA", size, pixels, "raw", "RGBA", 0, 1))
        # Older Pillows crash when asked for the address of borrowed pixels, so a write is looked for.
        shared = borrows(image, pixels)
        why = f"through the buffer protocol; a value written to q shows in the image: {shared}"
        code = "image = PIL.Image.frombuffer('RGBA', size, q, 'raw', 'RGBA', 0, 1)"
        instead = None
        if self.numpy is not None:
            array = self.numpy.ascontiguousarray(self.numpy.asarray(pixels)[:, :, :3])
            other, took = timed(lambda: Image.fromarray(array))
            instead = ("Image.fromarray(contiguous array)", took, borrows(other, array))
        address = pixels.data_ptr if shared else 0
        layout = f"{size[0]}x{size[1]} {image.mode}"
        place = Place(address, pixels.nbytes, layout)
        self.journey.step("dlx → Pillow", code, seconds, place, why, instead)
        return image

    def receive(self) -> Tensor:
        """Pillow's pixels, without a copy."""
        (tensor, code, why), seconds = timed(lambda: import_picture(self.image))
        instead = None
        if lends(self.image, tensor):
            self.journey.memory(tensor.data_ptr, tensor.nbytes)  # the memory is Pillow's
        if self.numpy is not None:
            array, took = timed(lambda: self.numpy.asarray(self.image))
            shared = array.ctypes.data == tensor.data_ptr
            instead = ("numpy.asarray(image)", took, shared)
        self._tensor("Pillow → dlx", code, seconds, tensor, why, instead)
        return tensor

    def turn(self, picture: Tensor) -> Tensor:
        """Height, width, channel to channel, height, width: a view."""
        planes, seconds = timed(lambda: picture[:, :, :3].permute_dims((2, 0, 1)))
        why = f"only the description changed: strides {picture.strides} became {planes.strides}"
        code = "chw = t[:, :, :3].permute_dims((2, 0, 1))"
        instead = None
        if self.numpy is not None:
            array = self.numpy.asarray(picture)
            view, took = timed(lambda: array[:, :, :3].transpose(2, 0, 1))
            instead = (
                "a[:, :, :3].transpose(2, 0, 1) in NumPy",
                took,
                view.ctypes.data == picture.data_ptr,
            )
        self._tensor("a view: HWC → CHW", code, seconds, planes, why, instead)
        return planes

    def compact(self, planes: Tensor) -> Tensor:
        """A compact copy."""
        compact, seconds = timed(planes.contiguous)
        rate = compact.nbytes / seconds / 1e9
        why = (
            f"is_contiguous() of the view is {planes.is_contiguous()}; {compact.nbytes:,} bytes "
            f"written at {rate:.1f} GB/s"
        )
        instead = None
        if self.numpy is not None:
            view = self.numpy.asarray(planes)
            array, took = timed(lambda: self.numpy.ascontiguousarray(view))
            instead = ("numpy.ascontiguousarray(view)", took, array.ctypes.data == planes.data_ptr)
        self._tensor("CHW made contiguous", "c = chw.contiguous()", seconds, compact, why, instead)
        return compact

    def hand_out(self, compact: Tensor) -> dict[str, Any]:
        """To NumPy, PyTorch and PyArrow, and back from there."""
        arrays: dict[str, Any] = {}
        if self.numpy is not None:
            array, seconds = timed(lambda: self.numpy.asarray(compact))
            why = f"through the buffer protocol; the array keeps {an(type(array.base).__name__)} of the Tensor"
            code = "a = numpy.asarray(c)"
            place = Place(array.ctypes.data, array.nbytes, describe(array))
            self.journey.step("dlx → NumPy", code, seconds, place, why, self._by_numpy(compact))
            arrays["NumPy"] = array
        if self.torch is not None:
            tensor, seconds = timed(lambda: self.torch.from_dlpack(compact))
            why = f"through DLPack; torch sees {tuple(tensor.shape)} with strides {tensor.stride()}"
            instead = None
            if self.numpy is not None:
                other, took = timed(lambda: self.torch.tensor(self.numpy.asarray(self.image)))
                shared = other.data_ptr() == compact.data_ptr
                instead = ("torch.tensor(numpy.asarray(image))", took, shared)
            code = "x = torch.from_dlpack(c)"
            place = Place(tensor.data_ptr(), tensor.nbytes, describe(tensor))
            self.journey.step("dlx → PyTorch", code, seconds, place, why, instead)
            arrays["PyTorch"] = tensor
        if self.pyarrow is not None:
            self._to_arrow_and_back(compact, arrays)
        elif self.nanoarrow is not None:
            self._to_nanoarrow_and_back(compact, arrays)
        return arrays

    def _by_numpy(self, compact: Tensor) -> Instead:
        """From Pillow to the same planes with NumPy alone."""

        def planes() -> Any:
            turned = self.numpy.asarray(self.image).transpose(2, 0, 1)
            return self.numpy.ascontiguousarray(turned)

        other, took = timed(planes)
        name = "ascontiguousarray(asarray(image).transpose(2, 0, 1))"
        return name, took, other.ctypes.data == compact.data_ptr

    def _to_arrow_and_back(self, compact: Tensor, arrays: dict[str, Any]) -> None:
        arrow = self.pyarrow
        flat, seconds = timed(
            lambda: arrow.Array.from_buffers(
                arrow.uint8(), compact.size, [None, arrow.py_buffer(compact)]
            )
        )
        buffer = flat.buffers()[1]
        why = f"an Arrow array of {len(flat):,} values around the Tensor's buffer"
        instead = None
        if self.numpy is not None:
            other, took = timed(lambda: arrow.array(self.numpy.asarray(self.image).ravel()))
            instead = (
                "pyarrow.array(numpy.asarray(image).ravel())",
                took,
                other.buffers()[1].address == compact.data_ptr,
            )
        code = "p = pyarrow.Array.from_buffers(uint8, n, [None, pyarrow.py_buffer(c)])"
        place = Place(buffer.address, buffer.size, f"{len(flat):,} {flat.type}")
        self.journey.step("dlx → PyArrow", code, seconds, place, why, instead)
        back, seconds = timed(lambda: dlx.asarray(flat).reshape(compact.shape, copy=False))
        why = (
            f"through DLPack, with Arrow's promise that nobody writes: readonly is {back.readonly}"
        )
        other, took = timed(lambda: flat.to_numpy())
        instead = ("p.to_numpy()", took, other.ctypes.data == compact.data_ptr)
        code = "b = dlx.asarray(p).reshape(c.shape, copy=False)"
        self._tensor("PyArrow → dlx", code, seconds, back, why, instead)
        arrays["PyArrow"], arrays["dlx again"] = flat, back

    def _to_nanoarrow_and_back(self, compact: Tensor, arrays: dict[str, Any]) -> None:
        flat, seconds = timed(lambda: self.nanoarrow.Array(compact.reshape((-1,))))
        address, count = arrow_bytes(flat.__arrow_c_array__()[1])
        why = f"through Arrow's C interface: an Arrow array of {len(flat):,} values"
        place = Place(address, count, f"{len(flat):,} uint8")
        code = "p = nanoarrow.Array(c.reshape((-1,)))"
        self.journey.step("dlx → nanoarrow", code, seconds, place, why, None)
        back, seconds = timed(lambda: dlx.asarray(flat).reshape(compact.shape, copy=False))
        why = (
            f"through Arrow's C interface, whose arrays nobody writes: readonly is {back.readonly}"
        )
        code = "b = dlx.asarray(p).reshape(c.shape, copy=False)"
        self._tensor("nanoarrow → dlx", code, seconds, back, why, None)
        arrays["nanoarrow"], arrays["dlx again"] = flat, back

    def write(self, compact: Tensor, arrays: dict[str, Any]) -> None:
        """Invert a crop through one library, and look for it in the others."""
        paper = self.journey.paper
        _, height, width = compact.shape
        top, left, bottom, right = (
            round(part * extent) for part, extent in zip(_BOX, (height, width) * 2)
        )
        crop = compact[:, top:bottom, left:right]
        probe = (1, (top + bottom) // 2, (left + right) // 2)
        before = compact[probe].item()
        if "PyTorch" in arrays:
            writer = "PyTorch"
            part = self.torch.from_dlpack(crop)
            part.copy_(255 - part)
        elif "NumPy" in arrays:
            writer = "NumPy"
            array = self.numpy.asarray(crop)
            self.numpy.subtract(255, array, out=array)
        else:
            writer = "dlx"
            crop[...] = [
                [[255 - value for value in row] for row in plane] for plane in crop.tolist()
            ]
        paper.line()
        title = f"a crop is written through {writer}"
        paper.line(paper.paint(f" *  {title}", "head"))
        paper.line(
            f"    rows {top}:{bottom}, columns {left}:{right}, every value v becomes 255 - v"
        )
        paper.line(f"    pixel {probe} was {before}, and is now, read through")
        for name, value in self._read(compact, arrays, probe).items():
            seen = "seen" if value == 255 - before else "NOT SEEN"
            paper.line(
                f"      {name:<10} {value:>3}  {paper.paint(seen, 'good' if seen == 'seen' else 'copy')}"
            )

    def _read(
        self, compact: Tensor, arrays: dict[str, Any], probe: tuple[int, int, int]
    ) -> dict[str, int]:
        """The pixel as each library sees it."""
        seen: dict[str, int] = {"dlx": compact[probe].item()}
        if "NumPy" in arrays:
            seen["NumPy"] = int(arrays["NumPy"][probe])
        if "PyTorch" in arrays:
            seen["PyTorch"] = int(arrays["PyTorch"][probe])
        for name in {"PyArrow", "nanoarrow"} & set(arrays):
            _, height, width = compact.shape
            seen[name] = arrays[name][(probe[0] * height + probe[1]) * width + probe[2]].as_py()
            seen["dlx again"] = arrays["dlx again"][probe].item()
        return seen

    def _tensor(
        self,
        title: str,
        code: str,
        seconds: float,
        tensor: Tensor,
        why: str,
        instead: Instead | None,
    ) -> None:
        place = Place(tensor.data_ptr, tensor.nbytes, layout_of(tensor))
        self.journey.step(title, code, seconds, place, why, instead)


def describe(array: Any) -> str:
    """Shape and dtype in the words of the library."""
    shape = "x".join(str(extent) for extent in array.shape)
    return f"{shape} {str(array.dtype).rpartition('.')[2]}"


def _import(name: str) -> Any:
    """A library, or None if it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def _decoded(pillow: Any, path: str) -> Any:
    """The picture of a file."""
    try:
        return pillow.open(path).convert("RGB")
    except (SyntaxError, ValueError, pillow.DecompressionBombError) as error:
        raise InvalidArgumentError(f"{path} cannot be decoded: {error}") from error


def _written(image: Any, output: str | None) -> str:
    """Write the result and return its path; by default a new temporary file."""
    if output:
        try:
            image.save(output)
        except (KeyError, ValueError) as error:  # a suffix that Pillow does not know
            raise InvalidArgumentError(f"{output} cannot be written: {error}") from error
        return output
    descriptor, target = tempfile.mkstemp(prefix="dlx-demo-", suffix=".png")
    with open(descriptor, "wb") as file:
        image.save(file, format="PNG")
    return target


def run(picture: str | None = None, output: str | None = None) -> int:
    """Show the demo on the terminal.

    Args:
        picture: path of a picture; None draws one.
        output: where to write the result; None makes a new file in the directory for temporary
            files.

    Returns:
        the exit status: 0, or 1 if Pillow is missing (printed).
    """
    paper = Paper(sys.stdout)
    pillow = _import("PIL.Image")
    if pillow is None:
        paper.line(
            "The demo draws and decodes pictures with Pillow, which is not installed: pip install pillow"
        )
        return 1
    journey = Journey(paper)
    paper.line(paper.paint("dlx: one picture, several libraries", "bold"))
    image, seconds = timed(draw if picture is None else lambda: _decoded(pillow, picture))
    origin = "drawn" if picture is None else f"{os.path.getsize(picture):,} bytes, decoded"
    paper.line(f"picture: {picture or 'our own'}")
    paper.line(
        f"         {origin} by Pillow {pillow.__version__} into "
        f"{image.size[0]}x{image.size[1]} {image.mode} in {seconds * 1e3:.1f} ms"
    )
    demo = Demo(journey, image)
    missing = [name for name in ("numpy", "torch", "pyarrow") if getattr(demo, name) is None]
    if missing:
        paper.line(f"not installed, so left out: {', '.join(missing)}")
    result = demo.give_back(demo.run())
    target = _written(result.convert("RGB"), output)
    paper.line()
    paper.line(paper.paint("The picture's path", "bold"))
    journey.table()
    copies = sum(1 for station in journey.stations if station[2] == "copied")
    paper.line(
        f"  {len(journey.stations)} stations, {journey.pieces} pieces of memory, {copies} copies"
    )
    paper.line()
    paper.line(f"result: {target} ({os.path.getsize(target):,} bytes)")
    return 0
