"""`dlx.convert`: passes data to another library in a form that the library can take."""

from __future__ import annotations

import importlib
import sys

from dlx import _native
from dlx._access import code_of
from dlx._give import demands, profiles
from dlx._lib import capi
from dlx._lib.classes import module_of
from dlx._lib.constants import CPU
from dlx.errors import (
    CopyRefusedError,
    DeviceRefusedError,
    InvalidArgumentError,
    UnsupportedError,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

    from dlx._give.demands import Profile
    from dlx._native import Tensor

# `to` as given -> (profile, imported module). Keeps classes alive; there are few.
_targets: dict[Any, tuple[Profile, ModuleType]] = {}


def convert(
    x: Any, to: Any, device: Any, copy: bool | None, force: bool, tensor: Tensor | None
) -> Any:
    """`dlx.convert` if the native short cut does not apply. The native function has the documentation.

    Args:
        tensor: `dlx.asarray(x)` if it was made already.
    """
    target = _targets.get(to) if isinstance(to, (str, type)) else None
    if target is None:
        if _is_dlx(to):
            return _native.asarray(x, device=device, copy=copy, force=force)
        target = find(to)
    profile, module = target
    if device is None and _is_own(x, profile):
        own = x if copy is not True else _duplicate(x, profile, module)
        if own is not None:
            return own
    if tensor is None:
        # Without `force`: the profile decides below whether the data has to move.
        if device is None and copy is None:
            tensor = _native.asarray(x)
        else:
            tensor = _native.asarray(x, device=device, copy=False if copy is False else None)
    if tensor.device.device_type not in profile.devices:
        tensor = _to_usable_device(x, tensor, profile, force, copy)
    elif copy and tensor.device.device_type != CPU:
        # Copied by its producer: dlx may lack the driver of the device.
        tensor, copy = _native.asarray(x, device=device, copy=True), None
    wanted = profile.wanted
    if profile.one_axis is not None and tensor.ndim == 1:
        profile = profile.one_axis
    if copy or not _fits(tensor, profile):
        return _as_wanted(_hand_over(tensor, profile, module, copy), wanted, profile)
    result = _as_wanted(profile.deliver(module, tensor, False), wanted, profile)
    if profile.usual is not None:
        _note_usual(to, profile, module, tensor)
    return result


def _duplicate(x: Any, profile: Profile, module: ModuleType) -> Any:
    """A copy of the library's own object with labels, units and nulls, or None if it has only numbers."""
    made = None if profile.duplicate is None else profile.duplicate(module, x)
    return None if made is None else _as_wanted(made, profile.wanted, profile)


def _as_wanted(result: Any, wanted: type | None, profile: Profile) -> Any:
    """The result, if it is of the class asked for. Every class of a library names the library, but the
    library chooses the class of the result."""
    if wanted is None or isinstance(result, wanted):
        return result
    name, made = profile.name, _full_name(type(result))
    raise UnsupportedError(
        f"convert: `to` is {_full_name(wanted)}, but {name} makes a {made} of this data: pass "
        f"to={name!r} or one of its array classes ({profile.makes or made}), and convert the result "
        "yourself"
    )


def _note_usual(to: Any, profile: Profile, module: ModuleType, tensor: Tensor) -> None:
    """Let the native code convert such tensors by itself from now on."""
    assert profile.usual is not None
    function = profile.usual(module, tensor)
    if function is not None:
        _native._usual(to, profile.own_types, function, profile.by_capsule, profile.align, tensor)


def _is_dlx(to: Any) -> bool:
    if isinstance(to, str):
        return to == "dlx"
    return to is _native.Tensor or to is sys.modules.get("dlx")


def _hand_over(tensor: Tensor, profile: Profile, module: ModuleType, copy: bool | None) -> Any:
    """Convert a tensor that `_fits` does not accept, or raise the reason."""
    _check(tensor, profile)
    reasons = why_copy(tensor, profile)
    if reasons and copy is False:
        raise CopyRefusedError(
            f"convert: {profile.name} cannot share this tensor: {'; '.join(reasons)}; "
            "copy=False forbids a copy"
        )
    if not reasons and profile.strides == demands.COMPACT:
        tensor = _plain_strides(tensor)
    try:
        return profile.deliver(module, tensor, bool(copy or reasons))
    except UnsupportedError as error:
        if not reasons or tensor.device.device_type == CPU:
            raise
        raise UnsupportedError(
            f"convert: {profile.name} cannot share this tensor: {'; '.join(reasons)}, and it "
            f"cannot be copied on its device: {error}"
        ) from None


def _is_own(x: Any, profile: Profile) -> bool:
    known = profile.own_types.get(type(x))
    if known is not None:
        return known
    wanted = profile.wanted
    own = _is_of_library(type(x), profile)
    if own and wanted is not None:
        own = isinstance(x, wanted)
        if type(wanted).__instancecheck__ is not type.__instancecheck__:
            return own  # the answer may differ for the next x of this class: torch.FloatTensor
    profile.own_types[type(x)] = own
    return own


def _is_of_library(cls: type, profile: Profile) -> bool:
    if _full_name(cls) in profile.owns or _derives(cls.__mro__, profile.families):
        return True
    # `wanted` is a subclass of the library's array, such as numpy.ma.MaskedArray.
    return profile.wanted is not None and _derives(profile.wanted.__mro__[1:], profile.owns)


def _derives(bases: tuple[type, ...], names: frozenset[str]) -> bool:
    return not names.isdisjoint(map(_full_name, bases))


def _full_name(cls: type) -> str:
    return f"{getattr(cls, '__module__', None)}.{cls.__qualname__}"


def find(to: Any) -> tuple[Profile, ModuleType]:
    """The profile and the module for `to`. Cached."""
    profile = _profile_of(to)
    given = isinstance(to, type(sys)) and to.__name__ == profile.module
    module = to if given else importlib.import_module(profile.module)
    if isinstance(to, (str, type)):
        _targets[to] = profile, module
    return profile, module


def _profile_of(to: Any) -> Profile:
    if isinstance(to, type):
        special = next(
            (
                profiles.TYPES[name]
                for name in map(_full_name, to.__mro__)
                if name in profiles.TYPES
            ),
            None,
        )
        if special is not None:
            return special.for_class(to)
        name = module_of(to)
    elif isinstance(to, str):
        name = to
    else:
        name = getattr(to, "__name__", "")
        if not isinstance(to, type(sys)):
            raise TypeError(
                f"`to` is not a name, a module or a class (got an object of {_full_name(type(to))}); "
                "for the library of another array pass type(other)"
            )
    known = _known(name)
    if known is None and isinstance(to, type) and not hasattr(to, "from_dlpack"):
        bases = (_known(module_of(base)) for base in to.__mro__)
        known = next((base for base in bases if base is not None), None)
    if known is None:
        return _plain(to, name)
    return known.for_class(to) if isinstance(to, type) else known


def _known(name: str) -> Profile | None:
    """The profile of a module's library, or None."""
    root = name.partition(".")[0]
    root = {"jaxlib": "jax"}.get(root, profiles.ALIASES.get(root, root))
    return profiles.TABLE.get(root)


def _plain(to: Any, name: str) -> Profile:
    """A profile for a library that is not in the table but has `from_dlpack`."""
    candidates = [to] if not isinstance(to, str) else []
    known = ", ".join(sorted(profiles.TABLE))
    while name and not name.startswith("."):
        candidates.append(_import(name) if isinstance(to, str) else sys.modules.get(name))
        name = name.rpartition(".")[0]
    found = next((item for item in candidates if hasattr(item, "from_dlpack")), None)
    if found is not None:
        module = found.__module__ if isinstance(found, type) else found.__name__

        def deliver(module: ModuleType, tensor: Tensor, copied: bool) -> Any:
            return found.from_dlpack(profiles.Exporter(tensor, True) if copied else tensor)

        package = module.partition(".")[0]
        every = tuple(range(1, 32))
        profile = demands.Profile(package, module, deliver, readonly=demands.HONOURS, devices=every)
        # A class with its own `from_dlpack` decides about the class of the result.
        return profile.for_class(to) if isinstance(to, type) and found is not to else profile
    raise InvalidArgumentError(
        f"`to` is not a library with a `from_dlpack` (got {to!r}; known: {known}; classes that read "
        "Arrow or `__array__`, such as polars.Series, take dlx.asarray(x) themselves)"
    )


def _import(name: str) -> ModuleType | None:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        if (error.name or name) not in (name, name.partition(".")[0]):
            raise  # the library is installed, but something that it needs is missing
    return None


def _to_usable_device(
    x: Any, tensor: Tensor, profile: Profile, force: bool, copy: bool | None
) -> Tensor:
    usable = ", ".join(capi.device_name(number, 0) for number in profile.devices)
    if CPU not in profile.devices:
        raise DeviceRefusedError(
            f"convert: {profile.name} cannot use data on {tensor.device} (expected {usable}): "
            f"pass device='{capi.device_name(profile.devices[0], 0)}'"
        )
    if not force:
        raise DeviceRefusedError(
            f"convert: {profile.name} cannot use data on {tensor.device} (expected {usable}): "
            "pass device='cpu' or force=True"
        )
    if copy is False:
        raise CopyRefusedError(
            f"convert: moving data from {tensor.device} to the CPU copies it, which copy=False "
            "forbids"
        )
    return _native.asarray(x, device="cpu")  # by its producer if possible


def _check(tensor: Tensor, profile: Profile) -> None:
    """Raise UnsupportedError if even a copy would not fit."""
    least, most = profile.ndim
    ndim = tensor.ndim
    if ndim < least or (most is not None and ndim > most):
        expected = f"{least} to {most}" if most is not None else f"at least {least}"
        raise UnsupportedError(
            f"convert: {profile.name} has arrays of {expected} axes (got {ndim}): "
            "`dlx.asarray(x).reshape` it first"
        )
    dtype, names = tensor.dtype, profile.names
    known = profile.types.get(dtype)
    if known is None:
        name = capi.dtype_name(code_of(tensor))
        known = profile.types[dtype] = names is None or name in names
    if not known and names is not None:
        raise UnsupportedError(
            f"convert: {profile.name} takes no {dtype} (it takes {', '.join(sorted(names))}): "
            f"{demands.conversion(code_of(tensor), names)}take its bytes with `dlx.asarray(x).tobytes()`"
            f"{'; ' + profile.notes if profile.notes else ''}"
        )


def _fits(tensor: Tensor, profile: Profile) -> bool:
    """Whether the tensor fits without a closer look."""
    shape = tensor.shape
    return (
        profile.types.get(tensor.dtype, False)
        and not profile.copies
        and not tensor.readonly
        and 0 < len(shape) <= (profile.ndim[1] or 8)
        and 0 not in shape
        and tensor.strides == _compact_strides(shape)
        and (profile.align == 1 or tensor.data_ptr % profile.align == 0)
        and (profile.narrows is None or not profile.narrows(tensor))
    )


def why_copy(tensor: Tensor, profile: Profile) -> list[str]:
    """The reasons why the library cannot share the tensor; empty if it can."""
    reasons = []
    if profile.copies:
        reasons.append(f"{profile.name} copies whatever it gets")
    narrow = profile.narrows(tensor) if profile.narrows is not None else ""
    if narrow:
        reasons.append(f"{profile.name} makes {narrow} of {tensor.dtype} (as it is configured)")
    if tensor.readonly and profile.readonly == demands.WRITES:
        reasons.append(f"the data is read-only, and {profile.name} would write to it")
    if tensor.size == 0:
        return reasons
    if profile.align > 1 and tensor.data_ptr % profile.align:
        reasons.append(
            f"{profile.name} needs {profile.align}-byte alignment (the address is off by "
            f"{tensor.data_ptr % profile.align} bytes)"
        )
    problem = _stride_problem(tensor, profile.strides)
    if problem:
        reasons.append(f"{profile.name} takes no {problem}")
    return reasons


def _stride_problem(tensor: Tensor, allowed: str) -> str:
    if allowed == demands.ANY or tensor.is_contiguous():
        return ""
    axes = [(abs(s), s, n) for s, n in zip(tensor.strides, tensor.shape) if n > 1]
    if any(stride < 0 for _, stride, _ in axes):
        return "negative strides"
    if allowed == demands.POSITIVE:
        return ""
    if allowed == demands.COMPACT:
        return "strides other than those of compact row-major data"
    expected = 1
    for size, _, extent in sorted(axes):
        if size != expected:
            return "strides with gaps or overlaps"
        expected *= extent
    return ""


def _compact_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step)
        step *= max(extent, 1)
    return tuple(reversed(strides))


def _plain_strides(tensor: Tensor) -> Tensor:
    """A compact tensor with compact strides also on axes of length 1, because MXNet refuses others."""
    plain = _compact_strides(tensor.shape)
    if plain == tensor.strides:
        return tensor
    return profiles.alias(tensor, plain, _native._flags(tensor))
