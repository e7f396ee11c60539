"""Questions about the classes of other libraries, answered without an import of any.

A user's class counts as the library's that it derives from: all bases are asked, never the class's
own module alone.
"""

from __future__ import annotations

import sys
from _weakref import ref  # module weakref takes a tenth of dlx's own time to import

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, TypeVar

    Answer = TypeVar("Answer")


def loaded(name: str) -> Any:
    """A module that is imported, or None. While a thread imports it, it lacks some of its names, and no
    other thread has an object of it."""
    module = sys.modules.get(name)
    loading = getattr(getattr(module, "__spec__", None), "_initializing", False)
    return None if loading else module


def module_of(cls: type) -> str:
    """The module that a class says it is from; classes may say anything, or nothing."""
    module = getattr(cls, "__module__", None)
    return module if isinstance(module, str) else ""


def package_of(cls: type) -> str:
    """The package that a class says it is from."""
    return module_of(cls).partition(".")[0]


def once_for_each_class(answer: Callable[[type], Answer]) -> Callable[[type], Answer]:
    """A function that remembers its answers, and forgets them with the classes."""
    answers: dict[int, tuple[ref[type], Answer]] = {}

    def remembered(cls: type) -> Answer:
        key = id(cls)  # its own hash, and whether it is equal, would be its metaclass's to say
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
    """Whether a class is one of a package's classes of these names, or is made of one."""
    return any(base.__name__ in names and package_of(base) == package for base in cls.__mro__)


def has(cls: type, name: str) -> bool:
    """Whether a class has a method; None is Python's way of saying that it has not."""
    return getattr(cls, name, None) is not None


def is_torch_tensor(cls: type) -> bool:
    """Whether it is torch.Tensor or derives from it. While torch is imported, and in what stands for
    it in tests, there may be no such class."""
    tensor = getattr(sys.modules.get("torch"), "Tensor", None)
    return isinstance(tensor, type) and issubclass(cls, tensor)


def is_ctypes_pointer(cls: type) -> bool:
    """Whether it is a class of ctypes' pointers, whose buffers hold the address alone."""
    ctypes = loaded("_ctypes")
    if ctypes is None:
        return False
    if issubclass(cls, ctypes._SimpleCData):  # c_void_p, c_char_p, c_wchar_p; or a number
        return getattr(cls, "_type_", None) in ("P", "z", "Z")
    return issubclass(cls, ctypes._Pointer)


def name_of(obj: Any) -> str:
    """An object's class, for a message."""
    cls = type(obj)
    return f"{package_of(cls)}.{cls.__qualname__}"
