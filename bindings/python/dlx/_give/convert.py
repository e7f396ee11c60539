"""`dlx.convert`: passes data to another library in a form that the library can take."""

from __future__ import annotations

from dlx import _native, dtypes
from dlx._access import code_of, is_packed, unpacking_call
from dlx._give import demands, profiles, targets
from dlx._give.targets import full_name
from dlx._lib import capi
from dlx._lib.classes import an
from dlx._lib.constants import CPU, HOSTS, THE_CPU
from dlx.errors import (
    CopyRefusedError,
    DeviceRefusedError,
    InvalidArgumentError,
    UnsupportedError,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any, Optional

    from dlx._give.demands import Profile
    from dlx._native import Tensor

    # device, copy, force, like, dtype, readonly: the keywords of dlx.convert.
    Options = tuple[Any, Optional[bool], bool, Any, Any, Any]

_NO_OPTIONS: Options = (None, None, False, None, None, None)


def convert(x: Any, to: Any, tensor: Tensor | None, options: Options | None) -> Any:
    """`dlx.convert` if the native short cut does not apply. The native function has the documentation.

    Args:
        tensor: `dlx.asarray(x)` if it was made already; then there are no options.
        options: the values of the keywords, if any was given.
    """
    device, copy, force, like, dtype, readonly = options or _NO_OPTIONS
    share = _shares_readonly(readonly)
    if to is None or like is not None:
        to = targets.only_one(to, like)
    target = targets.known.get(to) if isinstance(to, (str, type)) else None
    if target is None:
        if device is None and targets.is_array(to):
            device = _device_like(to, x)
        if targets.is_dlx(to):
            return _native.asarray(x, dtype=dtype, device=device, copy=copy, force=force)
        target = targets.find(to)
    profile, module = target
    if device is None and _is_own(x, profile) and (dtype is None or _is_of_dtype(x, dtype)):
        own = x if copy is not True else _duplicate(x, profile, module)
        if own is not None:
            return own
    # Without `force`: the profile decides below whether the data has to move.
    if dtype is not None:
        x = tensor = _native.asarray(x, dtype=dtype, device=device, copy=copy, force=force)
        copy = None if copy else copy  # it is a copy already
    elif tensor is None:
        if device is None and copy is None:
            tensor = _native.asarray(x)
        else:
            tensor = _native.asarray(x, device=device, copy=False if copy is False else None)
    if tensor.device.device_type not in profile.devices:
        tensor = _to_usable_device(x, tensor, profile, force, copy)
    elif copy and tensor.device.device_type != CPU:
        # Copied by its producer: dlx may lack the driver of the device.
        tensor, copy = _native.asarray(x, device=device, copy=True), None
    if share and profile.readonly == demands.WRITES and not copy:
        tensor = _native._unmarked(tensor)
    wanted = profile.wanted
    if profile.one_axis is not None and tensor.ndim == 1:
        profile = profile.one_axis
    if copy or not _fits(tensor, profile):
        return _as_wanted(_hand_over(tensor, profile, module, copy), wanted, profile)
    result = _as_wanted(profile.deliver(module, tensor, False), wanted, profile)
    if profile.usual is not None and not targets.is_array(to):
        _note_usual(to, profile, module, tensor, result)
    return result


def convert_result(tensor: Tensor, like: Any) -> Any:
    """The result of a compiled function in the library of an argument; the Tensor itself if the argument
    belongs to no array library, or to one that dlx cannot make arrays of."""
    if not targets.is_array(like):
        return tensor
    try:
        targets.find(like)
    except InvalidArgumentError:
        return tensor
    return convert(tensor, None, tensor, (None, None, False, like, None, None))


def _shares_readonly(readonly: Any) -> bool:
    if readonly is None:
        return False
    if isinstance(readonly, str) and readonly == "share":
        return True
    raise InvalidArgumentError(
        f'convert: `readonly` must be "share" or None (got {readonly!r:.60})'
    )


def _device_like(array: Any, x: Any) -> tuple[int, int] | None:
    """The device of an array that stands for its library; None if the data is there already."""
    there, here = targets.place(array), targets.place(x)
    if there[0] in HOSTS:
        return None if here[0] in HOSTS else THE_CPU
    return None if here == there else there


def _is_of_dtype(x: Any, dtype: Any) -> bool:
    return code_of(_native.asarray(x)) == dtypes.dtype_code(dtype)


def _duplicate(x: Any, profile: Profile, module: ModuleType) -> Any:
    """A copy of the library's own object with labels, units and nulls, or None if it has only numbers."""
    made = None if profile.duplicate is None else profile.duplicate(module, x)
    return None if made is None else _as_wanted(made, profile.wanted, profile)


def _as_wanted(result: Any, wanted: type | None, profile: Profile) -> Any:
    """The result, if it is of the class asked for. Every class of a library names the library, but the
    library chooses the class of the result."""
    if wanted is None or isinstance(result, wanted):
        return result
    name, made = profile.name, full_name(type(result))
    raise UnsupportedError(
        f"convert: `to` is {full_name(wanted)}, but {name} makes {an(made)} of this data: pass "
        f"to={name!r} or one of its array classes ({profile.makes or made}), and convert the result "
        "yourself"
    )


def _note_usual(to: Any, profile: Profile, module: ModuleType, tensor: Tensor, made: Any) -> None:
    """Let the native code convert such tensors by itself from now on."""
    assert profile.usual is not None
    function = profile.usual(module, tensor)
    if function is not None:
        _native._usual(
            to, profile.own_types, function, profile.by_capsule, profile.align, tensor, made
        )


def _hand_over(tensor: Tensor, profile: Profile, module: ModuleType, copy: bool | None) -> Any:
    """Convert a tensor that `_fits` does not accept, or raise the reason."""
    _check(tensor, profile)
    reasons = why_copy(tensor, profile)
    if reasons and copy is False:
        only_marked = tensor.readonly and not why_copy(_native._unmarked(tensor), profile)
        raise CopyRefusedError(
            f"convert: {profile.name} cannot share this tensor: {'; '.join(reasons)}; "
            "copy=False forbids a copy"
            + (", readonly='share' shares it all the same" if only_marked else "")
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
    own = targets.is_of_library(type(x), profile)
    if own and wanted is not None:
        own = isinstance(x, wanted)
        if type(wanted).__instancecheck__ is not type.__instancecheck__:
            return own  # the answer may differ for the next x of this class: torch.FloatTensor
    profile.own_types[type(x)] = own
    return own


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
        expected = f"at least {least}" if most is None else f"{least} to {most}"
        if least == most:
            expected = f"{least}"
        noun = "axis" if least == (most or least) == 1 else "axes"
        raise UnsupportedError(
            f"convert: {profile.name} has arrays of {expected} {noun} (got {ndim}): "
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
            f"{_way_out(tensor, names)}{'; ' + profile.instead if profile.instead else ''}"
        )


def _way_out(tensor: Tensor, names: frozenset[str]) -> str:
    if code_of(tensor)[1] < 8:
        return f"convert the values with {unpacking_call(tensor)}"
    return f"{demands.conversion(code_of(tensor), names)}take its bytes with `dlx.asarray(x).tobytes()`"


def _fits(tensor: Tensor, profile: Profile) -> bool:
    """Whether the tensor fits without a closer look."""
    shape = tensor.shape
    return (
        profile.types.get(tensor.dtype, False)
        and not profile.copies
        and not profile.packs
        and profile.strides != demands.COLUMNS
        and not tensor.readonly
        and not (profile.unpacks and is_packed(tensor))
        and 0 < len(shape) <= (profile.ndim[1] or 8)
        and 0 not in shape
        and tensor.strides == _compact_strides(shape)
        and not _misalignment(tensor, profile)
        and (profile.narrows is None or not profile.narrows(tensor))
    )


def _misalignment(tensor: Tensor, profile: Profile) -> int:
    """How many bytes the address is behind an aligned one."""
    return 0 if profile.align == 1 else tensor.data_ptr % (profile.align or tensor.itemsize)


def why_copy(tensor: Tensor, profile: Profile) -> list[str]:
    """The reasons why the library cannot share the tensor; empty if it can."""
    reasons = []
    if profile.copies:
        reasons.append(f"{profile.name} copies whatever it gets")
    if profile.unpacks and is_packed(tensor):
        reasons.append(f"{profile.name} keeps elements of less than a byte in a byte each")
    if profile.packs and capi.dtype_name(code_of(tensor)) in profile.packs:
        reasons.append(f"{profile.name} packs {tensor.dtype} into bits")
    narrow = profile.narrows(tensor) if profile.narrows is not None else ""
    if narrow:
        reasons.append(f"{profile.name} makes {narrow} of {tensor.dtype} (as it is configured)")
    if tensor.readonly and profile.readonly == demands.WRITES:
        reasons.append(f"the data is read-only, and {profile.name} would write to it")
    if tensor.size == 0:
        return reasons
    off = _misalignment(tensor, profile)
    if off:
        reasons.append(
            f"{profile.name} needs {profile.align or tensor.itemsize}-byte alignment (the address is "
            f"off by {off} bytes)"
        )
    problem = _stride_problem(tensor, profile.strides)
    if problem:
        reasons.append(f"{profile.name} takes no {problem}")
    return reasons


def _stride_problem(tensor: Tensor, allowed: str) -> str:
    if allowed == demands.COLUMNS:
        fits = tensor.shape[0] <= 1 or tensor.strides[0] == 1
        return "" if fits else "columns with gaps between their elements"
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
