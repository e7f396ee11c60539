"""docs/semantics.md: one test for each rule on streams, negative strides and torch's lazy bits."""

import ctypes

import pytest

import dlx
from dlpack_ctypes import BORROW, IS_COPIED, DLTensor, Imported, table_of
from test_semantics import elsewhere, grid

# ---- streams ------------------------------------------------------------------------------------


def test_s1_the_cpu_has_no_streams():
    t = grid()
    assert t.__dlpack__(stream=None)
    assert t.to_device("cpu", stream=None) is t
    for stream in (-1, 0, 1, 2, 99):
        for call in (t.__dlpack__, lambda stream: t.to_device("cpu", stream=stream)):
            with pytest.raises((ValueError, BufferError), match="stream"):
                call(stream=stream)


def test_s2_numbers_that_a_device_does_not_have_are_refused():
    # CUDA: 0 is ambiguous. ROCm: 1 and 2 are CUDA's.
    for device, stream in (("cuda:0", 0), ("rocm:0", 1), ("rocm:0", 2), ("cuda:0", -2)):
        with pytest.raises(ValueError, match="stream"):
            elsewhere(device=device).__dlpack__(stream=stream, max_version=(1, 3))


# ---- negative strides ---------------------------------------------------------------------------


@pytest.fixture
def policy():
    yield dlx.set_export_negative_strides
    dlx.set_export_negative_strides("copy")


def export_of(tensor, **options):
    export = Imported(tensor.__dlpack__(max_version=(1, 3), **options))
    facts = export.data, export.strides, bool(export.flags & IS_COPIED)
    export.free()
    return facts


def test_n1_negative_strides_leave_as_a_marked_copy():
    t = grid()[:, ::-1]
    address, strides, copied = export_of(t)

    assert (address == t.data_ptr, strides, copied) == (False, (3, 1), True)
    assert export_of(t, copy=False) == (t.data_ptr, (3, -1), False)


def test_strides_of_zero_and_gaps_are_no_negative_ones():
    block = dlx.asarray(list(range(12)))
    for strides in ((0, 1), (4, 0), (0, 0), (4, 2)):
        t = dlx.from_pointer(block.data_ptr, (3, 2), "int64", strides=strides, owner=block)
        assert export_of(t) == (t.data_ptr, strides, False)
        struct = DLTensor()
        borrow = ctypes.cast(table_of(dlx.Tensor).dltensor_from_py_object_no_sync, BORROW)
        assert borrow(id(t), ctypes.byref(struct)) == 0
        assert struct.data == t.data_ptr


def test_n2_the_policy_can_be_set(policy):
    t = grid()[:, ::-1]
    policy("share")
    assert export_of(t) == (t.data_ptr, (3, -1), False)
    policy("error")
    with pytest.raises(BufferError, match="negative"):
        t.__dlpack__(max_version=(1, 3))


def test_n3_what_cannot_mark_a_copy_refuses():
    t = grid()[:, ::-1]
    with pytest.raises(BufferError, match="negative"):
        t.__dlpack__()
    struct = DLTensor()
    borrow = ctypes.cast(table_of(dlx.Tensor).dltensor_from_py_object_no_sync, BORROW)
    with pytest.raises(BufferError, match="negative"):
        borrow(id(t), ctypes.byref(struct))


def test_n4_buffers_and_the_array_interface_share():
    t = grid()[:, ::-1]

    assert memoryview(t).tolist() == t.tolist()
    assert memoryview(t).strides == (24, -8)
    assert t.__array_interface__["data"][0] == t.data_ptr
    assert t.__array_interface__["strides"] == (24, -8)


# ---- torch's lazy bits --------------------------------------------------------------------------


def test_b1_gradients_are_refused():
    torch = pytest.importorskip("torch")
    with pytest.raises((TypeError, BufferError), match=r"\.detach\(\)"):
        dlx.from_dlpack(torch.ones(3, requires_grad=True))


def test_b2_lazy_bits_are_resolved_by_a_copy():
    torch = pytest.importorskip("torch")
    source = torch.tensor([1 + 2j, 3 - 4j])
    lazy = source.conj()

    assert dlx.from_dlpack(lazy).tolist() == [1 - 2j, 3 + 4j]
    assert dlx.from_dlpack(lazy).data_ptr != source.data_ptr()
    assert dlx.from_dlpack(lazy.imag).tolist() == [-2, 4]
    for bit in (lazy, lazy.imag):
        with pytest.raises(dlx.CopyRefusedError):
            dlx.from_dlpack(bit, copy=False)
    for dtype in (torch.int8, torch.int64, torch.uint8, torch.bool):
        plain = torch.ones(2, 2, dtype=dtype)
        for same in (plain.conj(), plain.H, plain.mH, plain.adjoint(), plain.real):
            assert not same.is_conj()
            assert not same.is_neg()
            assert dlx.from_dlpack(same, copy=False).data_ptr == plain.data_ptr()


def test_b3_modes_neither_see_nor_answer():
    torch = pytest.importorskip("torch")
    seen = []

    class Lies(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func)
            return False

    negated, graded = torch._neg_view(torch.ones(2)), torch.ones(3, requires_grad=True)
    with Lies():
        assert dlx.from_dlpack(negated).tolist() == [-1, -1]
        with pytest.raises(BufferError, match=r"\.detach\(\)"):
            dlx.from_dlpack(graded)
    assert seen == []
