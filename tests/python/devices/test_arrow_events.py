"""Arrow's `sync_event`, a pointer to an event of the device's driver, out and in."""

from __future__ import annotations

import contextlib
import ctypes

import pytest
from fake_driver import Memory, cuda, word

import dlx
from dlx import raw

CUDA = "cuda:0"


def exported(tensor):
    """(device array, schema) in C's structs, to be released."""
    handle = raw.from_tensor(tensor)
    array, schema = raw.dlx_tensor_to_arrow_device(handle)
    handle.release()
    return array, schema


def imported(array, schema):
    _, handle = raw.dlx_tensor_from_arrow_device(array, schema)
    return raw.to_tensor(handle)


def pending_tensor(memory, value):
    tensor = dlx.from_pointer(memory.address, 4, "int32", device=CUDA)
    memory.fill(value)
    dlx.Stream(memory.stream, device=CUDA).wrote(tensor)
    return tensor


def test_an_export_has_an_event_behind_what_is_pending(driver):
    memory = Memory()
    consumer = driver.make_stream()
    driver.set_schedule(b"latest")
    array, schema = exported(pending_tensor(memory, 0x11))
    assert array.sync_event

    event = ctypes.c_void_p.from_address(array.sync_event).value  # a pointer TO the event
    driver.wait_event(consumer, event)
    driver.synchronize(consumer)

    assert driver.bytes_at(memory.address, 16) == b"\x11" * 16
    raw.arrow_release(array.array)
    raw.arrow_release(schema)
    driver.destroy_stream(consumer)
    memory.close()


def test_the_event_lives_as_long_as_the_array(driver):
    before = driver.report().events
    tensor = dlx.asarray([1.0, 2.0], device="cuda:1")
    arrays = [exported(tensor) for _ in range(3)]
    events = {ctypes.c_void_p.from_address(a.sync_event).value for a, _ in arrays}
    assert len(events) == 3
    for array, schema in arrays:
        assert (array.device_type, array.device_id) == (2, 1)
        raw.arrow_release(array.array)
        raw.arrow_release(schema)
    assert driver.report().events <= before + 8  # kept for the next ones


@pytest.mark.parametrize("shape", [(0,), (0, 3)])
def test_no_elements_have_no_event(shape):
    array, schema = exported(dlx.empty(shape, device=CUDA))
    assert not array.sync_event
    raw.arrow_release(array.array)
    raw.arrow_release(schema)


def test_the_cpu_has_no_event():
    array, schema = exported(dlx.asarray([1, 2]))
    assert not array.sync_event
    raw.arrow_release(array.array)
    raw.arrow_release(schema)


def test_strided_data_is_packed_there_and_the_event_is_behind_that(driver):
    source = dlx.asarray([[1, 2, 3], [4, 5, 6]], device=CUDA)
    consumer = driver.make_stream()
    driver.set_schedule(b"latest")
    array, schema = exported(source.T)
    driver.wait_event(consumer, ctypes.c_void_p.from_address(array.sync_event).value)
    driver.synchronize(consumer)
    again = imported(array, schema)
    assert again.numpy(force=True).tolist() == [[1, 4], [2, 5], [3, 6]]
    raw.arrow_release(schema)
    driver.destroy_stream(consumer)


@pytest.mark.parametrize("current", [contextlib.nullcontext, lambda: dlx.Stream(device=CUDA)])
@pytest.mark.parametrize("managed", [False, True])
def test_an_import_waits_for_the_event(driver, schedule, managed, current):
    memory = Memory(managed=managed)
    cuda().poke(memory.address, bytes(16), 16)
    tensor = dlx.from_pointer(
        memory.address, 4, "int32", device="cuda_managed" if managed else CUDA
    )
    array, schema = exported(tensor)
    memory.fill(0x11)  # after the export: only the other event is behind it
    event = driver.make_event(memory.stream)
    pointer = ctypes.c_void_p(event)
    array.sync_event = ctypes.addressof(pointer)

    with current():
        again = imported(array, schema)

    pointer.value = 0  # not needed any more
    driver.destroy_event(event)
    assert again.data_ptr == memory.address
    assert again.numpy(force=True).tolist() == [word(0x11)] * 4
    raw.arrow_release(schema)
    del again, tensor
    memory.close()


