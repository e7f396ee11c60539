"""The methods of `dlx.Tensor` that are written in Python.

The type itself and everything that has to be fast (shape, indexing, views, DLPack, the buffer
protocol) is native; `attach` adds what follows to it. A Python subclass would be slower and larger,
and an instance that native code makes could not be of it.
"""

from __future__ import annotations

import sys

from dlx import _native, dtypes
from dlx._access import code_of, in_place, move, require_readable
from dlx._lib import capi
from dlx._lib.constants import (
    CPU,
    CUDA,
    CUDA_MANAGED,
    HOSTS,
    PADDED,
    THE_CPU,
)
from dlx._tensor import operators
from dlx.device import device_code
from dlx.errors import CopyRefusedError, DeviceRefusedError, InvalidArgumentError, UnsupportedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from numpy.typing import DTypeLike, NDArray

    from dlx._native import Tensor
    from dlx.device import DeviceLike

# What to call instead of a method that users of other libraries type; see also _hints.py.
_ELSEWHERE = {
    "to": "`t.to_device(device)`, or `dlx.convert(t, library)` for an array of another library",
    "torch": "`dlx.convert(t, 'torch')`",
    "jax": "`dlx.convert(t, 'jax')`",
    "to_numpy": "`t.numpy()`",
    "cpu": "`t.to_device('cpu')`",
    "cuda": "`t.to_device('cuda')`",
}
_MEMORYVIEW_FORMATS = frozenset("?bBhHiIlLqQfd")  # what every Python's memoryview decodes


def to_device(self: Tensor, device: DeviceLike, /, *, stream: Any = None) -> Tensor:
    """The tensor on another device: itself if it is there already, else a compact copy.

    This call is the consent to a transfer, which no other method makes on its own. What is on the
    CPU then is ready; a device may still be at it, and read pinned memory (`self.synchronize()`
    waits for that before the CPU writes there by an array of NumPy's).

    Args:
        device: where to; anything that `dlx.Device` reads.
        stream: the stream that the copy runs on: a number of the array API's, or a stream object
            (see `dlx.Stream`), of the device that the data goes to; where that is the CPU, of the
            device that it comes from. None is the current one. The CPU has none.

    Raises:
        RuntimeError: no such device on this machine (`UnavailableError`).
        BufferError: the data is on a device whose driver is missing, or that dlx cannot copy on
            (`UnsupportedError`).
        ValueError: `device` is no device name, or a stream on a device that has none
            (`InvalidArgumentError`).
        TypeError: `device` is no device, or `stream` no stream.

    Source: array API standard 2025.12, `array.to_device`.
    """
    target, source = device_code(device), self.device
    handle = None  # `stream` stays what it is: it may be all that keeps the driver's stream alive
    if stream is not None:
        from dlx import _streams as module

        where = target if target[0] not in HOSTS else (source.device_type, source.device_id)
        handle = module.number(stream, *where)
    elif target == (source.device_type, source.device_id):
        return self
    moved = move(self, target, handle)
    # The same handle comes back if nothing had to be done.
    return self if _native._handle(moved) == _native._handle(self) else moved


