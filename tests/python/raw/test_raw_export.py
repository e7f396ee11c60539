"""dlx.h, section dlpack: exports, and who calls which deleter how often."""

from __future__ import annotations

import gc
from typing import Any

import pytest
from raw_support import (
    CPU,
    IS_COPIED,
    PADDED,
    READ_ONLY,
    Block,
    Deleter,
    elements,
    give,
    refused,
    take,
    tensor,
)

from dlx import raw

INVALID = raw.DLX_ERROR_INVALID_ARGUMENT
UNSUPPORTED = raw.DLX_ERROR_UNSUPPORTED
COPY_REFUSED = raw.DLX_ERROR_COPY_REFUSED

both = pytest.mark.parametrize("legacy", [False, True], ids=["versioned", "legacy"])


@both
def test_an_export_shares_and_keeps_alive(legacy: bool) -> None:
    block, deleter = Block(6), Deleter()
    t = raw.dlx_tensor_wrap(block.describe([2, 3]), 0, deleter.callback, deleter.token)
    out = give(t, legacy)
    assert out.owns
    assert out.manager_ctx != 0
    assert out.dl_tensor.data == block.address
    assert out.dl_tensor.device == raw.DLDevice(*CPU)
    if not legacy:
        assert out.version == raw.DLPackVersion(1, 3)
        assert out.flags == 0
    t.release()
    assert deleter.calls == []
    out.release()
    assert len(deleter.calls) == 1
    out.release()  # a second time: nothing happens
    assert len(deleter.calls) == 1


@both
def test_a_forgotten_export_is_released(legacy: bool) -> None:
    block, deleter = Block(6), Deleter()
    t = raw.dlx_tensor_wrap(block.describe([6]), 0, deleter.callback, deleter.token)
    out = give(t, legacy)
    t.release()
    del out
    assert len(deleter.calls) == 1


@both
def test_there_and_back(legacy: bool) -> None:
    block, deleter = Block(6), Deleter()
    t = raw.dlx_tensor_wrap(block.describe([3], [-2], data=block.address + 16), 0,
                            deleter.callback, deleter.token)  # fmt: skip
    out = give(t, legacy, copy=raw.DLX_COPY_NEVER) if not legacy else give(t, True, copy=1)
    again = take(out)
    t.release()
    assert elements(again) == [4, 2, 0]
    again.release()
    assert len(deleter.calls) == 1


def test_a_detached_export_belongs_to_the_caller() -> None:
    block, deleter = Block(2), Deleter()
    t = raw.dlx_tensor_wrap(block.describe([2]), 0, deleter.callback, deleter.token)
    address = give(t).detach()
    t.release()
    gc.collect()
    assert deleter.calls == []
    raw.DLManagedTensorVersioned.adopt(address).release()
    assert len(deleter.calls) == 1


@both
def test_read_only_data(legacy: bool) -> None:
    with tensor([3], flags=READ_ONLY) as t:
        if legacy:
            with refused(raw.DLX_ERROR_READ_ONLY, "dlx_tensor_to_dlpack"):
                give(t, True)
        else:
            with give(t) as out:
                assert out.flags == READ_ONLY
        with give(t, legacy, copy=raw.DLX_COPY_ALWAYS) as out:
            assert elements(out.dl_tensor) == [0, 1, 2]
            assert legacy or out.flags == IS_COPIED


@both
def test_a_copy_is_compact_marked_and_writable(legacy: bool) -> None:
    with raw.dlx_tensor_permute(tensor([2, 3])) as t:
        with give(t, legacy, copy=raw.DLX_COPY_ALWAYS) as out:
            assert out.dl_tensor.strides == (2, 1)
            assert elements(out.dl_tensor) == [[0, 3], [1, 4], [2, 5]]
            assert out.dl_tensor.data != raw.dlx_tensor_data(t)
            assert legacy or out.flags == IS_COPIED
        with give(t, legacy) as out:
            assert out.dl_tensor.data == raw.dlx_tensor_data(t)
            assert legacy or out.flags == 0


def test_alignment_is_kept_or_copied_or_refused() -> None:
    with tensor([64]) as t, raw.dlx_tensor_slice(t, 0, 1, 40, 1) as view:
        with give(view, min_alignment=4) as out:
            assert out.dl_tensor.data == raw.dlx_tensor_data(view)
        with give(view, min_alignment=4096) as out:
            assert out.dl_tensor.data % 4096 == 0
            assert out.flags == IS_COPIED
            assert elements(out.dl_tensor) == list(range(1, 40))
        with refused(COPY_REFUSED, "dlx_tensor_to_dlpack_versioned", "align"):
            give(view, min_alignment=4096, copy=raw.DLX_COPY_NEVER)


