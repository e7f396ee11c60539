"""`import dlx` and calls of C by ctypes while memory runs out: MemoryError, and the next one works.

CPython's own allocations fail, one at a time; each case is a child process. DLX_TEST_EVERY=1 fails every
allocation of the import in turn, which takes some minutes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

pytest.importorskip(
    "_testcapi", reason="this Python has no _testcapi, which makes allocations fail"
)

if os.environ.get("DLX_BINDING") == "cffi":
    pytest.skip("the cases use ctypes", allow_module_level=True)

# Errors of CPython's own that stand for a MemoryError: locks of the import system, and functions of
# importlib that lose the error.
NO_MEMORY = ("MemoryError", "OutOfMemoryError", "can't allocate", "error return without exception")

PROGRAM = """
import json, os, sys
import _testcapi, ctypes, threading

count, step, where = json.loads(sys.argv[1])

def fail_from(n):
    _testcapi.set_nomemory(n, n + 1)

def at_attach(n):
    def trace(frame, event, argument):
        code = frame.f_code
        if code.co_name == "attach" and code.co_filename.endswith("binding_ctypes.py"):
            sys.settrace(None)
            fail_from(n)
    sys.settrace(trace)

def case(n):
    said = ""
    (at_attach if where == "attach" else fail_from)(n)
    try:
        import dlx
    except BaseException as error:
        _testcapi.remove_mem_hooks()
        said = f"{type(error).__name__}: {error}"
    _testcapi.remove_mem_hooks()
    sys.settrace(None)
    import dlx
    assert dlx.asarray([1.5, 2.5]).tolist() == [1.5, 2.5]
    return said

found = []
for n in range(1, count, step):
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(theirs, 2)
        text = case(n)
        os.write(theirs, ("\\0" + text).encode())
        os._exit(0)
    os.close(theirs)
    with open(ours, encoding="utf-8", errors="replace") as pipe:
        _, _, text = pipe.read().rpartition("\\0")
    status = os.waitpid(child, 0)[1]
    found.append([n, status, text])
print(json.dumps(found))
"""


# The native part of the import makes less than 300 allocations, all of it 16,000.
@pytest.mark.parametrize(("where", "count", "step"), [("attach", 300, 1), ("import", 18_000, 251)])
def test_import_succeeds_after_memory_ran_out(where, count, step):
    step = min(step, int(os.environ.get("DLX_TEST_EVERY", step)))
    compiled = {**os.environ, "DLX_BINDING": "ctypes"}
    compiled.pop("PYTHONDONTWRITEBYTECODE", None)  # CPython's compiler crashes without memory
    subprocess.run([sys.executable, "-c", "import dlx"], env=compiled, check=True)

    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps([count, step, where])],
        env=compiled, check=True, capture_output=True, text=True,
    )  # fmt: skip
    found = json.loads(done.stdout)

    assert any(case[2] for case in found)
    assert [case for case in found if case[1]] == []
    assert [
        case for case in found if case[2] and not any(word in case[2] for word in NO_MEMORY)
    ] == []


CALLS = """
import _testcapi, json
import numpy, dlx

array = numpy.arange(6.0)
tensor = dlx.asarray(array)
calls = [
    lambda: dlx.asarray(array, dtype="float32"),
    lambda: tensor.astype("int32"),
    lambda: tensor.__array_interface__,
    lambda: dlx.get_num_threads(),
    lambda: dlx.Device("cpu").count,
]
found = set()
for call in calls:
    call()
    for n in range(1, 80):
        said = ""
        _testcapi.set_nomemory(n, n + 1)
        try:
            call()
        except BaseException as error:
            _testcapi.remove_mem_hooks()
            said = type(error).__name__
        _testcapi.remove_mem_hooks()
        found.add(said)
        call()
print(json.dumps(sorted(found)))
"""


def test_calls_of_c_raise_memory_errors_not_argument_errors():
    done = subprocess.run(
        [sys.executable, "-c", CALLS], check=True, capture_output=True, text=True,
        env={**os.environ, "DLX_BINDING": "ctypes"},
    )  # fmt: skip
    found = json.loads(done.stdout)
    assert "MemoryError" in found
    assert set(found) <= {"", "MemoryError", "OutOfMemoryError"}


PYTHON_FUNCTIONS = """
import _testcapi, ctypes, json
import numpy, dlx
from ctypes import addressof, c_void_p
from dlx._lib import library
from dlx._lib.generated_ctypes import FUNCTIONS

lib = ctypes.PyDLL(library.path)
for name in FUNCTIONS:
    function = getattr(lib, name)
    function.restype, function.argtypes = FUNCTIONS[name]

give_up = ctypes.PyDLL(None).Py_DecRef
give_up.argtypes, give_up.restype = (c_void_p,), None
tensor, array = dlx.asarray([1.0, 2.0]), numpy.arange(4.0)[::2]
handle, contract = c_void_p(), c_void_p()
text = b"f(x: float64[n], y: float64[n] copy)"
assert lib.dlx_contract_create(text, addressof(contract)) == 0
assert lib.dlx_python_unwrap(id(tensor), addressof(handle)) == 0
pointer = ctypes.cast(ctypes.CFUNCTYPE(ctypes.c_int32, c_void_p, c_void_p)(lambda *_: 0), c_void_p).value
objects, made = (c_void_p * 2)(id(tensor), id(array)), c_void_p()
room, to_made = (ctypes.c_char * 1024)(), addressof(made)

def unwrap():
    return lib.dlx_python_unwrap(id(tensor), to_made)  # borrowed

def keep_object(status):
    if made.value: give_up(made.value)
    return status

def make_function():
    own = c_void_p()
    status = lib.dlx_contract_create(text, addressof(own))
    if status: return status
    return keep_object(lib.dlx_python_function(pointer, own.value, 0, to_made))

def borrow():
    status = lib.dlx_python_borrow(contract.value, addressof(objects), addressof(room))
    if status: return status
    return lib.dlx_python_give_back(addressof(room), 2, 1)

calls = [unwrap, lambda: keep_object(lib.dlx_python_wrap(handle.value, to_made)), make_function, borrow]
found = []
for index, call in enumerate(calls):
    made.value = None
    assert call() == 0
    for n in range(1, 120):
        made.value = None
        _testcapi.set_nomemory(n, n + 1)
        try:
            said = call()
        except BaseException as error:
            _testcapi.remove_mem_hooks()
            said = type(error).__name__
        _testcapi.remove_mem_hooks()
        found.append((index, said))
        made.value = None
        assert call() == 0
print(json.dumps(sorted(set(found), key=str)))
"""


def test_functions_of_python_h_and_call_h_report_that_memory_ran_out():
    done = subprocess.run(
        [sys.executable, "-c", PYTHON_FUNCTIONS], check=True, capture_output=True, text=True
    )
    found = json.loads(done.stdout)
    # The calls go by plain ctypes, whose own failures are ArgumentErrors.
    said = {outcome for _, outcome in found}
    assert said <= {0, 2, "MemoryError", "OutOfMemoryError", "ArgumentError"}
    assert {index for index, outcome in found if outcome == 0} == {0, 1, 2, 3}
    assert {index for index, outcome in found if outcome in (2, "MemoryError")} >= {1, 2, 3}
