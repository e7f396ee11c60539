"""What `to` of `dlx.convert` names: a library, by its name, module, class, or an array of it."""

from __future__ import annotations

import importlib
import sys

from dlx import _native
from dlx._give import demands, profiles
from dlx._lib.classes import an, has, module_of
from dlx._lib.constants import THE_CPU
from dlx.errors import Error, InvalidArgumentError, UnsupportedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

    from dlx._give.demands import Profile
    from dlx._native import Tensor

# `to` as given -> (profile, imported module). Keeps classes alive; there are few.
known: dict[Any, tuple[Profile, ModuleType]] = {}
_PROTOCOLS = (
    "__dlpack__", "__array__", "__array_interface__", "__array_struct__", "__cuda_array_interface__",
    "__arrow_c_array__", "__arrow_c_stream__", "__arrow_c_device_array__",
)  # fmt: skip


def only_one(to: Any, like: Any) -> Any:
    """The one of `to` and `like` that was given."""
    if to is None and like is None:
        raise TypeError("convert() needs `to`, a library, or `like`, an array of it")
    if like is None:
        return to
    if to is not None:
        raise TypeError("convert() takes `to` or `like`, but not both")
    if not is_array(like):
        raise TypeError(
            f"`like` is not an array of a library (got an object of {full_name(type(like))}): pass a "
            "name, a module or a class as `to`"
        )
    return like


def is_dlx(to: Any) -> bool:
    if isinstance(to, str):
        return to == "dlx"
    return to is _native.Tensor or to is sys.modules.get("dlx") or type(to) is _native.Tensor


def is_array(to: Any) -> bool:
    """Whether `to` is an array, which stands for its library and its device."""
    if isinstance(to, (str, type, type(sys))):
        return False
    cls = type(to)
    if any(has(cls, name) for name in _PROTOCOLS):
        return True
    profile = _base_profile(cls)
    return profile is not None and is_of_library(cls, profile)


def place(array: Any) -> tuple[int, int]:
    """The device of an array as DLPack's numbers."""
    cls = type(array)
    if has(cls, "__dlpack_device__"):
        try:
            kind, number = _native._without_torch_modes(array.__dlpack_device__)
        except (ValueError, RuntimeError) as error:  # torch's meta tensors
            if isinstance(error, Error):
                raise
            raise UnsupportedError(
                f"`like` is {an(full_name(cls))} on a device that DLPack lacks ({error}): pass the library "
                "as `to`, and `device=`"
            ) from error
        return int(kind), int(number)
    if has(cls, "__cuda_array_interface__"):
        device = _native.asarray(array).device
        return device.device_type, device.device_id
    return THE_CPU


def find(to: Any) -> tuple[Profile, ModuleType]:
    """The profile and the module for `to`. Cached."""
    profile = _profile_of(to)
    given = isinstance(to, type(sys)) and to.__name__ == profile.module
    module = to if given else importlib.import_module(profile.module)
    if isinstance(to, (str, type)):
        known[to] = profile, module
    return profile, module


def _profile_of(to: Any) -> Profile:
    if isinstance(to, type):
        return _profile_of_class(to)
    if isinstance(to, str):
        return _by_name(to) or _plain(to, to)
    if isinstance(to, type(sys)):
        name = getattr(to, "__name__", "")
        return _by_name(name) or _plain(to, name)
    cls = type(to)
    if not is_array(to):
        raise TypeError(
            f"`to` is not a name, a module, a class or an array (got an object of {full_name(cls)})"
        )
    return _base_profile(cls) or _plain(cls, module_of(cls)).for_class(None)


def _profile_of_class(cls: type) -> Profile:
    names = map(full_name, cls.__mro__)
    special = next((profiles.TYPES[name] for name in names if name in profiles.TYPES), None)
    found = special or _by_name(module_of(cls))
    if found is None and not hasattr(cls, "from_dlpack"):
        found = _base_profile(cls)
    return _plain(cls, module_of(cls)) if found is None else found.for_class(cls)


def _base_profile(cls: type) -> Profile | None:
    """The profile of the library that a class or one of its bases comes from."""
    found = (_by_name(module_of(base)) for base in cls.__mro__)
    return next((profile for profile in found if profile is not None), None)


def _by_name(name: str) -> Profile | None:
    """The profile of a module's library, or None."""
    root = name.partition(".")[0]
    root = {"jaxlib": "jax"}.get(root, profiles.ALIASES.get(root, root))
    return profiles.TABLE.get(root)


def is_of_library(cls: type, profile: Profile) -> bool:
    if full_name(cls) in profile.owns or _derives(cls.__mro__, profile.families):
        return True
    # `wanted` is a subclass of the library's array, such as numpy.ma.MaskedArray.
    return profile.wanted is not None and _derives(profile.wanted.__mro__[1:], profile.owns)


def _derives(bases: tuple[type, ...], names: frozenset[str]) -> bool:
    return not names.isdisjoint(map(full_name, bases))


def full_name(cls: type) -> str:
    return f"{getattr(cls, '__module__', None)}.{cls.__qualname__}"


def _plain(to: Any, name: str) -> Profile:
    """A profile for a library that is not in the table but has `from_dlpack`."""
    candidates = [to] if not isinstance(to, str) else []
    libraries = ", ".join(sorted(profiles.TABLE))
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
        f"`to` is not a library with a `from_dlpack` (got {to!r}; known: {libraries}; classes that "
        "read Arrow or `__array__` take dlx.asarray(x) themselves)"
    )


def _import(name: str) -> ModuleType | None:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        if (error.name or name) not in (name, name.partition(".")[0]):
            raise  # the library is installed, but something that it needs is missing
    return None
