"""What to call instead of a name that dlx does not have, but that users of other libraries type."""

from __future__ import annotations

_XP = "`from dlx import xp; xp.{}({})`"
_ASARRAY = "`dlx.asarray(x)`"

# Names that people look for in module `dlx`.
FUNCTIONS = {
    **dict.fromkeys(("array", "as_array", "asanyarray", "tensor", "as_tensor"), _ASARRAY),
    **dict.fromkeys(("from_numpy", "from_torch", "from_arrow", "from_jax"), _ASARRAY),
    "frombuffer": "`dlx.asarray(buffer).view(dtype)`",
    "from_buffer": "`dlx.asarray(buffer).view(dtype)`",
    "to_numpy": "`dlx.convert(x, 'numpy')`",
    "to_torch": "`dlx.convert(x, 'torch')`",
    "to_jax": "`dlx.convert(x, 'jax')`",
    "to_dlpack": "`dlx.asarray(x).__dlpack__()`",
    **{name: _XP.format(name, "shape") for name in ("zeros", "ones")},
    **{name: _XP.format(name, "x") for name in ("zeros_like", "ones_like", "empty_like")},
    "full": _XP.format("full", "shape, number"),
    "arange": _XP.format("arange", "number"),
    "linspace": _XP.format("linspace", "0, 1, number"),
    "eye": _XP.format("eye", "number"),
}

# Names that people look for in a Tensor.
METHODS = {
    "to": "`t.to_device(device)`, or `dlx.convert(t, library)` for an array of another library",
    "torch": "`dlx.convert(t, 'torch')`",
    "jax": "`dlx.convert(t, 'jax')`",
    "to_numpy": "`t.numpy()`",
    "cpu": "`t.to_device('cpu')`",
    "cuda": "`t.to_device('cuda')`",
}


class Missing:
    """A name of METHODS as an attribute that is missing: `hasattr(t, name)` is False.

    `__getattr__` on the class would slow down every attribute that exists.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, instance: object, owner: type | None = None) -> object:
        raise AttributeError(
            f"'dlx.Tensor' object has no attribute {self._name!r}: call {METHODS[self._name]}"
        )
