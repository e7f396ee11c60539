"""Converts raw bytes to Python values and back, for every data type, without NumPy.

Used by `tolist`, `item`, `repr` and small literals, for dtypes that `memoryview` cannot decode.
"""

from __future__ import annotations

import math
import struct
import sys

from dlx import dtypes
from dlx.errors import InvalidArgumentError, UnsupportedError, int_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from dlx.dtypes import DTypeCode

# (exponent bits, mantissa bits, bias, specials) by type code. Specials: "ieee" has infinities and
# NaNs in the largest exponent; "fn" one NaN pattern, all bits set; "fnuz" one NaN, at minus zero;
# "none" has no infinities and NaNs.
_MINIFLOATS = {
    7: (3, 4, 3, "ieee"),  # float8_e3m4
    8: (4, 3, 7, "ieee"),  # float8_e4m3
    9: (4, 3, 11, "fnuz"),  # float8_e4m3b11fnuz
    10: (4, 3, 7, "fn"),  # float8_e4m3fn
    11: (4, 3, 8, "fnuz"),  # float8_e4m3fnuz
    12: (5, 2, 15, "ieee"),  # float8_e5m2
    13: (5, 2, 16, "fnuz"),  # float8_e5m2fnuz
    15: (2, 3, 1, "none"),  # float6_e2m3fn
    16: (3, 2, 3, "none"),  # float6_e3m2fn
    17: (2, 1, 1, "none"),  # float4_e2m1fn
}
_E8M0 = 14
_FLOAT_FORMATS = {16: "e", 32: "f", 64: "d"}
_NAN = float("nan")


def minifloat(pattern: int, code: int) -> float:
    """The value of one FP8, FP6 or FP4 bit pattern.

    Source: OCP "Microscaling Formats (MX) 1.0" and "8-bit Floating Point 1.0"; the fnuz kinds as
    in LLVM's APFloat.
    """
    if code == _E8M0:
        return _NAN if pattern == 0xFF else 2.0 ** (pattern - 127)
    exponent_bits, mantissa_bits, bias, specials = _MINIFLOATS[code]
    mantissa = pattern & ((1 << mantissa_bits) - 1)
    exponent = (pattern >> mantissa_bits) & ((1 << exponent_bits) - 1)
    negative = pattern >> (exponent_bits + mantissa_bits) & 1
    top = (1 << exponent_bits) - 1
    if specials == "fnuz" and negative and exponent == 0 and mantissa == 0:
        return _NAN
    if specials == "fn" and exponent == top and mantissa == (1 << mantissa_bits) - 1:
        return _NAN
    if specials == "ieee" and exponent == top:
        value = float("inf") if mantissa == 0 else _NAN
    elif exponent == 0:
        value = mantissa * 2.0 ** (1 - bias - mantissa_bits)
    else:
        value = (1 + mantissa / (1 << mantissa_bits)) * 2.0 ** (exponent - bias)
    return -value if negative else value


def _widened(raw: bytes) -> bytearray:
    """bfloat16 as float32: a bfloat16 is the upper half of a float32."""
    wide = bytearray(2 * len(raw))
    first = 2 if sys.byteorder == "little" else 0
    wide[first::4], wide[first + 1 :: 4] = raw[::2], raw[1::2]
    return wide


def _real_decoder(code: int, bits: int) -> Callable[[int], Any] | None:
    """A function from bit pattern to Python value, for a real type that `struct` does not read; or
    None."""
    if code == dtypes.BOOL:
        return bool
    if code == dtypes.UINT:
        return int
    if code == dtypes.INT:
        sign = 1 << (bits - 1)
        return lambda pattern: (pattern ^ sign) - sign
    if code in _MINIFLOATS or code == _E8M0:
        return lambda pattern: minifloat(pattern, code)
    return None


def _no_value(code: DTypeCode) -> UnsupportedError:
    return UnsupportedError(
        f"Python has no value for {dtypes.make_name(code)}: read its bytes with `.tobytes()`"
    )


