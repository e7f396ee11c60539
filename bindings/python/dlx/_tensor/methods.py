"""The methods of `dlx.Tensor` that are written in Python.

The type itself and everything that has to be fast (shape, indexing, views, DLPack, the buffer
protocol) is native; `add_methods` adds the methods below to it. A Python subclass would be slower and
larger, and native code could not make its instances.
"""

from __future__ import annotations

import sys

from dlx import _native, dtypes
from dlx._access import (
    code_of,
    in_place,
    is_packed,
    move,
    padded,
    require_readable,
    unpacking_call,
    whole,
)
from dlx._lib import capi
from dlx._lib.classes import an
from dlx._lib.constants import (
    CPU,
    HOSTS,
    PADDED,
    THE_CPU,
)
from dlx._tensor import operators
from dlx.device import device_code
from dlx.errors import (
    CopyRefusedError,
    DeviceRefusedError,
    InvalidArgumentError,
    UnsupportedError,
    brief,
    with_brief_errors,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from numpy.typing import DTypeLike, NDArray

    from dlx._native import Tensor
    from dlx.device import DeviceLike

# What to call instead of a name that users of other libraries look for in a Tensor; see _hints.py.
_ELSEWHERE = {
    "to": "`t.to_device(device)`, or `dlx.convert(t, library)` for an array of another library",
    "torch": "`dlx.convert(t, 'torch')`",
    "jax": "`dlx.convert(t, 'jax')`",
    "to_numpy": "`t.numpy()`",
    "cpu": "`t.to_device('cpu')`",
    "cuda": "`t.to_device('cuda')`",
}
_MEMORYVIEW_FORMATS = frozenset(
    "?bBhHiIlLqQfd"
)  # the formats that every Python's memoryview decodes


def to_device(self: Tensor, device: DeviceLike, /, *, stream: Any = None) -> Tensor:
    """The tensor on another device: itself if it is there already, else a compact copy.

    Only this method moves data between devices without a further argument. A result on the CPU is
    ready to read. A copy from pinned memory may still be running: call `self.synchronize()` before
    the CPU writes to that memory through a NumPy array.

    Args:
        device: the target; anything that `dlx.Device` reads.
        stream: the stream that the copy runs on: a number of the array API, or a stream object (see
            `dlx.Stream`). It is a stream of the target, or of the source if the target is the CPU,
            which has no streams. None is the current stream.

    Raises:
        RuntimeError: this machine lacks the device (`UnavailableError`).
        BufferError: the driver of the data's device is missing, or dlx cannot copy on it
            (`UnsupportedError`).
        ValueError: `device` is not a device name, or `stream` is given for a device without streams
            (`InvalidArgumentError`).
        TypeError: `device` is not a device, or `stream` is not a stream.

    Source: array API standard 2025.12, `array.to_device`.
    """
    try:  # not by the decorator, which would take half as long again
        target, source = device_code(device), self.device
        handle = (
            None  # `stream` itself stays in use: it may be what keeps the driver's stream alive
        )
        if stream is not None:
            from dlx import _streams as module

            where = target if target[0] not in HOSTS else (source.device_type, source.device_id)
            handle = module.number(stream, *where)
        elif target == (source.device_type, source.device_id):
            return self
        moved = move(self, target, handle)
        # The same handle comes back if nothing had to be done.
        return self if _native._handle(moved) == _native._handle(self) else moved
    except Exception as error:
        raise brief(error)  # noqa: B904


def view_by_name(self: Tensor, dtype: Any) -> Any:
    """`Tensor.view` for a dtype that native code does not know: a typestr, or what only NumPy can read."""
    try:
        return self.view(dtypes.dtype_code(dtype))
    except (InvalidArgumentError, UnsupportedError, TypeError):
        try:
            import numpy

            meant = None if dtype is None else numpy.dtype(dtype)  # None would be float64
        except Exception:  # ImportError, TypeError, SyntaxError …
            meant = None
        if meant is None or _is_dtype(dtype):
            raise
    if _is_dtype(meant):
        return self.view(meant)
    return self.numpy().view(meant)


def _data(self: Tensor) -> memoryview:
    """The memory as a memoryview, as `ndarray.data`. The address is `data_ptr`."""
    return memoryview(self)


def _is_dtype(obj: Any) -> bool:
    try:
        dtypes.dtype_code(obj)
    except (InvalidArgumentError, UnsupportedError, TypeError):
        return False
    return True


def numpy_array(self: Tensor, force: bool = False) -> NDArray[Any]:
    """`Tensor.numpy` on its first call, and if NumPy's C API does not suffice. The native method has the
    documentation."""
    import numpy

    if dtypes.note_numpy():
        return self.numpy(force=force)
    if self.device.device_type != CPU:
        here = to_device(self, "cpu") if force else in_place(self)
        if here is None:
            raise DeviceRefusedError(
                f"the data is on {self.device}, but NumPy takes host memory only: call "
                "`.to_device('cpu')` first, or `.numpy(force=True)`"
            )
        return numpy_array(here)
    own = self.dtype
    if isinstance(own, numpy.dtype):
        return numpy.asarray(self)
    code = own.code, own.bits, own.lanes
    found = dtypes.numpy_dtype(code, extended=True)
    if found is None or is_packed(self):
        raise UnsupportedError(f"NumPy has no dtype for {self.dtype}: {_way_out(self, code)}")
    if code[1] > 64:  # a dtype registered with NumPy, wider than every unsigned integer
        return numpy.from_dlpack(self)
    if code[1] >= 8:  # by way of an unsigned integer of the same size
        unsigned: Any = self.view(f"uint{code[1]}")
        return numpy.asarray(memoryview(unsigned)).view(found)
    # Padded integers of less than a byte: each takes one byte.
    shape, strides = self.shape, self.strides
    carrier = (dtypes.UINT, found.itemsize * 8, 1)
    flags = int(self.readonly)
    bits = _native._wrap(self.data_ptr, shape, strides, carrier, THE_CPU, flags, self, None)
    return numpy.asarray(memoryview(bits)).view(found)


def _way_out(self: Tensor, code: dtypes.DTypeCode) -> str:
    if code[1] < 8:
        return f"unpack it with {unpacking_call(self)}"
    if code[2] == 1 and code[1] <= 64 and code[0] not in (dtypes.COMPLEX, dtypes.OPAQUE):
        return f"install ml_dtypes, or view its bits with `dlx.asarray(x).view('uint{code[1]}').numpy()`"
    if (
        code[0] == dtypes.OPAQUE or not self.ndim
    ):  # the dtype, or its size, cannot be changed by a view
        return "read its bytes with `dlx.asarray(x).tobytes()`"
    if code[0] == dtypes.COMPLEX:
        return (
            f"view its parts with `dlx.asarray(x).contiguous().view('float{code[1] // 2}').numpy()`"
        )
    return "view its bytes with `dlx.asarray(x).contiguous().view('uint8').numpy()`"


@with_brief_errors
def tolist(self: Tensor) -> Any:
    """The elements as Python numbers in nested lists; for a 0-d tensor just the number.

    Every dtype with a Python value is decoded: bfloat16, FP8, FP6 and FP4 give floats, packed
    integers give ints, an element of several lanes gives a tuple.

    Raises:
        DeviceRefusedError: the data is not on the CPU.
        UnsupportedError: Python has no value for the dtype (float128, opaque handles).
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
    """`Tensor.tobytes` for memory that is not plain CPU memory, and for a NULL address."""
    return require_readable(self, "tobytes").tobytes()


@with_brief_errors
def transpose(self: Tensor, /, *axes: Any) -> Tensor:
    """View with the axes in another order, as `ndarray.transpose`: the order is given as separate
    arguments or as one sequence, and is reversed by default.

    Raises:
        ValueError: the axes do not name each axis once (`InvalidArgumentError`).
    """
    order = axes[0] if len(axes) == 1 else axes or None
    return self.permute_dims(range(self.ndim - 1, -1, -1) if order is None else order)


@with_brief_errors
def flatten(self: Tensor, /, order: Any = "C") -> Tensor:
    """Compact copy with one axis, as `ndarray.flatten`; on the Tensor's device for `order="C"`.

    Raises:
        DeviceRefusedError: another order, and memory that Python cannot read.
        ValueError: `order` is not one of "C", "F", "A" and "K".
    """
    if order == "C":
        return self.copy().reshape(self.size)
    return _native.asarray(require_readable(self, "flatten").numpy().flatten(order))


def _numbers(self: Tensor) -> memoryview | None:
    """The elements if memoryview can decode them, 40 times as fast as codec.decode; else None."""
    try:
        view = memoryview(self)
    except BufferError:
        return None
    return view if view.format in _MEMORYVIEW_FORMATS else None


@with_brief_errors
def synchronize(self: Tensor) -> None:
    """Block until the work that writes the data, or copies it elsewhere, is done, as far as dlx knows
    of it. Data on the CPU is always ready.

    Raises:
        RuntimeError: the device's driver reports an error (`DriverError`).
    """
    capi.tensor_synchronize(_native._handle(self))


def scalar(self: Tensor, method: str) -> Any:
    """The result of `method` for the only element, if native code does not read it: a dtype that Python
    lacks, memory elsewhere, or another number of elements, which is an error."""
    if method == "__index__":
        # TypeError if it has axes, so that `list * t` fails and `bytearray(t)` reads the buffer.
        if self.ndim:
            raise TypeError(f"only a Tensor without axes can be an index (got shape {self.shape})")
        if code_of(self)[0] not in (dtypes.INT, dtypes.UINT):
            raise TypeError(f"only an integer Tensor can be an index (got {self.dtype})")
    if self.size != 1:
        raise InvalidArgumentError(_not_one(self, method))
    here = require_readable(self, "item")
    numbers = _numbers(here)
    value = _flat_values(here)[0] if numbers is None else numbers[(0,) * self.ndim]
    if type(value) is tuple and method != "item":  # bool() of the tuple would be True
        raise TypeError(f"an element of {self.dtype} has several numbers: `.item()` gives them all")
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
    """NumPy's array interface, version 3. Missing (AttributeError) for data on other devices, and for
    dtypes without a typestr."""
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
        # None means compact, as in NumPy: Pillow copies arrays with strides.
        "strides": None if self.is_contiguous() else strides,
    }


@with_brief_errors
def _array(self: Tensor, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
    """The tensor as a `numpy.ndarray`, by NumPy 2's rules.

    Args:
        dtype: convert to it; None keeps the tensor's.
        copy: True always copies, False never, None only if needed.

    Raises:
        CopyRefusedError: `copy` is False, and `dtype` differs or the elements are packed.
        DeviceRefusedError, UnsupportedError: as `numpy`.
    """
    if is_packed(self) and in_place(self) is not None:
        if copy is False:
            raise CopyRefusedError(
                "NumPy keeps elements of less than a byte in a byte each, which needs a copy, and "
                "copy=False forbids it"
            )
        self, copy = padded(self) if dtype is None else whole(self), None
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

    They ask for this before Arrow's capsules. With the capsules, PyArrow 26 raises AttributeError if
    `type` (of a schema, or of pandas' dtypes) differs, and silently drops a `mask`.
    """
    capsules = self.__arrow_c_device_array__()
    array = sys.modules["pyarrow"].Array  # the caller is PyArrow
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
    """Some values, shape, dtype and device; also strides and read-only if they apply."""
    from dlx._tensor import repr as module

    return module.render(self)


def _copy(self: Tensor) -> Tensor:
    """copy.copy: the tensor itself, because it is immutable apart from the data, which is shared."""
    return self


def _deepcopy(self: Tensor, memo: dict[int, Any]) -> Tensor:
    """copy.deepcopy: a compact, writable copy of the data."""
    duplicate = memo[id(self)] = self.copy()
    return duplicate


class _Missing:
    """A name of _ELSEWHERE: AttributeError with the hint, so that `hasattr(t, name)` is False.

    `__getattr__` on the class would slow down every other attribute.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, instance: object, owner: type | None = None) -> object:
        raise AttributeError(
            f"'dlx.Tensor' object has no attribute {self._name!r}: call {_ELSEWHERE[self._name]}"
        )


def _dir(self: Tensor) -> list[str]:
    """The attributes, without the names of _ELSEWHERE."""
    if type(self) is not _native.Tensor:
        raise TypeError(f"a method of dlx.Tensor needs a Tensor (got {an(type(self).__name__)})")
    return sorted(set(object.__dir__(self)) - set(_ELSEWHERE))


def add_methods(cls: type[Tensor]) -> None:
    """Give the native type its Python-written methods. Called once, by dlx/__init__.py."""
    methods: dict[str, Any] = {
        "to_device": to_device,
        "tolist": tolist,
        "synchronize": synchronize,
        "transpose": transpose,
        "flatten": flatten,
        "data": property(_data),
        "__array_interface__": property(_array_interface),
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
    operators.add_operators(cls)
