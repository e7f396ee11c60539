"""The C API of libdlx.so in Python, on ctypes or cffi (`DLX_BINDING`), the same on both.

Every function of dlx.h is here under its name; dlx.h documents it. How C looks in Python:

- **Status**: a call that fails raises the exception of `dlx.errors` for its status, with the text
  of `dlx_last_error()`; `.status` is the number.
- **Parameters** have their C names and order. Trailing outputs are returned: a single one as it is,
  several as a tuple in C's order. `char *out, size_t capacity` becomes a str that is returned, and
  `capacity` a keyword. Trailing options, deleters and user_data may be omitted.
- **Pointers**: an address is an int, and NULL is None. `const char *` is str. An array of numbers is
  a sequence in, a tuple out; its length is checked against its count. A pointer to a struct
  (`const DLTensor *` …) takes a struct of that class or an address, and returns a struct.
- **Structs**: `DLTensor(data=…, device=(kDLCPU, 0), dtype=(kDLFloat, 32, 1), shape=[2, 3])`. Fields
  are attributes, in C's order; omitted fields are zero; `ndim` follows from the shape, and
  `struct_size` is set. A struct keeps the targets of its pointers alive. A struct that belongs to
  a tensor holds a reference to the tensor and cannot dangle.
- **Tensors**: a `dlx_tensor *` from C is a `Handle`, one owned reference: `release()` it, use it in a
  `with` block, or leave it to the garbage collector. Passing it to a function lends it. Getters of
  a NULL tensor raise InvalidArgumentError.
- **Managed tensors**: `DLManagedTensor` and `DLManagedTensorVersioned` have a deleter to be called
  once; an export owns it until it is imported, detached or released. Imports have no
  `out_consumed`: the struct itself knows whether it was consumed.
- **Arrow's structs** are plain: a struct that C filled in is yours until an import consumes it or
  `arrow_release` releases it.
- **Callbacks**: `callback("dlx_deleter_fn", function)` makes one; its docstring says how long it lives.
- **Numbers** that do not fit the C type raise OverflowError.
- `dlx_dlpack_check` takes a capsule of `__dlpack__` as well, and needs no `kind` but for an address.
- In place of dlx_python_*() there are `from_tensor` and `to_tensor`.

This module also works where `dlx.Tensor` cannot be made (PyPy). As in C, an invalid address crashes.
"""

from __future__ import annotations

from dlx import _native
from dlx._lib.library import backend as _backend
from dlx._raw import generated
from dlx._raw.callbacks import Callback, callback
from dlx._raw.generated import *  # noqa: F403
from dlx._raw.generated import ArrowArray, ArrowSchema, DLManagedTensor, DLManagedTensorVersioned
from dlx._raw.managed import Managed
from dlx._raw.structs import Struct
from dlx._raw.types import (
    Array,
    Handle,
    check,
    freeing,
    lib,
    take_handle,
    tensor_address,
    uint64,
)
from dlx.errors import InvalidArgumentError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dlx import Tensor

__all__ = [
    *generated.__all__,
    "Callback",
    "Handle",
    "Managed",
    "Struct",
    "arrow_release",
    "callback",
    "dlx_tensor_from_dlpack",
    "dlx_tensor_from_dlpack_versioned",
    "dlx_tensor_release",
    "dlx_tensor_retain",
    "from_tensor",
    "to_tensor",
]


def dlx_dlpack_check(  # type: ignore[no-redef]
    managed: DLManagedTensor | DLManagedTensorVersioned | int | object | None,
    kind: int | None = None,
    *,
    capacity: int = 4096,
) -> tuple[str, int, int]:
    """Check a managed tensor against the DLPack 1.3 standard and report each finding on a line.

    `managed` may also be a capsule of `__dlpack__`, which is not consumed: `dlx_dlpack_check(
    numpy.zeros(3).__dlpack__())`. `kind` is needed for an address only.

    Returns:
        the report, the number of errors, and the number of warnings.
    """
    if kind is not None:
        return generated.dlx_dlpack_check(managed, kind, capacity=capacity)  # type: ignore[arg-type]
    known, kind = _known(managed)  # `managed` stays: a capsule may have no other reference
    return generated.dlx_dlpack_check(known, kind, capacity=capacity)  # type: ignore[arg-type]


