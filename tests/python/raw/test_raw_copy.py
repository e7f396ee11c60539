"""dlx.h, section copy."""

from __future__ import annotations

import random
from typing import Any

import pytest
from raw_support import FLOAT32, OPEN, READ_ONLY, Block, elements, refused, tensor

from dlx import raw

INVALID = raw.DLX_ERROR_INVALID_ARGUMENT
UNSUPPORTED = raw.DLX_ERROR_UNSUPPORTED


def test_contiguous_is_the_tensor_itself_where_it_can_be() -> None:
    with tensor([2, 3]) as t, raw.dlx_tensor_contiguous(t) as same:
        assert raw.dlx_tensor_data(same) == raw.dlx_tensor_data(t)
    with raw.dlx_tensor_permute(tensor([2, 3])) as t:
        with raw.dlx_tensor_contiguous(t) as copy:
            assert raw.dlx_tensor_strides(copy) == (2, 1)
            assert elements(copy) == elements(t)
        fortran = raw.dlx_copy_options(order=raw.DLX_ORDER_F)
        with raw.dlx_tensor_contiguous(t, fortran) as same:
            assert raw.dlx_tensor_data(same) == raw.dlx_tensor_data(t)


def test_contiguous_by_copy_mode() -> None:
    with tensor([2, 3]) as t:
        always = raw.dlx_copy_options(copy=raw.DLX_COPY_ALWAYS)
        with raw.dlx_tensor_contiguous(t, always) as copy:
            assert raw.dlx_tensor_data(copy) != raw.dlx_tensor_data(t)
        never = raw.dlx_copy_options(copy=raw.DLX_COPY_NEVER)
        with raw.dlx_tensor_contiguous(t, never) as same:
            assert raw.dlx_tensor_data(same) == raw.dlx_tensor_data(t)
        permuted = raw.dlx_tensor_permute(t)
        with refused(raw.DLX_ERROR_COPY_REFUSED, "dlx_tensor_contiguous"):
            raw.dlx_tensor_contiguous(permuted, never)


def test_a_copy_is_writable_aligned_and_apart() -> None:
    with tensor([100], flags=READ_ONLY) as t:
        options = raw.dlx_copy_options(alignment=1024)
        with raw.dlx_tensor_clone(t, options) as copy:
            assert raw.dlx_tensor_flags(copy) == 0
            assert raw.dlx_tensor_data(copy) % 1024 == 0
            assert elements(copy) == list(range(100))
    with tensor([2, 3]) as t:
        fortran = raw.dlx_copy_options(order=raw.DLX_ORDER_F)
        with raw.dlx_tensor_clone(t, fortran) as copy:
            assert raw.dlx_tensor_strides(copy) == (1, 2)
            assert elements(copy) == elements(t)


def test_copy_between_any_layouts() -> None:
    seed = random.randrange(2**32)
    dice = random.Random(seed)
    for _ in range(200):
        shape = [dice.randint(0, 5) for _ in range(dice.randint(0, 4))]
        source, target = tensor(shape), tensor(shape)
        axes = list(range(len(shape)))
        dice.shuffle(axes)
        source, target = (raw.dlx_tensor_permute(x, axes) for x in (source, target))
        for axis in range(len(shape)):
            if dice.random() < 0.5:
                source = raw.dlx_tensor_slice(source, axis, OPEN, OPEN, -1)
        if dice.random() < 0.5:
            target = raw.dlx_tensor_clone(target)
        raw.dlx_copy(raw.dlx_tensor_dltensor(target), raw.dlx_tensor_dltensor(source))
        assert elements(target) == elements(source), f"seed {seed}"


@pytest.mark.parametrize("shift", [-3, -1, 1, 3])
def test_overlap_copies_as_if_the_source_had_been_read_first(shift: int) -> None:
    block = Block(12)
    low, high = max(0, -shift), max(0, shift)
    source = block.describe([12 - abs(shift)], data=block.address + 4 * low)
    target = block.describe([12 - abs(shift)], data=block.address + 4 * high)
    expected = list(range(low, low + 12 - abs(shift)))
    raw.dlx_copy(target, source)
    assert elements(target) == expected


