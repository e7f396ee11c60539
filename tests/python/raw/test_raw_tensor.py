"""dlx.h, section tensor: allocation, wrapping, references, getters."""

from __future__ import annotations

import copy
import gc
import pickle
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest
from raw_support import (
    CPU,
    FLOAT32,
    INT32,
    IS_COPIED,
    PADDED,
    READ_ONLY,
    Block,
    Deleter,
    elements,
    refused,
    tensor,
)  # fmt: skip

from dlx import errors, raw

INVALID = raw.DLX_ERROR_INVALID_ARGUMENT
UNSUPPORTED = raw.DLX_ERROR_UNSUPPORTED


# ---- empty --------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(), (0,), (5,), (2, 3), (1, 0, 7), (2, 1, 3, 1), (1,) * 40])
def test_empty_is_compact_in_both_orders(shape: tuple[int, ...]) -> None:
    for order in (raw.DLX_ORDER_C, raw.DLX_ORDER_F):
        options = raw.dlx_empty_options(order=order)
        with raw.dlx_tensor_empty(len(shape), shape, FLOAT32, *CPU, options) as t:
            assert raw.dlx_tensor_ndim(t) == len(shape)
            assert raw.dlx_tensor_shape(t) == shape
            assert raw.dlx_tensor_is_contiguous(t, order) == 1
            assert raw.dlx_tensor_dtype(t) == FLOAT32
            assert raw.dlx_tensor_flags(t) == 0
            assert (raw.dlx_tensor_device_type(t), raw.dlx_tensor_device_id(t)) == CPU


def test_empty_says_its_strides_in_elements() -> None:
    with raw.dlx_tensor_empty(3, [2, 3, 4], FLOAT32, *CPU) as t:
        assert raw.dlx_tensor_strides(t) == (12, 4, 1)
    fortran = raw.dlx_empty_options(order=raw.DLX_ORDER_F)
    with raw.dlx_tensor_empty(3, [2, 3, 4], FLOAT32, *CPU, fortran) as t:
        assert raw.dlx_tensor_strides(t) == (1, 2, 6)


@pytest.mark.parametrize(("size", "least"), [(1, 64), (100, 64), (4096, 256), (100_000, 256)])
def test_empty_is_aligned(size: int, least: int) -> None:
    int8 = raw.dlx_dtype_parse("int8")
    with raw.dlx_tensor_empty(1, [size], int8, *CPU) as t:
        assert raw.dlx_tensor_data(t) % least == 0
    for alignment in (1, 512, 1 << 16):
        options = raw.dlx_empty_options(alignment=alignment)
        with raw.dlx_tensor_empty(1, [size], int8, *CPU, options) as t:
            assert raw.dlx_tensor_data(t) % alignment == 0


@pytest.mark.parametrize(
    ("name", "shape", "nbytes"),
    [("uint1", (9,), 2), ("float6_e2m3fn", (4,), 3), ("float32x4", (2, 2), 64), ("int64", (), 8)],
)
def test_sizes_count_packed_elements(name: str, shape: tuple[int, ...], nbytes: int) -> None:
    with raw.dlx_tensor_empty(len(shape), shape, raw.dlx_dtype_parse(name), *CPU) as t:
        assert raw.dlx_tensor_nbytes(t) == nbytes
        size = 1
        for extent in shape:
            size *= extent
        assert raw.dlx_tensor_size(t) == size


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        ((-1, None, FLOAT32, 1, 0), INVALID, "`ndim`"),
        ((raw.DLX_MAX_NDIM + 1, [1] * (raw.DLX_MAX_NDIM + 1), FLOAT32, 1, 0), INVALID, "`ndim`"),
        ((1, None, FLOAT32, 1, 0), INVALID, "`shape`"),
        ((1, [-2], FLOAT32, 1, 0), INVALID, "`shape"),
        ((2, [2**40, 2**40], FLOAT32, 1, 0), INVALID, "shape"),
        ((1, [2**62], FLOAT32, 1, 0), INVALID, "shape"),
        ((1, [1], None, 1, 0), INVALID, "`dtype`"),
        ((1, [1], raw.DLDataType(99, 8, 1), 1, 0), UNSUPPORTED, "dtype"),
        ((1, [1], FLOAT32, 99, 0), raw.DLX_ERROR_UNAVAILABLE, "`device`"),
        ((1, [1], FLOAT32, raw.kDLCPU, 7), raw.DLX_ERROR_UNAVAILABLE, "`device`"),
    ],
)
def test_empty_names_the_bad_argument(arguments: Any, status: int, words: str) -> None:
    with refused(status, "dlx_tensor_empty", words):
        raw.dlx_tensor_empty(*arguments)


