"""Compiled functions that take arrays of any library: `function`, `Array`, `empty_like`."""

from __future__ import annotations

import ctypes
import sys

from dlx import _native
from dlx._access import code_of
from dlx.errors import brief

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from dlx.device import DeviceLike

_CFUNCTION: type[Any] = ctypes.CFUNCTYPE(None).__mro__[1]  # the class of all functions of ctypes

# In elements, as `gil_kept_below` of dlx_function_options.
_GIL = {None: 0, True: sys.maxsize, False: -1}


def function(
    pointer: Any,
    contract: str,
    /,
    *,
    packed: bool = False,
    gil: bool | None = None,
    doc: str | None = None,
) -> Callable[..., Any]:
    """A fast callable of a C function that takes arrays of any library.

        lib = ctypes.CDLL("./libscale.so")
        scale = dlx.function(lib.scale, "scale(x: float32[n] writable, factor: float32)")
        scale(torch.ones(3), 2)

    Each call checks the arguments against the contract and passes them to C: an array as a
    `DLTensor *` that is valid during the call, without a copy. A result is an array of the library of
    the first array argument; `name=array` passes one of the caller's to be filled instead.

    Args:
        pointer: a function of ctypes or cffi, or an address. The callable keeps the object.
        contract: what the function demands, such as
            "blur(image: uint8[h, w], radius: int = 1, out: dtype(image)[h, w] result)";
            docs/calls.md has the grammar. Without a name it has that of the ctypes function.
        packed: the function is a `dlx_function` of dlx/call.h, which takes all arguments as one array.
            Otherwise it takes them one by one, in the contract's order.
        gil: True keeps the GIL during the call, False gives it away, None gives it away if the arrays
            have 32,768 elements together, or are not on the CPU.
        doc: the first lines of the callable's docstring.

    Calls may run on any threads at once, if the function may. They raise TypeError for a wrong number
    of arguments or a wrong scalar; InvalidArgumentError (dtype, shape), CopyRefusedError (layout),
    ReadOnlyError and DeviceRefusedError for arrays, before the function runs; and for a status other
    than 0 the class of that status, with the message of `dlx_set_last_error`.

    Raises: InvalidArgumentError (the contract; it shows the place), TypeError (what is not a pointer).
    """
    if gil is not None and gil is not True and gil is not False:
        raise TypeError(f"`gil` must be True, False or None (got {gil!r:.40})")
    if not isinstance(contract, str):
        raise TypeError(
            f"`contract` must be a str (got {type(contract).__name__}): such as "
            '"scale(x: float32[n] writable, factor: float)"'
        )
    address, keep = _address(pointer)
    name = getattr(pointer, "__name__", None)  # what ctypes found in a library has one
    name = name if isinstance(name, str) else "function"
    try:
        return _native._function(address, contract, not packed, _GIL[gil], keep, doc, name)
    except Exception as error:
        raise brief(error)  # noqa: B904


def _address(pointer: Any) -> tuple[int, Any]:
    """The address of a C function, and what must live as long as it is called."""
    if isinstance(pointer, int) and not isinstance(pointer, bool):
        return pointer, None
    if isinstance(pointer, _CFUNCTION):
        return ctypes.cast(pointer, ctypes.c_void_p).value or 0, pointer
    if isinstance(pointer, ctypes.c_void_p):
        return pointer.value or 0, pointer
    cffi = sys.modules.get("_cffi_backend")
    if cffi is not None and isinstance(pointer, cffi._CDataBase):
        return int(cffi.cast(cffi.new_primitive_type("uintptr_t"), pointer)), pointer
    raise TypeError(
        f"`pointer` must be a function of ctypes or cffi, or an address (got {type(pointer).__name__}): "
        'such as ctypes.CDLL("./libname.so").name'
    )


class _Pointer(ctypes.c_void_p):
    """The address of an array's data, or of its DLTensor, and what keeps it."""

    __slots__ = ("memory", "owner")


class Array:
    """A parameter of ctypes functions: arrays of any library that fit, without a copy.

        lib.scale.argtypes = [dlx.Array("float32", ndim=1, writable=True), ctypes.c_int64]
        lib.scale(torch.ones(3), 3)

    C gets the address of the data, or with `dltensor=True` a `DLTensor *` with shape and strides. Both
    are valid during the call. What does not fit raises ctypes.ArgumentError with dlx's message.

    Args:
        dtype: a name, or several with "|" between them; "any".
        ndim: the number of axes; None takes any.
        shape: numbers, and None for any extent, instead of `ndim`.
        order: "C" or "F": compact in that order. None takes any strides, which only a `DLTensor *`
            shows.
        writable: C writes the data, so read-only arrays are refused.
        copy: True allows a temporary where dtype or layout do not fit; not together with `writable`.
        dltensor: pass a `DLTensor *`.
        name: how messages name the argument.
    """

    #: The contract, as docs/calls.md describes it.
    contract: str
    #: What ctypes calls for each argument.
    from_param: Callable[[Any], Any]

    def __init__(
        self,
        dtype: str,
        *,
        ndim: int | None = None,
        shape: Sequence[int | None] | None = None,
        order: str | None = "C",
        writable: bool = False,
        copy: bool = False,
        dltensor: bool = False,
        name: str = "array",
    ) -> None:
        if order not in ("C", "F", None):
            raise TypeError(f'`order` must be "C", "F" or None (got {order!r:.40})')
        if order is None and not dltensor:
            raise TypeError(
                "an address does not show strides: pass order='C', or dltensor=True with order=None"
            )
        if writable and copy:
            raise TypeError("`writable` and `copy` exclude each other: nobody could copy back")
        if shape is not None and ndim not in (None, len(shape)):
            raise TypeError(f"`shape` has {len(shape)} axes, and `ndim` is {ndim}")
        axes: Sequence[int | None] | None = shape
        if axes is None and ndim is not None:
            axes = [None] * ndim
        extents = "..." if axes is None else ", ".join("_" if n is None else str(n) for n in axes)
        words = [order or "strided", "writable" * writable, "copy" * copy]
        self.contract = f"{name}: {dtype}[{extents}] {' '.join(word for word in words if word)}"
        try:
            self.from_param = _native._argument(self.contract, dltensor, _Pointer)
        except Exception as error:
            raise brief(error)  # noqa: B904

    def __repr__(self) -> str:
        return f"<dlx.Array {self.contract}>"


def empty_like(
    x: Any,
    /,
    *,
    shape: Sequence[int] | None = None,
    dtype: Any = None,
    device: DeviceLike | None = None,
) -> Any:
    """An uninitialised array of the library of `x`, by that library's allocator where it has one.

    Args:
        x: an array of any library that dlx.convert knows; of other objects (a list, a buffer, an array
            of a module without `from_dlpack`) the result is a Tensor.
        shape, dtype, device: of the result; by default those of `x`.

    Raises: what dlx.asarray(x) raises; UnsupportedError if the library lacks the dtype.
    """
    try:
        tensor = _native.asarray(x)
        return _native._new_like(
            x,
            tensor.shape if shape is None else shape,
            code_of(tensor) if dtype is None else dtype,
            tensor.device if device is None else device,
        )
    except Exception as error:
        raise brief(error)  # noqa: B904
