"""Objects that hold an array without a protocol that asarray knows: MXNet's arrays, PyTorch's storages,
arrays with a lock of multiprocessing."""

from __future__ import annotations

import sys

from dlx import _native
from dlx._lib.classes import an, derives, is_synchronized, name_of, packages_of
from dlx.errors import UnsupportedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dlx._native import Tensor


_STORAGES = ("UntypedStorage", "TypedStorage")


def holds_array(cls: type) -> bool:
    """Whether objects of a class are arrays, although they have no protocol: read() takes them, or
    cffi_arrays.read()."""
    return (
        derives(cls, "torch", *_STORAGES)
        or is_synchronized(cls)
        or derives(cls, "_cffi_backend", "CData", "_CDataBase")
        or ("mxnet" in packages_of(cls) and hasattr(cls, "to_dlpack_for_write"))
    )


def read(obj: Any) -> Tensor | None:
    """The Tensor in an object of MXNet, or in a storage of PyTorch; None for other objects."""
    tensor = _from_mxnet(obj)
    return _from_torch_storage(obj) if tensor is None else tensor


def _from_mxnet(obj: Any) -> Tensor | None:
    """MXNet's arrays, which make DLPack capsules by a method with another name."""
    if "mxnet" not in packages_of(type(obj)) or not hasattr(obj, "to_dlpack_for_write"):
        return None
    if getattr(obj, "stype", "default") != "default":
        raise UnsupportedError(
            f"{an(name_of(obj))} is sparse: export `.data` and its indices (`.indices`, `.indptr`) one "
            "by one, or call `.tostype('default')` to make it dense"
        )
    if obj.context.device_type not in ("cpu", "cpu_pinned", "cpu_shared"):
        raise UnsupportedError(
            f"{an(name_of(obj))} on {obj.context} says too little about its device: call "
            "`.as_in_context(mxnet.cpu())`"
        )
    return _native.from_dlpack(_MxnetProducer(obj))


def _from_torch_storage(obj: Any) -> Tensor | None:
    """The memory of a storage of PyTorch, as its dtype or else as bytes."""
    if not derives(type(obj), "torch", *_STORAGES):
        return None
    torch = sys.modules["torch"]
    dtype = getattr(obj, "dtype", torch.uint8)
    if str(dtype).startswith(("torch.qint", "torch.quint")):
        raise UnsupportedError(
            f"a {name_of(obj)} of {dtype} holds quantised numbers, whose scale is not there: export "
            "the bytes, `.untyped()`"
        )
    untyped = getattr(obj, "_untyped_storage", obj)
    if untyped.device.type == "meta":
        raise UnsupportedError(f"{an(name_of(obj))} on the meta device has no memory")

    def tensor() -> Any:
        return torch.empty(0, dtype=dtype, device=untyped.device).set_(untyped)

    return _native.asarray(_native._without_torch_modes(tensor))


class _MxnetProducer:
    """An array of MXNet with the standard's `__dlpack__`."""

    __slots__ = ("_array",)

    def __init__(self, array: Any) -> None:
        self._array = array

    def __dlpack__(self, stream: None = None) -> Any:
        return self._array.to_dlpack_for_write()

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0
