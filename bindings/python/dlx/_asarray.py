"""What `dlx.asarray` takes besides tensors, NumPy arrays and DLPack: buffers, array interfaces,
`__array__`, numbers and nested sequences of them.

The native asarray has the first protocols in line: a Tensor itself, an exact numpy.ndarray, DLPack's
exchange table, `__dlpack__`. They come first because they carry every dtype and device and state
ownership exactly. Here follow, in this order:

1. the buffer protocol: shares memory, says whether it is read-only, and locks the memory
   against resizing while it is shared; but it has no bfloat16 and no device.
2. `__array_interface__`, then `__array_struct__`: share memory as well, but nothing stops the owner
   from resizing it meanwhile.
3. Arrow (`__arrow_c_device_array__`, `__arrow_c_array__`, `__arrow_c_stream__`): shares memory but
   for booleans, knows devices, and says what is null; see _arrow.py for who goes another way.
4. `__array__`: whatever the object makes of itself; may copy, and needs NumPy.
5. numbers and nested sequences: always a copy, since there is no array yet.

The first protocol that an object has decides. If it fails, its error is shown: trying the next one
would hide the reason, and might copy where sharing was expected.
"""

from __future__ import annotations

import sys

from dlx import _capi, _hooks, _native, dtypes
from dlx.errors import (
    CopyRefusedError,
    DeviceRefusedError,
    InvalidArgumentError,
    UnavailableError,
    UnsupportedError,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dlx._native import Tensor
    from dlx.dtypes import DTypeCode

_NUMBERS = (bool, int, float, complex)
_NO_BUFFER = (*_NUMBERS, str, list, tuple)  # exactly these: NumPy derives from some
_ARROW_METHODS = ("__arrow_c_array__", "__arrow_c_stream__", "__arrow_c_device_array__")
READ_ONLY = 1  # DLPACK_FLAG_BITMASK_READ_ONLY, as _native._wrap takes it


def fallback(obj: Any, dtype: Any, device: Any, copy: bool | None, force: bool) -> Tensor:
    """asarray for everything that the native code does not do itself.

    Args:
        obj: the object.
        dtype, device: what the caller asked for, or None.
        copy: True always, False never, None if needed.
        force: whether the data may move between devices.

    Raises:
        TypeError: no protocol and no sequence of numbers.
        UnsupportedError: data that a Tensor cannot hold; the message names the way out.
        CopyRefusedError: `copy` is False and only a copy can do.
    """
    if type(obj) in _NUMBERS:  # the commonest case, t[i] = 1.0, has no protocol to look for
        return _from_sequence(obj, dtype, device, copy, force)
    _hooks.guard(obj)
    problem = _explain(obj)
    if problem is not None:  # before the buffer protocol, where a date passes for plain bytes
        raise UnsupportedError(problem)
    tensor = _from_ml_dtypes_scalar(obj)
    if tensor is None:
        tensor = _from_mxnet(obj)
    if tensor is None:
        tensor = _from_buffer_protocol(obj)
    if tensor is None:
        tensor = _from_array_interface(obj)
    if tensor is None:
        tensor = _from_array_struct(obj)
    fresh = False
    if tensor is None:
        tensor, fresh = _from_arrow(obj, copy)
    if tensor is None:
        tensor, fresh = _from_array_method(obj, copy)
    if fresh and copy:
        copy = None  # it is a copy already
    if tensor is None:
        return _from_sequence(obj, dtype, device, copy, force)
    return _native.asarray(tensor, dtype=dtype, device=device, copy=copy, force=force)


def _from_buffer_protocol(obj: Any) -> Tensor | None:
    """PEP 3118; None if the type has no buffer. Read-only buffers (bytes) give read-only tensors."""
    if type(obj) in _NO_BUFFER:
        return None
    try:
        memoryview(obj).release()
    except TypeError as error:
        if "bytes-like" in str(error):
            return None
        raise
    return _native._from_buffer(obj)


def _from_ml_dtypes_scalar(obj: Any) -> Tensor | None:
    """Their buffers have no format that says what they are; a 0-d array does."""
    numpy = sys.modules.get("numpy")
    if numpy is None or not isinstance(obj, numpy.generic) or obj.dtype.isbuiltin != 2:
        return None
    return _native.asarray(numpy.asarray(obj))


def _from_mxnet(obj: Any) -> Tensor | None:
    """MXNet's arrays: the capsules of DLPack, by a method of their own."""
    if not hasattr(obj, "to_dlpack_for_write") or isinstance(obj, type):
        return None
    if obj.context.device_type not in ("cpu", "cpu_pinned", "cpu_shared"):
        raise UnsupportedError(
            f"a {_name(obj)} on {obj.context} says too little about its device: call "
            "`.as_in_context(mxnet.cpu())`"
        )
    return _native.from_dlpack(_MxnetProducer(obj))


class _MxnetProducer:
    """An array of MXNet as the standard wants it."""

    __slots__ = ("_array",)

    def __init__(self, array: Any) -> None:
        self._array = array

    def __dlpack__(self, stream: None = None) -> Any:
        return self._array.to_dlpack_for_write()

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


def _explain(obj: Any) -> str | None:
    """For objects with a numpy.dtype: why DLPack cannot carry it, and what to call."""
    numpy = sys.modules.get("numpy")
    dtype = getattr(obj, "dtype", None)
    if numpy is None or not isinstance(dtype, numpy.dtype) or dtype.isbuiltin == 2:
        return None
    return dtypes.explain_numpy_dtype(dtype)


def _from_array_interface(obj: Any) -> Tensor | None:
    """NumPy's array interface, version 3. The tensor keeps `obj` and the dict alive."""
    if isinstance(obj, type):
        return None
    interface = getattr(obj, "__array_interface__", None)
    if interface is None:
        return None
    if not isinstance(interface, dict):
        raise TypeError(
            f"`__array_interface__` of {_name(obj)} is not a dict (got {_name(interface)})"
        )
    missing = [key for key in ("shape", "typestr") if key not in interface]
    if missing:
        raise InvalidArgumentError(f"`__array_interface__` of {_name(obj)} lacks {missing[0]!r}")
    if interface.get("mask") is not None:
        raise UnsupportedError(
            f"`__array_interface__` of {_name(obj)} has a mask that would be lost: fill it first"
        )
    code = _capi.dtype_parse_typestr(interface["typestr"])
    shape = tuple(int(extent) for extent in interface["shape"])
    strides = _element_strides(interface.get("strides"), code)
    data = interface.get("data")
    if isinstance(data, tuple):
        flags = READ_ONLY if data[1] else 0
        return _native._wrap(
            int(data[0]), shape, strides, code, (1, 0), flags, (obj, interface), None
        )
    # Either a buffer, or (None) the object's own: an offset counts from its start.
    block = _native._from_buffer(obj if data is None else data)
    offset = int(interface.get("offset", 0))
    _check_extent(block.nbytes, offset, shape, strides, code)
    flags = READ_ONLY if block.readonly else 0
    address = block.data_ptr + offset
    return _native._wrap(address, shape, strides, code, (1, 0), flags, (obj, block), None)


def _element_strides(strides: Any, code: DTypeCode) -> tuple[int, ...] | None:
    """Strides in bytes, as the interface has them, in elements."""
    if strides is None:
        return None
    size = code[1] * code[2] // 8
    for stride in strides:
        if stride % size:
            raise UnsupportedError(
                f"strides that are no multiple of the element size have no DLPack form (got {stride} "
                f"bytes for elements of {size}): copy the data first"
            )
    return tuple(stride // size for stride in strides)


def _check_extent(
    available: int,
    offset: int,
    shape: tuple[int, ...],
    strides: tuple[int, ...] | None,
    code: DTypeCode,
) -> None:
    """Refuse an interface whose shape reaches beyond its buffer."""
    size = code[1] * code[2] // 8
    low, high, count = offset, offset + size, 1
    if strides is None:
        for extent in shape:
            count *= extent
        high = offset + size * count
    else:
        for extent, stride in zip(shape, strides):
            count *= extent
            reach = (extent - 1) * stride * size
            low, high = low + min(reach, 0), high + max(reach, 0)
    if count and (low < 0 or high > available):
        raise InvalidArgumentError(
            f"`__array_interface__` reaches beyond its buffer (bytes {low} to {high} of {available})"
        )


def _from_array_struct(obj: Any) -> Tensor | None:
    """The same interface as a C struct in a capsule, for classes that have only that."""
    if isinstance(obj, type):
        return None
    capsule = getattr(obj, "__array_struct__", None)
    if capsule is None:
        return None
    from dlx import _array_struct

    shape, strides, typestr, address, writable = _array_struct.read(capsule)
    code = _capi.dtype_parse_typestr(typestr)
    flags = 0 if writable else READ_ONLY
    owner = (obj, capsule)
    return _native._wrap(
        address, shape, _element_strides(strides, code), code, (1, 0), flags, owner, None
    )


def _from_arrow(obj: Any, copy: bool | None) -> tuple[Tensor | None, bool]:
    """Arrow's PyCapsule interface: module _arrow, imported on first need."""
    if not any(hasattr(type(obj), name) for name in _ARROW_METHODS):
        return None, False
    from dlx import _arrow

    return _arrow.from_arrow(obj, copy)


def _from_array_method(obj: Any, copy: bool | None) -> tuple[Tensor | None, bool]:
    """`__array__`. Also tells whether the result is known to be a fresh copy."""
    method = getattr(obj, "__array__", None)
    if method is None or isinstance(obj, type):
        return None, False
    if copy is False and type(obj).__module__.partition(".")[0] == "dask":
        # It takes the argument, and computes all the same.
        raise CopyRefusedError(
            f"a {_name(obj)} is a computation without memory to share, and copy=False forbids to "
            "keep its result: call `.compute()` first"
        )
    if copy is None:
        array = method()
    elif _takes_copy(obj):
        array = method(copy=copy)
    elif copy:
        array = method()
    else:
        raise CopyRefusedError(
            f"`__array__` of {_name(obj)} cannot promise not to copy, for it does not take `copy=` "
            "(NumPy 2): pass copy=None, or the array inside it"
        )
    numpy = sys.modules.get("numpy")
    if numpy is None or not isinstance(array, numpy.ndarray):
        raise TypeError(
            f"`__array__` of {_name(obj)} returned no numpy.ndarray (got {_name(array)})"
        )
    _hooks.guard(array)
    problem = _explain(array)
    if problem is not None:
        raise UnsupportedError(f"`__array__` of {_name(obj)}: {problem}")
    fresh = bool(copy) and _takes_copy(obj)
    return _native.asarray(array), fresh


def _takes_copy(obj: Any) -> bool:
    """Whether `__array__` has the `copy` argument of NumPy 2."""
    import inspect

    try:
        parameters = inspect.signature(type(obj).__array__).parameters
    except (AttributeError, TypeError, ValueError):
        return False
    return "copy" in parameters


def _name(obj: object) -> str:
    cls = type(obj)
    return (
        cls.__qualname__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__qualname__}"
    )


def _from_sequence(obj: Any, dtype: Any, device: Any, copy: bool | None, force: bool) -> Tensor:
    """Numbers and nested sequences: module _sequence, imported on first need."""
    from dlx import _sequence

    code = None if dtype is None else dtypes.dtype_code(dtype)
    if not _sequence.is_number(obj) and not _sequence.is_sequence(obj):
        raise TypeError(
            f"`obj` is nothing that an array can be made of (got {_name(obj)}, expected an array, a "
            "buffer, a number or a nested sequence of numbers)"
        )
    if copy is False:
        raise CopyRefusedError(
            f"a {_name(obj)} has no memory to share, so copy=False cannot be kept"
        )
    tensor, done = _sequence.build(obj, code)
    if done and device is None:
        return tensor
    wanted = None if done else dtype
    return _native.asarray(tensor, dtype=wanted, device=device, force=force)


def convert_dtype(tensor: Tensor, code: DTypeCode, copy: bool | None) -> Tensor:
    """A tensor's values in another dtype: NumPy's `astype`, and ml_dtypes where NumPy has no type.

    Raises:
        CopyRefusedError: `copy` is False; a conversion always copies.
        DeviceRefusedError: the data is not on the CPU.
        UnavailableError: NumPy, or ml_dtypes for its types, is not installed.
        UnsupportedError: a complex tensor into a real dtype, or a dtype that neither has.
    """
    name = dtypes.make_name(code)
    if copy is False:
        raise CopyRefusedError(
            f"converting {tensor.dtype} to {name} needs a copy, and copy=False forbids it"
        )
    if tensor.device.device_type != 1:
        raise DeviceRefusedError(
            f"dlx converts dtypes on the CPU only (got data on {tensor.device}): convert with the "
            "library that owns it, or call `.to_device('cpu')` first"
        )
    try:
        import numpy
    except ImportError:
        raise UnavailableError(
            f"converting {tensor.dtype} to {name} needs NumPy, which is not installed"
        ) from None
    target = dtypes.numpy_dtype(code, extended=True)
    if target is None:
        raise UnsupportedError(
            f"neither NumPy nor ml_dtypes (is it installed?) has {name}, so that {tensor.dtype} "
            "cannot be converted to it"
        )
    source = tensor.numpy()
    if source.dtype.kind == "c" and target.kind not in "cb":
        raise UnsupportedError(
            f"converting {tensor.dtype} to {name} would drop the imaginary part: take `.real` or `.imag` first"
        )
    return _native.asarray(numpy.ascontiguousarray(source).astype(target).reshape(source.shape))
