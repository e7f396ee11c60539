"""dlx.function with arrays on a device: the function works on the stream that it gets, and dlx orders the
rest by it."""

from __future__ import annotations

import ctypes

import pytest

import dlx
from calls import library

CUDA = "cuda:0"
PROTOTYPE = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_int64)


class Set:
    """A compiled function: submits work to a stream that sets 16 bytes of `x`."""

    def __init__(self, driver, x, value, contract="set(x: uint8[16] writable cuda, s: stream)"):
        self.streams = []

        def run(_, stream):
            self.streams.append(stream)
            driver.write(x.data_ptr, value, stream)
            return 0

        self.call = dlx.function(PROTOTYPE(run), contract)


def values(x):
    return x.to_device("cpu").tolist()


def test_later_work_waits_for_the_functions_stream(driver, schedule):
    x, stream = dlx.empty((16,), dtype="uint8", device=CUDA), dlx.Stream(device=CUDA)
    function = Set(driver, x, 7)

    with dlx.stream(stream):
        function.call(x)
    assert values(x) == [7] * 16
    assert function.streams == [stream.handle]


def test_the_functions_stream_waits_for_earlier_work(driver, schedule):
    x, first, second = (
        dlx.empty((16,), dtype="uint8", device=CUDA),
        *(dlx.Stream(device=CUDA) for _ in range(2)),
    )
    seen = []

    def run(_, stream):
        driver.synchronize(
            stream
        )  # what it does not wait for has not come, by the schedule "latest"
        seen.append(driver.bytes_at(x.data_ptr, 16))
        return 0

    function = dlx.function(PROTOTYPE(run), "f(x: uint8[16] cuda, s: stream)")
    with dlx.stream(first):
        dlx.copyto(x, dlx.asarray([1] * 16, dtype="uint8"))
    with dlx.stream(second):
        function(x)
    assert seen == [bytes([1] * 16)]


def test_a_result_is_made_on_the_device_of_the_arguments(driver, schedule):
    x = dlx.empty((16,), dtype="uint8", device="cuda:1")
    prototype = ctypes.CFUNCTYPE(
        ctypes.c_int32, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p), ctypes.c_int64
    )

    def run(_, out, stream):
        driver.write(out[0], 9, stream, device=1)  # the first field is `data`
        return 0

    function = dlx.function(
        prototype(run), "f(x: uint8[n] cuda, out: uint8[n] result cuda, s: stream)"
    )
    out = function(x)
    assert out.device == "cuda:1"
    assert values(out) == [9] * 16


def test_other_threads_run_while_a_function_works_on_a_device(driver):
    held = ctypes.cast(ctypes.pythonapi.PyGILState_Check, ctypes.c_void_p).value
    function = dlx.function(
        library().call_back, "f(x: uint8[n] cuda, function: int, s: stream)", gil=None
    )

    assert function(dlx.empty((3,), dtype="uint8", device=CUDA), held) is None  # 1 is an error


def test_an_empty_array_is_on_the_device_of_the_other(driver):
    x = dlx.empty((3,), dtype="uint8", device="cuda:1")

    assert dlx.empty_like(x).device == "cuda:1"
    assert dlx.empty_like(x, device=CUDA).device == CUDA


def test_devices_are_not_mixed(driver):
    here, there = (dlx.empty((16,), dtype="uint8", device=d) for d in ("cuda:0", "cuda:1"))
    function = dlx.function(
        PROTOTYPE(lambda *_: 0), "f(a: any[...] anywhere, b: any[...] anywhere, s: stream)"
    )

    with pytest.raises(dlx.DeviceRefusedError, match=r"must be on cuda:0 .*device=\"cuda:0\""):
        function(here, there)
    with pytest.raises(dlx.DeviceRefusedError, match="cpu"):
        function(here, dlx.asarray([1]))
    with pytest.raises(dlx.DeviceRefusedError, match=r"must be on cuda .*device=\"cuda\""):
        Set(None, here, 1).call(dlx.asarray([1] * 16, dtype="uint8"))
