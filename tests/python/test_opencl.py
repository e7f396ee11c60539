"""Tensors of OpenCL: a handle and an offset instead of an address."""

from __future__ import annotations

import numpy
import pytest

import dlx
from dlpack_ctypes import Imported

OPENCL = "opencl:0"


@pytest.fixture(autouse=True)
def device():
    if dlx.Device("opencl").count == 0:
        pytest.skip(dlx.device.missing_devices()["opencl"])


def array():
    return numpy.arange(24, dtype="i4").reshape(4, 6)


VIEWS = {
    "whole": lambda a: a,
    "rows": lambda a: a[1:3],
    "columns": lambda a: a[:, 1::2],
    "reversed": lambda a: a[::-1, ::-1],
    "transposed": lambda a: a.T,
    "one": lambda a: a[2, 3, ...],
}


@pytest.mark.parametrize("view", VIEWS)
def test_views_go_there_and_back(view):
    there = VIEWS[view](dlx.asarray(array(), device=OPENCL))
    assert there.device == OPENCL
    assert there.numpy(force=True).tolist() == VIEWS[view](array()).tolist()
    assert there.contiguous().to_device("cpu").tolist() == VIEWS[view](array()).tolist()
    assert dlx.asarray(VIEWS[view](array()), device=OPENCL).numpy(force=True).tolist() == (
        VIEWS[view](array()).tolist()
    )


def test_the_host_waits_for_elements_that_begin_inside_bytes():
    """The bytes cross, and the host moves the bits: large enough to be on their way for a while."""
    rows = 1 << 23
    data = numpy.random.default_rng(1).integers(0, 256, rows * 3 // 2, dtype="u1")
    here = dlx.from_pointer(data.ctypes.data, (rows, 3), "int4", owner=data)

    def packed(tensor):
        return numpy.asarray(dlx.from_pointer(tensor.data_ptr, rows, "uint8", owner=tensor))

    got = here.to_device(OPENCL)[:, 0:2].to_device("cpu")
    assert numpy.array_equal(packed(got), packed(here[:, 0:2].contiguous()))


def exported(tensor):
    imported = Imported(tensor.__dlpack__(max_version=(1, 3)))
    found = imported.data, imported.tensor.byte_offset, imported.device
    imported.free()
    return found


def test_a_view_is_the_same_handle_with_an_offset():
    """No sub-buffer is made, and the offset is not folded into the handle."""
    there = dlx.asarray(array(), device=OPENCL)
    handle, offset, device = exported(there)
    assert (offset, device) == (0, (4, 0))
    assert exported(there[1:3]) == (handle, 24, (4, 0))
    assert exported(there[1:3][1:, 2:]) == (handle, 56, (4, 0))


def test_a_handle_has_no_address():
    there = dlx.asarray(array(), device=OPENCL)
    assert not hasattr(there, "data_ptr")
    with pytest.raises(AttributeError, match="handle"):
        _ = there.data_ptr


def test_a_handle_of_another_owner_is_read_at_its_offset():
    there = dlx.asarray(array(), device=OPENCL)

    class Holder:
        def __dlpack__(self, **keywords):
            return there[2:].__dlpack__(max_version=(1, 3))

        def __dlpack_device__(self):
            return 4, 0

    assert dlx.from_dlpack(Holder()).numpy(force=True).tolist() == array()[2:].tolist()


def test_there_are_no_streams():
    there = dlx.asarray(array(), device=OPENCL)
    for stream in (0, 1, -1):
        with pytest.raises(ValueError, match="no streams"):
            there.__dlpack__(stream=stream, max_version=(1, 3))
    with pytest.raises(ValueError, match="no streams"):
        dlx.Stream(device=OPENCL)


def test_data_does_not_move_unasked():
    there = dlx.asarray(array(), device=OPENCL)
    for call in (there.numpy, there.tolist, there[0, 0].item):
        with pytest.raises(dlx.DeviceRefusedError, match=r"opencl:0|to_device"):
            call()
    there[1, ::2] = [7, 8, 9]
    assert there.numpy(force=True)[1].tolist() == [7, 7, 8, 9, 9, 11]
