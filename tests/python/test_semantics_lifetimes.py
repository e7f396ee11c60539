"""docs/semantics.md: one test for each rule on lifetimes, threads, equality and pickling.

test_semantics.py checks that no rule lacks its test; test_lifetimes.py and test_pickle.py go into
the matter at length.
"""

import ctypes
import gc
import os
import pickle
import subprocess
import sys
import threading
import weakref

import pytest

import dlx
from concurrency import together
from dlpack_ctypes import DELETER, Imported, Producer
from interpreter import FREE_THREADED, c_library
from test_share import numbers


def owned(on_release=None):
    memory = (ctypes.c_double * 4)(1, 2, 3, 4)
    return dlx.from_pointer(
        ctypes.addressof(memory), 4, "float64", owner=memory, on_release=on_release
    )


# ---- lifetimes ----------------------------------------------------------------------------------


def test_l1_memory_is_given_back_once_with_its_last_user():
    calls = []
    t = owned(lambda: calls.append(1))
    users = [t[1:], memoryview(t), dlx.from_dlpack(t), t.__dlpack__(max_version=(1, 3))]
    del t
    while users:
        assert calls == []
        users.pop()
    assert calls == [1]


def test_l2_each_export_holds_a_reference_of_its_own():
    calls = []
    t = owned(lambda: calls.append(1))
    first, second = (Imported(t.__dlpack__(max_version=(1, 3))) for _ in range(2))
    del t
    assert first.address != second.address
    assert first.data == second.data
    first.free()
    assert calls == []
    second.free()
    assert calls == [1]


def test_l4_a_deleter_runs_on_the_thread_that_drops_the_last_reference():
    producer = Producer()
    held = [dlx.from_dlpack(producer)]
    thread = threading.Thread(target=held.clear)
    thread.start()
    thread.join()

    (export,) = producer.exports
    # Without the GIL, CPython leaves the last step to the thread that made the Tensor.
    assert export.threads == [threading.get_ident() if FREE_THREADED else thread.ident]


def test_l5_a_thread_without_the_gil_does_not_wait_for_it():
    calls = []
    t = owned(lambda: calls.append(threading.get_ident()))
    export = Imported(t.__dlpack__(max_version=(1, 3)))
    del t
    freed = threading.Event()

    def free():
        DELETER(export.struct.deleter)(export.address)  # by ctypes, which gives the GIL away
        freed.set()

    thread = threading.Thread(target=free)
    thread.start()
    assert freed.wait(60)
    thread.join()
    dlx.empty(1)  # an entry into dlx gives back what is pending, at the latest
    assert len(calls) == 1