def numpy_array(self: Tensor, force: bool = False) -> NDArray[Any]:
    """`Tensor.numpy`, which is native and has the documentation, where NumPy's C API will not do, and
    the first time."""
    import numpy

    if dtypes.note_numpy():
        return self.numpy(force=force)
    if self.device.device_type != CPU:
        here = to_device(self, "cpu") if force else in_place(self)
        if here is None:
            raise DeviceRefusedError(
                f"the data is on {self.device}, and NumPy has host memory only: call "
                "`.to_device('cpu')` first, or `.numpy(force=True)`"
            )
        return numpy_array(here)
    own = self.dtype
    if isinstance(own, numpy.dtype):
        return numpy.asarray(self)
    code = own.code, own.bits, own.lanes
    found = dtypes.numpy_dtype(code, extended=True)
    if found is None or (code[1] < 8 and not _native._flags(self) & PADDED):
        raise UnsupportedError(f"NumPy has no dtype for {self.dtype}: {_way_out(self, code)}")
    if code[1] > 64:  # a dtype that NumPy was told of, which no carrier is as wide as
        return numpy.from_dlpack(self)
    if code[1] >= 8:  # an unsigned integer of the same size carries the bytes to NumPy
        return numpy.asarray(memoryview(self.view(f"uint{code[1]}"))).view(found)
    # Padded integers below a byte: each in a byte of its own.
    shape, strides = self.shape, self.strides
    carrier = (dtypes.UINT, found.itemsize * 8, 1)
    flags = int(self.readonly)
    bits = _native._wrap(self.data_ptr, shape, strides, carrier, THE_CPU, flags, self, None)
    return numpy.asarray(memoryview(bits)).view(found)


def _way_out(self: Tensor, code: dtypes.DTypeCode) -> str:
    if code[1] < 8:
        return "unpack it with `.tolist()`, or view the packed bytes with `.contiguous().view('uint8').numpy()`"
    if code[2] == 1 and code[1] <= 64 and code[0] not in (dtypes.COMPLEX, dtypes.OPAQUE):
        return f"install ml_dtypes, or view its bits with `.view('uint{code[1]}').numpy()`"
    if code[0] == dtypes.OPAQUE or not self.ndim:  # no other dtype, or none of another size
        return "read its bytes with `.tobytes()`"
    if code[0] == dtypes.COMPLEX:
        return f"view its parts with `.contiguous().view('float{code[1] // 2}').numpy()`"
    return "view its bytes with `.contiguous().view('uint8').numpy()`"


def tolist(self: Tensor) -> Any:
    """The elements as Python numbers in nested lists; of a 0-d tensor the number alone.

    Every dtype with a Python value is decoded: bfloat16, FP8, FP6 and FP4 give floats, packed
    integers give ints, an element of several lanes gives a tuple.

    Raises:
        DeviceRefusedError: the data is not on the CPU.
        UnsupportedError: the dtype has no Python value (float128, opaque handles).
    """
    numbers = _numbers(self)
    if numbers is not None and self.data_ptr:
        return numbers.tolist()
    here = require_readable(self, "tolist")
    shape = self.shape
    flat = _flat_values(here)
    if not shape:
        return flat[0]
    for extent in reversed(shape[1:]):
        if extent == 0:
            break
        flat = [flat[i : i + extent] for i in range(0, len(flat), extent)]
    if 0 in shape:
        return _empty_lists(shape)
    return flat


def _empty_lists(shape: tuple[int, ...]) -> list[Any]:
    if shape[0] == 0 or len(shape) == 1:
        return []
    return [_empty_lists(shape[1:]) for _ in range(shape[0])]


def _flat_values(self: Tensor) -> list[Any]:
    """All elements in C order, decoded."""
    if self.size == 0:
        return []
    from dlx._take import codec

    padded = bool(_native._flags(self) & PADDED)
    code = code_of(self)
    return codec.decode(self.tobytes(), self.size, code, padded=padded)


def bytes_in_place(self: Tensor) -> bytes:
    """`Tensor.tobytes` of what is not the CPU's own memory, or none."""
    return require_readable(self, "tobytes").tobytes()


def transpose(self: Tensor, /, *axes: Any) -> Tensor:
    """View with the axes in another order, as `ndarray.transpose`: reversed where none are named,
    which may be one by one or as a sequence.

    Raises:
        ValueError: the axes do not name each axis once (`InvalidArgumentError`).
    """
    order = axes[0] if len(axes) == 1 else axes or None
    return self.permute_dims(range(self.ndim - 1, -1, -1) if order is None else order)


