"""What `from_pointer` is to call on release: the Tensor holds a key, and not the function itself.

A function of a script holds the script's globals, often with the very Tensor among them: a cycle
that Python's collector cannot see (docs/semantics.md, L7). Nothing of the script would be let go at
exit then, and what its open files have buffered would be lost.
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
    """By key. Nothing that a Tensor holds may lead here but by weak references: not this module's
    globals either."""

    def __init__(self) -> None:
        super().__init__()
        atexit.register(lambda: setattr(sys, "_dlx_on_release", _AtLast(self)))

    def keep(self, function: Callable[[], object]) -> Release:
        """Takes the function; what is returned calls it, once."""
        release = Release(ref(self), next(_keys))
        self[release.key] = function
        return release


class Release:
    """Calls a function that is kept elsewhere."""

    __slots__ = ("_functions", "key")

    def __init__(self, functions: ref[Functions], key: int) -> None:
        self._functions = functions
        self.key = key

    def __call__(self) -> None:
        function = self.take()
        if function is not None:
            function()

    def take(self) -> Callable[[], object] | None:
        """The function, which is not kept any more; None where it was taken before."""
        functions = self._functions()
        return None if functions is None else functions.pop(self.key, None)


class _AtLast:
    """Lets go of what is kept when Python clears `sys`, after all other modules. Nothing is called:
    whoever has the memory still may go on using it."""

    def __init__(self, functions: Functions) -> None:
        self.functions = functions

    def __del__(self) -> None:
        self.functions.clear()
