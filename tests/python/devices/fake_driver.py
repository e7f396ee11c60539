"""The test's side of the fake libcuda: its controls, and a library of another's that uses the driver."""

from __future__ import annotations

import ctypes
import functools
import os
from ctypes import POINTER, c_char_p, c_int, c_int64, c_size_t, c_uint, c_uint64, c_void_p

MISTAKES = (
    "double_frees",
    "used_when_dead",
    "out_of_bounds",
    "waited_for_blocked",
    "captures_broken",
)


class Report(ctypes.Structure):
    _fields_ = [
        (name, c_int64)
        for name in (
            "contexts",
            "primary_retains",
            "streams",
            "events",
            "modules",
            "graphs",
            "pools",
            "pools_keep",
            "allocations",
            "host_allocations",
            "pending",
            "pushed",
            *MISTAKES,
        )
    ]


class Cuda:
    """The fake's control functions under their names without "fake_", and calls of the driver."""

    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        for name, result, arguments in (
            ("set_schedule", None, [c_char_p]),
            ("finish", None, []),
            ("block_stream", None, [c_void_p]),
            ("unblock", None, []),
            ("set_attribute", None, [c_int, c_int, c_int]),
            ("set_memory", None, [c_int, c_size_t]),
            ("ignore_nth_wait", None, [c_int64]),
            ("ignored_wait", c_char_p, []),
            ("calls", c_int64, [c_char_p]),
            ("waits", c_int64, []),
            ("clear_log", None, []),
            ("call_log", c_char_p, []),
            ("peek", c_int, [c_uint64, c_void_p, c_size_t]),
            ("poke", c_int, [c_uint64, c_void_p, c_size_t]),
        ):
            function = self.library[f"fake_{name}"]
            function.restype, function.argtypes = result, arguments
            setattr(self, name, function)
        self._get_report = self.library.fake_get_report
        self._get_report.restype, self._get_report.argtypes = None, [POINTER(Report)]
        self._contexts = {}

    def report(self):
        report = Report()
        self._get_report(report)
        return report

    def call(self, name, *args):
        code = self.library[name](*args)
        if code:
            raise RuntimeError(f"{name}: {code}")

    # ---- what another library does by the driver ----

    def context(self, device):
        """The device's primary context, retained once."""
        if device not in self._contexts:
            self.call("cuInit", 0)
            context = c_void_p()
            self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), c_int(device))
            self._contexts[device] = context
        return self._contexts[device]

    def within(self, device, name, *args):
        self.call("cuCtxPushCurrent_v2", self.context(device))
        try:
            self.call(name, *args)
        finally:
            self.call("cuCtxPopCurrent_v2", ctypes.byref(c_void_p()))

    def make_stream(self, device=0):
        stream = c_void_p()
        self.within(device, "cuStreamCreate", ctypes.byref(stream), c_uint(1))
        return stream.value

    def destroy_stream(self, stream, device=0):
        self.within(device, "cuStreamDestroy_v2", c_void_p(stream))

    def allocate(self, size, device=0):
        address = c_uint64()
        self.within(device, "cuMemAlloc_v2", ctypes.byref(address), c_size_t(size))
        return address.value

    def allocate_managed(self, size, device=0):
        address = c_uint64()
        self.within(device, "cuMemAllocManaged", ctypes.byref(address), c_size_t(size), c_uint(1))
        return address.value

    def free(self, address, device=0):
        self.within(device, "cuMemFree_v2", c_uint64(address))

    def write(self, address, data, stream, device=0):
        """Work on a stream: `data` goes to device memory. The fake copies pageable memory at once."""
        self.within(
            device, "cuMemsetD8Async", c_uint64(address), ctypes.c_ubyte(data), c_size_t(16),
            c_void_p(stream),
        )  # fmt: skip

    def copy(self, to, source, stream, device=0):
        """Work on a stream: 16 bytes within device memory."""
        self.within(
            device, "cuMemcpyDtoDAsync_v2", c_uint64(to), c_uint64(source), c_size_t(16),
            c_void_p(stream),
        )  # fmt: skip

    def make_event(self, stream, device=0):
        """The handle of an event behind what a stream has now."""
        event = c_void_p()
        self.within(device, "cuEventCreate", ctypes.byref(event), c_uint(2))
        self.within(device, "cuEventRecord", event, c_void_p(stream))
        return event.value

    def wait_event(self, stream, event, device=0):
        self.within(device, "cuStreamWaitEvent", c_void_p(stream), c_void_p(event), c_uint(0))

    def destroy_event(self, event, device=0):
        self.within(device, "cuEventDestroy_v2", c_void_p(event))

    def synchronize(self, stream, device=0):
        self.within(device, "cuStreamSynchronize", c_void_p(stream))

    def bytes_at(self, address, size):
        """What device memory holds at this moment, whatever work is pending."""
        out = ctypes.create_string_buffer(size)
        assert self.peek(address, out, size)
        return out.raw


@functools.cache
def cuda():
    return Cuda(os.environ["DLX_CUDA_PATH"])


class Memory:
    """16 bytes on a device that "another library" fills by work on a stream of its own.

    Every way of handing it to dlx is one method or attribute.
    """

    def __init__(self, device=0, *, managed=False):
        self.driver, self.device = cuda(), device
        allocate = self.driver.allocate_managed if managed else self.driver.allocate
        self.address = allocate(16, device)
        self.stream = self.driver.make_stream(device)

    def fill(self, value, stream=None):
        """Give the work of setting each byte to `value` to a stream; its own if none is given."""
        self.driver.write(
            self.address, value, self.stream if stream is None else stream, self.device
        )

    def interface(self, **fields):
        return {
            "version": 3,
            "shape": (4,),
            "typestr": "<i4",
            "data": (self.address, False),
            "strides": None,
            "stream": self.stream,
            **fields,
        }

    def close(self):
        self.driver.finish()
        self.driver.free(self.address, self.device)
        self.driver.destroy_stream(self.stream, self.device)


def word(value):
    """Four bytes of `value` as an int32."""
    return int.from_bytes(bytes([value] * 4), "little", signed=True)
