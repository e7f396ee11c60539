"""Who frees what, when, on which thread: also in foreign threads, at exit, under gc, after fork."""

import ctypes
import gc
import os
import subprocess
import sys
import threading
import weakref

import pytest

import dlx
from dlpack_ctypes import DELETER, DOUBLE_FREES, Imported, Producer


def run(code, **options):
    """A fresh interpreter; its exit status, output and errors."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        **options,
    )
    return done.returncode, done.stdout, done.stderr


HEADER = """
import ctypes, gc, os, sys, threading, time, dlx

memory = (ctypes.c_float * 1024)()

def make(on_release=None):
    return dlx.from_pointer(ctypes.addressof(memory), 1024, "float32", owner=memory, on_release=on_release)

def export(tensor):
    '''(deleter, address) of an export that belongs to nobody's capsule.'''
    windows = os.name == "nt"
    name = "python%d%d.dll" % sys.version_info[:2] if windows else None
    python = ctypes.PyDLL(name, handle=sys.dllhandle if windows else None)
    get, rename = python.PyCapsule_GetPointer, python.PyCapsule_SetName
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    rename.argtypes = [ctypes.py_object, ctypes.c_void_p]
    capsule = tensor.__dlpack__(max_version=(1, 3))
    address = get(capsule, b"dltensor_versioned")
    rename(capsule, ctypes.cast(NAME, ctypes.c_void_p))
    return ctypes.c_void_p.from_address(address + 16).value, address

NAME = ctypes.c_char_p(b"used_dltensor_versioned")
"""


def test_a_tensor_keeps_its_producer_s_object():
    numpy = pytest.importorskip("numpy", reason="has arrays that can be weakly referenced")
    array = numpy.arange(3)
    alive = weakref.ref(array)
    tensor = dlx.from_dlpack(array)
    del array
    gc.collect()
    assert alive() is not None
    assert tensor.tolist() == [0, 1, 2]

    del tensor
    assert alive() is None


def test_tensors_can_be_weakly_referenced():
    tensor = dlx.empty(3)
    gone = []
    alive = weakref.ref(tensor, gone.append)
    assert alive() is tensor

    del tensor
    assert alive() is None
    assert len(gone) == 1


def test_views_keep_the_memory_and_not_each_other():
    producer = Producer()
    tensor = dlx.from_dlpack(producer)
    first = tensor[0]
    second = first[1:]
    alive = weakref.ref(first)

    del tensor, first
    assert alive() is None
    assert producer.deleted == 0
    del second
    assert producer.deleted == 1


def test_exports_and_imports_in_a_chain_free_once():
    producer = Producer()
    tensor = dlx.from_dlpack(producer)
    for _ in range(50):
        tensor = dlx.from_dlpack(tensor)
    assert producer.deleted == 0

    del tensor
    assert producer.deleted == 1
    assert DOUBLE_FREES == []


@pytest.mark.parametrize("threads", [1, 8])
def test_many_threads_free_at_once(threads):
    calls = []
    memory = (ctypes.c_float * 16)()
    exports = []
    for _ in range(200):
        tensor = dlx.from_pointer(
            ctypes.addressof(memory),
            16,
            "float32",
            owner=memory,
            on_release=lambda: calls.append(1),
        )
        exports.append(Imported(tensor.__dlpack__(max_version=(1, 3))))
        del tensor
    todo = [(DELETER(e.struct.deleter), e.address) for e in exports]
    lock = threading.Lock()

    def free():
        while True:
            with lock:
                if not todo:
                    return
                deleter, address = todo.pop()
            deleter(address)  # through CFUNCTYPE: without the GIL

    workers = [threading.Thread(target=free) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    dlx.empty(0)

    assert len(calls) == 200


def test_pending_release_is_run_by_python_itself_without_an_entry_into_dlx():
    status, output, errors = run(
        HEADER
        + """
