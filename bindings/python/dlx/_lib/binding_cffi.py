"""libdlx.so through cffi, out of line. The methods are those of `library.Backend`."""

from __future__ import annotations

from dlx._lib.generated_cffi import ffi

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_IS_ADDRESS = ("pointer", "function")


def _integer(address: Any) -> int:
    return int(ffi.cast("uintptr_t", address))


def _in_integers(function: Any, ctype: Any) -> Callable[..., Any]:
    """A C function with integers for addresses, in and out; text is bytes."""
    casts = [arg if arg.kind in _IS_ADDRESS else None for arg in ctype.args]
    cast, string, null = ffi.cast, ffi.string, ffi.NULL
    result = ctype.result.kind in _IS_ADDRESS
    text = result and ctype.result.cname == "char *"

    def call(*args: Any) -> Any:
        converted = [
            arg if to is None or isinstance(arg, bytes) else cast(to, arg or 0)
            for to, arg in zip(casts, args)
        ]
        value = function(*converted)
        if text:
            return string(value) if value != null else None
        return _integer(value) if result else value

    return call


class Functions:
    """The exported functions, each wrapped when it is first used."""

    def __init__(self, library: Any) -> None:
        self._library = library

    def __getattr__(self, name: str) -> Any:
        try:
            function = getattr(self._library, name)
        except ffi.error as error:
            raise AttributeError(str(error)) from None
        call = _in_integers(function, ffi.typeof(function))
        setattr(self, name, call)
        return call


class Library:
    """One loaded library."""

    def __init__(self, path: str) -> None:
        self._library = ffi.dlopen(path)
        self.functions: Any = Functions(self._library)

    def array(self, ctype: str, values: Any) -> Any:
        return ffi.new(f"{ctype}[]", values)

    def array_at(self, ctype: str, address: int, count: int) -> Any:
        return ffi.cast(f"{ctype}(*)[{count}]", address)[0]

    def text(self, array: Any) -> bytes:
        value: bytes = ffi.string(array)
        return value

    def struct(self, name: str) -> Any:
        return ffi.new(f"{name} *")

    def struct_at(self, name: str, address: int) -> Any:
        return ffi.cast(f"{name} *", address)

    def size(self, native: Any) -> int:
        size: int = ffi.sizeof(native[0])
        return size

    def address(self, native: Any) -> int:
        return _integer(native)

    def nested(self, struct: Any, field: str) -> Any:
        return ffi.addressof(struct, field)

    def get_address(self, struct: Any, field: str) -> int:
        return _integer(getattr(struct, field))

    def set_address(self, struct: Any, field: str, address: int) -> None:
        setattr(struct, field, ffi.cast(ffi.typeof(getattr(struct, field)), address))

    def get_text(self, struct: Any, field: str) -> bytes:
        value: bytes = ffi.string(getattr(struct, field))
        return value

    def copy(self, to: Any, source: Any) -> None:
        to[0] = source[0]

    def _type(self, kind: str) -> Any:
        struct, _, field = kind.partition(".")
        if not field:
            return ffi.typeof(kind)
        return dict(ffi.typeof(struct).fields)[field].type

    def callback(self, kind: str, function: Callable[..., Any]) -> Any:
        ctype = self._type(kind)
        addresses = [arg.kind in _IS_ADDRESS for arg in ctype.args]
        result = ctype.result if ctype.result.kind in _IS_ADDRESS else None

        def call(*args: Any) -> Any:
            value = function(*[_integer(a) if is_ else a for is_, a in zip(addresses, args)])
            return ffi.cast(result, value or 0) if result is not None else value

        return ffi.callback(ctype, call)

    def function_at(self, kind: str, address: int) -> Callable[..., Any]:
        ctype = self._type(kind)
        return _in_integers(ffi.cast(ctype, address), ctype)

    def attach(self, object_type: int, namespace: int) -> int:
        # cffi releases the GIL; dlx_python_attach takes it again.
        status: int = self.functions.dlx_python_attach(object_type, namespace)
        return status
