"""What an array library can take: the class of the entries in profiles.py."""

from __future__ import annotations

import copy

from dlx._lib.constants import CPU
from dlx.dtypes import BCOMPLEX, COMPLEX, INT, OPAQUE, UINT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any

    from dlx._native import Tensor

# The strides that a library takes. Every library but those of COLUMNS takes compact row-major data.
ANY = "any"
POSITIVE = "no negative"  # broadcast, gapped and overlapping strides are fine
DENSE = "dense"  # compact in some order of the axes: no gap, no overlap
COMPACT = "C"  # compact, row-major
COLUMNS = "columns"  # of two axes: each column compact; compact row-major data is not

# What a library does with read-only data.
HONOURS = "honours"  # the result is read-only
IMMUTABLE = "immutable"  # arrays of this library are never written to, so sharing is safe
WRITES = "writes"  # it ignores the flag, so shared data could change


class Profile:
    """One library, seen as a consumer.

    Attributes:
        name: the name that users type; the key of the table.
        module: the module to import.
        deliver: (module, tensor, copied) -> an array of the library. The tensor fits the profile;
            `copied` asks for a new copy with the copied flag.
        owns: names (module.qualname) of the library's array classes, which need no conversion.
        families: the same for classes whose subclasses count too.
        duplicate: (module, x) -> a copy of an object of the library that keeps labels, units and
            nulls, or None if it has only numbers.
        makes: the classes of `deliver`'s results, for messages.
        wanted: the class that the caller asked for, or None for any class of the library.
        strides, readonly: one of the constants above.
        align: the alignment of the address, without which the library copies or aborts; 0 for that
            of an element.
        ndim: least and greatest number of axes; None means no limit.
        names: the dtypes that the library takes; None leaves the check to `deliver`.
        devices: the DLPack device types that the library takes.
        copies: whether the library always copies.
        unpacks: whether `deliver` makes a copy with a byte for each element of less than a byte.
        packs: the dtypes that the library packs into bits, which copies them.
        tables: whether the results of two axes are tables of columns, which dlx.asarray joins in a
            copy.
        narrows: (tensor) -> the dtype into which the library turns the tensor's, or "".
        one_axis: another profile for tensors of one axis.
        usual: (module, tensor) -> the function that the native code may call for fitting tensors of
            this dtype in place of `deliver`, or None.
        by_capsule: whether that function takes a versioned capsule instead of the Tensor.
        instead: what makes dtypes that the library does not take, for messages.
        notes: the pitfalls of the library, for docs and `dlx.explain`.
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
        unpacks: bool = False,
        packs: str = "",
        tables: bool = False,
        narrows: Callable[[Tensor], str] | None = None,
        one_axis: Profile | None = None,
        usual: Callable[[ModuleType, Tensor], Callable[[Any], Any] | None] | None = None,
        by_capsule: bool = False,
        instead: str = "",
        notes: str = "",
    ) -> None:
        self.name, self.module, self.deliver = name, module, deliver
        self.owns, self.families = frozenset(owns.split()), frozenset(families.split())
        self.duplicate, self.makes = duplicate, makes or owns
        self.wanted: type | None = None
        self.strides, self.readonly, self.align = strides, readonly, align
        self.ndim, self.devices, self.copies = ndim, devices, copies
        self.instead, self.notes = instead, notes
        self.packs, self.tables = frozenset(packs.split()), tables
        self.names = None if names is None else frozenset(names.split())
        self.narrows, self.one_axis, self.unpacks = narrows, one_axis, unpacks
        self.usual, self.by_capsule = usual, by_capsule
        self.own_types: dict[type, bool] = {}  # class -> whether it belongs to the library
        self.types: dict[Any, bool] = {}  # dtype object -> whether it can be taken

    def for_class(self, cls: type | None) -> Profile:
        """The profile for callers that want a `cls`, or any class, with its own cache of classes."""
        narrowed = copy.copy(self)
        narrowed.wanted, narrowed.own_types = cls, {}
        return narrowed


def conversion(code: tuple[int, int, int], names: frozenset[str]) -> str:
    """For a message: the call that converts values to a dtype that a library takes, with "or"; ""
    for types that NumPy cannot convert."""
    kind, bits, _ = code
    wanted: tuple[str, ...] = ("float32", "int32")
    if kind == OPAQUE:
        wanted = ()
    elif kind in (COMPLEX, BCOMPLEX):
        wanted = ("complex128", "complex64") if bits > 64 else ("complex64",)
    elif bits > 32:  # first the one that keeps the most digits
        wanted = ("int64" if kind in (INT, UINT) else "float64", *wanted)
    dtype = next((name for name in wanted if name in names), None)
    return (
        "" if dtype is None else f"convert the values with `dlx.asarray(x, dtype={dtype!r})`, or "
    )
