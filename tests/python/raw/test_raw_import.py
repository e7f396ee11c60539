"""dlx.h, section dlpack: imports, and who calls which deleter how often."""

from __future__ import annotations

import gc
from typing import Any

import pytest
from raw_support import (
    IS_COPIED,
    PADDED,
    READ_ONLY,
    deletions,
    elements,
    give,
    managed,
    refused,
    take,
)

from dlx import raw

INVALID = raw.DLX_ERROR_INVALID_ARGUMENT
UNSUPPORTED = raw.DLX_ERROR_UNSUPPORTED

both = pytest.mark.parametrize("legacy", [False, True], ids=["versioned", "legacy"])


@both
def test_an_import_takes_the_struct_over(legacy: bool) -> None:
    struct = managed([2, 3], legacy=legacy)
    address = struct.address
    t = take(struct)
    assert "given away" in repr(struct)
    with pytest.raises(ValueError, match="given away"):
        _ = struct.dl_tensor
    assert elements(t) == [[0, 1, 2], [3, 4, 5]]
    view = raw.dlx_tensor_select(t, 0, 1)
    del struct
    gc.collect()
    t.release()
    assert deletions(address) == 0
    assert elements(view) == [3, 4, 5]
    view.release()
    assert deletions(address) == 1


@both
def test_a_null_deleter_is_taken(legacy: bool) -> None:
    struct = managed([3], legacy=legacy)
    struct.deleter = None
    address = struct.address
    with take(struct) as t:
        assert elements(t) == [0, 1, 2]
    assert deletions(address) == 0


@both
def test_null_strides_are_compact_and_exported_filled(legacy: bool) -> None:
    with take(managed([2, 3], legacy=legacy)) as t:
        assert raw.dlx_tensor_strides(t) == (3, 1)
        with give(t, legacy) as again:
            assert again.dl_tensor.strides == (3, 1)


@both
def test_a_byte_offset_is_folded_into_the_address(legacy: bool) -> None:
    struct = managed([6], legacy=legacy)
    struct.dl_tensor.byte_offset = 8
    struct.dl_tensor.shape = [4]
    data = struct.dl_tensor.data
    with take(struct) as t:
        assert raw.dlx_tensor_data(t) == data + 8
        assert elements(t) == [2, 3, 4, 5]
        with give(t, legacy) as again:
            assert again.dl_tensor.byte_offset == 0
            assert again.dl_tensor.data == data + 8


@both
@pytest.mark.parametrize("data", [0, 0x1000])
def test_no_elements_with_or_without_data(legacy: bool, data: int) -> None:
    struct = managed([0, 2], legacy=legacy, data=data)
    with take(struct) as t:
        assert raw.dlx_tensor_size(t) == 0
        with give(t, legacy) as again:
            assert again.dl_tensor.data == 0
            assert again.dl_tensor.shape == (0, 2)


@both
def test_zero_axes_need_no_shape(legacy: bool) -> None:
    struct = managed((), legacy=legacy)
    struct.dl_tensor.shape = None
    with take(struct) as t:
        assert raw.dlx_tensor_shape(t) == ()
        assert elements(t) == 0


def test_flags_of_the_producer_are_kept_but_the_copy() -> None:
    with take(managed([2], flags=READ_ONLY | IS_COPIED)) as t:
        assert raw.dlx_tensor_flags(t) == READ_ONLY
        with give(t) as again:
            assert again.flags == READ_ONLY
    padded = managed([4], dtype=(raw.kDLUInt, 4, 1), flags=PADDED)
    with take(padded) as t:
        assert raw.dlx_tensor_flags(t) == PADDED
        assert raw.dlx_tensor_nbytes(t) == 4


def test_a_legacy_import_is_told_its_flags() -> None:
    with raw.dlx_tensor_from_dlpack(managed([2], legacy=True), READ_ONLY) as t:
        assert raw.dlx_tensor_flags(t) == READ_ONLY
    struct = managed([2], legacy=True)
    with refused(UNSUPPORTED, "dlx_tensor_from_dlpack", "`flags`"):
        raw.dlx_tensor_from_dlpack(struct, 1 << 40)
    for beyond in (-1, 1 << 64):
        with pytest.raises(OverflowError, match="flags"):
            raw.dlx_tensor_from_dlpack(struct, beyond)
    assert deletions(struct.address) == 0


