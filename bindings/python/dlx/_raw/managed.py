"""The two DLPack structs that own: each has a deleter, which has to be called once."""

from __future__ import annotations

import sys

from dlx._lib.library import backend
from dlx._raw.structs import Struct
from dlx._raw.types import freeing, one_owner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from typing_extensions import Self

# Structs made in Python that C has now: their memory must last until their deleter has run.
_given_away: dict[int, tuple[Any, dict[str, Any]]] = {}


def forget(pointer: int) -> None:
    """Let the memory of a struct go that Python made and whose deleter has run."""
    _given_away.pop(pointer, None)


class Managed(Struct):
    """A DLPack tensor with its deleter.

    An export (`dlx_tensor_to_dlpack*`) and `adopt` make one that *owns*: its deleter is called by
    `release()`, at the end of a `with` block, or by the garbage collector, whatever comes first.
    An import that succeeds takes it over; `detach()` hands it to other code. After that, every use
    is a ValueError.

    One that Python made owns nothing by itself. When an import takes it, its memory stays until its
    deleter has run, if that is a `dlx.raw.callback`; with another deleter, or none, it stays for
    good.

    Attributes:
        owns: whether this object has the duty to call the deleter.
    """

    __slots__ = ("_held", "_made_here", "owns")

    def __init__(self, *values: Any, **named: Any) -> None:
        self._made_here = True
        self.owns = False
        super().__init__(*values, **named)

    @classmethod
    def view(cls, native: Any, owner: object) -> Self:
        self = super().view(native, owner)
        self._made_here = False
        self.owns = False
        return self

    @classmethod
    def adopt(cls, address: int) -> Self:
        """Take over the struct at an address, with the duty to call its deleter."""
        self = cls.at(address)
        self.owns = True
        return self

    @property
    def native(self) -> Any:
        try:
            return self._held[0]
        except IndexError:
            raise self._gone() from None

    @native.setter
    def native(self, value: Any) -> None:
        # A list, because its pop() is atomic: two threads cannot give away the same struct.
        self._held = [value]

    def detach(self) -> int:
        """Hand the struct over: returns its address; whoever has it calls the deleter."""
        try:
            native = self._held.pop()
        except IndexError:
            raise self._gone() from None
        return self._give_away(native)

    def _give_away(self, native: Any) -> int:
        self.owns = False
        pointer = backend.address(native)
        if self._made_here:
            _given_away[pointer] = (native, self.keep)
        return pointer

    def _gone(self) -> ValueError:
        return ValueError(f"this {type(self).__name__} was given away or released")

    def give(self, take: Callable[[int], bool]) -> None:
        """Hand the struct to `take(address)`, which says whether it took it."""
        native, owns = self.native, self.owns
        pointer = self.detach()
        if not take(pointer):
            forget(pointer)
            self._held.append(native)
            self.owns = owns

    def release(self) -> None:
        """Call the deleter, unless it is NULL. Doing it again does nothing."""
        try:
            native = self._held.pop()
        except IndexError:  # by another thread too, just now
            return
        deleter = backend.get_address(native, "deleter")
        pointer = self._give_away(native)
        if deleter:
            freeing(backend.function_at(f"{type(self).__name__}.deleter", deleter), pointer)
        else:
            forget(pointer)

    __reduce_ex__ = one_owner

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.release()

    def __del__(self, _finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        if getattr(self, "owns", False) and not _finalizing():
            self.release()

    def __repr__(self) -> str:
        if not self._held:
            return f"<{type(self).__name__}, given away or released>"
        return super().__repr__()
