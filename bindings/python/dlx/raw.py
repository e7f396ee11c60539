"""The C API of libdlx.so in Python, on ctypes or cffi (`DLX_BINDING`), the same on both.

Every function of dlx.h is here under its name, and dlx.h is its manual. How C looks in Python:

- **Status**: a call that fails raises the exception of `dlx.errors` that belongs to its status,
  with the text of `dlx_last_error()`; `.status` is the number.
- **Parameters** have their C names and order. Trailing outputs are returned instead: one as it is,
  several as a tuple in C's order. `char *out, size_t capacity` becomes a str that is returned;
  `capacity` is a keyword then. Trailing options, deleters and user_data may be left out.
- **Pointers**: an address is an int, and None is NULL. `const char *` is str. An array of numbers
  is a sequence in, a tuple out; its length is checked against its count. A `const DLTensor *` and
  the like take a struct of that class (or an address) and come back as one.
- **Structs**: `DLTensor(data=…, device=(kDLCPU, 0), dtype=(kDLFloat, 32, 1), shape=[2, 3])`. Fields
  are attributes, in C's order; what is not given is zero; `ndim` follows from the shape, and
  `struct_size` is set. A struct keeps alive what its pointers were set to. A struct that belongs
  to a tensor comes with a reference to the tensor and cannot dangle.
- **Tensors**: a `dlx_tensor *` that C gives is a `Handle`, one owned reference: `release()` it, use
  it in a `with` block, or leave it to the garbage collector. Passing it to a function lends it.
  NULL has no getters here: they raise InvalidArgumentError.
- **Managed tensors**: `DLManagedTensor` and `DLManagedTensorVersioned` have a deleter to be called
  once; an export owns it until it is imported, detached or released. An import needs no
  `out_consumed`: a struct that was consumed, whether the call failed or not, says so.
- **Arrow's structs** are plain: what C filled in belongs to you until an import consumes it or
  `arrow_release` gives it back.
- **Callbacks**: `callback("dlx_deleter_fn", function)` makes one. See there how long it lives.
- **Numbers** that do not fit the C type are an OverflowError.
- dlx_python_*() is not here: `from_tensor` and `to_tensor` stand for it.

Nothing here needs `dlx.Tensor`: where that cannot be made (PyPy), this module works all the same.
As in C, an address that is none crashes.
"""

from __future__ import annotations

from dlx import _native
from dlx._lib.library import backend
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


def dlx_tensor_retain(tensor: Handle | int | None) -> Handle | None:
    """Add a reference: a new Handle for the same tensor. NULL is ignored."""
    pointer = lib.dlx_tensor_retain(tensor_address(tensor, "tensor"))
    return Handle(pointer) if pointer else None


def dlx_tensor_release(tensor: Handle | int | None) -> None:
    """Give a reference back; the last one frees. A Handle is over then. NULL is ignored."""
    if isinstance(tensor, Handle):
        tensor.release()
    else:
        freeing(lib.dlx_tensor_release, tensor_address(tensor, "tensor"))


def _import(managed: Managed | None, cls: type[Managed], call: Callable[[int], bool]) -> None:
    """Offer a struct to `call(address)`, which says whether it was consumed."""
    if managed is None:
        call(0)
    elif isinstance(managed, cls):
        managed.give(call)
    else:
        got = type(managed).__name__
        raise TypeError(f"`managed` must be a dlx.raw.{cls.__name__} (got {got})")


def dlx_tensor_from_dlpack_versioned(managed: DLManagedTensorVersioned | None) -> Handle:
    """Take over a tensor from another library (DLPack 1.x).

    On success `managed` is consumed. On failure it remains yours, unless its major version is not
    1: then its deleter has been called, and it is consumed too.
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
    """The same for the struct of DLPack before 1.0, whose flags `flags` says.

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
        freeing(backend.function_at(kind, struct.release), struct.address)


def from_tensor(tensor: Tensor) -> Handle:
    """The `dlx_tensor *` behind a dlx.Tensor, with a reference of its own."""
    return Handle(lib.dlx_tensor_retain(_native._handle(tensor)))


def to_tensor(handle: Handle) -> Tensor:
    """A dlx.Tensor of a handle, which is consumed: its reference goes to the Tensor."""
    if not isinstance(handle, Handle):
        raise TypeError(f"`handle` must be a dlx.raw.Handle (got {type(handle).__name__})")
    return _native._adopt(handle.detach())
