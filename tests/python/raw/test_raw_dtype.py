"""dlx.h, section dtype: names, formats, sizes."""

from __future__ import annotations

import sys

import pytest
from raw_support import FLOAT32, PADDED, refused

from dlx import raw

UNSUPPORTED = raw.DLX_ERROR_UNSUPPORTED
INVALID = raw.DLX_ERROR_INVALID_ARGUMENT

# name, code, bits, PEP 3118 format or None, typestr without byte order or None
SCALARS = [
    ("bool", raw.kDLBool, 8, "?", "b1"),
    ("int8", raw.kDLInt, 8, "b", "i1"),
    ("int16", raw.kDLInt, 16, "h", "i2"),
    ("int32", raw.kDLInt, 32, "i", "i4"),
    ("int64", raw.kDLInt, 64, "q", "i8"),
    ("uint8", raw.kDLUInt, 8, "B", "u1"),
    ("uint16", raw.kDLUInt, 16, "H", "u2"),
    ("uint32", raw.kDLUInt, 32, "I", "u4"),
    ("uint64", raw.kDLUInt, 64, "Q", "u8"),
    ("float16", raw.kDLFloat, 16, "e", "f2"),
    ("float32", raw.kDLFloat, 32, "f", "f4"),
    ("float64", raw.kDLFloat, 64, "d", "f8"),
    ("complex64", raw.kDLComplex, 64, "Zf", "c8"),
    ("complex128", raw.kDLComplex, 128, "Zd", "c16"),
    ("bfloat16", raw.kDLBfloat, 16, None, None),
    ("float8_e3m4", raw.kDLFloat8_e3m4, 8, None, None),
    ("float8_e4m3", raw.kDLFloat8_e4m3, 8, None, None),
    ("float8_e4m3b11fnuz", raw.kDLFloat8_e4m3b11fnuz, 8, None, None),
    ("float8_e4m3fn", raw.kDLFloat8_e4m3fn, 8, None, None),
    ("float8_e4m3fnuz", raw.kDLFloat8_e4m3fnuz, 8, None, None),
    ("float8_e5m2", raw.kDLFloat8_e5m2, 8, None, None),
    ("float8_e5m2fnuz", raw.kDLFloat8_e5m2fnuz, 8, None, None),
    ("float8_e8m0fnu", raw.kDLFloat8_e8m0fnu, 8, None, None),
    ("float6_e2m3fn", raw.kDLFloat6_e2m3fn, 6, None, None),
    ("float6_e3m2fn", raw.kDLFloat6_e3m2fn, 6, None, None),
    ("float4_e2m1fn", raw.kDLFloat4_e2m1fn, 4, None, None),
    ("int4", raw.kDLInt, 4, None, None),
    ("uint1", raw.kDLUInt, 1, None, None),
    ("uint4", raw.kDLUInt, 4, None, None),
    ("bcomplex32", raw.DLX_DTYPE_BCOMPLEX, 32, None, None),
    ("opaque64", raw.kDLOpaqueHandle, 64, None, None),
]
NATIVE = "<" if sys.byteorder == "little" else ">"
FOREIGN = ">" if sys.byteorder == "little" else "<"


@pytest.mark.parametrize(("name", "code", "bits"), [row[:3] for row in SCALARS])
@pytest.mark.parametrize("lanes", [1, 2, 4, 65535])
def test_names_go_both_ways(name: str, code: int, bits: int, lanes: int) -> None:
    dtype = raw.DLDataType(code, bits, lanes)
    spelled = name if lanes == 1 else f"{name}x{lanes}"
    assert raw.dlx_dtype_name(dtype) == spelled
    assert raw.dlx_dtype_parse(spelled) == dtype
    assert raw.dlx_dtype_bits(dtype) == bits * lanes


@pytest.mark.parametrize(
    "name", ["", "float", "float32x", "float32x0", "x4", "Float32", "float32 ", "int", "float8",
             "float32x65536", "float32x-1", "int0", "float6_e2m3", "bfloat32", "ﬂoat32"]
)  # fmt: skip
def test_what_is_no_name_is_refused(name: str) -> None:
    with refused(INVALID, "dlx_dtype_parse", "`name`"):
        raw.dlx_dtype_parse(name)


def test_a_missing_name_is_named() -> None:
    with refused(INVALID, "dlx_dtype_parse", "`name`", "NULL"):
        raw.dlx_dtype_parse(None)
    with refused(INVALID, "dlx_dtype_name", "`dtype`", "NULL"):
        raw.dlx_dtype_name(None)


@pytest.mark.parametrize(
    ("code", "bits", "lanes"),
    [(99, 8, 1), (raw.kDLFloat, 7, 1), (raw.kDLFloat, 32, 0), (raw.kDLFloat6_e2m3fn, 8, 1),
     (raw.kDLFloat4_e2m1fn, 8, 1), (raw.kDLBfloat, 32, 1), (raw.kDLInt, 0, 1)],
)  # fmt: skip
def test_what_dlpack_does_not_have_has_no_name(code: int, bits: int, lanes: int) -> None:
    dtype = raw.DLDataType(code, bits, lanes)
    with refused(UNSUPPORTED, "dlx_dtype_name"):
        raw.dlx_dtype_name(dtype)
    assert raw.dlx_dtype_bits(dtype) == 0


