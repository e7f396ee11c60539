"""Paddle: every dtype and layout both ways. It ignores byte_offset and read-only, never calls a
deleter without a context, and takes uint16 for bfloat16."""

from __future__ import annotations

import arrays
import pytest

import dlx

paddle = arrays.require("paddle")

SHARED = set(arrays.LAYOUTS) - {"reversed", "read-only", "empty"}


def address(x):
    return x.data_ptr()


def values(x):
    return x.numpy().tolist()


@pytest.mark.parametrize("layout", arrays.LAYOUTS)
def test_layouts(layout):
    arrays.check_layout(layout, "paddle", SHARED, address, values)


@pytest.mark.parametrize(
    "name",
    [n for n in arrays.NUMPY_NAMES if n != "uint16"] + ["bfloat16", "float8_e4m3fn", "float8_e5m2"],
)
def test_dtypes(name):
    result = arrays.check_dtype(name, paddle, address)

    assert str(result.dtype) == f"paddle.{name}"
    assert dlx.dtype(result.dtype) == dlx.dtype(getattr(paddle, name)) == name


@pytest.mark.parametrize("name", ["uint16", "float8_e3m4", "int4"])
def test_dtypes_that_paddle_takes_for_others_are_refused(name):
    with pytest.raises(dlx.UnsupportedError, match=r"paddle takes no.*uint16 for bfloat16"):
        dlx.convert(arrays.numpy_array(name), "paddle")


def test_many_axes():
    source = arrays.aligned(1, 1, 1, 1, 1, 1, 1, 1, 2)
    assert dlx.convert(source, "paddle").shape == list(source.shape)
    with pytest.raises(dlx.UnsupportedError, match="0 to 9 axes"):
        dlx.convert(source.reshape((1,) * 9 + (2,)), "paddle")


def test_an_offset_is_not_lost():
    base = dlx.asarray(arrays.aligned(8))

    assert values(dlx.convert(base[3:], "paddle")) == [3, 4, 5, 6, 7]


def test_writes_to_read_only_data_do_not_reach_it():
    source = arrays.LAYOUTS["read-only"]()
    result = dlx.convert(source, "paddle")
    result += 1

    assert source.tolist() == arrays.aligned(3, 4).tolist()


def test_a_tensor_with_a_graph():
    source = paddle.ones([2])
    source.stop_gradient = False

    assert dlx.convert(source, "paddle") is source


def test_lifetimes():
    arrays.check_release("paddle", values)


@pytest.mark.heavy
def test_no_leak():
    arrays.check_no_leak(lambda x: dlx.convert(x, "paddle", copy=True))
    arrays.check_no_leak(lambda x: dlx.asarray(paddle.to_tensor(x)))


def test_sparse_tensors_name_the_way_out():
    """Paddle's own error speaks of a tenth dimension."""
    for sparse in (
        paddle.sparse.sparse_coo_tensor([[0]], [1.0], [3]),
        paddle.sparse.sparse_csr_tensor([0, 1], [0], [1.0], [1, 3]),
    ):
        for take in (dlx.from_dlpack, dlx.asarray):
            with pytest.raises(dlx.UnsupportedError, match=r"sparse.*`.to_dense\(\)`"):
                take(sparse)
