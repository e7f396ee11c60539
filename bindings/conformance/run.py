"""Runs bindings/conformance/cases.txt with dlx for Python, which is how its expectations were made.

    python bindings/conformance/run.py            fails, with the difference, if dlx does otherwise
    python bindings/conformance/run.py --update   writes what dlx does into the file

README.md describes the format.
"""

from __future__ import annotations

import ctypes
import difflib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dlx import errors, raw

CASES = Path(__file__).resolve().parent / "cases.txt"
CUDA = CASES.with_name("cuda.txt")
CHECKS = ("shape", "strides", "dtype", "readonly", "bytes", "error", "is")


def paragraphs(text: str) -> Iterator[list[str]]:
    """The lines of each case, without comments."""
    for part in text.split("\n\n"):
        lines = [line for line in part.splitlines() if line and not line.startswith("#")]
        if lines:
            yield lines


def numbers(word: str) -> list[int]:
    return [] if word == "-" else [int(n) for n in word.split(",")]


def words(values: Any) -> str:
    return ",".join(str(v) for v in values) or "-"


def fill(tensor: Any, data: bytes) -> None:
    if raw.dlx_tensor_nbytes(tensor) != len(data):
        raise AssertionError(f"{raw.dlx_tensor_nbytes(tensor)} bytes, not {len(data)}")
    ctypes.memmove(raw.dlx_tensor_data(tensor) or 0, data, len(data))


def tensor(dtype: str, shape: str, data: str) -> Any:
    extents = numbers(shape)
    made = raw.dlx_tensor_empty(len(extents), extents, raw.dlx_dtype_parse(dtype), raw.kDLCPU, 0)
    fill(made, bytes.fromhex("" if data == "-" else data))
    return made


