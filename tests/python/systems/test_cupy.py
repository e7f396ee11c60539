"""CuPy. Without a GPU's driver it can be imported and can describe memory, but allocates nothing:
what needs a device is skipped with CuPy's own reason."""

from __future__ import annotations

import arrays
import pytest

import dlx

cupy = arrays.require("cupy")


def _device_problem():
    try:
        cupy.zeros(1)
    except Exception as error:
        return f"CuPy cannot allocate here ({type(error).__name__}: {error})"
    return None


PROBLEM = _device_problem()
on_device = pytest.mark.skipif(PROBLEM is not None, reason=PROBLEM or "")


def test_data_on_the_cpu_asks_for_a_device():
    for force in (False, True):
        with pytest.raises(dlx.DeviceRefusedError, match="device='cuda:0'"):
            dlx.convert(arrays.aligned(3), "cupy", force=force)


@pytest.mark.skipif(PROBLEM is None, reason="there is a device here")
def test_without_a_driver_the_transfer_says_why_there_is_none():
    with pytest.raises(dlx.UnavailableError) as caught:
        dlx.convert(arrays.aligned(3), cupy, device="cuda:0")
    assert "cuda" in str(caught.value).lower()


@pytest.mark.skipif(PROBLEM is None, reason="there is a device here")
def test_without_a_driver_cupy_s_own_error_is_shown():
    with pytest.raises(Exception, match=r"cudaErrorInsufficientDriver|driver") as caught:
        dlx.asarray(cupy.ndarray.__new__(cupy.ndarray, (3,), memptr=_foreign_memory()))
    assert type(caught.value).__module__.startswith(("cupy", "dlx"))


def _foreign_memory():
    memory = cupy.cuda.UnownedMemory(0x1000, 64, owner=None, device_id=0)
    return cupy.cuda.MemoryPointer(memory, 0)


@on_device
@pytest.mark.parametrize("name", arrays.NUMPY_NAMES)
def test_dtypes(name):
    source = cupy.asarray(arrays.numpy_array(name))
    tensor = dlx.asarray(source)

    assert tensor.data_ptr == source.data.ptr
    assert str(tensor.dtype) == name
    back = dlx.convert(tensor, "cupy", copy=False)
    assert back.data.ptr == source.data.ptr
    assert back.get().tolist() == source.get().tolist()


@on_device
@pytest.mark.parametrize("layout", arrays.LAYOUTS)
def test_layouts(layout):
    source = arrays.LAYOUTS[layout]()
    result = dlx.convert(source, "cupy", device="cuda:0")

    assert result.get().tolist() == source.tolist()
    with pytest.raises(dlx.DeviceRefusedError):
        dlx.convert(result, "numpy")
    assert dlx.convert(result, "numpy", force=True).tolist() == source.tolist()
