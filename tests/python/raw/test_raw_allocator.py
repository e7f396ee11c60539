"""Allocators: of one call, and the process's own."""

from __future__ import annotations

from typing import Any

import pytest
from raw_support import CPU, INT32, Block, refused, tensor

from dlx import raw

INVALID = raw.DLX_ERROR_INVALID_ARGUMENT


class Recorder:
    """An allocator that writes down what it is asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, ...]] = []
        self.freed: list[tuple[int, ...]] = []
        self.live: dict[int, Any] = {}
        self.full = False
        self.allocator = raw.dlx_allocator(
            allocate=raw.callback("dlx_allocator.allocate", self.allocate),
            deallocate=raw.callback("dlx_allocator.deallocate", self.deallocate),
            user_data=77,
        )

    def allocate(self, size: int, alignment: int, *rest: int) -> int | None:
        self.asked.append((size, alignment, *rest))
        if self.full:
            return None
        block = Block((size + alignment) // 4 + 1)
        address = -(-block.address // alignment) * alignment
        self.live[address] = block
        return address

    def deallocate(self, data: int, size: int, *rest: int) -> None:
        self.freed.append((size, *rest))
        del self.live[data]


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


def test_an_allocator_of_one_call(recorder: Recorder) -> None:
    options = raw.dlx_empty_options(allocator=recorder.allocator, alignment=128)
    t = raw.dlx_tensor_empty(1, [10], INT32, *CPU, options)
    assert recorder.asked == [(40, 128, *CPU, 77)]
    assert list(recorder.live) == [raw.dlx_tensor_data(t)]
    del options
    with raw.dlx_tensor_slice(t, 0, 2, 5, 1):
        t.release()
        assert recorder.freed == []
    assert recorder.freed == [(40, *CPU, 77)]
    assert recorder.live == {}


def test_every_call_that_copies_takes_an_allocator(recorder: Recorder) -> None:
    copy = raw.dlx_copy_options(allocator=recorder.allocator, copy=raw.DLX_COPY_ALWAYS)
    export = raw.dlx_export_options(allocator=recorder.allocator, copy=raw.DLX_COPY_ALWAYS)
    with tensor([4]) as t:
        made: list[Any] = [
            raw.dlx_tensor_clone(t, copy), raw.dlx_tensor_contiguous(t, copy),
            raw.dlx_tensor_reshape(t, 2, [2, 2], copy), raw.dlx_tensor_to_device(t, *CPU, copy),
            raw.dlx_tensor_to_dlpack(t, export), raw.dlx_tensor_to_dlpack_versioned(t, export),
        ]  # fmt: skip
    assert len(recorder.asked) == len(recorder.live) == len(made)
    for one in made:
        one.release()
    assert len(recorder.freed) == len(made)
    assert recorder.live == {}


def test_the_default_allocator_of_the_process(recorder: Recorder) -> None:
    raw.dlx_set_allocator(raw.kDLCPU, recorder.allocator)
    try:
        t = raw.dlx_tensor_empty(2, [3, 5], INT32, *CPU)
    finally:
        raw.dlx_set_allocator(raw.kDLCPU)
    assert [size for size, *_ in recorder.asked] == [60]
    raw.dlx_tensor_empty(1, [3], INT32, *CPU).release()
    assert len(recorder.asked) == 1
    # What it made goes back to it, though it is the default no longer.
    t.release()
    assert recorder.freed == [(60, *CPU, 77)]


def test_an_allocator_without_room(recorder: Recorder) -> None:
    recorder.full = True
    options = raw.dlx_empty_options(allocator=recorder.allocator)
    with refused(raw.DLX_ERROR_OUT_OF_MEMORY, "dlx_tensor_empty"):
        raw.dlx_tensor_empty(1, [10], INT32, *CPU, options)
    assert recorder.freed == []


def test_an_allocator_is_never_asked_for_0_bytes(recorder: Recorder) -> None:
    options = raw.dlx_empty_options(allocator=recorder.allocator)
    raw.dlx_tensor_empty(2, [0, 3], INT32, *CPU, options).release()
    assert all(size > 0 for size, *_ in recorder.asked)
    assert [size for size, *_ in recorder.freed] == [size for size, *_ in recorder.asked]
    assert recorder.live == {}


def test_an_incomplete_allocator_is_refused(recorder: Recorder) -> None:
    allocate = recorder.allocator.allocate
    for broken in (raw.dlx_allocator(), raw.dlx_allocator(allocate=allocate)):
        with refused(INVALID, "dlx_set_allocator", "allocate"):
            raw.dlx_set_allocator(raw.kDLCPU, broken)
        with refused(INVALID, "dlx_tensor_empty", "allocate"):
            options = raw.dlx_empty_options(allocator=broken)
            raw.dlx_tensor_empty(1, [4], INT32, *CPU, options)
    with refused(raw.DLX_ERROR_UNSUPPORTED, "dlx_set_allocator", "`device_type`"):
        raw.dlx_set_allocator(raw.kDLVPI, recorder.allocator)