def _known(managed: object) -> tuple[object, int]:
    """A managed tensor or its address, and its kind."""
    if isinstance(managed, DLManagedTensor):
        return managed, generated.DLX_MANAGED_LEGACY
    if isinstance(managed, DLManagedTensorVersioned):
        return managed, generated.DLX_MANAGED_VERSIONED
    if type(managed).__name__ != "PyCapsule":
        got = type(managed).__name__
        raise TypeError(
            f"`managed` must be a capsule, a DLManagedTensor or a DLManagedTensorVersioned if `kind` "
            f"is omitted (got {got}); for an address: dlx_dlpack_check(address, DLX_MANAGED_VERSIONED)"
        )
    import ctypes

    python = ctypes.PyDLL(None)  # not ctypes.pythonapi, whose argtypes are everybody's
    python.PyCapsule_GetName.restype = ctypes.c_char_p
    python.PyCapsule_GetPointer.restype = ctypes.c_void_p
    name = python.PyCapsule_GetName(ctypes.py_object(managed))
    kinds = {
        b"dltensor": generated.DLX_MANAGED_LEGACY,
        b"dltensor_versioned": generated.DLX_MANAGED_VERSIONED,
    }
    if name not in kinds:
        consumed = ", so it was consumed" if name and name.startswith(b"used_") else ""
        raise ValueError(
            "`managed` must be a capsule named 'dltensor' or 'dltensor_versioned' (got "
            f"{(name or b'').decode(errors='replace')!r}{consumed}): x.__dlpack__() makes a new one"
        )
    return python.PyCapsule_GetPointer(ctypes.py_object(managed), name), kinds[name]


def dlx_tensor_retain(tensor: Handle | int | None) -> Handle | None:
    """Add a reference: a new Handle for the same tensor. NULL is ignored."""
    pointer = lib.dlx_tensor_retain(tensor_address(tensor, "tensor"))
    return Handle(pointer) if pointer else None


def dlx_tensor_release(tensor: Handle | int | None) -> None:
    """Release a reference; the last release frees the tensor. A Handle cannot be used after it. NULL is
    ignored."""
    if isinstance(tensor, Handle):
        tensor.release()
    else:
        freeing(lib.dlx_tensor_release, tensor_address(tensor, "tensor"))


def _import(managed: Managed | None, cls: type[Managed], call: Callable[[int], bool]) -> None:
    """Pass a struct to `call(address)`, which returns whether it consumed the struct."""
    if managed is None:
        call(0)
    elif isinstance(managed, cls):
        managed.give(call)
    else:
        got = type(managed).__name__
        raise TypeError(f"`managed` must be a dlx.raw.{cls.__name__} (got {got})")


def dlx_tensor_from_dlpack_versioned(managed: DLManagedTensorVersioned | None) -> Handle:
    """Take over a tensor from another library (DLPack 1.x).

    On success `managed` is consumed. On failure it stays yours, except that a struct with another major
    version than 1 is consumed too, by a call of its deleter.
    """
    consumed = Array("int32_t", 1)
    out = Array("uintptr_t", 1)
    status: int = 0

    def call(pointer: int) -> bool:
        nonlocal status
        status = lib.dlx_tensor_from_dlpack_versioned(pointer, consumed.address, out.address)
        return bool(consumed.native[0])

    _import(managed, DLManagedTensorVersioned, call)
    check(status)
    return take_handle(out)


def dlx_tensor_from_dlpack(managed: DLManagedTensor | None, flags: int) -> Handle:
    """Take over a tensor in the struct of DLPack before 1.0; `flags` are the flags that it lacks.

    On failure nothing is consumed.
    """
    bits = uint64(flags, "flags")
    out = Array("uintptr_t", 1)
    status: int = 0

    def call(pointer: int) -> bool:
        nonlocal status
        status = lib.dlx_tensor_from_dlpack(pointer, bits, out.address)
        return not status

    _import(managed, DLManagedTensor, call)
    check(status)
    return take_handle(out)


def arrow_release(struct: ArrowArray | ArrowSchema) -> None:
    """Call an Arrow struct's `release`, unless it was released or moved. For a device array:
    `arrow_release(device_array.array)`."""
    if struct.release:
        kind = f"{type(struct).__name__}.release"
        freeing(_backend.function_at(kind, struct.release), struct.address)


def from_tensor(tensor: Tensor) -> Handle:
    """The `dlx_tensor *` of a dlx.Tensor, as a new reference."""
    return Handle(lib.dlx_tensor_retain(_native._handle(tensor)))


_FIRST_PAGE = 4096  # no object lies there


def to_tensor(handle: Handle | int) -> Tensor:
    """A dlx.Tensor that takes over the reference of a handle, or of a `dlx_tensor *` that a compiled
    function returned, as a number."""
    if isinstance(handle, Handle):
        return _native._adopt(handle.detach())
    if isinstance(handle, int) and not isinstance(handle, bool):
        if handle and (handle < _FIRST_PAGE or handle % 8):
            raise InvalidArgumentError(
                f"`handle` is not the address of a dlx_tensor (got {handle:#x})"
            )
        return _native._adopt(handle)
    raise TypeError(
        f"`handle` must be a dlx.raw.Handle or an address (got {type(handle).__name__})"
    )
