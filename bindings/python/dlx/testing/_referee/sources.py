"""Producers whose every field can be chosen: legal ones and hostile ones.

Their deleter is C that needs no Python, so that a consumer may call it at any time, and the capsules
stay alive in the producer, so that what became of each can be looked at afterwards. The memory is
never freed: a consumer that uses it too long reads old bytes, and does not crash the check.
"""

from __future__ import annotations

import ctypes
import itertools
from ctypes import POINTER, c_int64, c_uint8
from typing import Any

from . import structs
from .outcomes import NotApplicableError
from .structs import CPU, IS_COPIED, LEGACY, USED, VERSIONED, Managed

_KEPT: list[Any] = []  # structs and memory of all exports
_ALIGNMENT = 4096

FLOAT32 = (2, 32, 1)


class Export:
    """One managed tensor, its capsule, and how often its deleter ran."""

    def __init__(self, source: Source, versioned: bool, copied: bool) -> None:
        memory = source.memory
        if copied:
            memory = Memory(source.memory.size, source.shift)
            ctypes.memmove(memory.pointer, source.memory.pointer, memory.size)
        self.memory = memory
        kind = structs.DLManagedTensorVersioned if versioned else structs.DLManagedTensor
        struct = kind()
        tensor = struct.dl_tensor
        tensor.data = None if source.null_data else memory.pointer + source.start
        tensor.byte_offset = source.byte_offset
        tensor.device = structs.DLDevice(*source.device)
        tensor.dtype = structs.DLDataType(*source.dtype)
        tensor.ndim = len(source.shape) if source.ndim is None else source.ndim
        extents = (c_int64 * max(1, len(source.shape)))(*source.shape)
        steps = (c_int64 * max(1, len(source.strides)))(*source.strides)
        if not source.null_shape:
            tensor.shape = ctypes.cast(extents, POINTER(c_int64))
        if not source.null_strides:
            tensor.strides = ctypes.cast(steps, POINTER(c_int64))
        struct.manager_ctx = None if source.null_manager else ctypes.addressof(extents)
        if versioned:
            struct.version = structs.DLPackVersion(*source.version)
            struct.flags = source.flags | (IS_COPIED if copied else 0)
        self.managed = Managed(ctypes.addressof(struct), versioned)
        self._counter = structs.Counter(self.managed)
        if source.null_deleter:
            struct.deleter = None
        self.name = source.capsule_name or (VERSIONED if versioned else LEGACY)
        self.capsule = structs.new_capsule(self.managed.address, self.name)
        _KEPT.append((struct, extents, steps, memory))

    @property
    def deleted(self) -> int:
        return self._counter.calls

    @property
    def taken(self) -> bool:
        """Whether a consumer renamed the capsule."""
        return structs.capsule_name(self.capsule) != self.name

    @property
    def destructor_removed(self) -> bool:
        return structs.destructor(self.capsule) != structs.HARMLESS


class Memory:
    """Bytes at `shift` bytes beyond a multiple of 4096, with room before and after."""

    def __init__(self, size: int, shift: int = 0) -> None:
        self.size = size
        self._raw = (c_uint8 * (size + 3 * _ALIGNMENT))()
        start = ctypes.addressof(self._raw)
        self.pointer = start - start % _ALIGNMENT + _ALIGNMENT + shift
        _KEPT.append(self._raw)


