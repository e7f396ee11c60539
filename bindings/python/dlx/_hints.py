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
    **{name: _XP.format(name, "x") for name in ("zeros_like", "ones_like")},
    "full": _XP.format("full", "shape, number"),
    "arange": _XP.format("arange", "number"),
    "linspace": _XP.format("linspace", "0, 1, number"),
    "eye": _XP.format("eye", "number"),
}
