"""A device written in Python for dlx_register_backend, whose mistakes show.

Its memory is the host's at shifted addresses, so that whoever uses such an address without the device
crashes; its streams do nothing before somebody waits for them.
"""

from __future__ import annotations

import collections
import ctypes
from typing import Any

from dlx import raw

SHIFT = 1 << 46
DEFAULT_STREAM = 7


class LateDevice:
    """One kind of device, of which there are `count`.

    Attributes:
        device_type: under which it is registered.
        calls: names of the functions that were called.
        pending: how much work waits for somebody to wait for it.
        fail: names of functions that are to fail, with the text of the error or an exception.
    """

    def __init__(self, device_type: int, *, streams: bool, strided: bool, count: int = 2) -> None:
        self.device_type, self.count = device_type, count
        self.has_streams = streams
        self.calls: list[str] = []
        self.fail: dict[str, str | Exception] = {}
        self.error = ""
        self.room = 1 << 30
        self.blocks: dict[int, Any] = {}
        self.queues: dict[int, collections.deque[Any]] = collections.defaultdict(collections.deque)
        self.done: collections.Counter[int] = collections.Counter()
        self.events: dict[int, tuple[int, int]] = {}
        self.numbers = iter(range(1000, 1 << 30))
        names = ["device_count", "describe", "error_text", "allocate", "deallocate"]
        names += ["copy_from_host", "copy_to_host", "copy_on_device", "synchronize"]
        names += ["copy_strided"] * strided
        names += ["stream_create", "stream_destroy", "stream_synchronize"] * streams
        names += ["event_record", "event_wait", "event_wait_on_host"] * streams
        names += ["event_query", "event_release"] * streams
        self.functions = {
            name: raw.callback(f"dlx_backend.{name}", self._logged(name)) for name in names
        }

    def register(self) -> None:
        default = DEFAULT_STREAM if self.has_streams else 0
        table = raw.dlx_backend(default_stream=default, **self.functions)
        raw.dlx_register_backend(self.device_type, table)

    @property
    def pending(self) -> int:
        return sum(len(queue) for queue in self.queues.values())

    def _logged(self, name: str) -> Any:
        function = getattr(self, name)

        def call(*args: int) -> Any:
            self.calls.append(name)
            how = self.fail.get(name)
            if isinstance(how, Exception):
                raise how
            if how is not None:
                self.error = how
                return 0 if name == "allocate" else 3
            result = function(*args)
            return 0 if result is None else result

        return call

    # ---- work ----

    def _add(self, stream: int, work: Any) -> None:
        if self.has_streams:
            self.queues[stream].append(work)
        else:
            assert stream == 0
            work()

    def _run_until(self, stream: int, position: int) -> None:
        while self.done[stream] < position:
            work = self.queues[stream].popleft()
            self.done[stream] += 1
            work()

    def _end(self, stream: int) -> int:
        return self.done[stream] + len(self.queues[stream])

    def finish(self) -> None:
        for stream in list(self.queues):
            self._run_until(stream, self._end(stream))

    # ---- the functions of dlx_backend ----

    def device_count(self, user_data: int) -> int:
        return self.count

    def describe(self, device_id: int, out: int, user_data: int) -> int:
        properties = raw.dlx_device_properties.at(out)
        properties.name = f"Late device {device_id}"
        properties.architecture = "late_1"
        properties.memory_total = self.room
        return 0

    def error_text(self, user_data: int) -> str:
        return self.error

    def allocate(self, device_id: int, size: int, alignment: int, user_data: int) -> int:
        if size > self.room:
            return 0
        block = ctypes.create_string_buffer(size + alignment)
        start = -(-ctypes.addressof(block) // alignment) * alignment
        self.blocks[start] = block, size
        return start + SHIFT

    def deallocate(self, device_id: int, data: int, user_data: int) -> None:
        del self.blocks[data - SHIFT]

    def copy_from_host(
        self, device_id: int, dst: int, offset: int, src: int, size: int, stream: int, _: int
    ) -> None:
        self._add(stream, lambda: self._copy(dst + offset, src, size))

    def copy_to_host(
        self, device_id: int, dst: int, src: int, offset: int, size: int, stream: int, _: int
    ) -> None:
        self._add(stream, lambda: self._copy(dst, src + offset, size))

    def copy_on_device(
        self, dst_id: int, dst: int, dst_offset: int, src_id: int, src: int, src_offset: int,
        size: int, stream: int, _: int,
    ) -> None:  # fmt: skip
        self._add(stream, lambda: self._copy(dst + dst_offset, src + src_offset, size))

    def copy_strided(self, device_id: int, dst: int, src: int, stream: int, _: int) -> None:
        to, source = (_Side(raw.DLTensor.at(address)) for address in (dst, src))
        assert to.shape == source.shape
        pairs = list(zip(to.places(), source.places()))

        def work() -> None:
            for a, b in pairs:
                self._copy(a, b, to.size)

        self._add(stream, work)

    def synchronize(self, device_id: int, user_data: int) -> None:
        self.finish()

    def stream_create(self, device_id: int, out: int, user_data: int) -> None:
        ctypes.c_int64.from_address(out).value = next(self.numbers)

    def stream_destroy(self, device_id: int, stream: int, user_data: int) -> None:
        self._run_until(stream, self._end(stream))
        del self.queues[stream]

    def stream_synchronize(self, device_id: int, stream: int, user_data: int) -> None:
        self._run_until(stream, self._end(stream))

    def event_record(self, device_id: int, stream: int, out: int, user_data: int) -> None:
        event = next(self.numbers)
        self.events[event] = stream, self._end(stream)
        ctypes.c_void_p.from_address(out).value = event

    def event_wait(self, device_id: int, stream: int, event: int, user_data: int) -> None:
        self._add(stream, lambda where=self.events[event]: self._run_until(*where))

    def event_wait_on_host(self, device_id: int, event: int, user_data: int) -> None:
        self._run_until(*self.events[event])

    def event_query(self, device_id: int, event: int, out: int, user_data: int) -> None:
        stream, position = self.events[event]
        ctypes.c_int32.from_address(out).value = int(self.done[stream] >= position)

    def event_release(self, device_id: int, event: int, user_data: int) -> None:
        del self.events[event]

    # ---- memory ----

    def _copy(self, to: int, source: int, size: int) -> None:
        ctypes.memmove(self._host(to, size), self._host(source, size), size)

    def _host(self, place: int, size: int) -> int:
        """The host's address of a place: of the device's memory if it lies in a block of it."""
        start = place - SHIFT
        for block, (_, length) in self.blocks.items():
            if block <= start < block + max(length, 1):
                assert start + size <= block + length, "work reaches beyond an allocation"
                return start
        return place  # the host's; a freed block's address is none, and crashes


class _Side:
    """One side of a strided copy."""

    def __init__(self, tensor: raw.DLTensor) -> None:
        self.start = tensor.data + tensor.byte_offset
        self.shape, self.strides = tensor.shape or (), tensor.strides or ()
        self.size = tensor.dtype.bits * tensor.dtype.lanes // 8

    def places(self) -> list[int]:
        places = [self.start]
        for extent, stride in zip(self.shape, self.strides):
            step = stride * self.size
            places = [place + i * step for place in places for i in range(extent)]
        return places
