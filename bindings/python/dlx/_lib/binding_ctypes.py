"""libdlx.so through ctypes. The methods are those of `library.Backend`."""

from __future__ import annotations

import ctypes

from dlx._lib.generated_ctypes import CALLBACKS, FUNCTIONS, STRUCTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_NUMBERS: dict[str, Any] = {
    "char": ctypes.c_char,
    "int32_t": ctypes.c_int32,
    "int64_t": ctypes.c_int64,
    "uintptr_t": ctypes.c_size_t,
}


class Functions:
    """The exported functions, each declared when it is first used."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library

    def __getattr__(self, name: str) -> Any:
        if name not in FUNCTIONS:
            raise AttributeError(name)
        # Indexing makes a new function object; an attribute would be shared with other users.
        function = self._library[name]
        function.restype, function.argtypes = FUNCTIONS[name]
        call = _honest(function)
        setattr(self, name, call)
        return call


def _honest(function: Any) -> Callable[..., Any]:
    """The function, with a MemoryError where ctypes had no memory for an argument: it raises an
    ArgumentError then."""

    def call(*arguments: Any) -> Any:
        try:
            return function(*arguments)
        except ctypes.ArgumentError as error:
            if "MemoryError" not in str(error):
                raise
        raise MemoryError

    return call


class Library:
    """One loaded library."""

    def __init__(self, path: str) -> None:
        self._library = ctypes.CDLL(path)
        self.functions: Any = Functions(self._library)
        self._prototypes: dict[str, Any] = {}

    def array(self, ctype: str, values: Any) -> Any:
        if isinstance(values, int):
            return (_NUMBERS[ctype] * values)()
        return (_NUMBERS[ctype] * len(values))(*values)

    def array_at(self, ctype: str, address: int, count: int) -> Any:
        return (_NUMBERS[ctype] * count).from_address(address)

    def text(self, array: Any) -> bytes:
        value: bytes = array.value
        return value

    def struct(self, name: str) -> Any:
        return STRUCTS[name]()

    def struct_at(self, name: str, address: int) -> Any:
        return STRUCTS[name].from_address(address)

    def size(self, native: Any) -> int:
        return ctypes.sizeof(native)

    def address(self, native: Any) -> int:
        if isinstance(native, (ctypes.Array, ctypes.Structure)):
            return ctypes.addressof(native)
        return ctypes.cast(native, ctypes.c_void_p).value or 0

    def nested(self, struct: Any, field: str) -> Any:
        return getattr(struct, field)

    def get_address(self, struct: Any, field: str) -> int:
        return getattr(struct, field) or 0

    def set_address(self, struct: Any, field: str, address: int) -> None:
        setattr(struct, field, address)

    def get_text(self, struct: Any, field: str) -> bytes:
        value: bytes = getattr(struct, field)
        return value

    def copy(self, to: Any, source: Any) -> None:
        ctypes.memmove(ctypes.addressof(to), ctypes.addressof(source), ctypes.sizeof(to))

    def _prototype(self, kind: str) -> Any:
        if kind not in self._prototypes:
            result, parameters = CALLBACKS[kind]
            self._prototypes[kind] = ctypes.CFUNCTYPE(result, *parameters)
        return self._prototypes[kind]

    def callback(self, kind: str, function: Callable[..., Any]) -> Any:
        # ctypes passes NULL as None.
        return self._prototype(kind)(lambda *args: function(*[arg or 0 for arg in args]))

    def function_at(self, kind: str, address: int) -> Callable[..., Any]:
        function: Callable[..., Any] = self._prototype(kind)(address)
        return function

    def attach(self, object_type: int, namespace: int) -> int:
        # PyDLL keeps the GIL. Its function object is our own: ctypes.pythonapi, which everybody
        # shares, stays as it is.
        library = ctypes.PyDLL(self._library._name, handle=self._library._handle)
        function = library["dlx_python_attach"]
        function.restype, function.argtypes = FUNCTIONS["dlx_python_attach"]
        status: int = function(object_type, namespace)
        return status