def flatten(self: Tensor, /, order: Any = "C") -> Tensor:
    """Compact copy with one axis, as `ndarray.flatten`; on the Tensor's device for `order="C"`.

    Raises:
        DeviceRefusedError: another order of memory that Python cannot read.
        ValueError: `order` is none of "C", "F", "A" and "K".
    """
    if order == "C":
        return self.copy().reshape(self.size)
    return _native.asarray(require_readable(self, "flatten").numpy().flatten(order))


def _numbers(self: Tensor) -> memoryview | None:
    """The elements, where memoryview decodes them by itself, 40 times as fast as codec.decode; else None."""
    try:
        view = memoryview(self)
    except BufferError:
        return None
    return view if view.format in _MEMORYVIEW_FORMATS else None


def synchronize(self: Tensor) -> None:
    """Wait on the host until the data is ready: until the work that writes it, or copies it elsewhere,
    as far as dlx knows of it, is done. Data on the CPU always is.

    Raises:
        RuntimeError: the device's driver reports an error (`DriverError`).
    """
    capi.tensor_synchronize(_native._handle(self))


def scalar(self: Tensor, method: str) -> Any:
    """What the method makes of the only element, where native code does not read it: a dtype that
    Python lacks, memory elsewhere, more or fewer elements."""
    if method == "__index__":
        # With axes a TypeError, so that `list * t` fails, and `bytearray(t)` reads the buffer.
        if self.ndim:
            raise TypeError(f"only a Tensor of no axes can be an index (got shape {self.shape})")
        if code_of(self)[0] not in (dtypes.INT, dtypes.UINT):
            raise TypeError(f"only an integer Tensor can be an index (got {self.dtype})")
    if self.size != 1:
        raise InvalidArgumentError(_not_one(self, method))
    here = require_readable(self, "item")
    numbers = _numbers(here)
    value = _flat_values(here)[0] if numbers is None else numbers[(0,) * self.ndim]
    if type(value) is tuple and method != "item":  # bool() would say whether it has lanes
        raise TypeError(f"an element of {self.dtype} is no single number: `.item()` gives them all")
    convert = _CONVERSIONS.get(method)
    return value if convert is None else convert(value)


_CONVERSIONS: dict[str, Callable[[Any], Any]] = {
    "__bool__": bool,
    "__int__": int,
    "__float__": float,
    "__complex__": complex,
}


def _not_one(self: Tensor, method: str) -> str:
    if method == "item":
        return f"item: the tensor has {self.size} elements (shape {self.shape}), expected 1"
    wanted = method.strip("_")
    hint = ": the truth of many elements is ambiguous" if wanted == "bool" else ""
    return f"only a Tensor of one element can become {wanted} (got shape {self.shape}){hint}"


def _array_interface(self: Tensor) -> dict[str, Any]:
    """NumPy's array interface, version 3. Absent (AttributeError) where it cannot tell the truth:
    on other devices, and for dtypes that have no typestr."""
    typestr = capi.dtype_typestr(code_of(self))
    if typestr is None or in_place(self) is None:
        why = f"data on {self.device}" if typestr else f"no typestr for {self.dtype}"
        raise AttributeError(f"this Tensor has no __array_interface__: {why}")
    size = self.itemsize
    strides = tuple(stride * size for stride in self.strides)
    return {
        "version": 3,
        "shape": self.shape,
        "typestr": typestr,
        "data": (self.data_ptr, self.readonly),
        # None says compact, as NumPy does: Pillow takes what has strides by a copy only.
        "strides": None if self.is_contiguous() else strides,
    }


def _cuda_array_interface(self: Tensor) -> dict[str, Any]:
    """Numba's CUDA array interface, version 3. Absent (AttributeError) where the data is neither in
    the memory of a CUDA device nor managed memory, and for dtypes that have no typestr."""
    device = self.device
    if device.device_type not in (CUDA, CUDA_MANAGED):  # many ask every object for it
        raise AttributeError(f"this Tensor has no __cuda_array_interface__: data on {device}")
    from dlx._take import cuda_array_interface as module

    return module.export(self)


