"""What the tests of dlx.raw share: memory, deleters that are counted, and a reader of elements."""

from __future__ import annotations

import array
import contextlib
import ctypes
import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from dlx import errors, raw

CPU = (raw.kDLCPU, 0)
INT32 = raw.DLDataType(raw.kDLInt, 32, 1)
FLOAT32 = raw.DLDataType(raw.kDLFloat, 32, 1)
OPEN = raw.DLX_SLICE_OPEN
READ_ONLY = raw.DLPACK_FLAG_BITMASK_READ_ONLY
IS_COPIED = raw.DLPACK_FLAG_BITMASK_IS_COPIED
PADDED = raw.DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED

_calls: dict[int, list[int]] = {}
_tokens = itertools.count(1)
_deleter = raw.callback("dlx_deleter_fn", lambda data, token: _calls[token].append(data))
_managed_calls: list[int] = []
_legacy = raw.callback("DLManagedTensor.deleter", _managed_calls.append)
_versioned = raw.callback("DLManagedTensorVersioned.deleter", _managed_calls.append)


class Deleter:
    """A deleter for one tensor; `calls` has the address that each call was given."""

    def __init__(self) -> None:
        self.callback = _deleter
        self.token = next(_tokens)
        self.calls: list[int] = []
        _calls[self.token] = self.calls


class Block:
    """int32 numbers in memory, and a description of them."""

    def __init__(self, count: int) -> None:
        self.values = array.array("i", range(count))
        self.address = self.values.buffer_info()[0]

    def describe(self, shape: Any, strides: Any = None, **fields: Any) -> raw.DLTensor:
        fields = {"data": self.address, "device": CPU, "dtype": INT32, **fields}
        return raw.DLTensor(shape=shape, strides=strides, **fields)


def size_of(shape: Any) -> int:
    size = 1
    for extent in shape:
        size *= extent
    return size


def tensor(shape: Any, strides: Any = None, flags: int = 0, **fields: Any) -> raw.Handle:
    """A tensor of 0, 1, 2, … in int32, which owns its memory."""
    count = size_of(shape) if strides is None else 1 + sum(
        (extent - 1) * abs(stride) for extent, stride in zip(shape, strides)
    )  # fmt: skip
    block = Block(max(count, 1))
    deleter = Deleter()
    handle = raw.dlx_tensor_wrap(
        block.describe(shape, strides, **fields), flags, deleter.callback, deleter.token
    )
    _blocks[deleter.token] = block  # as long as the process: a few kB
    return handle


_blocks: dict[int, Block] = {}


def managed(
    shape: Any = (2, 3),
    *,
    version: Any = (1, 3),
    legacy: bool = False,
    flags: int = 0,
    **fields: Any,
) -> Any:
    """A DLPack struct of 0, 1, 2, … whose deleter is counted by `deletions`."""
    block = Block(max(size_of(shape), 1))
    description = block.describe(shape, fields.pop("strides", None), **fields)
    description.keep["block"] = block
    if legacy:
        struct: Any = raw.DLManagedTensor(description, deleter=_legacy)
    else:
        struct = raw.DLManagedTensorVersioned(version, 0, _versioned, flags, description)
    deletions(struct.address)  # of an older struct, which lay at the same place
    return struct


def deletions(address: int) -> int:
    """How often the deleter of the struct at an address ran since this was last asked."""
    count = _managed_calls.count(address)
    while address in _managed_calls:
        _managed_calls.remove(address)
    return count


def take(struct: Any) -> raw.Handle:
    """Import a struct of either kind."""
    if isinstance(struct, raw.DLManagedTensor):
        return raw.dlx_tensor_from_dlpack(struct, 0)
    return raw.dlx_tensor_from_dlpack_versioned(struct)


def give(handle: raw.Handle, legacy: bool = False, **options: Any) -> Any:
    """Export as a struct of either kind."""
    how = raw.dlx_export_options(**options)
    if legacy:
        return raw.dlx_tensor_to_dlpack(handle, how)
    return raw.dlx_tensor_to_dlpack_versioned(handle, how)


_SCALARS = {
    (0, 8): ctypes.c_int8,
    (0, 16): ctypes.c_int16,
    (0, 32): ctypes.c_int32,
    (0, 64): ctypes.c_int64,
    (1, 8): ctypes.c_uint8,
    (1, 32): ctypes.c_uint32,
    (2, 32): ctypes.c_float,
    (2, 64): ctypes.c_double,
}


def elements(handle: Any) -> Any:
    """The elements of a tensor as nested lists, read where its description says that they are."""
    t = handle if isinstance(handle, raw.DLTensor) else raw.dlx_tensor_dltensor(handle)
    scalar: Any = _SCALARS[t.dtype.code, t.dtype.bits]
    size = ctypes.sizeof(scalar)
    shape, strides = t.shape or (), t.strides or ()
    if t.strides is None:
        strides = tuple(size_of(shape[i + 1 :]) for i in range(len(shape)))

    def read(axis: int, address: int) -> Any:
        if axis == len(shape):
            return scalar.from_address(address).value
        step = strides[axis] * size
        return [read(axis + 1, address + i * step) for i in range(shape[axis])]

    return read(0, t.data + t.byte_offset)


@contextlib.contextmanager
def refused(status: int, function: str, *words: str) -> Iterator[None]:
    """The call within fails with that status, and its message has function and words."""
    with pytest.raises(errors.Error) as info:
        yield
    error = info.value
    assert type(error) is type(errors.from_status(status, "")), repr(error)
    assert error.status == status
    message = str(error)
    assert message == raw.dlx_last_error()
    assert message.startswith(f"{function}: ")
    for word in words:
        assert word in message
