"""CUDA and ROCm in one process. Neither driver waits for work of the other's: the host does."""

from __future__ import annotations

import ctypes
import os

import pytest
from fake_driver import word

import dlx

CUDA, ROCM = "cuda:0", "rocm:0"


class Hip:
    """The fake libamdhip64, late, and another library's work on it."""

    def __init__(self):
        self.library = ctypes.CDLL(os.environ["DLX_HIP_PATH"])
        self.library.fake_set_schedule(b"latest")

    def fill(self, tensor, value, stream):
        """Sets every byte, on a stream; dlx is told."""
        data, handle = ctypes.c_void_p(tensor.data_ptr), ctypes.c_void_p(stream.handle)
        size = ctypes.c_size_t(tensor.size * tensor.itemsize)
        assert self.library.hipMemsetD8Async(data, value, size, handle) == 0
        stream.wrote(tensor)

    def finish(self):
        self.library.fake_finish()


@pytest.fixture
def hip(driver):
    driver.set_schedule(b"latest")
    hip = Hip()
    yield hip
    hip.finish()
    hip.library.fake_set_schedule(b"eager")


@pytest.fixture
def stream(hip):
    return dlx.Stream(device=ROCM)


@pytest.mark.parametrize("kind", ["rocm_host", ROCM])
def test_what_one_maker_s_gpu_writes_reaches_the_other_s(hip, stream, kind):
    source = dlx.empty(4, dtype="int32", device=kind)
    hip.fill(source, 0x11, stream)
    target = dlx.empty(4, dtype="int32", device=CUDA)
    dlx.copyto(target, source)
    assert target.to_device("cpu").tolist() == [word(0x11)] * 4
    hip.fill(source, 0x22, stream)
    assert source.to_device(CUDA).to_device("cpu").tolist() == [word(0x22)] * 4


@pytest.mark.parametrize("kind", ["rocm_host", ROCM])
def test_what_one_maker_s_gpu_writes_is_not_written_over_too_early(hip, stream, kind):
    source = dlx.asarray([1, 2, 3, 4], dtype="int32", device=CUDA)
    target = dlx.empty(4, dtype="int32", device=kind)
    hip.fill(target, 0x11, stream)
    dlx.copyto(target, source)
    hip.finish()  # the other write, if nobody waited for it
    assert target.to_device("cpu").tolist() == [1, 2, 3, 4]


def test_a_source_does_not_wait_for_the_other_maker_s_stream(hip, stream):
    source = dlx.asarray([1, 2, 3, 4], dtype="int32", device=CUDA)
    target = dlx.empty(4, dtype="int32", device=ROCM)
    with stream:
        dlx.copyto(target, source)
    with dlx.Stream(device=CUDA):
        assert source.to_device("cpu").tolist() == [1, 2, 3, 4]
    assert target.to_device("cpu").tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize(("there", "consumer", "host"), [(CUDA, ROCM, 11), (ROCM, CUDA, 3)])
def test_a_consumer_s_stream_is_one_of_its_own_maker(hip, there, consumer, host):
    source = dlx.asarray([1, 2, 3, 4], dtype="int32", device=there)
    stream = dlx.Stream(device=consumer)
    capsule = source.__dlpack__(stream=stream.handle, dl_device=(host, 0), max_version=(1, 3))
    assert dlx.from_dlpack(capsule).tolist() == [1, 2, 3, 4]