def _array(self: Tensor, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
    """The tensor as a `numpy.ndarray`, by NumPy 2's rules.

    Args:
        dtype: convert to it; None keeps the tensor's.
        copy: True always copies, False never, None only if needed.

    Raises:
        CopyRefusedError: `copy` is False and `dtype` differs.
        DeviceRefusedError, UnsupportedError: as `numpy`.
    """
    array = self.numpy()
    if dtype is not None and array.dtype != dtype:
        if copy is False:
            raise CopyRefusedError(
                f"converting {array.dtype} to {dtype} needs a copy, and copy=False forbids it"
            )
        return array.astype(dtype)
    return array.copy() if copy else array


def _arrow_array(self: Tensor, type: Any = None) -> Any:
    """A `pyarrow.Array` for PyArrow's functions, which then cast it to `type`.

    They ask for this before Arrow's capsules: of those PyArrow 26 makes an AttributeError if `type`
    (of a schema, or of pandas' dtypes) is another one, and drops a `mask` without a word.
    """
    capsules = self.__arrow_c_device_array__()
    array = sys.modules["pyarrow"].Array  # who asks has it
    if not hasattr(array, "_import_from_c_device_capsule"):  # PyArrow 14 and 15
        return array._import_from_c_capsule(*self.__arrow_c_array__())
    return array._import_from_c_device_capsule(*capsules)


def _iter(self: Tensor) -> Iterator[Tensor]:
    """The sub-tensors along the first axis, each a view."""
    if self.ndim == 0:
        raise TypeError("iteration over a 0-d Tensor: `.item()` gives its value")
    return (self[index] for index in range(self.shape[0]))


def _complex(self: Tensor) -> complex:
    """The only element as a complex number."""
    value: complex = scalar(self, "__complex__")
    return value


def _repr(self: Tensor) -> str:
    """Values (a few), shape, dtype, device, and what is unusual: strides, read-only."""
    from dlx._tensor import repr as module

    return module.render(self)


def _copy(self: Tensor) -> Tensor:
    """copy.copy: the tensor itself, for its description never changes; the data is shared."""
    return self


def _deepcopy(self: Tensor, memo: dict[int, Any]) -> Tensor:
    """copy.deepcopy: a compact, writable copy of the data."""
    duplicate = memo[id(self)] = self.copy()
    return duplicate


class _Missing:
    """A name of _ELSEWHERE as an attribute that is missing: `hasattr(t, name)` is False.

    `__getattr__` on the class would slow down every attribute that exists.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, instance: object, owner: type | None = None) -> object:
        raise AttributeError(
            f"'dlx.Tensor' object has no attribute {self._name!r}: call {_ELSEWHERE[self._name]}"
        )


def _dir(self: Tensor) -> list[str]:
    """The names that a Tensor has, without those of `_ELSEWHERE`."""
    return sorted(set(object.__dir__(self)) - set(_ELSEWHERE))


def attach(cls: type[Tensor]) -> None:
    """Give the native type its Python-written methods. Called once, by dlx/__init__.py."""
    methods: dict[str, Any] = {
        "to_device": to_device,
        "tolist": tolist,
        "synchronize": synchronize,
        "transpose": transpose,
        "flatten": flatten,
        "__array_interface__": property(_array_interface),
        "__cuda_array_interface__": property(_cuda_array_interface),
        "__array__": _array,
        "__arrow_array__": _arrow_array,
        "__iter__": _iter,
        "__complex__": _complex,
        "__repr__": _repr,
        "__copy__": _copy,
        "__deepcopy__": _deepcopy,
        "__dir__": _dir,
    }
    for name, method in methods.items():
        if not isinstance(method, property):
            method.__name__ = name
            method.__qualname__ = f"Tensor.{name}"
            method.__module__ = cls.__module__  # pickle finds it by these
        setattr(cls, name, method)
    for name in _ELSEWHERE:
        setattr(cls, name, _Missing(name))
    operators.attach(cls)
