"""The two DLPack structs with a deleter, which has to be called once."""

from __future__ import annotations

import sys

from dlx._lib.library import backend
from dlx._raw.structs import Struct
from dlx._raw.types import freeing, one_owner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn, SupportsIndex

    from typing_extensions import Self

# Structs made in Python and passed to C: their memory must live until their deleter has run.
_given_away: dict[int, tuple[Any, dict[str, Any]]] = {}


def forget(pointer: int) -> None:
    """Drop the memory of a struct made by Python after its deleter has run."""
    _given_away.pop(pointer, None)


class Managed(Struct):
    """A DLPack tensor with its deleter.

    An export (`dlx_tensor_to_dlpack*`) and `adopt` make an object that *owns* the tensor: `release()`,
    the end of a `with` block or the garbage collector calls the deleter, whichever comes first. A
    successful import takes it over, and so does other code after `detach()`; every later use raises
    ValueError.

    A struct made in Python does not own a tensor. When an import takes it, its memory stays until its
    deleter has run, if that is a `dlx.raw.callback`; with another deleter, or none, it stays for
    good.

    Attributes:
        owns: whether this object has to call the deleter.
    """

    __slots__ = ("_held", "_made_here", "owns")

    def __init__(self, *values: Any, **named: Any) -> None:
        self._made_here: bool = True
        self.owns: bool = False
        super().__init__(*values, **named)

    @classmethod
    def view(cls, native: Any, owner: object) -> Self:
        self = super().view(native, owner)
        self._made_here = False
        self.owns = False
        return self

    @classmethod
    def adopt(cls, address: int) -> Self:
        """Take over the struct at an address, and call its deleter later."""
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
        # A list, because its pop() is atomic: two threads cannot pass on the same struct.
        self._held = [value]

    def detach(self) -> int:
        """Return the address of the struct; the caller has to call its deleter."""
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
        """Pass the struct to `take(address)`, which returns whether it took the struct."""
        native, owns = self.native, self.owns
        pointer = self.detach()
        if not take(pointer):
            forget(pointer)
            self._held.append(native)
            self.owns = owns

    def release(self) -> None:
        """Call the deleter, unless it is NULL. A second call does nothing."""
        try:
            native = self._held.pop()
        except IndexError:  # another thread was faster
            return
        deleter = backend.get_address(native, "deleter")
        pointer = self._give_away(native)
        if deleter:
            freeing(backend.function_at(f"{type(self).__name__}.deleter", deleter), pointer)
        else:
            forget(pointer)

    def __reduce_ex__(self, protocol: SupportsIndex, /) -> NoReturn:
        one_owner(self)

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