def test_l6_what_is_let_go_after_the_end_of_the_interpreter():
    # Two exports whose deleters C's exit() calls. The C owner's deleter is puts(), to which its
    # struct, beginning with the version 1, is the text "\\1".
    c_library()
    code = """
import ctypes, dlx
from dlpack_ctypes import DLManagedTensorVersioned, DLPackVersion, Imported, make_capsule
libc = ctypes.CDLL(None)
libc.__cxa_atexit.argtypes = [ctypes.c_void_p] * 3
memory = (ctypes.c_double * 4)()
shape = (ctypes.c_int64 * 1)(4)
libc.malloc.restype, size = ctypes.c_void_p, ctypes.sizeof(DLManagedTensorVersioned)
place = libc.malloc(size)
ctypes.memset(place, 0, size)
struct = DLManagedTensorVersioned.from_address(place)
struct.version = DLPackVersion(1, 3)
struct.deleter = ctypes.cast(libc.puts, ctypes.c_void_p).value
struct.dl_tensor.data, struct.dl_tensor.ndim = ctypes.addressof(memory), 1
struct.dl_tensor.shape = ctypes.cast(shape, ctypes.POINTER(ctypes.c_int64))
struct.dl_tensor.device.device_type = 1
struct.dl_tensor.dtype.code, struct.dl_tensor.dtype.bits, struct.dl_tensor.dtype.lanes = 2, 64, 1
class InC:
    __dlpack_device__ = lambda self: (1, 0)
    __dlpack__ = lambda self, **kw: make_capsule(place, b"dltensor_versioned")
owner = dlx.from_pointer(ctypes.addressof(memory), 4, "float64", owner=memory,
                         on_release=lambda: print("released", flush=True))
exports = [Imported(t.__dlpack__(max_version=(1, 3))) for t in (owner, dlx.from_dlpack(InC()))]
for export in exports:
    libc.__cxa_atexit(export.struct.deleter, export.address, None)
del owner
print("exit", flush=True)
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == ["exit", "\1"]


def test_l7_cycles_through_an_owner_are_invisible():
    class Owner:
        memory = (ctypes.c_double * 4)()

    owner = Owner()
    owner.tensor = dlx.from_pointer(ctypes.addressof(Owner.memory), 4, "float64", owner=owner)
    gone = weakref.ref(owner)
    del owner
    gc.collect()
    assert gone() is not None
    gone().tensor = None  # broken by hand
    gc.collect()
    assert gone() is None


def test_l8_weak_references():
    t = numbers(3)
    gone = weakref.ref(t)
    assert gone() is t
    del t
    assert gone() is None


# ---- threads ------------------------------------------------------------------------------------


def test_t1_any_thread_may_use_any_tensor():
    calls, wrong = [], []
    t = owned(lambda: calls.append(1))

    def work(tensor):
        for i in range(2000):
            if tensor[i % 4 :][0].item() != i % 4 + 1 or dlx.from_dlpack(tensor).shape != (4,):
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(t,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    del t, threads, thread
    gc.collect()
    assert wrong == []
    assert calls == [1]


def test_t2_nobody_locks_the_elements():
    t = numbers(3)
    view, capsule = memoryview(t), t.__dlpack__(max_version=(1, 3))
    t[0] = 5.0
    view[1] = 6.0

    assert t.tolist() == view.tolist() == [5, 6, 2]
    del capsule


def test_t3_long_copies_let_other_threads_run():
    source = dlx.empty((1 << 13, 1 << 12), dtype="float32").mT  # 128 MB, transposed
    started, done = threading.Event(), threading.Event()
    seen = []

    def copy_it():
        started.set()
        source.copy()
        done.set()

    interval = sys.getswitchinterval()
    sys.setswitchinterval(100)  # Python itself takes the GIL from nobody
    try:
        for _ in range(5):  # a busy machine may be slow to let this thread run
            started.clear()
            done.clear()
            thread = threading.Thread(target=copy_it)
            thread.start()
            started.wait(60)  # returns when the copy gives the GIL up, or else when it has ended
            seen.append(done.is_set())
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert False in seen


def test_t4_one_capsule_has_one_taker():
    for version in (1, 3), None:
        for _ in range(60):
            freed, taken = [], []
            capsule = owned(lambda freed=freed: freed.append(1)).__dlpack__(max_version=version)

            def take(_, capsule=capsule, taken=taken):
                try:
                    taken.append(dlx.from_dlpack(capsule))
                except ValueError:
                    return

            together(*[take] * 4, rounds=1)
            del capsule, take
            assert len(taken) == 1
            assert not freed
            taken.clear()
            dlx.empty(1)
            assert freed == [1]


# ---- equality -----------------------------------------------------------------------------------


def test_e1_equality_is_elementwise():
    pytest.importorskip("numpy")
    t = numbers(3)

    assert type(t == t) is dlx.Tensor
    assert (t == 1).tolist() == [False, True, False]
    assert (t != t.copy()).tolist() == [False] * 3


def test_e2_no_hash():
    t = numbers(3)
    with pytest.raises(TypeError, match="hash"):
        hash(t)
    assert {id(t): 1, (t.data_ptr, t.shape, t.strides): 2}


def test_e3_no_operand_is_plainly_unequal():
    t = numbers(3)
    for other in (None, "text", object(), {}):
        assert (t == other) is False
        assert (t != other) is True


def test_e4_in_looks_for_an_equal_element():
    pytest.importorskip("numpy")

    assert 2 in numbers(3)
    assert 7 not in numbers(3)
    assert None not in numbers(3)


def test_e5_the_truth_of_many_is_an_error():
    assert bool(numbers(3)[1])
    assert not bool(numbers(3)[0])
    for t in (numbers(3), numbers(0)):
        with pytest.raises(ValueError, match="one element"):
            bool(t)


# ---- pickling -----------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_p1_every_protocol_and_c_order(protocol):
    t = numbers(3, 4)[::-1, ::2]
    back = pickle.loads(pickle.dumps(t, protocol))

    assert back.tolist() == t.tolist()
    assert back.strides == (2, 1)


def test_p2_the_frame_is_the_memory():
    t = numbers(100)
    frames = []
    data = pickle.dumps(t, 5, buffer_callback=frames.append)
    back = pickle.loads(data, buffers=frames)
    there = bytearray(frames[0])

    assert len(data) < 200
    assert back.data_ptr == t.data_ptr
    assert pickle.loads(data, buffers=[there]).data_ptr == dlx.asarray(there).data_ptr


def test_p3_read_only_comes_back_read_only():
    t = numbers(3)
    frames = []
    data = pickle.dumps(t, 5, buffer_callback=frames.append)

    assert not pickle.loads(pickle.dumps(t)).readonly
    assert pickle.loads(pickle.dumps(t.as_readonly())).readonly
    assert pickle.loads(data, buffers=[bytes(frames[0])]).readonly


def test_p4_what_cannot_be_pickled():
    with pytest.raises(dlx.DeviceRefusedError, match=r"to_device\('cpu'\)"):
        pickle.dumps(dlx.from_pointer(64, 3, "int8", device="cuda:0"))
    with pytest.raises(dlx.UnsupportedError, match="addresses"):
        pickle.dumps(dlx.from_pointer(id(bytes), 1, "opaque64"))
