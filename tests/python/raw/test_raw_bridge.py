"""dlx.Tensor <-> dlx_tensor *, and who owns what on the way."""

from __future__ import annotations

import gc
from typing import Any

import pytest
from raw_support import Block, Deleter, elements

from dlx import raw

dlx: Any = pytest.importorskip("dlx", reason="dlx cannot be imported")


@pytest.fixture(autouse=True)
def attached() -> None:
    try:
        _ = dlx.Tensor
    except ImportError as error:
        pytest.skip(f"no native Tensor here: {error}")


def test_to_tensor_consumes_the_handle() -> None:
    block, deleter = Block(6), Deleter()
    handle = raw.dlx_tensor_wrap(block.describe([2, 3]), 0, deleter.callback, deleter.token)
    tensor = raw.to_tensor(handle)
    assert type(tensor) is dlx.Tensor
    assert tensor.shape == (2, 3)
    assert tensor.data_ptr == block.address
    with pytest.raises(ValueError, match="released"):
        raw.to_tensor(handle)
    del handle
    gc.collect()
    assert deleter.calls == []
    del tensor
    gc.collect()
    assert len(deleter.calls) == 1


def test_from_tensor_adds_a_reference() -> None:
    block, deleter = Block(4), Deleter()
    wrapped = raw.dlx_tensor_wrap(block.describe([4]), 0, deleter.callback, deleter.token)
    tensor = raw.to_tensor(wrapped)
    handle = raw.from_tensor(tensor)
    assert elements(handle) == [0, 1, 2, 3]
    del tensor
    gc.collect()
    assert deleter.calls == []
    handle.release()
    assert len(deleter.calls) == 1


def test_a_view_made_in_c_is_a_tensor_in_python() -> None:
    tensor = dlx.asarray([[1.0, 2.0], [3.0, 4.0]])
    with raw.from_tensor(tensor) as handle:
        view = raw.to_tensor(raw.dlx_tensor_permute(handle))
    assert view.tolist() == [[1.0, 3.0], [2.0, 4.0]]
    view[0, 1] = 30.0
    assert tensor.tolist() == [[1.0, 2.0], [30.0, 4.0]]


@pytest.mark.parametrize("wrong", [None, True, "x", object()])
def test_what_is_no_tensor_or_handle_is_refused(wrong: Any) -> None:
    with pytest.raises(TypeError):
        raw.from_tensor(wrong)
    with pytest.raises(TypeError, match="`handle` must be"):
        raw.to_tensor(wrong)


@pytest.mark.parametrize("wrong", [0, 3, 4095, 0x7FFF_0001, -8])
def test_numbers_that_are_no_address_of_a_tensor_are_refused(wrong: int) -> None:
    with pytest.raises(dlx.InvalidArgumentError):
        raw.to_tensor(wrong)
