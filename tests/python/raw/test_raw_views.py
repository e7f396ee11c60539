"""dlx.h, section views, against Python's own lists."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest
from raw_support import INT32, OPEN, PADDED, READ_ONLY, Block, Deleter, elements, refused, tensor

from dlx import raw

INVALID = raw.DLX_ERROR_INVALID_ARGUMENT
UNSUPPORTED = raw.DLX_ERROR_UNSUPPORTED


def along(axis: int, values: Any, change: Any) -> Any:
    """Apply `change` to the lists at depth `axis`."""
    if axis == 0:
        return change(values)
    return [along(axis - 1, value, change) for value in values]


@pytest.mark.parametrize("length", [0, 1, 2, 5])
def test_slices_follow_python(length: int) -> None:
    t = tensor([length])
    positions = [OPEN, -(2**63) + 1, -7, -5, -2, -1, 0, 1, 2, 4, 5, 6, 2**63 - 1]
    steps = [-(2**63), -7, -2, -1, 1, 2, 3, 2**63 - 1]
    for start, stop, step in itertools.product(positions, positions, steps):
        expected = list(range(length))[
            None if start == OPEN else start : None if stop == OPEN else stop : step
        ]
        with raw.dlx_tensor_slice(t, 0, start, stop, step) as view:
            assert elements(view) == expected, (start, stop, step)


def test_slices_of_any_axis_share_memory() -> None:
    t = tensor([3, 4, 5])
    values = elements(t)
    for axis in (-3, -2, -1, 0, 1, 2):
        with raw.dlx_tensor_slice(t, axis, 1, OPEN, 2) as view:
            assert elements(view) == along(axis % 3, values, lambda rows: rows[1::2])
        with raw.dlx_tensor_slice(t, axis, OPEN, OPEN, -1) as view:
            assert elements(view) == along(axis % 3, values, lambda rows: rows[::-1])
            assert raw.dlx_tensor_strides(view)[axis] == -raw.dlx_tensor_strides(t)[axis]


def test_select_removes_the_axis() -> None:
    t = tensor([3, 4])
    values = elements(t)
    for index in range(-3, 3):
        with raw.dlx_tensor_select(t, 0, index) as view:
            assert elements(view) == values[index]
    for index in range(-4, 4):
        with raw.dlx_tensor_select(t, -1, index) as view:
            assert elements(view) == [row[index] for row in values]
    with raw.dlx_tensor_select(t, 0, 1) as row, raw.dlx_tensor_select(row, 0, 2) as one:
        assert raw.dlx_tensor_ndim(one) == 0
        assert elements(one) == 6


def test_permute() -> None:
    t = tensor([2, 3, 4])
    values = elements(t)
    for axes in itertools.permutations(range(3)):
        with raw.dlx_tensor_permute(t, axes) as view:
            shape = raw.dlx_tensor_shape(view)
            assert shape == tuple((2, 3, 4)[axis] for axis in axes)
            got = elements(view)
            for index in itertools.product(*map(range, shape)):
                at = [index[axes.index(axis)] for axis in range(3)]
                assert got[index[0]][index[1]][index[2]] == values[at[0]][at[1]][at[2]]
    with raw.dlx_tensor_permute(t) as view:
        assert raw.dlx_tensor_shape(view) == (4, 3, 2)
    with raw.dlx_tensor_permute(t, [-1, 0, 1]) as view:
        assert raw.dlx_tensor_shape(view) == (4, 2, 3)


def test_squeeze_and_expand_dims() -> None:
    t = tensor([1, 2, 1, 3])
    with raw.dlx_tensor_squeeze(t, 0) as view:
        assert raw.dlx_tensor_shape(view) == (2, 3)
        assert elements(view) == [[0, 1, 2], [3, 4, 5]]
    with raw.dlx_tensor_squeeze(t, 0, []) as view:
        assert raw.dlx_tensor_shape(view) == (1, 2, 1, 3)
    with raw.dlx_tensor_squeeze(t, 1, [-2]) as view:
        assert raw.dlx_tensor_shape(view) == (1, 2, 3)
    with raw.dlx_tensor_squeeze(t, 2, [2, 0]) as view:
        assert raw.dlx_tensor_shape(view) == (2, 3)
    u = tensor([2, 3])
    for axis, shape in ((0, (1, 2, 3)), (1, (2, 1, 3)), (2, (2, 3, 1)), (-1, (2, 3, 1)),
                        (-3, (1, 2, 3))):  # fmt: skip
        with raw.dlx_tensor_expand_dims(u, axis) as view:
            assert raw.dlx_tensor_shape(view) == shape


def test_broadcast_repeats_and_is_read_only() -> None:
    t = tensor([3, 1])
    with raw.dlx_tensor_broadcast_to(t, 3, [2, 3, 4]) as view:
        assert elements(view) == [[[0] * 4, [1] * 4, [2] * 4]] * 2
        strides = raw.dlx_tensor_strides(view)
        assert (strides[0], strides[2]) == (0, 0)
        assert raw.dlx_tensor_flags(view) & READ_ONLY
    with raw.dlx_tensor_broadcast_to(t, 3, [1, 3, 1]) as view:
        assert raw.dlx_tensor_flags(view) == 0
    with raw.dlx_tensor_broadcast_to(t, 2, [3, 0]) as view:
        assert raw.dlx_tensor_size(view) == 0


@pytest.mark.parametrize(
    ("dtype", "shape"),
    [("uint8", (2, 16)), ("int16", (2, 8)), ("float32", (2, 4)), ("int64", (2, 2)),
     ("float32x4", (2, 1)), ("uint4", (2, 32)), ("bool", (2, 16))],
)  # fmt: skip
def test_bitcast_scales_the_last_axis(dtype: str, shape: tuple[int, ...]) -> None:
    t = tensor([2, 4])
    with raw.dlx_tensor_bitcast(t, raw.dlx_dtype_parse(dtype)) as view:
        assert raw.dlx_tensor_shape(view) == shape
        assert raw.dlx_tensor_data(view) == raw.dlx_tensor_data(t)
        with raw.dlx_tensor_bitcast(view, INT32) as back:
            assert elements(back) == elements(t)


def test_bitcast_keeps_strides_where_sizes_agree() -> None:
    t = tensor([3, 2], strides=[1, 3])
    with raw.dlx_tensor_bitcast(t, raw.dlx_dtype_parse("float32")) as view:
        assert raw.dlx_tensor_strides(view) == (1, 3)


def test_as_readonly_is_inherited() -> None:
    t = tensor([4])
    with raw.dlx_tensor_as_readonly(t) as view, raw.dlx_tensor_slice(view, 0, 1, OPEN, 1) as part:
        assert raw.dlx_tensor_flags(view) == READ_ONLY
        assert raw.dlx_tensor_flags(part) == READ_ONLY
        assert raw.dlx_tensor_flags(t) == 0
        assert elements(part) == [1, 2, 3]


def test_reshape_is_a_view_where_strides_allow() -> None:
    t = tensor([4, 6])
    for shape in ([24], [2, 2, 6], [4, 2, 3], [-1, 3], [4, 6, 1], [1, 24]):
        options = raw.dlx_copy_options(copy=raw.DLX_COPY_NEVER)
        with raw.dlx_tensor_reshape(t, len(shape), shape, options) as view:
            assert raw.dlx_tensor_data(view) == raw.dlx_tensor_data(t)
            with raw.dlx_tensor_reshape(view, 1, [24]) as flat:
                assert elements(flat) == list(range(24))


def test_reshape_copies_only_where_it_may() -> None:
    with raw.dlx_tensor_permute(tensor([2, 3])) as t:
        with raw.dlx_tensor_reshape(t, 1, [6]) as copy:
            assert elements(copy) == [0, 3, 1, 4, 2, 5]
            assert raw.dlx_tensor_data(copy) != raw.dlx_tensor_data(t)
        never = raw.dlx_copy_options(copy=raw.DLX_COPY_NEVER)
        with refused(raw.DLX_ERROR_COPY_REFUSED, "dlx_tensor_reshape"):
            raw.dlx_tensor_reshape(t, 1, [6], never)
    t = tensor([6])
    always = raw.dlx_copy_options(copy=raw.DLX_COPY_ALWAYS)
    with raw.dlx_tensor_reshape(t, 2, [2, 3], always) as copy:
        assert raw.dlx_tensor_data(copy) != raw.dlx_tensor_data(t)


REFUSALS: list[tuple[str, tuple[Any, ...], str]] = [
    ("dlx_tensor_slice", (2, 0, 1, 1), "`axis`"),
    ("dlx_tensor_slice", (-3, 0, 1, 1), "`axis`"),
    ("dlx_tensor_slice", (0, 0, 1, 0), "`step`"),
    ("dlx_tensor_select", (0, 2), "`index`"),
    ("dlx_tensor_select", (0, -3), "`index`"),
    ("dlx_tensor_select", (5, 0), "`axis`"),
    ("dlx_tensor_permute", ([0, 0],), "`axes"),
    ("dlx_tensor_permute", ([0, 2],), "`axes"),
    ("dlx_tensor_squeeze", (1, [0]), "`axes"),
    ("dlx_tensor_squeeze", (1, [9]), "`axes"),
    ("dlx_tensor_squeeze", (-1, None), "`count`"),
    ("dlx_tensor_squeeze", (1, None), "`axes`"),
    ("dlx_tensor_expand_dims", (4,), "`axis`"),
    ("dlx_tensor_expand_dims", (-4,), "`axis`"),
    ("dlx_tensor_broadcast_to", (2, [2, 4]), "`shape"),
    ("dlx_tensor_broadcast_to", (1, [3]), "`shape`"),
    ("dlx_tensor_broadcast_to", (2, [2, -1]), "`shape"),
    ("dlx_tensor_broadcast_to", (2, None), "`shape`"),
    ("dlx_tensor_bitcast", (None,), "`dtype`"),
    ("dlx_tensor_bitcast", (raw.DLDataType(raw.kDLInt, 64, 1),), "axis"),
    ("dlx_tensor_reshape", (1, [5]), "`shape`"),
    ("dlx_tensor_reshape", (2, [-1, -1]), "`shape"),
    ("dlx_tensor_reshape", (2, [-1, 4]), "`shape`"),
    ("dlx_tensor_reshape", (1, [-2]), "`shape"),
]


@pytest.mark.parametrize(("function", "arguments", "word"), REFUSALS)
def test_a_view_that_makes_no_sense_names_the_argument(
    function: str, arguments: tuple[Any, ...], word: str
) -> None:
    with refused(INVALID, function, word):
        getattr(raw, function)(tensor([2, 3]), *arguments)


@pytest.mark.parametrize(
    ("function", "arguments"),
    [("dlx_tensor_slice", (0, 0, 1, 1)), ("dlx_tensor_select", (0, 0)), ("dlx_tensor_permute", ()),
     ("dlx_tensor_squeeze", (0,)), ("dlx_tensor_expand_dims", (0,)),
     ("dlx_tensor_broadcast_to", (1, [1])), ("dlx_tensor_bitcast", (INT32,)),
     ("dlx_tensor_as_readonly", ()), ("dlx_tensor_reshape", (1, [1])),
     ("dlx_tensor_contiguous", ()), ("dlx_tensor_clone", ())],
)  # fmt: skip
def test_no_tensor_is_named(function: str, arguments: tuple[Any, ...]) -> None:
    with refused(INVALID, function, "`tensor`", "NULL"):
        getattr(raw, function)(None, *arguments)


def test_packed_elements_begin_at_a_byte() -> None:
    uint4 = raw.dlx_dtype_parse("uint4")
    with raw.dlx_tensor_empty(1, [8], uint4, raw.kDLCPU, 0) as t:
        with raw.dlx_tensor_slice(t, 0, 2, OPEN, 1) as view:
            assert raw.dlx_tensor_data(view) == raw.dlx_tensor_data(t) + 1
        with refused(UNSUPPORTED, "dlx_tensor_slice"):
            raw.dlx_tensor_slice(t, 0, 3, OPEN, 1)
        with refused(UNSUPPORTED, "dlx_tensor_select"):
            raw.dlx_tensor_select(t, 0, 1)
    padded = Block(2).describe([8], dtype=uint4)
    with raw.dlx_tensor_wrap(padded, PADDED) as t:
        with raw.dlx_tensor_slice(t, 0, 3, OPEN, 1) as view:
            assert raw.dlx_tensor_data(view) == raw.dlx_tensor_data(t) + 3
            assert raw.dlx_tensor_flags(view) == PADDED
        with refused(UNSUPPORTED, "dlx_tensor_bitcast"):
            raw.dlx_tensor_bitcast(t, raw.dlx_dtype_parse("uint8"))


def test_views_keep_the_owner_alive() -> None:
    block, deleter = Block(6), Deleter()
    t = raw.dlx_tensor_wrap(block.describe([1, 6]), 0, deleter.callback, deleter.token)
    views = [
        raw.dlx_tensor_slice(t, 1, 0, 3, 1), raw.dlx_tensor_select(t, 1, 2),
        raw.dlx_tensor_permute(t), raw.dlx_tensor_squeeze(t, 0), raw.dlx_tensor_expand_dims(t, 0),
        raw.dlx_tensor_broadcast_to(t, 2, [4, 6]), raw.dlx_tensor_as_readonly(t),
        raw.dlx_tensor_bitcast(t, INT32), raw.dlx_tensor_reshape(t, 1, [6]),
    ]  # fmt: skip
    t.release()
    for view in views:
        assert deleter.calls == []
        view.release()
    assert len(deleter.calls) == 1


def test_random_chains_of_views() -> None:
    seed = random.randrange(2**32)
    dice = random.Random(seed)
    for _ in range(200):
        shape = [dice.randint(0, 4) for _ in range(dice.randint(1, 4))]
        t = tensor(shape)
        values = elements(t)
        for _ in range(4):
            axis = dice.randrange(len(shape))
            start, stop = (dice.choice([None, dice.randint(-5, 5)]) for _ in range(2))
            part = slice(start, stop, dice.choice([-3, -2, -1, 1, 2, 3]))
            values = along(axis, values, lambda rows, part=part: rows[part])
            begin = OPEN if start is None else start
            end = OPEN if stop is None else stop
            t = raw.dlx_tensor_slice(t, axis, begin, end, part.step)
        assert elements(t) == values, f"seed {seed}"
