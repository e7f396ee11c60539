"""The structs of `dlx.raw`: classes whose attributes are the fields of C's structs."""

from __future__ import annotations

from dlx._lib.classes import an
from dlx._lib.constants import MAX_NDIM
from dlx._lib.library import backend
from dlx._raw.types import Handle, address, borrowed_numbers, lib, numbers, pointer_to, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, ClassVar, TypeVar

    from typing_extensions import Self

    StructType = TypeVar("StructType", bound="Struct")


class Field:
    """One field of a struct: a descriptor."""

    name: str = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name


class Integer(Field):
    """A number."""

    def __init__(self, convert: Callable[[Any, str], int]) -> None:
        self.convert: Callable[[Any, str], int] = convert

    def __get__(self, struct: Struct, owner: object = None) -> int:
        value: int = getattr(struct.native, self.name)
        return value

    def __set__(self, struct: Struct, value: int) -> None:
        setattr(struct.native, self.name, self.convert(value, self.name))


class Address(Field):
    """A `void *` or a callback. Reads as an integer; takes an integer, a Callback or None."""

    def __get__(self, struct: Struct, owner: object = None) -> int:
        return backend.get_address(struct.native, self.name)

    def __set__(self, struct: Struct, value: Any) -> None:
        backend.set_address(struct.native, self.name, address(value, self.name))
        struct.keep[self.name] = value


class Numbers(Field):
    """An `int64_t *` to an array whose length is in another field. Reads as a tuple, NULL as None."""

    def __init__(self, count: str, *, sets_count: bool = False) -> None:
        self.count: str = count
        self.sets_count: bool = sets_count

    def __get__(self, struct: Struct, owner: object = None) -> tuple[int, ...] | None:
        pointer = backend.get_address(struct.native, self.name)
        if not pointer:
            return None
        count = max(getattr(struct, self.count), 0)
        array = struct.keep.get(self.name)
        if array is not None and array.address == pointer:
            count = min(count, array.count)  # not beyond the array that is known
        if count > MAX_NDIM:
            raise ValueError(f"`{self.name}` is not read: `{self.count}` is too large ({count})")
        return borrowed_numbers(pointer, count)

    def __set__(self, struct: Struct, values: Sequence[int] | None) -> None:
        count = None if self.sets_count else getattr(struct, self.count)
        array = numbers("int64_t", values, count, self.name)
        backend.set_address(struct.native, self.name, array.address)
        struct.keep[self.name] = array
        if self.sets_count and values is not None:
            setattr(struct, self.count, len(values))


class Nested(Field):
    """A struct within the struct. Takes a struct of that class, or a tuple of its fields."""

    def __init__(self, cls: type[Struct]) -> None:
        self.cls: type[Struct] = cls

    def __get__(self, struct: Struct, owner: object = None) -> Any:
        view = self.cls.view(backend.nested(struct.native, self.name), struct)
        # The targets of its pointers must live as long as the outer struct.
        view.keep = struct.keep.setdefault(self.name, {})
        return view

    def __set__(self, struct: Struct, value: Struct | tuple[Any, ...]) -> None:
        inner = value if isinstance(value, Struct) else self.cls(*value)
        if type(inner) is not self.cls:
            got = type(inner).__name__
            raise TypeError(f"`{self.name}` must be {an(self.cls.__name__)} or a tuple (got {got})")
        backend.copy(backend.nested(struct.native, self.name), inner.native)
        struct.keep[self.name] = dict(inner.keep)


class Reference(Field):
    """A pointer to a struct. Reads as a view of it, NULL as None."""

    def __init__(self, cls: Callable[[], type[Struct]]) -> None:
        self.cls: Callable[[], type[Struct]] = cls

    def __get__(self, struct: Struct, owner: object = None) -> Any:
        pointer = backend.get_address(struct.native, self.name)
        return self.cls().at(pointer, struct) if pointer else None

    def __set__(self, struct: Struct, value: Struct | None) -> None:
        pointer = struct_address(value, self.cls(), self.name)
        backend.set_address(struct.native, self.name, pointer)
        struct.keep[self.name] = value


class Text(Field):
    """An array of char. Reads as a str; takes a str that fits."""

    def __get__(self, struct: Struct, owner: object = None) -> str:
        return backend.get_text(struct.native, self.name).decode("utf-8", "replace")

    def __set__(self, struct: Struct, value: str) -> None:
        raw = text(value, self.name) or b""
        try:
            setattr(struct.native, self.name, raw)
        except (ValueError, IndexError):
            raise ValueError(f"`{self.name}` is too small for {len(raw)} bytes") from None


class Struct:
    """A C struct. `Cls(field, …, field=value)` makes one; omitted fields are zero.

    Fields are attributes. A struct keeps the targets of its pointers alive.

    Attributes:
        address: the address of the struct.
    """

    __slots__ = ("__weakref__", "keep", "native", "owner")
    fields: ClassVar[tuple[str, ...]] = ()
    sized: ClassVar[bool] = False

    def __init__(self, *values: Any, **named: Any) -> None:
        self.native: Any = backend.struct(type(self).__name__)
        self.keep: dict[str, Any] = {}
        self.owner: object = None
        if self.sized:
            self.native.struct_size = backend.size(self.native)
        if len(values) > len(self.fields):
            raise TypeError(
                f"{type(self).__name__} has {len(self.fields)} fields (got {len(values)})"
            )
        given = dict(zip(self.fields, values))
        for name in named:
            if name not in self.fields or name in given:
                why = "is given twice" if name in given else "is not a field"
                raise TypeError(f"{type(self).__name__}: `{name}` {why}")
        given.update(named)
        # Set again last: an explicit ndim overrides the one that follows from the shape.
        for name in [*sorted(given, key=self.fields.index), *({"ndim"} & given.keys())]:
            setattr(self, name, given[name])

    @classmethod
    def view(cls, native: Any, owner: object) -> Self:
        """A struct on the binding's object; it keeps `owner` alive."""
        self = cls.__new__(cls)
        self.native = native
        self.keep = {}
        self.owner = owner
        return self

    @classmethod
    def at(cls, address: int, owner: object = None) -> Self:
        """The struct at an address; it keeps only `owner` alive."""
        pointer = pointer_to(address, "address")
        if not pointer:
            raise ValueError("`address` is NULL")
        return cls.view(backend.struct_at(cls.__name__, pointer), owner)

    @property
    def address(self) -> int:
        return backend.address(self.native)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Struct) or type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.fields)

    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(self._field_repr, self.fields))})"

    def _field_repr(self, name: str) -> str:
        try:
            return f"{name}={getattr(self, name)!r}"
        except ValueError as error:  # `repr` has to work for broken structs
            return f"<{error}>"


def struct_address(value: Struct | int | None, cls: type[Struct], name: str) -> int:
    """The address of a struct of a class, an address itself, or None."""
    if value is None or isinstance(value, (cls, int)):
        return address(value, name)
    got = type(value).__name__
    raise TypeError(f"`{name}` must be a dlx.raw.{cls.__name__}, an address or None (got {got})")


def borrowed_struct(cls: type[StructType], pointer: int, tensor: int) -> StructType:
    """A struct that belongs to a tensor; it holds a reference to the tensor."""
    return cls.at(pointer, Handle(lib.dlx_tensor_retain(tensor)))
