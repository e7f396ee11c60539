"""docs/conformance.md: threads, the GIL, finalization. More of it in test_lifetimes.py."""

import ctypes
import gc
import subprocess
import sys
import threading

import pytest

import dlx
from dlpack_ctypes import (
    SET_ERROR,
    DLDataType,
    DLDevice,
    DLManagedTensorVersioned,
    DLTensor,
    Imported,
    Producer,
    table_of,
)
from interpreter import c_library


def tensor_with_owner():
    memory = (ctypes.c_float * 4)()
    calls = []
    tensor = dlx.from_pointer(
        ctypes.addressof(memory), 4, "float32", owner=memory, on_release=lambda: calls.append(1)
    )
    return tensor, calls


def test_item_34_deleter_without_the_gil_gives_python_objects_back():
    tensor, calls = tensor_with_owner()
    got = Imported(tensor.__dlpack__(max_version=(1, 3)))
    deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(got.struct.deleter)  # gives the GIL away
    del tensor

    deleter(got.address)
    dlx.empty(1)  # an entry into dlx hands over what is pending, at the latest

    assert calls == [1]


def test_item_35_deleter_after_finalization_leaks_instead_of_crashing():
    # An export whose deleter runs from a C atexit handler, long after Python is gone.
    c_library()
    code = """
import ctypes, dlx
memory = (ctypes.c_float * 4)()
tensor = dlx.from_pointer(ctypes.addressof(memory), 4, "float32", owner=memory, on_release=print)
capsule = tensor.__dlpack__(max_version=(1, 3))
python = ctypes.PyDLL(None)
get = python.PyCapsule_GetPointer
get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
address = get(capsule, b"dltensor_versioned")
rename = python.PyCapsule_SetName
rename.argtypes = [ctypes.py_object, ctypes.c_char_p]
NAME = ctypes.c_char_p(b"used_dltensor_versioned")
rename(capsule, NAME)
deleter = ctypes.c_void_p.from_address(address + 16).value
libc = ctypes.CDLL(None)
register = libc.__cxa_atexit
register.argtypes = [ctypes.c_void_p] * 3
register(deleter, address, None)
print("done", flush=True)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


def test_item_36_deleter_may_run_on_any_thread():
    tensor, calls = tensor_with_owner()
    got = Imported(tensor.__dlpack__(max_version=(1, 3)))
    del tensor

    thread = threading.Thread(target=got.free)
    thread.start()
    thread.join()
    dlx.empty(1)

    assert calls == [1]


def test_item_36_deleter_does_not_wait_for_a_gil_that_somebody_holds():
    # The thread calls the deleter without the GIL while this one holds it and waits for the
    # thread by a C join: a deleter that waited for the GIL would never return.
    tensor, calls = tensor_with_owner()
    got = Imported(tensor.__dlpack__(max_version=(1, 3)))
    del tensor
    libc = c_library(ctypes.PyDLL)  # keeps the GIL during the call
    create = libc.pthread_create
    create.argtypes = [ctypes.c_void_p] * 4
    join = libc.pthread_join
    join.argtypes = [ctypes.c_ulong, ctypes.c_void_p]
    thread = ctypes.c_ulong()

    assert create(ctypes.addressof(thread), None, got.struct.deleter, got.address) == 0
    assert join(thread, None) == 0

    dlx.empty(1)
    assert calls == [1]


def test_item_37_table_functions_report_by_status_and_python_exception():
    table = table_of(dlx.Tensor)
    out = ctypes.POINTER(DLManagedTensorVersioned)()

    # A NULL object is the caller's mistake; PYFUNCTYPE raises the exception that came with -1.
    with pytest.raises((dlx.Error, TypeError)):
        table.managed_tensor_from_py_object_no_sync(None, ctypes.byref(out))


def test_item_38_allocator_reports_through_set_error_exactly_when_it_fails():
    table = table_of(dlx.Tensor)
    reports = []
    report = SET_ERROR(lambda context, kind, message: reports.append((kind, message)))
    out = ctypes.POINTER(DLManagedTensorVersioned)()
    prototype = DLTensor()
    prototype.device, prototype.dtype = DLDevice(1, 0), DLDataType(2, 32, 1)
    shape = (ctypes.c_int64 * 2)(2, 3)
    prototype.ndim, prototype.shape = 2, ctypes.cast(shape, ctypes.POINTER(ctypes.c_int64))

    assert table.managed_tensor_allocator(prototype, ctypes.byref(out), None, report) == 0
    assert reports == []
    made = out.contents
    assert tuple(made.dl_tensor.shape[:2]) == (2, 3)
    assert made.dl_tensor.data
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(made.deleter)(ctypes.addressof(made))

    shape[0] = -1
    assert table.managed_tensor_allocator(prototype, ctypes.byref(out), None, report) == -1
    assert len(reports) == 1
    kind, message = reports[0]
    assert kind.decode().isidentifier()
    assert message


def test_item_39_many_threads_read_one_tensor():
    # The standard says nothing; dlx says: any thread, as long as nobody writes.
    tensor = dlx.from_dlpack(Producer())
    failures = []

    def use():
        try:
            for _ in range(500):
                assert tensor[0].shape == (3,)
                assert dlx.from_dlpack(tensor).data_ptr == tensor.data_ptr
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=use) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    gc.collect()
    assert failures == []