def test_empty_refuses_bad_options() -> None:
    cases = [
        (raw.dlx_empty_options(alignment=3), "alignment"),
        (raw.dlx_empty_options(order=7), "order"),
        (raw.dlx_empty_options(flags=raw.DLX_HAS_STREAM, stream=5), "stream"),
    ]
    wrong_size = raw.dlx_empty_options()
    wrong_size.struct_size = 1
    for options, word in [*cases, (wrong_size, "struct_size")]:
        with refused(INVALID, "dlx_tensor_empty", word):
            raw.dlx_tensor_empty(1, [1], FLOAT32, *CPU, options)
    with refused(UNSUPPORTED, "dlx_tensor_empty", "flags"):
        raw.dlx_tensor_empty(1, [1], FLOAT32, *CPU, raw.dlx_empty_options(flags=1 << 20))


def test_a_size_beyond_memory_is_out_of_memory() -> None:
    with pytest.raises(errors.OutOfMemoryError) as info:
        raw.dlx_tensor_empty(1, [2**60], raw.dlx_dtype_parse("int8"), *CPU)
    assert isinstance(info.value, MemoryError)
    assert info.value.status == raw.DLX_ERROR_OUT_OF_MEMORY


# ---- wrap ---------------------------------------------------------------------------------------


def test_wrap_describes_the_callers_memory() -> None:
    block, deleter = Block(12), Deleter()
    t = raw.dlx_tensor_wrap(block.describe([3, 4]), 0, deleter.callback, deleter.token)
    assert raw.dlx_tensor_data(t) == block.address
    assert raw.dlx_tensor_strides(t) == (4, 1)
    assert elements(t) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]
    block.values[0] = 100
    assert elements(t)[0][0] == 100
    assert deleter.calls == []
    t.release()
    assert deleter.calls == [block.address]


def test_wrap_copies_the_description() -> None:
    block = Block(6)
    description = block.describe([2, 3])
    t = raw.dlx_tensor_wrap(description, 0)
    description.shape = [1, 1]
    del description
    assert raw.dlx_tensor_shape(t) == (2, 3)
    assert elements(t) == [[0, 1, 2], [3, 4, 5]]


def test_the_deleter_gets_data_without_the_byte_offset() -> None:
    block, deleter = Block(6), Deleter()
    description = block.describe([4], byte_offset=8)
    with raw.dlx_tensor_wrap(description, 0, deleter.callback, deleter.token) as t:
        assert raw.dlx_tensor_data(t) == block.address + 8
        assert raw.dlx_tensor_dltensor(t).byte_offset == 0
        assert elements(t) == [2, 3, 4, 5]
    assert deleter.calls == [block.address]


def test_without_a_deleter_nothing_is_freed() -> None:
    block = Block(3)
    raw.dlx_tensor_wrap(block.describe([3]), 0).release()
    assert list(block.values) == [0, 1, 2]


@pytest.mark.parametrize("strides", [(1, 2), (0, 0), (-3, 1), (0, -1), (100, 7)])
def test_any_strides_are_kept(strides: tuple[int, int]) -> None:
    block = Block(1)
    t = raw.dlx_tensor_wrap(block.describe([1, 1], strides), 0)
    assert raw.dlx_tensor_strides(t) == strides


def test_a_handle_on_a_device_keeps_its_byte_offset() -> None:
    description = raw.DLTensor(
        data=0x1000, device=(raw.kDLOpenCL, 1), dtype=(2, 32, 1), shape=[4], byte_offset=16
    )
    with raw.dlx_tensor_wrap(description, 0) as t:
        assert raw.dlx_tensor_data(t) == 0x1000
        assert raw.dlx_tensor_dltensor(t).byte_offset == 16
        assert raw.dlx_tensor_device_id(t) == 1


@pytest.mark.parametrize("flags", [0, READ_ONLY, PADDED, READ_ONLY | PADDED])
def test_flags_are_kept(flags: int) -> None:
    block = Block(2)
    dtype = (raw.kDLUInt, 4, 1)
    with raw.dlx_tensor_wrap(block.describe([4], dtype=dtype), flags) as t:
        assert raw.dlx_tensor_flags(t) == flags
        assert raw.dlx_tensor_nbytes(t) == (4 if flags & PADDED else 2)