def wrap(dtype: str, shape: str, strides: str, start: str, data: str) -> Any:
    """Memory of this language: element [0, …] lies `start` bytes behind its first byte."""
    memory = ctypes.create_string_buffer(bytes.fromhex(data), len(data) // 2)
    description = raw.DLTensor(
        data=ctypes.addressof(memory) + int(start),
        device=(raw.kDLCPU, 0),
        dtype=raw.dlx_dtype_parse(dtype),
        shape=numbers(shape),
        strides=numbers(strides),
    )
    return raw.dlx_tensor_wrap(
        description, 0, raw.callback("dlx_deleter_fn", lambda *_, kept=memory: None)
    )


def foreign(field: str, value: str) -> Any:
    """A managed tensor of float32 (2, 3) of another library, with one field changed."""
    memory = (ctypes.c_float * 6)(*range(6))
    shape = numbers(value) if field == "shape" else [2, 3]
    dtype = [raw.kDLFloat, 32, 1]
    if field in ("code", "bits", "lanes"):
        dtype[("code", "bits", "lanes").index(field)] = int(value)
    inner = raw.DLTensor(
        data=None if field == "data" else ctypes.addressof(memory),
        device=(int(value) if field == "device_type" else raw.kDLCPU, 0),
        dtype=tuple(dtype),
        shape=shape,
        strides=numbers(value) if field == "strides" else [3, 1],
    )
    if field == "ndim":
        inner.ndim = int(value)
    managed = raw.DLManagedTensorVersioned(
        version=(int(value) if field == "major" else 1, 0),
        flags=int(value) if field == "flags" else 0,
        dl_tensor=inner,
        deleter=raw.callback("DLManagedTensorVersioned.deleter", lambda _, kept=memory: None),
    )
    return raw.dlx_tensor_from_dlpack_versioned(managed)


def open_ended(word: str) -> int:
    return raw.DLX_SLICE_OPEN if word == "_" else int(word)


def options(*given: str) -> Any:
    """`never`, `always` and `F` as dlx_copy_options."""
    modes = {"never": raw.DLX_COPY_NEVER, "always": raw.DLX_COPY_ALWAYS}
    copy = next((modes[word] for word in given if word in modes), raw.DLX_COPY_IF_NEEDED)
    return raw.dlx_copy_options(copy=copy, order=int("F" in given))


def copy_from(t: Any, dtype: str, shape: str, data: str) -> Any:
    raw.dlx_tensor_copy_from(t, tensor(dtype, shape, data))
    return t


MAKERS = {"tensor": tensor, "wrap": wrap, "foreign": foreign}
OPERATIONS = {
    "permute": lambda t, axes=None: raw.dlx_tensor_permute(t, numbers(axes) if axes else None),
    "slice": lambda t, axis, *ends: raw.dlx_tensor_slice(t, int(axis), *map(open_ended, ends)),
    "select": lambda t, axis, index: raw.dlx_tensor_select(t, int(axis), int(index)),
    "squeeze": lambda t, *axes: raw.dlx_tensor_squeeze(
        t, len(axes), [int(axis) for axis in axes] or None
    ),
    "expand_dims": lambda t, axis: raw.dlx_tensor_expand_dims(t, int(axis)),
    "broadcast_to": lambda t, shape: raw.dlx_tensor_broadcast_to(
        t, len(numbers(shape)), numbers(shape)
    ),
    "bitcast": lambda t, dtype: raw.dlx_tensor_bitcast(t, raw.dlx_dtype_parse(dtype)),
    "as_readonly": raw.dlx_tensor_as_readonly,
    "contiguous": lambda t, *how: raw.dlx_tensor_contiguous(t, options(*how)),
    "clone": raw.dlx_tensor_clone,
    "reshape": lambda t, shape, *how: raw.dlx_tensor_reshape(
        t, len(numbers(shape)), numbers(shape), options(*how)
    ),
    "to_device": lambda t, name: raw.dlx_tensor_to_device(t, *raw.dlx_device_parse(name)),
    "dlpack": lambda t: raw.dlx_tensor_from_dlpack_versioned(raw.dlx_tensor_to_dlpack_versioned(t)),
    "legacy": lambda t: raw.dlx_tensor_from_dlpack(raw.dlx_tensor_to_dlpack(t), 0),
    "copy_from": copy_from,
}


def outcome(lines: list[str]) -> list[str]:
    """What the lines of a case lead to, as the lines of its expectations."""
    current: Any = None
    try:
        for line in lines:
            verb, *arguments = line.split()
            if verb in MAKERS:
                current = MAKERS[verb](*arguments)
            elif verb in OPERATIONS:
                current = OPERATIONS[verb](current, *arguments)
            elif verb == "parse_dtype":
                d = raw.dlx_dtype_parse(*arguments)
                return [f"is {d.code} {d.bits} {d.lanes} {raw.dlx_dtype_name(d)}"]
            elif verb == "parse_device":
                device = raw.dlx_device_parse(*arguments)
                return [f"is {device[0]} {device[1]} {raw.dlx_device_name(*device)}"]
            else:
                raise AssertionError(f"no operation {verb}")
    except errors.Error as error:
        return [f"error {error.status} {error}"]
    compact = raw.dlx_tensor_contiguous(raw.dlx_tensor_to_device(current, raw.kDLCPU, 0))
    size = raw.dlx_tensor_nbytes(compact)
    data = ctypes.string_at(raw.dlx_tensor_data(compact), size).hex() if size else "-"
    flags = raw.dlx_tensor_flags(current)
    return [
        f"dtype {raw.dlx_dtype_name(raw.dlx_tensor_dtype(current))}",
        f"shape {words(raw.dlx_tensor_shape(current))}",
        f"strides {words(raw.dlx_tensor_strides(current))}",
        f"readonly {flags & raw.DLPACK_FLAG_BITMASK_READ_ONLY}",
        f"bytes {data}",
    ]


def completed(text: str) -> str:
    """The text of the file with the expectations that dlx gives."""
    parts = []
    for part in text.rstrip("\n").split("\n\n"):
        lines = part.splitlines()
        kept = [line for line in lines if line.split(" ")[0] not in CHECKS]
        operations = [line for line in kept if not line.startswith(("#", "case "))]
        parts.append("\n".join([*kept, *(outcome(operations) if operations else [])]))
    return "\n\n".join(parts) + "\n"


def main() -> int:
    """Both files; the one for CUDA if there is a device, real or fake (DLX_CUDA_PATH)."""
    status = 0
    for path in (CASES, CUDA) if raw.dlx_device_count(raw.kDLCUDA) else (CASES,):
        old = path.read_text(encoding="utf-8")
        new = completed(old)
        if "--update" in sys.argv[1:]:
            path.write_text(new, encoding="utf-8")
            continue
        lines = (old.splitlines(), new.splitlines())
        difference = list(difflib.unified_diff(*lines, path.name, "dlx", lineterm=""))
        print("\n".join(difference) or f"{old.count('case ')} cases: as dlx does")
        status |= bool(difference)
    return status


if __name__ == "__main__":
    sys.exit(main())