def test_a_name_needs_room() -> None:
    assert raw.dlx_dtype_name(FLOAT32, capacity=8) == "float32"
    for capacity in (7, 1, 0):
        with refused(INVALID, "dlx_dtype_name"):
            raw.dlx_dtype_name(FLOAT32, capacity=capacity)


@pytest.mark.parametrize(
    ("name", "text", "typestr"), [(r[0], r[3], r[4]) for r in SCALARS if r[3] is not None]
)
def test_formats_go_both_ways(name: str, text: str, typestr: str) -> None:
    dtype = raw.dlx_dtype_parse(name)
    order = "|" if dtype.bits == 8 else NATIVE
    for style, spelled in (
        (raw.DLX_FORMAT_BUFFER, text),
        (raw.DLX_FORMAT_TYPESTR, order + typestr),
    ):
        written = raw.dlx_dtype_format(dtype, style)
        assert raw.dlx_dtype_parse_format(written, style) == dtype
        assert raw.dlx_dtype_parse_format(spelled, style) == dtype
    assert raw.dlx_dtype_format(dtype, raw.DLX_FORMAT_TYPESTR) == order + typestr


@pytest.mark.parametrize("name", [r[0] for r in SCALARS if r[3] is None] + ["float32x4"])
@pytest.mark.parametrize("style", [raw.DLX_FORMAT_BUFFER, raw.DLX_FORMAT_TYPESTR])
def test_a_dtype_that_a_format_cannot_say_is_refused(name: str, style: int) -> None:
    with refused(UNSUPPORTED, "dlx_dtype_format"):
        raw.dlx_dtype_format(raw.dlx_dtype_parse(name), style)


def test_c_sizes_in_a_buffer_format_are_the_machines() -> None:
    import ctypes

    for letter, ctype in (("l", ctypes.c_long), ("n", ctypes.c_ssize_t), ("i", ctypes.c_int)):
        dtype = raw.dlx_dtype_parse_format(letter, raw.DLX_FORMAT_BUFFER)
        assert (dtype.code, dtype.bits) == (raw.kDLInt, 8 * ctypes.sizeof(ctype))


@pytest.mark.parametrize(
    ("text", "style"),
    [(FOREIGN + "f", raw.DLX_FORMAT_BUFFER), (FOREIGN + "f4", raw.DLX_FORMAT_TYPESTR),
     ("T{i:a:}", raw.DLX_FORMAT_BUFFER), ("O", raw.DLX_FORMAT_BUFFER),
     ("4s", raw.DLX_FORMAT_BUFFER), ("|O8", raw.DLX_FORMAT_TYPESTR),
     ("<U4", raw.DLX_FORMAT_TYPESTR), ("|S3", raw.DLX_FORMAT_TYPESTR)],
)  # fmt: skip
def test_foreign_order_structures_strings_and_objects_are_unsupported(
    text: str, style: int
) -> None:
    with refused(UNSUPPORTED, "dlx_dtype_parse_format", "`format`"):
        raw.dlx_dtype_parse_format(text, style)


def test_an_unknown_style_is_refused() -> None:
    with refused(INVALID, "dlx_dtype_parse_format", "`style`", "7"):
        raw.dlx_dtype_parse_format("f", 7)
    with refused(INVALID, "dlx_dtype_format", "`style`", "7"):
        raw.dlx_dtype_format(FLOAT32, 7)


@pytest.mark.parametrize(
    ("name", "count", "packed", "padded"),
    [("float32", 3, 12, 12), ("uint1", 9, 2, 9), ("int4", 3, 2, 3), ("float6_e2m3fn", 4, 3, 4),
     ("float4_e2m1fnx2", 3, 3, 6), ("complex128", 0, 0, 0), ("bool", 5, 5, 5)],
)  # fmt: skip
def test_bytes_of_compact_elements(name: str, count: int, packed: int, padded: int) -> None:
    dtype = raw.dlx_dtype_parse(name)
    assert raw.dlx_dtype_nbytes(dtype, count, 0) == packed
    assert raw.dlx_dtype_nbytes(dtype, count, PADDED) == padded


def test_byte_counts_that_make_no_sense_are_refused() -> None:
    with refused(INVALID, "dlx_dtype_nbytes", "`count`", "-1"):
        raw.dlx_dtype_nbytes(FLOAT32, -1, 0)
    with refused(INVALID, "dlx_dtype_nbytes"):
        raw.dlx_dtype_nbytes(FLOAT32, 2**62, 0)
    with refused(UNSUPPORTED, "dlx_dtype_nbytes"):
        raw.dlx_dtype_nbytes(raw.DLDataType(99, 8, 1), 1, 0)
