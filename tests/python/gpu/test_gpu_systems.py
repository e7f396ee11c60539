"""torch, CuPy, JAX and numba on a GPU: in and out without a copy, and what they say about the device."""

from __future__ import annotations

import numpy
import pytest
from machine import CUDA

import dlx

TORCH = [
    "bool", "int8", "int16", "int32", "int64", "uint8", "float16", "float32", "float64", "bfloat16",
    "complex64", "complex128", "float8_e4m3fn", "float8_e5m2",
]  # fmt: skip


# ---- what the device says ----


def test_device_queries_equal_torch_s(torch):
    assert dlx.Device(CUDA).count == torch.cuda.device_count()
    for index in range(torch.cuda.device_count()):
        device = dlx.Device((2, index))
        expected = torch.cuda.get_device_properties(index)
        assert device.description == expected.name
        assert device.memory_total == expected.total_memory
        assert device.architecture.startswith(f"sm_{expected.major}{expected.minor}")
        assert str(expected.uuid) in device.uuid
    free, total = torch.cuda.mem_get_info(0)
    assert abs(dlx.Device(CUDA).memory_free - free) < total // 50


def test_pointers_are_where_torch_says(torch):
    x = torch.zeros(100, device="cuda")
    assert dlx.device_of(x.data_ptr()) == CUDA
    assert dlx.device_of(x[50:].data_ptr()) == CUDA
    pinned = torch.zeros(100, pin_memory=True)
    assert dlx.device_of(pinned.data_ptr()) == "cuda_host:0"
    assert dlx.device_of(torch.zeros(100).data_ptr()) == "cpu"


def test_the_current_device_is_left_alone(torch):
    before = torch.cuda.current_device()
    last = torch.cuda.device_count() - 1
    dlx.asarray([1, 2, 3], device=f"cuda:{last}").copy().numpy(force=True)
    assert torch.cuda.current_device() == before
    assert dlx.Device(torch.device("cuda")) == f"cuda:{before}"


# ---- torch ----


@pytest.mark.parametrize("name", TORCH)
def test_torch_there_and_back(torch, name):
    x = torch.arange(24, device="cuda").reshape(4, 6).to(getattr(torch, name))
    tensor = dlx.from_dlpack(x)
    assert (tensor.data_ptr, tensor.device, str(tensor.dtype)) == (x.data_ptr(), CUDA, name)
    back = torch.from_dlpack(tensor)
    assert back.data_ptr() == x.data_ptr()
    assert back.dtype == x.dtype
    assert torch.equal(torch.from_dlpack(tensor.T.contiguous()).double(), x.T.contiguous().double())
    assert dlx.convert(tensor, "torch", copy=False).data_ptr() == x.data_ptr()


def test_torch_s_lazy_bits(torch):
    z = torch.tensor([1 + 2j, 3 - 4j], device="cuda")
    assert dlx.from_dlpack(z.conj()).numpy(force=True).tolist() == [1 - 2j, 3 + 4j]
    with pytest.raises(BufferError, match="conj"):
        dlx.from_dlpack(z.conj(), copy=False)


def test_torch_s_from_dlpack_moves_by_dlx(torch):
    there = dlx.asarray(numpy.arange(5), device=CUDA)
    assert torch.from_dlpack(there, device="cpu", copy=True).tolist() == list(range(5))
    assert torch.from_dlpack(there, device="cuda").data_ptr() == there.data_ptr


def test_pinned_memory_of_torch_is_used_in_place(torch):
    x = torch.arange(5).pin_memory()
    tensor = dlx.from_dlpack(x)
    assert tensor.numpy().ctypes.data == x.data_ptr()
    assert tensor.to_device(CUDA).numpy(force=True).tolist() == list(range(5))


def test_computing(torch):
    pytest.importorskip("array_api_compat")
    t = dlx.asarray([1.0, 2.0, 3.0], device=CUDA)
    assert (t + 1).numpy(force=True).tolist() == [2, 3, 4]
    assert float(numpy.sum(t).numpy(force=True)) == 6


# ---- CuPy, numba, JAX ----


def test_cupy_there_and_back(cupy):
    x = cupy.arange(24, dtype="f4").reshape(4, 6)[:, ::2]
    for tensor in (dlx.asarray(x), dlx.asarray(Shows(x.__cuda_array_interface__, x))):
        assert (tensor.data_ptr, tensor.device) == (x.data.ptr, CUDA)
        assert tensor.numpy(force=True).tolist() == x.get().tolist()
    tensor = dlx.asarray(x)
    assert cupy.from_dlpack(tensor).data.ptr == x.data.ptr
    assert cupy.asarray(Shows(tensor.__cuda_array_interface__, tensor)).data.ptr == x.data.ptr
    assert dlx.convert(tensor, "cupy", copy=False).get().tolist() == x.get().tolist()


def test_cupy_s_managed_memory(cupy):
    memory = cupy.cuda.malloc_managed(64)
    x = cupy.ndarray((16,), "i4", memory)
    x[...] = cupy.arange(16)
    assert dlx.device_of(x.data.ptr) == "cuda_managed:0"
    tensor = dlx.asarray(Shows(x.__cuda_array_interface__, x))
    assert tensor.device == "cuda_managed:0"
    assert tensor.numpy(force=True).tolist() == list(range(16))


class Shows:
    def __init__(self, interface, owner):
        self.__cuda_array_interface__, self.owner = interface, owner


def test_numba_there_and_back(numba_cuda):
    x = numba_cuda.to_device(numpy.arange(12, dtype="f4").reshape(3, 4))
    tensor = dlx.asarray(x)
    assert tensor.device == CUDA
    assert tensor.data_ptr == x.__cuda_array_interface__["data"][0]
    assert tensor.numpy(force=True).tolist() == x.copy_to_host().tolist()
    assert numba_cuda.as_cuda_array(tensor.T).copy_to_host().tolist() == x.copy_to_host().T.tolist()


def test_jax_there_and_back(jax):
    x = jax.device_put(numpy.arange(12, dtype="f4").reshape(3, 4), jax.devices("gpu")[0])
    tensor = dlx.from_dlpack(x)
    assert (tensor.device, tensor.readonly) == (CUDA, True)
    assert tensor.numpy(force=True).tolist() == numpy.asarray(x).tolist()
    back = dlx.convert(dlx.asarray(numpy.ones(4, "f4"), device=CUDA), "jax")
    assert back.tolist() == [1, 1, 1, 1]
