"""The part of `guards.guard` for torch.Tensor and its subclasses."""

from __future__ import annotations

from dlx import _native
from dlx._lib.classes import an, name_of
from dlx.errors import UnsupportedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def guard(obj: Any, torch: Any) -> None:
    """Refuse torch tensors without plain strided memory. torch would export some as a NULL pointer."""
    _native._without_torch_modes(_guard, obj, torch)


def _guard(obj: Any, torch: Any) -> None:
    name = name_of(obj)
    if hasattr(type(obj), "cls_to_become"):
        raise UnsupportedError(
            f"{an(name)} has no data yet: call `.materialize(shape)`, or its lazy module with a first "
            "batch"
        )
    if obj.is_nested:
        raise UnsupportedError(
            f"a nested {name} has rows of different lengths: export the tensors of `.unbind()` one "
            "by one, or call `.to_padded_tensor(value)`"
        )
    if hasattr(obj, "get_mask") and hasattr(obj, "get_data"):
        raise UnsupportedError(
            f"{an(name)} would lose its mask: call `.to_tensor(value)` to replace masked entries, or "
            "export `.get_data()` and `.get_mask()` separately"
        )
    if transform := _transform_of(obj, torch):
        way = ", or export `torch.func.debug_unwrap(x)`, without its gradient"
        raise UnsupportedError(
            f"{an(name)} inside a function that torch.func transforms (grad, vmap, jvp …) has no data "
            f"of its own: convert outside of that function{way if transform == 'gradient' else ''}"
        )
    if str(obj.layout) == "torch._mkldnn":
        raise UnsupportedError(
            f"{an(name)} of layout {obj.layout} has oneDNN's own order: call `.to_dense()`"
        )
    if obj.layout != torch.strided:
        parts = "`.values()` and its indices"
        if obj.layout == torch.sparse_coo:
            first = "" if obj.is_coalesced() else ".coalesce()"
            parts = f"`{first}.indices()` and `{first}.values()`"
        raise UnsupportedError(
            f"{an(name)} of layout {obj.layout} is sparse: export {parts} one by one, or call `.to_dense()`"
        )
    if obj.is_quantized or str(obj.dtype).startswith(("torch.q", "torch.quint")):
        raise UnsupportedError(
            f"a quantised {name} has a scale that would be lost: call `.int_repr()` or `.dequantize()`"
        )
    if str(obj.dtype).startswith("torch.bits"):
        raise UnsupportedError(
            f"{an(name)} of dtype {obj.dtype} has no DLPack form: call `.view(torch.uint8)`"
        )
    if obj.device.type == "meta":
        raise UnsupportedError(
            f"{an(name)} on the meta device has no memory: make it real with `torch.empty_like(x, device='cpu')`"
        )
    if obj._is_zerotensor():
        raise UnsupportedError(f"{an(name)} of zeros without memory: call `.clone()`")
    if obj.requires_grad:
        raise UnsupportedError(
            f"{an(name)} that requires grad would silently leave the graph: call `.detach()`"
        )
    if hasattr(obj, "to_local") and hasattr(obj, "full_tensor"):
        raise UnsupportedError(
            f"{an(name)} is spread over processes: call `.to_local()` or `.full_tensor()`"
        )
    if type(obj).__name__ == "FakeTensor":
        raise UnsupportedError(
            f"{an(name)} has a shape and a dtype, but no data: pass a real tensor, made outside of its "
            "mode"
        )
    if hasattr(obj, "__tensor_flatten__") or _is_functional(obj, torch):
        raise UnsupportedError(
            f"{an(name)} wraps other tensors and has no memory of its own: export the tensors inside"
        )
    if obj.device.type in ("cpu", "cuda") and obj.numel() > 0 and _has_no_memory(obj):
        raise UnsupportedError(
            f"{an(name)} has no memory (its data pointer is NULL): export the tensors inside, if it wraps some"
        )


def _transform_of(obj: Any, torch: Any) -> str:
    """What torch.func wraps the tensor for: "gradient", "other", or "" for nothing."""
    functions: Any = getattr(torch._C, "_functorch", None)
    check = getattr(functions, "is_functorch_wrapped_tensor", None)
    if check is None or not check(obj):
        return ""
    return "gradient" if functions.is_gradtrackingtensor(obj) else "other"


def _is_functional(obj: Any, torch: Any) -> bool:
    check = getattr(torch, "_is_functional_tensor", None)
    return bool(check is not None and check(obj))


def _has_no_memory(obj: Any) -> bool:
    try:
        return not obj.data_ptr()
    except RuntimeError:
        return True
