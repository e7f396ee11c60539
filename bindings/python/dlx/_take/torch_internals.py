"""What native code asks about torch itself: its stacks of modes (src/python/torch_modes.h), and tensors
whose properties are known, to find out where their structs keep them (src/python/torch_plain.h)."""

from __future__ import annotations

import sys
from functools import partial

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

# As in torch_plain.cc.
_NEG, _CONJ, _GRAD, _NO_AUTOGRAD = 1, 2, 4, 8


def mode_functions() -> tuple[Callable[..., Any], ...] | None:
    """Length, pop and push of torch's stack of function modes, then of its stack of dispatch modes. A
    stack that this torch lacks is always empty. None for a stand-in for torch."""
    internals = getattr(sys.modules.get("torch"), "_C", None)
    if internals is None:
        return None
    found: list[Any] = []
    for names in (
        ("_len_torch_function_stack", "_pop_torch_function_stack", "_push_on_torch_function_stack"),
        ("_len_torch_dispatch_stack", "_pop_torch_dispatch_stack", "_push_on_torch_dispatch_stack"),
    ):
        length, pop, push = (getattr(internals, name, None) for name in names)
        if length is None or pop is None or push is None:
            length = pop = push = int
        found += [length, partial(pop, None) if "dispatch" in names[1] else pop, push]
    return tuple(found)


def samples() -> tuple[type, type, tuple[tuple[Any, int, int, int], ...]]:
    """torch.Tensor, Parameter, and tensors of these classes: each with the address of its struct, the word
    with its dispatch keys, and its properties. Fails where torch cannot say one of them."""
    torch = sys.modules["torch"]
    with torch.inference_mode(False), torch.enable_grad():
        known = _known_tensors(torch)
    out = []
    for tensor, properties in known:
        said = tensor.is_neg() * _NEG | tensor.is_conj() * _CONJ | tensor.requires_grad * _GRAD
        if said != properties & ~_NO_AUTOGRAD:
            raise ValueError(f"torch says {said} of a tensor made as {properties}")
        keys = torch._C._dispatch_keys(tensor).raw_repr()
        out.append((tensor, tensor._cdata, keys, properties))
    return torch.Tensor, torch.nn.Parameter, tuple(out)


def _known_tensors(torch: Any) -> list[tuple[Any, int]]:
    on_cpu = {"dtype": torch.float32, "device": "cpu"}
    plain = torch.ones(3, **on_cpu)
    deep = torch.ones((1, 2, 1, 2, 1, 1, 1), dtype=torch.int8, device="cpu")
    pairs = torch.ones((2, 2), dtype=torch.complex64, device="cpu")
    graded = torch.ones(3, **on_cpu).requires_grad_()
    parameter = torch.nn.Parameter(torch.ones(3, **on_cpu))
    frozen = torch.nn.Parameter(torch.ones(3, **on_cpu), requires_grad=False)
    result = graded * 2
    with torch.inference_mode():
        inference = torch.ones(3, **on_cpu)
    return [
        *((tensor, _NO_AUTOGRAD) for tensor in (plain, deep, pairs, inference)),
        (torch.ones(0, device="meta"), _NO_AUTOGRAD),
        *((tensor, 0) for tensor in (plain[1:], pairs.T, frozen)),
        (torch._neg_view(plain), _NEG),
        (torch._neg_view(pairs), _NEG),
        (pairs.conj(), _CONJ),
        (torch._neg_view(pairs.conj()), _NEG | _CONJ),
        *((tensor, _GRAD) for tensor in (graded, parameter, result, result[1:])),
    ]