def test_managed_memory_is_exported_behind_a_stream_of_its_own_device(driver):
    """DLPack gives it the id 0, whichever device it belongs to."""
    tensor = dlx.empty(4, dtype="int32", device="cuda_managed:1")
    with dlx.Stream(device="cuda:0"):
        array, schema = exported(tensor)
    assert array.sync_event
    raw.arrow_release(array.array)
    raw.arrow_release(schema)
    with dlx.Stream(device="cuda:1") as stream:
        assert tensor.__cuda_array_interface__["stream"] == stream.handle


def test_an_import_does_not_wait_on_the_host(driver):
    memory = Memory()
    tensor = dlx.from_pointer(memory.address, 4, "int32", device=CUDA)
    array, schema = exported(tensor)
    driver.set_schedule(b"latest")
    memory.fill(0x11)
    event = driver.make_event(memory.stream)
    pointer = ctypes.c_void_p(event)
    array.sync_event = ctypes.addressof(pointer)
    again = imported(array, schema)
    assert driver.bytes_at(memory.address, 4) != b"\x11" * 4
    driver.destroy_event(event)
    raw.arrow_release(schema)
    del again, tensor
    memory.close()


def copy_to_pinned(driver, memory, pinned):
    """The driver fills the memory, and copies it to the pinned memory, on its stream."""
    memory.fill(0x11)
    driver.within(
        0, "cuMemcpyDtoHAsync_v2", ctypes.c_void_p(pinned.data_ptr),
        ctypes.c_uint64(memory.address), ctypes.c_size_t(16), ctypes.c_void_p(memory.stream),
    )  # fmt: skip


@pytest.mark.parametrize("current", [contextlib.nullcontext, lambda: dlx.Stream(device=CUDA)])
def test_pinned_memory_is_imported_when_the_event_is_done(driver, current):
    """The CPU may read what the import gives: nothing waits after it."""
    memory = Memory()
    pinned = dlx.empty(4, dtype="int32", device="cuda_host")
    pinned[...] = 0
    array, schema = exported(pinned)
    driver.set_schedule(b"latest")
    copy_to_pinned(driver, memory, pinned)
    event = driver.make_event(memory.stream)
    pointer = ctypes.c_void_p(event)
    array.sync_event = ctypes.addressof(pointer)

    with current():
        again = imported(array, schema)

    assert ctypes.string_at(again.data_ptr, 16) == b"\x11" * 16
    driver.destroy_event(event)
    raw.arrow_release(schema)
    del again, pinned
    memory.close()


def test_pinned_memory_is_exported_to_the_cpu_when_its_work_is_done(driver):
    """An ArrowArray has no event."""
    memory = Memory()
    pinned = dlx.empty(4, dtype="int32", device="cuda_host")
    pinned[...] = 0
    driver.set_schedule(b"latest")
    copy_to_pinned(driver, memory, pinned)
    dlx.Stream(memory.stream, device=CUDA).wrote(pinned)

    capsules = pinned.__arrow_c_array__()

    assert ctypes.string_at(pinned.data_ptr, 16) == b"\x11" * 16
    del capsules, pinned
    memory.close()


def test_asarray_takes_device_arrays_with_events(driver, schedule):
    memory = Memory()
    tensor = pending_tensor(memory, 0x11)

    class Holder:
        held = tensor

        def __arrow_c_device_array__(self, requested_schema=None, **keywords):
            return self.held.__arrow_c_device_array__()

    again = dlx.asarray(Holder())
    Holder.held = None

    assert (again.device, again.data_ptr) == (CUDA, memory.address)
    assert again.numpy(force=True).tolist() == [word(0x11)] * 4
    del again, tensor
    memory.close()


def test_an_event_of_a_device_that_cannot_wait_is_refused():
    tensor = dlx.asarray([1, 2], device=CUDA)
    array, schema = exported(tensor)
    array.device_id = 5
    with pytest.raises(dlx.UnsupportedError, match=r"sync_event on cuda:5"):
        imported(array, schema)
    array.device_type = 14
    with pytest.raises(dlx.UnsupportedError, match=r"sync_event on oneapi:5"):
        imported(array, schema)
    raw.arrow_release(array.array)
    raw.arrow_release(schema)
