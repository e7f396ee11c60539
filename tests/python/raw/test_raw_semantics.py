"""docs/semantics.md: the rules on C, one test for each."""

from __future__ import annotations

import pytest
from raw_support import CPU, INT32, Block, Deleter, deletions, elements, managed, refused, tensor

from dlx import raw


def test_v7_views_in_c_are_released_in_any_order() -> None:
    for order in ([0, 1, 2], [2, 1, 0], [1, 0, 2]):
        struct = managed([2, 3])
        address = struct.address
        whole = raw.dlx_tensor_from_dlpack_versioned(struct)
        row = raw.dlx_tensor_select(whole, 0, 1)
        part = raw.dlx_tensor_slice(row, 0, 1, 3, 1)
        handles = [whole, row, part]
        for i in order[:2]:
            handles[i].release()
        assert deletions(address) == 0
        assert elements(handles[order[2]]) in ([[0, 1, 2], [3, 4, 5]], [3, 4, 5], [4, 5])
        handles[order[2]].release()
        assert deletions(address) == 1


def test_c7_clone_copies_and_contiguous_may_not() -> None:
    with tensor([4]) as t, raw.dlx_tensor_clone(t, None) as copy:
        assert raw.dlx_tensor_data(copy) != raw.dlx_tensor_data(t)
        with raw.dlx_tensor_contiguous(t, None) as same:
            assert raw.dlx_tensor_data(same) == raw.dlx_tensor_data(t)
        strided = raw.dlx_tensor_slice(t, 0, 0, 4, 2)
        with strided, raw.dlx_tensor_contiguous(strided, None) as packed:
            assert raw.dlx_tensor_data(packed) != raw.dlx_tensor_data(t)
            assert elements(packed) == [0, 2]


def test_m4_an_import_consumes_and_a_failed_one_does_not() -> None:
    good, bad, foreign = managed([3]), managed([3]), managed([3], version=(2, 0))
    addresses = [struct.address for struct in (good, bad, foreign)]
    handle = raw.dlx_tensor_from_dlpack_versioned(good)
    with pytest.raises(ValueError, match="given away"):
        _ = good.dl_tensor
    bad.dl_tensor.shape = [-3]
    with refused(raw.DLX_ERROR_INVALID_ARGUMENT, "dlx_tensor_from_dlpack_versioned"):
        raw.dlx_tensor_from_dlpack_versioned(bad)
    with refused(raw.DLX_ERROR_UNSUPPORTED, "dlx_tensor_from_dlpack_versioned"):
        raw.dlx_tensor_from_dlpack_versioned(foreign)

    assert [deletions(address) for address in addresses] == [0, 0, 1]
    bad.dl_tensor.shape = [3]
    with raw.dlx_tensor_from_dlpack_versioned(bad) as t:  # it is still the caller's
        assert elements(t) == [0, 1, 2]
    handle.release()
    assert [deletions(address) for address in addresses] == [1, 1, 0]


def test_m5_an_export_is_the_receiver_s_and_outlives_the_tensor() -> None:
    block, deleter = Block(3), Deleter()
    t = raw.dlx_tensor_wrap(block.describe([3]), 0, deleter.callback, deleter.token)
    versioned = raw.dlx_tensor_to_dlpack_versioned(t, None)
    legacy = raw.dlx_tensor_to_dlpack(t, None)
    t.release()

    assert elements(versioned.dl_tensor) == elements(legacy.dl_tensor) == [0, 1, 2]
    raw.dlx_tensor_from_dlpack_versioned(versioned).release()
    assert deleter.calls == []
    raw.dlx_tensor_from_dlpack(legacy, 0).release()
    assert deleter.calls == [block.address]


def test_l3_an_allocator_frees_what_it_made() -> None:
    made: dict[int, Block] = {}
    freed: list[int] = []

    def allocate(size: int, alignment: int, *rest: int) -> int:
        block = Block((size + alignment) // 4 + 1)
        address = -(-block.address // alignment) * alignment
        made[address] = block
        return address

    allocator = raw.dlx_allocator(
        allocate=raw.callback("dlx_allocator.allocate", allocate),
        deallocate=raw.callback("dlx_allocator.deallocate", lambda data, *rest: freed.append(data)),
    )
    raw.dlx_set_allocator(raw.kDLCPU, allocator)
    try:
        t = raw.dlx_tensor_empty(1, [3], INT32, *CPU, None)
    finally:
        raw.dlx_set_allocator(raw.kDLCPU, None)
    address = raw.dlx_tensor_data(t)
    raw.dlx_tensor_empty(1, [3], INT32, *CPU, None).release()

    assert list(made) == [address]
    assert freed == []
    t.release()
    assert freed == [address]


def test_l9_a_failed_call_has_taken_no_ownership() -> None:
    block, deleter = Block(3), Deleter()
    description = block.describe([-3])
    with refused(raw.DLX_ERROR_INVALID_ARGUMENT, "dlx_tensor_wrap"):
        raw.dlx_tensor_wrap(description, 0, deleter.callback, deleter.token)

    assert deleter.calls == []