class Source:
    """A producer of DLPack whose every field can be chosen.

    Attributes:
        name, why: what it is, and the rule that makes it legal or not.
        legal: whether a consumer may rely on it; all others must be refused.
        calls: the keywords of each call of `__dlpack__`.
        exports: what was given out; `deleted` is the number of calls of their deleters.
    """

    def __init__(
        self,
        name: str = "plain",
        shape: tuple[int, ...] = (2, 3),
        dtype: tuple[int, int, int] = FLOAT32,
        *,
        legal: bool = True,
        why: str = "",
        strides: tuple[int, ...] | None = None,
        start: int = 0,
        data: bytes | None = None,
        size: int | None = None,
        shift: int = 0,
        byte_offset: int = 0,
        device: tuple[int, int] = (CPU, 0),
        version: tuple[int, int] = (1, 1),
        flags: int = 0,
        ndim: int | None = None,
        null_data: bool = False,
        null_shape: bool = False,
        null_strides: bool = False,
        null_deleter: bool = False,
        null_manager: bool = False,
        capsule_name: bytes | None = None,
        legacy: bool = False,
    ) -> None:
        self.name, self.legal, self.why = name, legal, why
        self.shape, self.dtype = shape, dtype
        self.strides = structs.compact_strides(shape) if strides is None else strides
        self.device, self.version, self.flags = device, version, flags
        self.ndim, self.null_data, self.null_shape = ndim, null_data, null_shape
        self.null_strides, self.null_deleter = null_strides, null_deleter
        self.null_manager, self.capsule_name, self.legacy = null_manager, capsule_name, legacy
        self.item = max(1, structs.element_bytes(dtype))
        self.byte_offset, self.start = byte_offset, start * self.item
        self.shift = shift
        content = pattern(dtype, 64) if data is None else data
        self.memory = Memory(max(size or 0, len(content) + byte_offset), shift)
        place = self.memory.pointer + byte_offset
        ctypes.memmove(self.memory.pointer, pattern(dtype, 64)[::-1], min(byte_offset, 64))
        ctypes.memmove(place, content, len(content))
        self.calls: list[dict[str, Any]] = []
        self.asked_device = 0
        self.exports: list[Export] = []

    def export(self, versioned: bool = True, copied: bool = False) -> Export:
        made = Export(self, versioned, copied)
        self.exports.append(made)
        return made

    def capsule(self) -> Any:
        """A capsule of the struct that this producer has, for consumers that take no objects."""
        return self.export(not self.legacy).capsule

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        self.calls.append(
            {"stream": stream, "max_version": max_version, "dl_device": dl_device, "copy": copy}
        )
        if dl_device is not None and tuple(dl_device) != self.device:
            raise BufferError(f"this producer is on {self.device} (got dl_device={dl_device})")
        versioned = max_version is not None and max_version[0] >= 1 and not self.legacy
        return self.export(versioned, bool(copy)).capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        self.asked_device += 1
        return self.device

    @property
    def address(self) -> int:
        """Where the first element is."""
        return self.memory.pointer + self.start + self.byte_offset

    @property
    def deleted(self) -> int:
        return sum(export.deleted for export in self.exports)

    @property
    def last(self) -> Export:
        if not self.exports:
            raise NotApplicableError("__dlpack__ was not called")
        return self.exports[-1]

    @property
    def values(self) -> list[bytes]:
        """The bytes of each element, in C order."""
        return structs.elements(self.address, self.shape, self.strides, self.item)

    def __repr__(self) -> str:
        return f"<{'legal' if self.legal else 'hostile'} producer: {self.name}>"


class OldSource(Source):
    """A producer with the signature of 2022: `__dlpack__(stream=None)`, a legacy capsule."""

    def __dlpack__(self, stream: Any = None) -> Any:  # type: ignore[override]
        self.calls.append({"stream": stream})
        return self.export(versioned=False).capsule


def pattern(dtype: tuple[int, int, int], count: int) -> bytes:
    """`count` elements that differ from each other: 1, 2, 3 … where the dtype is a number."""
    code, bits, lanes = dtype
    size = max(1, structs.element_bytes(dtype))
    if lanes == 1 and code == 2 and bits in (32, 64):
        kind: Any = ctypes.c_float if bits == 32 else ctypes.c_double
        return bytes((kind * count)(*range(1, count + 1)))
    if code == 6:
        return bytes(index % 2 for index in range(count * size))
    numbers = itertools.islice(itertools.cycle(range(1, 60)), count)
    return b"".join(number.to_bytes(size, "little") for number in numbers)