@pytest.mark.parametrize("version", [(1, 0), (1, 1), (1, 3), (1, 99)])
def test_every_minor_version_is_taken(version: tuple[int, int]) -> None:
    with take(managed([2], version=version)) as t:
        assert elements(t) == [0, 1]


@pytest.mark.parametrize("version", [(0, 8), (2, 0), (2**32 - 1, 0)])
def test_of_another_major_version_only_the_deleter_is_used(version: tuple[int, int]) -> None:
    # Everything after the flags is garbage: nobody may read it.
    struct = managed([2], version=version)
    struct.dl_tensor = raw.DLTensor(data=1, ndim=2**31 - 1)
    address = struct.address
    with refused(UNSUPPORTED, "dlx_tensor_from_dlpack_versioned", "version"):
        take(struct)
    assert deletions(address) == 1
    with pytest.raises(ValueError, match="given away"):
        _ = struct.flags


def test_another_major_version_without_a_deleter() -> None:
    struct = managed([2], version=(7, 0))
    struct.deleter = None
    with refused(UNSUPPORTED, "dlx_tensor_from_dlpack_versioned", "version"):
        take(struct)


@both
@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"ndim": -1}, INVALID),
        ({"ndim": 2**31 - 1}, INVALID),
        ({"data": 0}, INVALID),
        ({"dtype": (99, 8, 1)}, UNSUPPORTED),
        ({"dtype": (2, 32, 0)}, UNSUPPORTED),
        ({"dtype": (raw.kDLFloat6_e2m3fn, 8, 1)}, UNSUPPORTED),
    ],
)
def test_a_failed_import_leaves_the_struct_alone(
    legacy: bool, fields: dict[str, Any], status: int
) -> None:
    struct = managed([2, 3], legacy=legacy, **fields)
    before = repr(struct)
    function = "dlx_tensor_from_dlpack" + ("" if legacy else "_versioned")
    for _ in range(2):
        with refused(status, function):
            take(struct)
        assert repr(struct) == before
        assert deletions(struct.address) == 0


@both
def test_a_negative_extent_is_refused(legacy: bool) -> None:
    struct = managed([2, 3], legacy=legacy)
    struct.dl_tensor.shape = [2, -3]
    with refused(INVALID, "dlx_tensor_from_dlpack" + ("" if legacy else "_versioned"), "shape"):
        take(struct)
    assert deletions(struct.address) == 0


@pytest.mark.parametrize("flag", [8, 1 << 31, 1 << 63])
def test_flags_that_dlpack_does_not_have_are_refused(flag: int) -> None:
    struct = managed([2], flags=flag)
    with refused(UNSUPPORTED, "dlx_tensor_from_dlpack_versioned", "flag"):
        take(struct)
    assert deletions(struct.address) == 0


def test_nothing_to_import_is_named() -> None:
    with refused(INVALID, "dlx_tensor_from_dlpack_versioned", "`managed`", "NULL"):
        raw.dlx_tensor_from_dlpack_versioned(None)
    with refused(INVALID, "dlx_tensor_from_dlpack", "`managed`", "NULL"):
        raw.dlx_tensor_from_dlpack(None, 0)


@pytest.mark.parametrize("device", [(2, 3), (3, 0), (8, 1), (12, 99), (18, 2)])
def test_any_device_is_described_and_passed_on(device: tuple[int, int]) -> None:
    struct = managed([2], device=device)
    with take(struct) as t:
        assert (raw.dlx_tensor_device_type(t), raw.dlx_tensor_device_id(t)) == device
        with give(t) as again:
            assert again.dl_tensor.device == raw.DLDevice(*device)


def test_the_id_of_the_cpu_is_always_0() -> None:
    with take(managed([2], device=(raw.kDLCPU, 5))) as t:
        assert raw.dlx_tensor_device_id(t) == 0