def decode(raw: bytes, count: int, code: DTypeCode, *, padded: bool) -> list[Any]:
    """`count` compact elements as Python values; an element of several lanes is a tuple.

    Args:
        raw: the bytes, in the machine's order.
        count: how many elements.
        code: (code, bits, lanes).
        padded: sub-byte lanes take one byte each instead of being packed from the low bit on.

    Raises:
        UnsupportedError: Python has no value for the type (float128, opaque handles).
    """
    kind, bits, lanes = code
    if kind in (dtypes.COMPLEX, dtypes.BCOMPLEX):
        part = (dtypes.FLOAT if kind == dtypes.COMPLEX else dtypes.BFLOAT, bits // 2, 1)
        parts = decode(raw, 2 * count * lanes, part, padded=False)
        values = [complex(*pair) for pair in zip(parts[::2], parts[1::2])]
    elif kind == dtypes.FLOAT and bits in _FLOAT_FORMATS:
        values = list(struct.unpack(f"{count * lanes}{_FLOAT_FORMATS[bits]}", raw))
    elif kind == dtypes.BFLOAT:
        values = list(struct.unpack(f"{count * lanes}f", _widened(raw)))
    else:
        value = _real_decoder(kind, bits)
        if value is None:
            raise _no_value(code)
        patterns = _patterns(raw, count * lanes, bits, padded)
        known = {pattern: value(pattern) for pattern in set(patterns)}  # 256 or fewer, mostly
        values = [known[pattern] for pattern in patterns]
    if lanes == 1:
        return values
    return [tuple(values[i * lanes : (i + 1) * lanes]) for i in range(count)]


def _patterns(raw: bytes, count: int, bits: int, padded: bool) -> list[int]:
    """The bit patterns of `count` lanes."""
    mask = (1 << bits) - 1
    step = 8 if padded and bits < 8 else bits
    if step == 8:
        return [byte & mask for byte in raw[:count]]
    if step % 8 == 0:
        size, order = step // 8, sys.byteorder
        return [int.from_bytes(raw[i * size : (i + 1) * size], order) & mask for i in range(count)]
    # Packed: lane i starts at bit i * step, counted from the low bit of the first byte; eight lanes
    # fill `step` bytes.
    eights = (
        int.from_bytes(raw[first : first + step], "little") for first in range(0, len(raw), step)
    )
    return [eight >> shift & mask for eight in eights for shift in range(0, 8 * step, step)][:count]


def _encode_bfloat16(value: float) -> bytes:
    """Round to nearest, ties to even. Python floats pass through float32 first, as in NumPy."""
    try:
        pattern = struct.unpack("<I", struct.pack("<f", value))[0]
    except OverflowError:
        pattern = 0x7F800000 if value > 0 else 0xFF800000
    if value != value:
        return struct.pack("=H", 0x7FC0)
    return struct.pack("=H", (pattern + 0x7FFF + (pattern >> 16 & 1)) >> 16)


def _encode_float(value: float, bits: int) -> bytes:
    try:
        return struct.pack("=" + _FLOAT_FORMATS[bits], value)
    except OverflowError:  # beyond the largest finite value: infinity, as IEEE 754 rounds
        return struct.pack("=" + _FLOAT_FORMATS[bits], float("inf") if value > 0 else -float("inf"))


def _integer(value: Any, kind: int, bits: int, name: str) -> int:
    """The number, if it is a value of the integer type."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int):
        if isinstance(value, complex):
            way = "take `.real` or `abs()`"
        else:
            way = (
                "convert it first, e.g. with int()" if math.isfinite(value) else "replace it first"
            )
        raise InvalidArgumentError(f"{value!r} is not a value of {name}: {way}")
    signed = kind == dtypes.INT
    low = -(1 << (bits - 1)) if signed else 0
    high = (1 << (bits - 1 if signed else bits)) - 1
    if not low <= value <= high:
        raise InvalidArgumentError(
            f"{int_text(value)} does not fit {name} (expected {low} … {high})"
        )
    return value


def _encode_integer(value: Any, kind: int, bits: int, name: str) -> bytes:
    number = _integer(value, kind, bits, name)
    return number.to_bytes(bits // 8, sys.byteorder, signed=kind == dtypes.INT)


def _float_of(value: Any, name: str) -> float:
    try:
        return float(value)
    except OverflowError:
        raise InvalidArgumentError(
            f"{int_text(value)} does not fit {name}: it is beyond the range of a float"
        ) from None


def check_integers(value: Any, code: DTypeCode) -> None:
    """Refuse a number, or numbers in nested lists, that are not values of an integer type.

    Raises:
        InvalidArgumentError: a fraction, or a number out of range.
    """
    if isinstance(value, list):
        for item in value:
            check_integers(item, code)
    else:
        _integer(value, code[0], code[1], dtypes.make_name(code))


def can_encode(code: DTypeCode) -> bool:
    """Whether `encode` supports the type."""
    kind, bits, lanes = code
    if lanes != 1:
        return False
    if kind in (dtypes.INT, dtypes.UINT):
        return bits % 8 == 0
    if kind == dtypes.COMPLEX:
        return bits // 2 in _FLOAT_FORMATS
    return kind in (dtypes.BOOL, dtypes.BFLOAT, dtypes.BCOMPLEX) or (
        kind == dtypes.FLOAT and bits in _FLOAT_FORMATS
    )


def encode(values: Sequence[Any], code: DTypeCode) -> bytes:
    """Python numbers as the bytes of compact elements; see `can_encode`.

    Raises:
        InvalidArgumentError: a value that the type cannot hold: a fraction or a number out of
            range for an integer type, a complex number for a real one.
    """
    kind, bits, _ = code
    name = dtypes.make_name(code)
    if kind in (dtypes.INT, dtypes.UINT):
        return b"".join(_encode_integer(value, kind, bits, name) for value in values)
    if kind == dtypes.BOOL:
        return bytes(bool(value) for value in values)
    if kind in (dtypes.COMPLEX, dtypes.BCOMPLEX):
        part = (dtypes.FLOAT if kind == dtypes.COMPLEX else dtypes.BFLOAT, bits // 2, 1)
        numbers = (v if isinstance(v, complex) else complex(_float_of(v, name)) for v in values)
        return encode([half for z in numbers for half in (z.real, z.imag)], part)
    for value in values:
        if isinstance(value, complex):
            raise InvalidArgumentError(
                f"{value!r} is not a value of {name}: take `.real` or `abs()`"
            )
    if kind == dtypes.BFLOAT:
        return b"".join(_encode_bfloat16(_float_of(value, name)) for value in values)
    return b"".join(_encode_float(_float_of(value, name), bits) for value in values)
