"""Views of C arrays of cffi, which have no protocol that gives their dtype."""

from __future__ import annotations

import sys

from dlx import _native, dtypes
from dlx._lib.constants import THE_CPU
from dlx.errors import UnsupportedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dlx._native import Tensor
    from dlx.dtypes import DTypeCode

_TEXT = ("char", "wchar_t", "char16_t", "char32_t")
_SIGNED = ("signed char", "short", "int", "long", "long long", "ssize_t", "ptrdiff_t", "intptr_t")
_UNSIGNED = ("size_t", "uintptr_t")


def read(obj: Any) -> Tensor:
    """The Tensor on the memory of a C array, which it keeps alive; the array may have several axes.

    Raises:
        UnsupportedError: a pointer, a struct, a single number, or elements that are not numbers.
    """
    backend = sys.modules["_cffi_backend"]
    kind = backend.typeof(obj)
    shape: list[int] = []
    while kind.kind == "array":
        shape.append(len(obj) if not shape else kind.length)
        kind = kind.item
    name = f"a cffi.CData {backend.typeof(obj).cname!r}"
    if not shape:
        raise UnsupportedError(f"{name} is not an array: {_way(kind.kind)}")
    code = _code(kind, backend.sizeof(kind)) if kind.kind == "primitive" else None
    if code is None:
        raise UnsupportedError(
            f"DLPack has no dtype for the elements of {name} ({kind.cname!r}): take `ffi.buffer(x)` "
            "for the bytes"
        )
    block = _native._from_buffer(backend.buffer(obj))
    return _native._wrap(block.data_ptr, tuple(shape), None, code, THE_CPU, 0, block, None)


def _way(kind: str) -> str:
    if kind == "pointer":
        return (
            "a pointer has no length: cast it to an array, `ffi.cast('float(*)[3]', p)[0]`, or "
            "call dlx.from_pointer(p, shape, dtype)"
        )
    return "take int(x), float(x) or complex(x)" if kind == "primitive" else "pass its fields"


def _code(kind: Any, size: int) -> DTypeCode | None:
    """The dtype of a primitive C type; None for text and for types that DLPack lacks."""
    name, bits = kind.cname, 8 * size
    if name in _TEXT or name.startswith("long double"):
        return None
    if name == "_Bool":
        return dtypes.BOOL, 8, 1
    if "omplex" in name:  # _cffi_double_complex_t, double _Complex
        return (dtypes.COMPLEX, bits, 1) if size <= 16 else None
    if name in ("float", "double"):
        return dtypes.FLOAT, bits, 1
    if name in _SIGNED or name.startswith("int"):
        return dtypes.INT, bits, 1
    if name in _UNSIGNED or name.startswith(("unsigned", "uint")):
        return dtypes.UINT, bits, 1
    return None
