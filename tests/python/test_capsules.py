"""Bare DLPack capsules: what `to_dlpack` functions return, and what torch.from_dlpack takes, too."""

import struct

import pytest

import dlx
from dlpack_ctypes import IS_COPIED, READ_ONLY, Producer, name_of

FLOATS = struct.pack("=6f", *range(6))
EXPECTED = [[0, 1, 2], [3, 4, 5]]


def export(dtype=(2, 32, 1), **keywords):
    return Producer(FLOATS, dtype=dtype, **keywords).export()


@pytest.mark.parametrize("take", [dlx.from_dlpack, dlx.asarray])
@pytest.mark.parametrize("versioned", [True, False])
def test_a_capsule_is_taken_once_and_shares(take, versioned):
    made = export(versioned=versioned)
    capsule = made.capsule()

    tensor = take(capsule)

    assert tensor.tolist() == EXPECTED
    assert tensor.data_ptr == made.owner.address
    assert name_of(capsule) == (b"used_dltensor_versioned" if versioned else b"used_dltensor")
    with pytest.raises(
        dlx.InvalidArgumentError, match=r'expected an unconsumed PyCapsule .*"used_dltensor'
    ):
        take(capsule)
    del tensor
    assert made.deleted == 1


def test_copy_and_flags_are_honoured():
    assert dlx.from_dlpack(export(flags=READ_ONLY).capsule()).readonly
    assert not dlx.from_dlpack(export(flags=READ_ONLY).capsule(), copy=True).readonly
    copied = export(flags=IS_COPIED).capsule()
    with pytest.raises(dlx.CopyRefusedError):
        dlx.from_dlpack(copied, copy=False)
    assert dlx.asarray(export().capsule(), dtype="int16").tolist() == EXPECTED
    assert tuple(dlx.from_dlpack(export(device=(14, 1)).capsule()).device) == (14, 1)


def test_a_refused_capsule_stays_whole():
    made = export(dtype=(99, 32, 1))
    capsule = made.capsule()

    with pytest.raises(dlx.UnsupportedError, match="dtype"):
        dlx.from_dlpack(capsule)

    assert name_of(capsule) == b"dltensor_versioned"
    assert made.deleted == 0
    del capsule
    assert made.deleted == 1


@pytest.mark.parametrize("take", [dlx.from_dlpack, dlx.asarray])
def test_other_capsules_are_refused_by_their_name(take):
    import datetime

    with pytest.raises(dlx.InvalidArgumentError, match=r'"datetime\.datetime_CAPI"'):
        take(datetime.datetime_CAPI)


def test_capsules_of_dlx_and_of_torch():
    torch = pytest.importorskip("torch")
    from torch.utils.dlpack import to_dlpack

    source = torch.arange(6.0)
    assert dlx.from_dlpack(to_dlpack(source)).data_ptr == source.data_ptr()
    assert dlx.from_dlpack(dlx.asarray(EXPECTED).__dlpack__()).tolist() == EXPECTED
    assert dlx.convert(to_dlpack(source), "torch").data_ptr() == source.data_ptr()


@pytest.mark.parametrize(
    ("device", "reason"),
    [((1, 5), r"cpu:5 does not exist \(there are 1 of that type\)"), ((99, 0), "no such device")],
)
def test_a_device_that_is_not_there_is_refused_with_the_reason(device, reason):
    with pytest.raises(BufferError, match=reason):
        dlx.empty(3).__dlpack__(dl_device=device, max_version=(1, 3))
