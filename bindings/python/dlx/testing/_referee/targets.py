"""From what was named to what is checked: a library, `module:name`, `file.so:symbol`, a callable."""

from __future__ import annotations

import ctypes
import importlib
import inspect
import re
from collections.abc import Callable
from typing import Any

from . import consuming, exchanging, libraries, producing, structs
from .consuming import Consumers
from .exchanging import Exchange
from .producing import Producers

_SHARED = re.compile(r"/|\.so(\.\d+)*$")


class TargetError(Exception):
    """There is nothing to check."""


def contexts(name: str) -> dict[str, Any]:
    """The roles that `name` has: role -> context of its checks."""
    place, colon, attribute = name.rpartition(":")
    if not colon and _SHARED.search(name):
        raise TargetError(f"name a function of the file as well: {name}:SYMBOL")
    if not (name if not colon else place and attribute):
        raise TargetError("expected a library, module:function, or file.so:symbol")
    if not colon:
        return _library(name)
    if _SHARED.search(place):
        return {producing.ROLE: Producers(_CFactory(place, attribute), False, struct_only=True)}
    return of_object(find(name))


def find(name: str) -> Any:
    """The object that "module:name" names."""
    place, _, attribute = name.rpartition(":")
    found: Any = importlib.import_module(place)
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise TargetError(f"{place} has no {attribute}")
        found = getattr(found, part)
    return found


def _library(name: str) -> dict[str, Any]:
    try:
        library = libraries.library(name)
    except LookupError as error:
        raise TargetError(str(error.args[0])) from error
    result: dict[str, Any] = {}
    if library.make is not None:
        make = (
            library.make
        )  # it is called in the forks only: threads of the library do not survive one
        result[producing.ROLE] = Producers(make, has_cases=True)
        result[exchanging.ROLE] = Exchange(None, lambda: make("plain"))
    if library.function is not None:
        result[consuming.ROLE] = Consumers(library.function, library.takes, library.read)
    return result


def of_object(found: Any) -> dict[str, Any]:
    """A type has a table; a function without required arguments makes objects; others import."""
    if isinstance(found, type) and hasattr(found, "__dlpack_c_exchange_api__"):
        return {exchanging.ROLE: Exchange(found)}
    if not callable(found):
        raise TargetError(f"{found!r} is not a function")
    if _is_factory(found):
        return producer(found)
    if len(_required(found)) > 1:
        raise TargetError(
            f"a consumer takes one object, this has {len(_required(found))} parameters"
        )
    return {consuming.ROLE: Consumers(found)}


def producer(make: Callable[..., Any]) -> dict[str, Any]:
    """A factory and, if the type of its objects has one, their exchange table."""
    has_cases = _takes_case(make)
    one = (lambda: make("plain")) if has_cases else make
    return {producing.ROLE: Producers(make, has_cases), exchanging.ROLE: Exchange(None, one)}


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter] | None:
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return None


def _takes_case(function: Callable[..., Any]) -> bool:
    parameters = _parameters(function)
    return bool(parameters) and parameters[0].name == "case"  # type: ignore[index]


def _required(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """The positional parameters that have no default."""
    return [p for p in _parameters(function) or () if p.default is p.empty and p.kind in (
        p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]  # fmt: skip


def _is_factory(function: Callable[..., Any]) -> bool:
    if _parameters(function) is None:
        return "from_dlpack" not in getattr(function, "__name__", "")
    required = _required(function)
    return not required or required[0].name == "case"


class _CFactory:
    """A C function `DLManagedTensorVersioned *symbol(void)`, as a factory of objects."""

    def __init__(self, path: str, symbol: str) -> None:
        try:
            self._function = getattr(ctypes.PyDLL(path), symbol)
        except (OSError, AttributeError) as error:
            raise TargetError(str(error)) from error
        self._function.restype = ctypes.c_void_p

    def __call__(self) -> Any:
        return _CObject(self._function)


class _CObject:
    def __init__(self, function: Any) -> None:
        self._function = function

    def __dlpack__(self, **keywords: Any) -> Any:
        address = self._function()
        if not address:
            raise BufferError("the function returned NULL")
        return structs.new_capsule(address, structs.VERSIONED)
