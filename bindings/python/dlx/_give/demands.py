"""What one array library can take: the form of an entry in the table of profiles.py."""

from __future__ import annotations

import copy

from dlx._lib.constants import CPU

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any

    from dlx._native import Tensor

# What `strides` may be. Every library takes compact row-major data.
ANY = "any"
POSITIVE = "no negative"  # broadcast, gapped and overlapping ones are fine
DENSE = "dense"  # compact in some order of the axes: no gap, no overlap
COMPACT = "C"  # compact, row-major

# What happens to read-only data.
HONOURS = "honours"  # the result is read-only
IMMUTABLE = "immutable"  # arrays of this library are never written to, so sharing is safe
WRITES = "writes"  # it ignores the flag: shared data could be changed behind the producer's back


class Profile:
    """One library, seen as a consumer.

    Attributes:
        name: what users call it; the key of the table.
        module: what to import.
        deliver: (module, tensor, copied) -> the library's own array. The tensor fits the profile;
            `copied` asks for a fresh, marked copy of it.
        owns: class names (module.qualname) of its own arrays, which need no conversion.
        families: the same, of classes that count with all that derive from them.
        duplicate: (module, x) -> a copy of one of its own that keeps what is not numbers, or None
            if there is no such thing in it.
        makes: the classes of what `deliver` returns, as users write them; for messages.
        wanted: the class that was asked for, or None for any of the library's own.
        strides, readonly: one of the words above.
        align: bytes that the address has to be a multiple of, else the library copies or aborts.
        ndim: least and greatest number of axes, None for no limit.
        names: dtypes that it can take, None for all that `deliver` manages by itself.
        devices: DLPack device types that it can take.
        copies: it copies whatever it gets.
        narrows: (tensor) -> the dtype that it would make of the tensor's, or "" if it keeps it.
        one_axis: another profile for tensors of one axis.
        usual: (module, tensor) -> what `deliver` comes to for tensors of this dtype that fit: a
            function of the library's that the native code may call at once, or None.
        by_capsule: `usual`'s function takes a versioned capsule instead of the Tensor.
        notes: what the profile keeps users from, for docs and messages.
    """

    def __init__(
        self,
        name: str,
        module: str,
        deliver: Callable[[ModuleType, Tensor, bool], Any],
        *,
        owns: str = "",
        families: str = "",
        duplicate: Callable[[ModuleType, Any], Any] | None = None,
        makes: str = "",
        strides: str = ANY,
        readonly: str = WRITES,
        align: int = 1,
        ndim: tuple[int, int | None] = (0, None),
        names: str | None = None,
        devices: tuple[int, ...] = (CPU,),
        copies: bool = False,
        narrows: Callable[[Tensor], str] | None = None,
        one_axis: Profile | None = None,
        usual: Callable[[ModuleType, Tensor], Callable[[Any], Any] | None] | None = None,
        by_capsule: bool = False,
        notes: str = "",
    ) -> None:
        self.name, self.module, self.deliver = name, module, deliver
        self.owns, self.families = frozenset(owns.split()), frozenset(families.split())
        self.duplicate, self.makes = duplicate, makes or owns
        self.wanted: type | None = None
        self.strides, self.readonly, self.align = strides, readonly, align
        self.ndim, self.devices, self.copies, self.notes = ndim, devices, copies, notes
        self.names = None if names is None else frozenset(names.split())
        self.narrows, self.one_axis = narrows, one_axis
        self.usual, self.by_capsule = usual, by_capsule
        self.own_types: dict[type, bool] = {}  # class -> whether it is the library's own
        self.types: dict[Any, bool] = {}  # dtype object -> whether it can be taken

    def for_class(self, cls: type) -> Profile:
        """The same for callers that want a `cls`: a profile of its own, since what is the library's
        own may be of another class."""
        narrowed = copy.copy(self)
        narrowed.wanted, narrowed.own_types = cls, {}
        return narrowed