@pytest.mark.parametrize("flags", [IS_COPIED, 8, 1 << 63])
def test_flags_that_are_no_property_of_memory_are_refused(flags: int) -> None:
    with refused(UNSUPPORTED, "dlx_tensor_wrap", "`flags`"):
        raw.dlx_tensor_wrap(Block(2).describe([2]), flags)


def malformed() -> list[Any]:
    block = Block(4)
    no_shape = block.describe(None)
    no_shape.ndim = 1
    return [
        pytest.param(None, INVALID, "`description`", id="NULL"),
        pytest.param(no_shape, INVALID, "shape", id="no shape"),
        pytest.param(block.describe([2], ndim=-1), INVALID, "ndim", id="negative ndim"),
        pytest.param(block.describe([2], ndim=5000), INVALID, "ndim", id="too many axes"),
        pytest.param(block.describe([2, -1]), INVALID, "shape", id="negative extent"),
        pytest.param(block.describe([2], data=0), INVALID, "data", id="no data"),
        pytest.param(block.describe([2**62, 4]), INVALID, "shape", id="too large"),
        pytest.param(block.describe([4], [2**62]), INVALID, "stride", id="strides too far"),
        pytest.param(block.describe([2], dtype=(99, 8, 1)), UNSUPPORTED, "dtype", id="dtype"),
        pytest.param(block.describe([2], dtype=(2, 32, 0)), UNSUPPORTED, "", id="no lanes"),
    ]


@pytest.mark.parametrize(("description", "status", "word"), malformed())
def test_a_malformed_description_is_refused_and_nothing_freed(
    description: Any, status: int, word: str
) -> None:
    deleter = Deleter()
    with refused(status, "dlx_tensor_wrap", word):
        raw.dlx_tensor_wrap(description, 0, deleter.callback, deleter.token)
    assert deleter.calls == []


def test_no_elements_need_no_data() -> None:
    deleter = Deleter()
    description = raw.DLTensor(device=CPU, dtype=INT32, shape=[0, 3])
    with raw.dlx_tensor_wrap(description, 0, deleter.callback, deleter.token) as t:
        assert raw.dlx_tensor_size(t) == 0
        assert elements(t) == []
    assert deleter.calls == [0]


# ---- references ---------------------------------------------------------------------------------


def test_the_last_reference_frees() -> None:
    block, deleter = Block(2), Deleter()
    t = raw.dlx_tensor_wrap(block.describe([2]), 0, deleter.callback, deleter.token)
    again = raw.dlx_tensor_retain(t)
    assert again is not None
    assert again.address == t.address
    t.release()
    assert deleter.calls == []
    assert elements(again) == [0, 1]
    again.release()
    assert len(deleter.calls) == 1


def test_null_is_ignored_by_retain_and_release() -> None:
    assert raw.dlx_tensor_retain(None) is None
    raw.dlx_tensor_release(None)
    raw.dlx_tensor_release(0)


def test_the_garbage_collector_gives_a_handle_back() -> None:
    block, deleter = Block(2), Deleter()
    t = raw.dlx_tensor_wrap(block.describe([2]), 0, deleter.callback, deleter.token)
    view = raw.dlx_tensor_select(t, 0, 1)
    del t
    assert deleter.calls == []
    del view
    assert len(deleter.calls) == 1


def test_a_released_handle_is_refused() -> None:
    t = tensor([2])
    raw.dlx_tensor_release(t)
    t.release()  # a second time: nothing happens
    for use in (raw.dlx_tensor_ndim, raw.dlx_tensor_retain, raw.dlx_tensor_as_readonly):
        with pytest.raises(ValueError, match="released"):
            use(t)
    with pytest.raises(ValueError, match="released"):
        t.detach()
    assert "released" in repr(t)


def test_a_borrowed_struct_outlives_the_handle() -> None:
    block, deleter = Block(3), Deleter()
    t = raw.dlx_tensor_wrap(block.describe([3]), 0, deleter.callback, deleter.token)
    description, dtype = raw.dlx_tensor_dltensor(t), raw.dlx_tensor_dtype(t)
    nested = description.device
    t.release()
    assert description.shape == (3,)
    assert dtype == INT32
    del description, dtype
    assert deleter.calls == []
    assert nested == raw.DLDevice(*CPU)
    del nested
    assert len(deleter.calls) == 1