def test_a_reversal_in_place() -> None:
    block = Block(7)
    backwards = block.describe([7], [-1], data=block.address + 24)
    raw.dlx_copy(block.describe([7]), backwards)
    assert list(block.values) == [6, 5, 4, 3, 2, 1, 0]


def test_copy_refuses_what_does_not_fit() -> None:
    block = Block(6)
    d = block.describe
    cases: list[tuple[Any, Any, str]] = [
        (d([6]), d([5]), "`src`"),
        (d([6]), d([2, 3]), "`src`"),
        (d([6]), d([6], dtype=FLOAT32), "dtype"),
        (d([6], [0]), d([6]), "`dst`"),
        (None, d([6]), "`dst`"),
        (d([6]), None, "`src`"),
    ]
    for target, source, word in cases:
        with refused(INVALID, "dlx_copy", word):
            raw.dlx_copy(target, source)
    assert list(block.values) == list(range(6))


def test_copy_from_broadcasts_and_keeps_read_only_data() -> None:
    with tensor([2, 3]) as target, tensor([3]) as source:
        raw.dlx_tensor_copy_from(target, source)
        assert elements(target) == [[0, 1, 2], [0, 1, 2]]
        with refused(INVALID, "dlx_tensor_copy_from"):
            raw.dlx_tensor_copy_from(source, target)
        fixed = raw.dlx_tensor_as_readonly(target)
        with refused(raw.DLX_ERROR_READ_ONLY, "dlx_tensor_copy_from", "`dst`"):
            raw.dlx_tensor_copy_from(fixed, source)
        with refused(INVALID, "dlx_tensor_copy_from", "`dst`", "NULL"):
            raw.dlx_tensor_copy_from(None, source)
        with refused(INVALID, "dlx_tensor_copy_from", "`src`", "NULL"):
            raw.dlx_tensor_copy_from(target, None)


def test_packed_elements_are_copied_bit_by_bit() -> None:
    uint4 = raw.dlx_dtype_parse("uint4")
    block = Block(2)
    block.values[0] = 0x76543210
    t = raw.dlx_tensor_wrap(block.describe([8], dtype=uint4), 0)
    copy = raw.dlx_tensor_clone(raw.dlx_tensor_slice(t, 0, 0, OPEN, 2))
    packed = raw.dlx_tensor_bitcast(copy, raw.dlx_dtype_parse("uint8"))
    assert elements(packed) == [0x20, 0x64]


def test_a_plan_is_described_and_cut() -> None:
    block, other = Block(6), Block(6)
    target, source = block.describe([2, 3]), other.describe([2, 3], [1, 2])
    text = raw.dlx_copy_plan_describe(target, source)
    assert text
    assert raw.dlx_copy_plan_describe(target, source, capacity=4) == text[:3]
    assert list(block.values) == list(range(6))


@pytest.mark.parametrize(
    "function", ["dlx_tensor_contiguous", "dlx_tensor_clone", "dlx_tensor_reshape"]
)
def test_an_option_that_makes_no_sense_is_refused(function: str) -> None:
    wrong_size = raw.dlx_copy_options()
    wrong_size.struct_size = 3
    cases = [
        (raw.dlx_copy_options(copy=7), "copy"),
        (raw.dlx_copy_options(order=7), "order"),
        (raw.dlx_copy_options(alignment=5), "alignment"),
        (raw.dlx_copy_options(flags=raw.DLX_HAS_STREAM, stream=9), "stream"),
        (wrong_size, "struct_size"),
    ]
    middle = (1, [6]) if function == "dlx_tensor_reshape" else ()
    with raw.dlx_tensor_permute(tensor([2, 3])) as t:
        for options, word in cases:
            with refused(INVALID, function, word):
                getattr(raw, function)(t, *middle, options)
        with refused(UNSUPPORTED, function, "flags"):
            getattr(raw, function)(t, *middle, raw.dlx_copy_options(flags=4))