def test_negative_strides_by_option() -> None:
    shared: list[dict[str, Any]] = [
        {"negative_strides": raw.DLX_NEGATIVE_STRIDES_SHARE},
        {"copy": raw.DLX_COPY_NEVER},
    ]
    with raw.dlx_tensor_slice(tensor([4]), 0, 3, raw.DLX_SLICE_OPEN, -1) as v:
        with give(v) as out:
            assert out.flags == IS_COPIED
            assert out.dl_tensor.strides == (1,)
            assert elements(out.dl_tensor) == [3, 2, 1, 0]
        for how in shared:
            with give(v, **how) as out:
                assert out.flags == 0
                assert out.dl_tensor.strides == (-1,)
                assert elements(out.dl_tensor) == [3, 2, 1, 0]
        with refused(UNSUPPORTED, "dlx_tensor_to_dlpack_versioned", "negative"):
            give(v, negative_strides=raw.DLX_NEGATIVE_STRIDES_ERROR)
        with refused(UNSUPPORTED, "dlx_tensor_to_dlpack", "negative"):
            give(v, legacy=True)


def test_negative_strides_by_policy() -> None:
    assert raw.dlx_get_export_negative_strides() == raw.DLX_NEGATIVE_STRIDES_COPY
    with tensor([4]) as t, raw.dlx_tensor_slice(t, 0, 3, raw.DLX_SLICE_OPEN, -1) as view:
        try:
            raw.dlx_set_export_negative_strides(raw.DLX_NEGATIVE_STRIDES_SHARE)
            assert raw.dlx_get_export_negative_strides() == raw.DLX_NEGATIVE_STRIDES_SHARE
            with give(view) as out:
                assert out.dl_tensor.strides == (-1,)
            raw.dlx_set_export_negative_strides(raw.DLX_NEGATIVE_STRIDES_ERROR)
            with refused(UNSUPPORTED, "dlx_tensor_to_dlpack_versioned"):
                give(view)
            with refused(INVALID, "dlx_set_export_negative_strides", "`policy`"):
                raw.dlx_set_export_negative_strides(9)
            assert raw.dlx_get_export_negative_strides() == raw.DLX_NEGATIVE_STRIDES_ERROR
        finally:
            raw.dlx_set_export_negative_strides(raw.DLX_NEGATIVE_STRIDES_DEFAULT)
    assert raw.dlx_get_export_negative_strides() == raw.DLX_NEGATIVE_STRIDES_COPY


@pytest.mark.parametrize(
    ("asked", "works"), [((0, 0), True), ((1, 0), True), ((1, 99), True), ((2, 0), True),
                         ((0, 8), False)]
)  # fmt: skip
def test_versions_of_the_consumer(asked: tuple[int, int], works: bool) -> None:
    options: dict[str, Any] = {"max_version_major": asked[0], "max_version_minor": asked[1]}
    with tensor([2]) as t:
        if works:
            with give(t, **options) as out:
                assert out.version.major == 1
        else:
            with refused(UNSUPPORTED, "dlx_tensor_to_dlpack_versioned", "version"):
                give(t, **options)


def test_a_padded_layout_has_no_legacy_form() -> None:
    block = Block(1)
    description = block.describe([4], dtype=(raw.kDLUInt, 4, 1))
    with raw.dlx_tensor_wrap(description, PADDED) as t:
        with refused(UNSUPPORTED, "dlx_tensor_to_dlpack"):
            give(t, legacy=True)
        with give(t, legacy=True, copy=raw.DLX_COPY_ALWAYS) as out:
            assert out.dl_tensor.dtype == raw.DLDataType(raw.kDLUInt, 4, 1)
        with give(t) as out:
            assert out.flags == PADDED


def test_devices_and_streams_of_an_export() -> None:
    here: dict[str, Any] = {"flags": raw.DLX_HAS_DEVICE, "device_type": raw.kDLCPU}
    cuda: dict[str, Any] = {"flags": raw.DLX_HAS_DEVICE, "device_type": raw.kDLCUDA}
    with tensor([2]) as t:
        with give(t, **here) as out:
            assert out.dl_tensor.data == raw.dlx_tensor_data(t)
        with refused(raw.DLX_ERROR_DEVICE_REFUSED, "dlx_tensor_to_dlpack_versioned"):
            give(t, **cuda)
        with refused(INVALID, "dlx_tensor_to_dlpack_versioned", "stream"):
            give(t, flags=raw.DLX_HAS_STREAM, stream=1)


@pytest.mark.parametrize(
    "options", [{"copy": 9}, {"min_alignment": 3}, {"negative_strides": 9}, {"copy": -1}]
)
def test_an_option_that_makes_no_sense_is_refused(options: dict[str, Any]) -> None:
    with tensor([2]) as t, refused(INVALID, "dlx_tensor_to_dlpack_versioned", next(iter(options))):
        give(t, **options)


def test_a_flag_of_a_newer_version_is_unsupported() -> None:
    with tensor([2]) as t, refused(UNSUPPORTED, "dlx_tensor_to_dlpack_versioned", "flags"):
        give(t, flags=1 << 40)


def test_a_failed_export_leaves_nothing_behind() -> None:
    block, deleter = Block(2), Deleter()
    t = raw.dlx_tensor_wrap(block.describe([2]), READ_ONLY, deleter.callback, deleter.token)
    for _ in range(3):
        with refused(raw.DLX_ERROR_READ_ONLY, "dlx_tensor_to_dlpack"):
            give(t, legacy=True)
    with refused(INVALID, "dlx_tensor_to_dlpack_versioned", "`tensor`"):
        raw.dlx_tensor_to_dlpack_versioned(None)
    t.release()
    assert len(deleter.calls) == 1
