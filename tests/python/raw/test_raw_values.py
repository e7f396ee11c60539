"""How C's values look in Python: numbers, text, addresses, arrays, structs, handles."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest
from raw_support import CPU, FLOAT32, INT32, Block, deletions, elements, managed, tensor

from dlx import raw
from dlx._lib.library import backend


def test_numbers_that_do_not_fit_name_the_argument() -> None:
    t = tensor([2])
    with pytest.raises(OverflowError, match=r"`axis` does not fit int32_t \(got 2147483648\)"):
        raw.dlx_tensor_select(t, 2**31, 0)
    with pytest.raises(OverflowError, match="`index` does not fit int64_t"):
        raw.dlx_tensor_select(t, 0, -(2**63) - 1)
    with pytest.raises(OverflowError, match="`flags` does not fit uint64_t"):
        raw.dlx_dtype_nbytes(INT32, 1, -1)
    with pytest.raises(OverflowError, match=r"`shape\[1\]` does not fit int64_t"):
        raw.dlx_tensor_empty(2, [1, 2**63], INT32, *CPU)
    with pytest.raises(OverflowError, match="`bits` does not fit uint8_t"):
        raw.DLDataType(2, 256, 1)


@pytest.mark.parametrize("value", [1.0, "1", None, [1]])
def test_what_is_no_integer_names_the_argument(value: Any) -> None:
    with pytest.raises(TypeError, match="`axis` must be an integer"):
        raw.dlx_tensor_select(tensor([2]), value, 0)


def test_anything_with_an_index_is_an_integer() -> None:
    class Two:
        def __index__(self) -> int:
            return 2

    with raw.dlx_tensor_select(tensor([3]), False, Two()) as one:  # type: ignore[arg-type]
        assert elements(one) == 2


def test_text_must_be_a_str_without_zeros() -> None:
    with pytest.raises(TypeError, match="`name` must be a str"):
        raw.dlx_dtype_parse(b"float32")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="zero character"):
        raw.dlx_dtype_parse("float32\0x4")


def test_an_array_has_as_many_numbers_as_its_count_says() -> None:
    with pytest.raises(ValueError, match=r"`shape` must have 3 numbers \(got 2\)"):
        raw.dlx_tensor_empty(3, [1, 2], INT32, *CPU)
    with pytest.raises(ValueError, match=r"`axes` must have 2 numbers \(got 1\)"):
        raw.dlx_tensor_permute(tensor([1, 2]), [0])
    with pytest.raises(ValueError, match="`strides` must have 2 numbers"):
        raw.DLTensor(shape=[1, 2], strides=[1])


@pytest.mark.parametrize("wrong", [3.5, "x", object(), INT32])
def test_a_handle_is_a_handle(wrong: Any) -> None:
    with pytest.raises(TypeError, match=r"`tensor` must be a dlx\.raw\.Handle"):
        raw.dlx_tensor_ndim(wrong)
    with pytest.raises(TypeError, match=r"`tensor` must be a dlx\.raw\.Handle"):
        raw.dlx_tensor_retain(wrong)


def test_a_struct_is_of_its_class() -> None:
    with pytest.raises(TypeError, match=r"`dtype` must be a dlx\.raw\.DLDataType"):
        raw.dlx_dtype_name(raw.DLDevice(1, 0))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"`options` must be a dlx\.raw\.dlx_empty_options"):
        raw.dlx_tensor_empty(0, None, INT32, *CPU, raw.dlx_copy_options())  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="`managed` must be"):
        raw.dlx_tensor_from_dlpack(managed(), 0)
    with pytest.raises(TypeError, match="`device` must be a DLDevice"):
        raw.DLTensor(device=INT32)


def test_an_address_stands_for_a_struct_and_a_handle() -> None:
    assert raw.dlx_dtype_name(FLOAT32.address) == "float32"
    t = tensor([2, 3])
    assert raw.dlx_tensor_shape(t.address) == (2, 3)
    assert raw.DLTensor.at(raw.dlx_tensor_dltensor(t).address).shape == (2, 3)


def test_a_struct_is_made_of_its_fields() -> None:
    block = Block(6)
    t = raw.DLTensor(block.address, CPU, dtype=(0, 32, 1), shape=(2, 3), byte_offset=4)
    assert (t.data, t.ndim, t.shape, t.strides, t.byte_offset) == (
        block.address,
        2,
        (2, 3),
        None,
        4,
    )
    assert t.device == raw.DLDevice(raw.kDLCPU, 0)
    assert t.dtype == INT32 != FLOAT32
    assert t.dtype != t.device
    t.device.device_id = 9
    assert t.device.device_id == 9
    assert repr(t.device) == "DLDevice(device_type=1, device_id=9)"
    zero = raw.DLTensor()
    assert (zero.data, zero.ndim, zero.shape, zero.strides) == (0, 0, None, None)


def test_a_field_that_is_none_is_named() -> None:
    with pytest.raises(TypeError, match="`color` is not a field"):
        raw.dlx_copy_options(color=1)
    with pytest.raises(TypeError, match="`code` is given twice"):
        raw.DLDataType(1, 8, 1, code=2)
    with pytest.raises(TypeError, match="has 3 fields"):
        raw.DLDataType(1, 8, 1, 1)


@pytest.mark.parametrize(
    "name",
    ["dlx_allocator", "dlx_empty_options", "dlx_copy_options", "dlx_export_options",
     "dlx_device_properties"],
)  # fmt: skip
def test_struct_size_is_set(name: str) -> None:
    struct = getattr(raw, name)()
    assert struct.struct_size == backend.size(struct.native) > 0


def test_a_struct_keeps_alive_what_it_points_at() -> None:
    allocator = raw.dlx_allocator(user_data=5)
    watch = weakref.ref(allocator)
    options = raw.dlx_empty_options(allocator=allocator)
    del allocator
    gc.collect()
    assert options.allocator.user_data == 5
    assert options.allocator.address == watch().address  # type: ignore[union-attr]
    options.allocator = None
    gc.collect()
    assert watch() is None

    outer = raw.DLManagedTensorVersioned(dl_tensor=raw.DLTensor(shape=[7, 8]))
    inner = outer.dl_tensor
    inner.strides = [80, 90]
    del inner
    gc.collect()
    garbage = [raw.DLTensor(shape=[0, 0], strides=[0, 0]) for _ in range(100)]
    assert outer.dl_tensor.shape == (7, 8)
    assert outer.dl_tensor.strides == (80, 90)
    assert garbage


def test_an_array_is_never_read_beyond_its_end() -> None:
    t = raw.DLTensor(shape=[2, 3], ndim=2**31 - 1)
    assert t.shape == (2, 3)
    view = raw.DLTensor.at(t.address, t)
    with pytest.raises(ValueError, match=r"`ndim` is too large \(2147483647\)"):
        _ = view.shape
    assert "ndim=2147483647" in repr(view)


def test_null_is_no_struct() -> None:
    for make in (raw.DLTensor.at, raw.DLManagedTensor.adopt):
        with pytest.raises(ValueError, match="`address` is NULL"):
            make(0)


def test_a_struct_made_here_lives_as_long_as_c_has_it() -> None:
    struct = managed([4])
    address = struct.address
    t = raw.dlx_tensor_from_dlpack_versioned(struct)
    del struct
    gc.collect()
    garbage = [managed([9, 9, 9]) for _ in range(100)]
    assert address not in [other.address for other in garbage]
    assert raw.DLManagedTensorVersioned.at(address).dl_tensor.shape == (4,)
    t.release()
    assert deletions(address) == 1


def test_a_handle_repr_and_weak_reference() -> None:
    t = tensor([2])
    assert repr(t) == f"<dlx_tensor at {t.address:#x}>"
    assert weakref.ref(t)() is t


def test_leaving_a_with_block_releases() -> None:
    with tensor([2]) as t:
        assert elements(t) == [0, 1]
    with pytest.raises(ValueError, match="released"):
        _ = t.address


def test_text_outputs_take_a_capacity() -> None:
    assert raw.dlx_device_name(raw.kDLCUDA, 3, capacity=64) == "cuda:3"
    with pytest.raises(OverflowError, match="`capacity`"):
        raw.dlx_device_name(raw.kDLCUDA, 3, capacity=-1)
