"""The functions that `from_pointer(on_release=…)` calls. A Tensor holds a key, not the function.

A function of a script holds the script's globals, often including the Tensor: a cycle that Python's
collector cannot see (docs/semantics.md, L7). At exit the script's objects would not be freed, and
buffered data of its open files would be lost.
"""

from __future__ import annotations

import atexit
import itertools
import sys
from weakref import ref

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_keys = itertools.count()


class Functions(dict):  # type: ignore[type-arg]
    """The functions by key. A Tensor may reach this object by weak references only, so this module's
    globals do not hold it."""

    def __init__(self) -> None:
        super().__init__()
        atexit.register(lambda: setattr(sys, "_dlx_on_release", _AtLast(self)))

    def keep(self, function: Callable[[], object]) -> Release:
        """Keep a function. The result calls it, once."""
        release = Release(ref(self), next(_keys))
        self[release.key] = function
        return release


class Release:
    """Calls a function of Functions by its key."""

    __slots__ = ("_functions", "key")

    def __init__(self, functions: ref[Functions], key: int) -> None:
        self._functions = functions
        self.key = key

    def __call__(self) -> None:
        function = self.take()
        if function is not None:
            function()

    def take(self) -> Callable[[], object] | None:
        """Remove and return the function; None if that was done before."""
        functions = self._functions()
        return None if functions is None else functions.pop(self.key, None)


class _AtLast:
    """Drops the functions when Python clears `sys`, after all other modules. It does not call them: the
    memory may still be in use."""

    def __init__(self, functions: Functions) -> None:
        self.functions = functions

    def __del__(self) -> None:
        self.functions.clear()