def test_getters_of_nothing_are_an_error_and_no_crash() -> None:
    getters = (
        raw.dlx_tensor_dltensor, raw.dlx_tensor_flags, raw.dlx_tensor_ndim, raw.dlx_tensor_shape,
        raw.dlx_tensor_strides, raw.dlx_tensor_dtype, raw.dlx_tensor_device_type,
        raw.dlx_tensor_device_id, raw.dlx_tensor_data, raw.dlx_tensor_size, raw.dlx_tensor_nbytes,
    )  # fmt: skip
    for getter in getters:
        with pytest.raises(errors.InvalidArgumentError, match="`tensor`"):
            getter(None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("shape", "strides", "in_c", "in_f"),
    [((2, 3), (3, 1), 1, 0), ((2, 3), (1, 2), 0, 1), ((3,), (1,), 1, 1), ((3,), (2,), 0, 0),
     ((1, 3), (99, 1), 1, 1), ((2, 1), (1, 99), 1, 1), ((0, 3), (7, 7), 1, 1), ((), (), 1, 1),
     ((2, 2), (0, 1), 0, 0), ((3,), (-1,), 0, 0)],
)  # fmt: skip
def test_is_contiguous(shape: Any, strides: Any, in_c: int, in_f: int) -> None:
    description = Block(1).describe(shape, strides)
    with raw.dlx_tensor_wrap(description, 0) as t:
        assert raw.dlx_tensor_is_contiguous(t, raw.DLX_ORDER_C) == in_c
        assert raw.dlx_tensor_is_contiguous(t, raw.DLX_ORDER_F) == in_f


# ---- threads ------------------------------------------------------------------------------------


def test_threads_share_one_tensor() -> None:
    block, deleter = Block(4), Deleter()
    t = raw.dlx_tensor_wrap(block.describe([2, 2]), 0, deleter.callback, deleter.token)
    wrong: list[Any] = []

    def work() -> None:
        for _ in range(200):
            own = raw.dlx_tensor_retain(t)
            assert own is not None
            view = raw.dlx_tensor_permute(own)
            if raw.dlx_tensor_strides(view) != (1, 2) or raw.dlx_tensor_shape(own) != (2, 2):
                wrong.append(view)
            view.release()
            raw.dlx_tensor_release(own)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert deleter.calls == []
    t.release()
    assert len(deleter.calls) == 1


def test_one_handle_is_released_once_by_many_threads() -> None:
    for _ in range(50):
        block, deleter = Block(2), Deleter()
        t = raw.dlx_tensor_wrap(block.describe([2]), 0, deleter.callback, deleter.token)
        threads = [threading.Thread(target=raw.dlx_tensor_release, args=(t,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(deleter.calls) == 1


# ---- owners -------------------------------------------------------------------------------------


def owners() -> list[Any]:
    handle = tensor((3,))
    exports = [
        raw.dlx_tensor_to_dlpack(handle, 0),
        raw.dlx_tensor_to_dlpack_versioned(handle, None),
    ]
    return [handle, *exports, raw.DLManagedTensorVersioned(), Deleter().callback]


@pytest.mark.parametrize("index", range(5))
@pytest.mark.parametrize("double", [copy.copy, copy.deepcopy, pickle.dumps])
def test_owners_cannot_be_doubled(index: int, double: Callable[[Any], Any]) -> None:
    with pytest.raises(TypeError, match="cannot be copied or pickled"):
        double(owners()[index])


def released_by_two(owner: Any, line: int) -> bool:
    """Release it, and once more before that line of release(), as a second thread may. False: there
    is no such line."""
    left = [line]

    def trace(frame: Any, event: str, argument: object) -> Any:
        if frame.f_code is type(owner).release.__code__ and event == "line":
            left[0] -= 1
            if left[0] == -1:
                owner.release()
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        owner.release()
    finally:
        sys.settrace(before)
    return left[0] < 0


@pytest.mark.parametrize("index", [0, 2])
def test_two_that_release_the_same_owner(index: int) -> None:
    lines = 0
    while released_by_two(owner := owners()[index], lines):
        owner.release()
        assert repr(owner).endswith("released>")
        lines += 1
    assert lines >= 3


def test_a_handle_that_was_never_made_goes_quietly(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", seen.append)
    raw.Handle.__new__(raw.Handle)
    with pytest.raises(TypeError, match="address"):
        raw.Handle("x")  # type: ignore[arg-type]
    gc.collect()
    assert not seen