calls = []
deleter, address = export(make(lambda: calls.append(1)))
ctypes.CFUNCTYPE(None, ctypes.c_void_p)(deleter)(address)
for _ in range(1000):
    if calls:
        break
    time.sleep(0.001)
print(calls)
"""
    )
    assert (status, output, errors) == (0, "[1]\n", "")


def test_release_during_interpreter_exit():
    status, _, errors = run(
        HEADER
        + """
class Holder:
    def __del__(self):
        self.tensor = None

sys.modules["held"] = holder = Holder()
holder.tensor = make(lambda: None)
holder.self = holder
kept = [dlx.asarray(b"abc"), memoryview(dlx.empty(3)), make(print), dlx.empty(2).__dlpack__()]
"""
    )
    assert (status, errors) == (0, "")


def test_threads_that_release_while_the_interpreter_exits():
    code = (
        HEADER
        + """
todo = [export(make(lambda: None)) for _ in range(2000)]
def work(todo):
    while todo:
        deleter, address = todo.pop()
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(deleter)(address)
for i in range(3):
    threading.Thread(target=work, args=(todo[i::3],), daemon=True).start()
"""
    )
    for _ in range(5):
        status, output, errors = run(code)
        assert (status, output, errors) == (0, "", "")


def test_atexit_functions_may_still_use_dlx():
    status, output, errors = run(
        HEADER
        + """
import atexit
atexit.register(lambda: print(dlx.asarray([1, 2])[0].item(), flush=True))
tensor = make()
"""
    )
    assert (status, output, errors) == (0, "1\n", "")


def test_cycles_through_the_owner_are_the_owner_s_matter():
    # A Tensor has no part in garbage collection: what it owns is freed with it, cycles or not.
    class Owner:
        pass

    owner = Owner()
    memory = (ctypes.c_float * 4)()
    tensor = dlx.from_pointer(ctypes.addressof(memory), 4, "float32", owner=owner)
    assert not gc.is_tracked(tensor)
    assert gc.get_referents(tensor) == []
    holder = {"tensor": tensor}
    holder["self"] = holder
    alive = weakref.ref(owner)
    del tensor, owner, holder
    gc.collect()
    assert alive() is None


def test_garbage_collection_frees_capsules_and_tensors_in_cycles():
    producer = Producer()
    cycle = [dlx.from_dlpack(producer)]
    cycle.append(cycle[0].__dlpack__(max_version=(1, 3)))
    cycle.append(cycle)
    del cycle
    gc.collect()

    assert producer.deleted == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_forked_child_can_use_and_free_what_it_inherited():
    status, output, errors = run(
        HEADER
        + """
import warnings
warnings.simplefilter("ignore", DeprecationWarning)  # CPython warns of fork with threads around
calls = []
tensor = make(lambda: calls.append(1))
other = dlx.asarray(list(range(300000)))
other[::-1].copy()  # may start threads, which the child does not have
child = os.fork()
if child == 0:
    copied = other[::-1].copy()
    good = copied[0].item() == 299999 and tensor.shape == (1024,)
    del tensor
    os._exit(0 if good and calls == [1] else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert calls == []
del tensor
print(calls)
"""
    )
    assert (status, output, errors) == (0, "[1]\n", "")


def test_buffers_outlive_the_tensor():
    view = memoryview(dlx.asarray([1.0, 2.0, 3.0]))
    gc.collect()

    assert view.tolist() == [1, 2, 3]


def test_reimport_of_the_package_in_one_interpreter():
    status, output, errors = run(
        """
import sys, dlx
old = dlx.asarray([1, 2])
for name in [n for n in sys.modules if n == "dlx" or n.startswith("dlx.")]:
    del sys.modules[name]
import dlx
print(dlx.asarray([3]).tolist(), old.tolist(), dlx.from_dlpack(old).tolist())
"""
    )
    assert (status, output, errors) == (0, "[3] [1, 2] [1, 2]\n", "")
