"""Makes PyTorch's `default_collate`, and so its DataLoader, take Tensors."""

from __future__ import annotations

from dlx import _native
from dlx._lib.classes import loaded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

_COLLATE = "torch.utils.data._utils.collate"


def extend_collate() -> None:
    """Add Tensors to the table of types that `default_collate` knows, once PyTorch is imported. PyTorch
    documents the table for that (torch.utils.data.default_collate, "Extend")."""
    table = getattr(loaded(_COLLATE), "default_collate_fn_map", None)
    if table is not None:
        table.setdefault(_native.Tensor, _collate)


def _collate(batch: Sequence[Any], *, collate_fn_map: dict[Any, Callable[..., Any]]) -> Any:
    """The batch as one torch.Tensor, by the table's function for those: in a worker process it stacks
    into shared memory."""
    collate = loaded(_COLLATE).collate
    tensors = [_native.convert(item, "torch") for item in batch]
    return collate(tensors, collate_fn_map=collate_fn_map)
