"""The declarations of the C headers, for the emitters."""

from __future__ import annotations

from dataclasses import dataclass

# Structs of call.h: for compiled code. Python has dlx.function, and each class of ctypes takes 0.05 ms of
# every import.
STRUCTS_OF_CALLS = {"dlx_argument", "dlx_parameter", "dlx_borrowed", "dlx_function_options"}


# Those that only the functions of python.h take, which other languages do not call.
STRUCTS_OF_PYTHON = {"dlx_borrowed", "dlx_function_options"}


@dataclass(frozen=True)
class CType:
    """A type of the headers: `name` with a number of `*`, or an array of `length`."""

    kind: str  # "void", "integer", "double", "char", "struct", "opaque" or "callback"
    name: str  # "int32_t", "DLTensor", "dlx_deleter_fn"; a key of Model.callbacks for "callback"
    pointers: int = 0
    const: bool = False  # what is pointed at is const
    length: int | None = None

    @property
    def is_address(self) -> bool:
        """Whether a value of this type is an address."""
        return self.pointers > 0 or self.kind == "callback"

    def __str__(self) -> str:
        stars = " " + "*" * self.pointers if self.pointers else ""
        tail = "" if self.length is None else f"[{self.length}]"
        return f"{'const ' if self.const else ''}{self.name}{stars}{tail}"


@dataclass(frozen=True)
class Member:
    """A field of a struct or a parameter of a function."""

    name: str
    type: CType


@dataclass(frozen=True)
class Struct:
    """A struct whose fields are public. `doc` is the first sentence of its comment."""

    name: str
    fields: tuple[Member, ...]
    doc: str
    is_union: bool = False


@dataclass(frozen=True)
class Function:
    """An exported function, or the type of a callback."""

    name: str
    returns: CType
    parameters: tuple[Member, ...]
    doc: str

    @property
    def can_fail(self) -> bool:
        """Whether it returns a status."""
        return self.returns.name == "dlx_status"


@dataclass(frozen=True)
class Model:
    """All declarations, in the order of the headers."""

    constants: dict[str, int]
    enums: dict[str, list[str]]  # the constants of each enum; macros are in none
    structs: dict[str, Struct]
    callbacks: dict[str, Function]
    functions: dict[str, Function]
    comments: dict[str, str]  # the whole comment of each function, struct and callback type
    cdef: str  # the declarations in C, without includes and macros
    opaque: list[str]  # structs of which only pointers exist
    nested: dict[str, Function]  # function types within parameter lists, which have no usable name