LEGAL_LAYOUTS: dict[str, dict[str, Any]] = {
    "column-major": {"shape": (2, 3), "strides": (1, 2)},
    "gaps between rows": {"shape": (3, 4), "strides": (8, 1)},
    "every second element": {"shape": (2, 3), "strides": (6, 2)},
    "negative strides": {"shape": (2, 3), "strides": (-3, -1), "start": 5},
    "a negative stride": {"shape": (6,), "strides": (-1,), "start": 5},
    "broadcast": {"shape": (3, 4), "strides": (0, 1)},
    "overlapping": {"shape": (3, 3), "strides": (1, 1)},
    "odd stride of a length 1": {"shape": (2, 1, 3), "strides": (3, 77, 1)},
}
STANDARD_DTYPES = {
    "bool": (6, 8, 1), "int8": (0, 8, 1), "int16": (0, 16, 1), "int32": (0, 32, 1),
    "int64": (0, 64, 1), "uint8": (1, 8, 1), "uint16": (1, 16, 1), "uint32": (1, 32, 1),
    "uint64": (1, 64, 1), "float32": (2, 32, 1), "float64": (2, 64, 1), "complex64": (5, 64, 1),
    "complex128": (5, 128, 1),
}  # fmt: skip
OTHER_DTYPES = {
    "float16": (2, 16, 1), "bfloat16": (4, 16, 1), "complex32": (5, 32, 1),
    "float8_e3m4": (7, 8, 1), "float8_e4m3": (8, 8, 1), "float8_e4m3b11fnuz": (9, 8, 1),
    "float8_e4m3fn": (10, 8, 1), "float8_e4m3fnuz": (11, 8, 1), "float8_e5m2": (12, 8, 1),
    "float8_e5m2fnuz": (13, 8, 1), "float8_e8m0fnu": (14, 8, 1), "4 lanes": (2, 32, 4),
    "128-bit float": (2, 128, 1), "opaque handle": (3, 64, 1),
}  # fmt: skip
PACKED_DTYPES = {"float4_e2m1fn": (17, 4, 1), "int4": (0, 4, 1), "uint4": (1, 4, 1)}
BAD_DTYPES = {
    "unknown code 99": (99, 32, 1),
    "float of 24 bits": (2, 24, 1),
    "no lanes": (2, 32, 0),
}
MALFORMED: dict[str, dict[str, Any]] = {
    "a negative length": {"shape": (2, -3)},
    "ndim -1": {"ndim": -1},
    "NULL shape with 2 axes": {"null_shape": True},
    "NULL data with 6 elements": {"null_data": True},
    "more bytes than fit in 64 bits": {"shape": (2**62, 2**62), "strides": (2**62, 1)},
}


def producers() -> list[Source]:
    """New producers of every kind, legal and hostile, for tests of your own consumer.

    Each has `name`, `legal`, `why`, `values`, `calls` and `deleted`. Hostile ones must be refused
    with an exception, and must not be consumed: `deleted` is 0, or 1 if the capsule was renamed.
    """
    result = [Source("plain")]
    for name, layout in LEGAL_LAYOUTS.items():
        result.append(Source(name, why="DLTensor.strides", **layout))
    for name, dtype in STANDARD_DTYPES.items():
        result.append(Source(name, dtype=dtype, why="a dtype of the array API"))
    result += [
        Source("no axes", (), null_shape=True, null_strides=True, why="DLTensor.shape"),
        Source("no elements", (0, 3), null_data=True, why="DLTensor.data"),
        Source("byte_offset 64", byte_offset=64, why="DLTensor.byte_offset"),
        Source("aligned to its elements only", shift=4, why="DLTensor.data"),
        Source("read-only", flags=structs.READ_ONLY, why="DLPACK_FLAG_BITMASK_READ_ONLY"),
        Source("minor version 99", version=(1, 99), why="DLPackVersion"),
        Source("NULL strides", null_strides=True, why="legal before DLPack 1.2"),
        Source("NULL deleter", null_deleter=True, why="DLManagedTensorVersioned.deleter"),
        Source("NULL manager_ctx", null_manager=True, why="DLManagedTensorVersioned.manager_ctx"),
        Source("legacy capsule", legacy=True, why="DLManagedTensor"),
        OldSource("signature of 2022", why="array API 2022.12"),
    ]
    for name, dtype in BAD_DTYPES.items():
        result.append(Source(name, dtype=dtype, legal=False, why="DLDataType"))
    for name, fields in MALFORMED.items():
        result.append(Source(name, legal=False, why="DLTensor", **fields))
    result += [
        Source("major version 2", version=(2, 0), legal=False, why="DLPackVersion"),
        Source("used capsule", capsule_name=USED[VERSIONED], legal=False, why="capsule names"),
        Source("other capsule", capsule_name=b"tensor", legal=False, why="capsule names"),
    ]
    return result
