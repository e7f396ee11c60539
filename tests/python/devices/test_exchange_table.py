"""DLPack's exchange table with data on a device: it never synchronises, so dlx orders the work."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_void_p

import pytest
from fake_driver import Memory, word

import dlx
from dlpack_ctypes import (
    ALLOCATOR,
    BORROW,
    DELETER,
    FROM_OBJECT,
    SET_ERROR,
    STREAM,
    TO_OBJECT,
    DLManagedTensorVersioned,
    DLPackVersion,
    DLTensor,
    ExchangeAPI,
    Export,
    make_capsule,
    python,
    table_of,
)

CUDA = "cuda:0"


class Library:
    """Another library: one class with an exchange table, and a current stream."""

    def __init__(self):
        self.stream = 0
        self.asked = []
        self.fails = False
        self.made = []  # the arrays made of what dlx shares, each with its managed struct
        library = self

        class Array:
            """Shows a Memory; `__dlpack__` must not be needed."""

            def __init__(self, memory, device=(2, 0)):
                self.memory, self.device = memory, device
                self.calls = []

            def __dlpack__(self, **keywords):
                self.calls.append(keywords)
                export = Export(self.memory.address, (4,), dtype=(0, 32, 1), device=self.device)
                return export.capsule()

            def __dlpack_device__(self):
                return self.device

        def from_object(address, out):
            array = ctypes.cast(address, ctypes.py_object).value
            export = Export(array.memory.address, (4,), dtype=(0, 32, 1), device=array.device)
            out[0] = ctypes.pointer(export.struct)
            return 0

        def work_stream(device_type, device_id, out):
            library.asked.append((device_type, device_id))
            out[0] = library.stream
            return -1 if library.fails else 0

        def to_object(managed, out):
            if library.refuses:
                ctypes.cast(managed.contents.deleter, DELETER)(ctypes.addressof(managed.contents))
                return -1
            array = Array(None)
            array.managed = managed.contents
            library.made.append(array)
            python.Py_IncRef(ctypes.py_object(array))
            out[0] = id(array)
            return 0

        self.refuses = False
        self.table = ExchangeAPI(
            DLPackVersion(1, 3),
            None,
            ALLOCATOR(),
            FROM_OBJECT(from_object),
            TO_OBJECT(to_object),
            BORROW(),
            STREAM(work_stream),
        )
        self.capsule = make_capsule(ctypes.addressof(self.table), b"dlpack_exchange_api")
        Array.__dlpack_c_exchange_api__ = self.capsule
        self.Array = Array


LIBRARIES = []  # dlx remembers the table that it followed last: a library is never unloaded


@pytest.fixture
def library():
    made = Library()
    LIBRARIES.append(made)
    yield made
    # Back to a stream that lives: the next test follows it, too.
    made.stream, made.fails = 0, False


@pytest.mark.parametrize("device", [0, 1])
def test_data_is_ready_behind_the_library_s_current_stream(library, schedule, device):
    memory = Memory(device)
    library.stream = memory.stream
    memory.fill(0x11)
    array = library.Array(memory, (2, device))

    tensor = dlx.from_dlpack(array)

    assert (tensor.data_ptr, tensor.device) == (memory.address, f"cuda:{device}")
    assert array.calls == []
    assert library.asked[0] == (2, device)
    library.stream = 0  # the library goes on elsewhere: what it did remains known
    assert tensor.numpy(force=True).tolist() == [word(0x11)] * 4
    del tensor
    memory.close()


def test_the_host_does_not_wait(library, driver):
    memory = Memory()
    library.stream = memory.stream
    driver.set_schedule(b"latest")
    memory.fill(0x11)
    tensor = dlx.asarray(library.Array(memory))
    assert driver.bytes_at(memory.address, 4) != b"\x11" * 4
    library.stream = 0
    del tensor
    memory.close()


def test_managed_memory_is_ordered_by_its_device_s_streams(library, schedule):
    memory = Memory(1, managed=True)
    library.stream = memory.stream
    memory.fill(0x11)
    tensor = dlx.from_dlpack(library.Array(memory, (13, 0)))
    assert library.asked[0] == (2, 1)  # the device that it really belongs to
    library.stream = 0
    assert tensor.tolist() == [word(0x11)] * 4
    del tensor
    memory.close()


def test_dlx_works_on_the_stream_of_the_library_it_imported_from(library, driver):
    memory = Memory()
    tensor = dlx.from_dlpack(library.Array(memory))
    library.stream = memory.stream
    assert dlx.current_stream(CUDA).handle == memory.stream
    with dlx.Stream(device=CUDA) as chosen:  # what the user says counts more
        assert dlx.current_stream(CUDA) == chosen
    driver.set_schedule(b"latest")
    copy = tensor.copy()
    pending = driver.report().pending
    assert pending > 0
    driver.synchronize(memory.stream)
    assert driver.report().pending < pending
    library.stream = 0
    assert dlx.current_stream(CUDA).handle == 1
    del tensor, copy
    memory.close()


def test_convert_makes_arrays_by_the_table_behind_the_library_s_stream(library, schedule, driver):
    """Once convert() has served a library, dtype and kind of device, it calls the table itself."""
    consumer = Memory()
    tensor = dlx.asarray([word(0x11)] * 4, dtype="int32", device=CUDA)
    library.stream = consumer.stream
    name = f"a library {id(library)}"
    own = {dlx.Tensor: False, library.Array: True}
    never = [].__getitem__  # what convert() would call with a capsule
    dlx._native._usual(name, own, never, True, 1, tensor, library.Array(consumer))

    array = dlx.convert(tensor, name)

    assert array is library.made[0]
    assert array.managed.dl_tensor.data == tensor.data_ptr
    assert library.asked[-1] == (2, 0)
    # What the library does on its stream finds the data ready.
    driver.copy(consumer.address, tensor.data_ptr, consumer.stream)
    driver.synchronize(consumer.stream)
    assert driver.bytes_at(consumer.address, 4) == b"\x11" * 4
    assert dlx.convert(array, name) is array  # its own

    library.refuses = True
    with pytest.raises(BufferError, match="made no array, and no error"):
        dlx.convert(tensor, name)
    with pytest.raises(
        ValueError, match="not a library"
    ):  # no table serves the CPU tensor: it has another kind of device
        dlx.convert(dlx.asarray([0] * 4, dtype="int32"), name)
    library.fails = True  # nor a library that does not know its stream
    with pytest.raises(ValueError, match="not a library"):
        dlx.convert(tensor, name)
    DELETER(array.managed.deleter)(ctypes.addressof(array.managed))
    library.stream = 0
    del tensor, array
    library.made.clear()
    consumer.close()


def test_a_library_that_knows_no_stream_says_so(library):
    memory = Memory()
    library.fails = True
    with pytest.raises(BufferError, match="no current stream of cuda:0"):
        dlx.from_dlpack(library.Array(memory))
    memory.close()


def test_devices_that_dlx_cannot_order_go_by_the_method(library):
    memory = Memory()
    array = library.Array(memory, (14, 0))
    assert dlx.from_dlpack(array).device == "oneapi:0"
    assert len(array.calls) == 1
    memory.close()


def test_copy_and_device_arguments(library, schedule):
    memory = Memory()
    library.stream = memory.stream
    memory.fill(0x11)
    array = library.Array(memory)
    assert dlx.from_dlpack(array, device="cpu").tolist() == [word(0x11)] * 4
    copy = dlx.from_dlpack(array, copy=True)
    assert copy.data_ptr != memory.address
    assert copy.numpy(force=True).tolist() == [word(0x11)] * 4
    assert dlx.from_dlpack(array, copy=False).data_ptr == memory.address
    library.stream = 0
    memory.close()


# ---- dlx's own table ----


def own_table():
    return table_of(dlx.Tensor)


def exported(tensor):
    managed = POINTER(DLManagedTensorVersioned)()
    assert own_table().managed_tensor_from_py_object_no_sync(id(tensor), managed) == 0
    return managed


def work_stream(device=(2, 0)):
    out = c_void_p()
    assert own_table().current_work_stream(*device, out) == 0
    return out.value or 0


def test_our_work_stream_finds_ready_what_was_handed_out(driver):
    memory, stream = Memory(), dlx.Stream(device=CUDA)
    tensor = dlx.from_pointer(memory.address, 4, "int32", device=CUDA)
    for hand_out in ("managed", "borrowed"):
        driver.set_schedule(b"latest")
        memory.fill(0x11 if hand_out == "managed" else 0x22)
        dlx.Stream(memory.stream, device=CUDA).wrote(tensor)
        with dlx.stream(stream):
            if hand_out == "managed":
                managed = exported(tensor)
            else:
                borrowed = DLTensor()
                assert own_table().dltensor_from_py_object_no_sync(id(tensor), borrowed) == 0
            handle = work_stream()
        assert handle == stream.handle
        driver.synchronize(handle)
        expected = b"\x11" if hand_out == "managed" else b"\x22"
        assert driver.bytes_at(memory.address, 1) == expected
    ctypes.CFUNCTYPE(None, c_void_p)(managed.contents.deleter)(ctypes.addressof(managed.contents))
    del tensor
    memory.close()


def test_our_allocator_makes_memory_of_the_device():
    prototype = DLTensor()
    shape = (ctypes.c_int64 * 1)(4)
    prototype.shape, prototype.ndim = ctypes.cast(shape, POINTER(ctypes.c_int64)), 1
    prototype.dtype.code, prototype.dtype.bits, prototype.dtype.lanes = 0, 32, 1
    prototype.device.device_type, prototype.device.device_id = 2, 1
    managed = POINTER(DLManagedTensorVersioned)()
    errors = []
    set_error = SET_ERROR(lambda *words: errors.append(words))
    assert own_table().managed_tensor_allocator(prototype, managed, None, set_error) == 0, errors
    tensor = managed.contents.dl_tensor
    assert dlx.device_of(tensor.data) == "cuda:1"
    ctypes.CFUNCTYPE(None, c_void_p)(managed.contents.deleter)(ctypes.addressof(managed.contents))
