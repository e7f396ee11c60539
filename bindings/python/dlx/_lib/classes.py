"""Facts about the classes of other libraries, without importing the libraries.

A user's class belongs to the library of its base: all bases are looked at, not only the class.
"""

from __future__ import annotations

import sys
from _weakref import ref  # importing weakref takes a tenth of dlx's own import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, TypeVar

    Answer = TypeVar("Answer")


ARROW_METHODS = ("__arrow_c_array__", "__arrow_c_stream__", "__arrow_c_device_array__")


def loaded(name: str) -> Any:
    """A module that is imported, or None, also while a thread is importing it: then some names are missing,
    and other threads have no objects of it."""
    module = sys.modules.get(name)
    loading = getattr(getattr(module, "__spec__", None), "_initializing", False)
    return None if loading else module


def module_of(cls: type) -> str:
    """`__module__` of a class, which may be wrong; "" if it is not a str."""
    module = getattr(cls, "__module__", None)
    return module if isinstance(module, str) else ""


def package_of(cls: type) -> str:
    """The package in `__module__` of a class."""
    return module_of(cls).partition(".")[0]


def once_for_each_class(answer: Callable[[type], Answer]) -> Callable[[type], Answer]:
    """Decorator: remembers the answer for each class as long as the class lives."""
    answers: dict[int, tuple[ref[type], Answer]] = {}

    def remembered(cls: type) -> Answer:
        key = id(cls)  # a metaclass may override the hash and equality of the class
        known = answers.get(key)
        if known is not None and known[0]() is cls:
            return known[1]
        fresh = answer(cls)
        answers[key] = ref(cls, lambda _: answers.pop(key, None)), fresh
        return fresh

    return remembered


@once_for_each_class
def packages_of(cls: type) -> frozenset[str]:
    """The packages of a class and of its bases."""
    return frozenset([package_of(base) for base in cls.__mro__])


def derives(cls: type, package: str, *names: str) -> bool:
    """Whether a class is, or derives from, a class of a package with one of these names."""
    return any(base.__name__ in names and package_of(base) == package for base in cls.__mro__)


def has(cls: type, name: str) -> bool:
    """Whether a class has a method. None as its value means that it does not."""
    return getattr(cls, name, None) is not None


def is_torch_tensor(cls: type) -> bool:
    """Whether a class is torch.Tensor or derives from it. While torch is being imported, and in tests'
    stand-ins, torch may lack the class."""
    tensor = getattr(sys.modules.get("torch"), "Tensor", None)
    return isinstance(tensor, type) and issubclass(cls, tensor)


def is_ctypes_pointer(cls: type) -> bool:
    """Whether a class is a pointer of ctypes, whose buffer holds only the address."""
    ctypes = loaded("_ctypes")
    if ctypes is None:
        return False
    if issubclass(cls, ctypes._SimpleCData):  # c_void_p, c_char_p, c_wchar_p; or a number
        return getattr(cls, "_type_", None) in ("P", "z", "Z")
    return issubclass(cls, ctypes._Pointer)


def is_synchronized(cls: type) -> bool:
    """Whether a class is one of multiprocessing's, with a lock; `get_obj()` is an object of ctypes."""
    return has(cls, "get_obj") and has(cls, "get_lock")


def an(name: str) -> str:
    """A name with its article: "an int", "a uint8"."""
    return f"{'an' if name[:1] in tuple('AEIOaeio') else 'a'} {name}"


def name_of(obj: Any) -> str:
    """An object's class, for a message."""
    cls = type(obj)
    return f"{package_of(cls)}.{cls.__qualname__}"
