"""dlx.h, section device, on a machine of which only the CPU is known."""

from __future__ import annotations

import pytest
from raw_support import CPU, Block, elements, refused, tensor

from dlx import raw

INVALID = raw.DLX_ERROR_INVALID_ARGUMENT
UNAVAILABLE = raw.DLX_ERROR_UNAVAILABLE


def test_to_device_here_is_the_tensor_itself() -> None:
    with tensor([3]) as t:
        with raw.dlx_tensor_to_device(t, *CPU) as same:
            assert raw.dlx_tensor_data(same) == raw.dlx_tensor_data(t)
        always = raw.dlx_copy_options(copy=raw.DLX_COPY_ALWAYS)
        with raw.dlx_tensor_to_device(t, *CPU, always) as copy:
            assert raw.dlx_tensor_data(copy) != raw.dlx_tensor_data(t)
            assert elements(copy) == [0, 1, 2]


def test_pinned_memory_becomes_cpu_memory_without_a_copy() -> None:
    block = Block(3)
    for pinned in (raw.kDLCUDAHost, raw.kDLROCMHost):
        t = raw.dlx_tensor_wrap(block.describe([3], device=(pinned, 0)), 0)
        with raw.dlx_tensor_to_device(t, *CPU) as here:
            assert raw.dlx_tensor_device_type(here) == raw.kDLCPU
            assert raw.dlx_tensor_data(here) == block.address


def test_a_device_that_is_not_here() -> None:
    assert raw.dlx_device_count(99) == 0
    if raw.dlx_device_count(raw.kDLMAIA) == 0:
        assert raw.dlx_backend_reason(raw.kDLMAIA) != ""
        with tensor([3]) as t, refused(UNAVAILABLE, "dlx_tensor_to_device"):
            raw.dlx_tensor_to_device(t, raw.kDLMAIA, 0)
        with refused(UNAVAILABLE, "dlx_device_info"):
            raw.dlx_device_info(raw.kDLMAIA, 0)


def test_the_cpu_is_here() -> None:
    assert raw.dlx_device_count(raw.kDLCPU) == 1
    assert raw.dlx_backend_reason(raw.kDLCPU) == ""
    info = raw.dlx_device_info(*CPU)
    assert (info.device_type, info.device_id) == CPU
    assert info.name != ""
    assert info.memory_total > 0
    assert info.memory_free > 0
    with refused(UNAVAILABLE, "dlx_device_info"):
        raw.dlx_device_info(raw.kDLCPU, 1)
    raw.dlx_device_synchronize(*CPU)


NAMES = [
    ("cpu", raw.kDLCPU), ("cuda", raw.kDLCUDA), ("cuda_host", raw.kDLCUDAHost),
    ("opencl", raw.kDLOpenCL), ("vulkan", raw.kDLVulkan), ("metal", raw.kDLMetal),
    ("rocm", raw.kDLROCM), ("oneapi", raw.kDLOneAPI), ("ext_dev", raw.kDLExtDev),
]  # fmt: skip


@pytest.mark.parametrize(("name", "device_type"), NAMES)
def test_device_names_go_both_ways(name: str, device_type: int) -> None:
    assert raw.dlx_device_parse(name) == (device_type, 0)
    assert raw.dlx_device_parse(f"{name}:0") == (device_type, 0)
    assert raw.dlx_device_parse(f"{device_type}:0") == (device_type, 0)
    if device_type != raw.kDLCPU:
        assert raw.dlx_device_parse(f"{name}:7") == (device_type, 7)
        assert raw.dlx_device_name(device_type, 7) == f"{name}:7"
    for number in range(1, 22):
        written = raw.dlx_device_name(number, 0) if number not in (5, 6) else "cpu"
        assert raw.dlx_device_parse(written)[0] in (number, 1)


@pytest.mark.parametrize("name", ["", "gpu", "cuda:", "cuda:x", "cuda:-1", "CUDA", ":1", "1:2:3",
                                  "cuda:99999999999"])  # fmt: skip
def test_what_is_no_device_is_refused(name: str) -> None:
    with refused(INVALID, "dlx_device_parse", "`name`"):
        raw.dlx_device_parse(name)


def test_a_device_name_needs_room() -> None:
    assert raw.dlx_device_name(raw.kDLCUDA, 1, capacity=7) == "cuda:1"
    with refused(INVALID, "dlx_device_name"):
        raw.dlx_device_name(raw.kDLCUDA, 1, capacity=6)


def test_memory_of_this_process_is_on_the_cpu() -> None:
    assert raw.dlx_device_of_pointer(Block(1).address) == CPU
