"""Callbacks: threads, exceptions, the end of the interpreter."""

from __future__ import annotations

import ctypes
import gc
import os
import subprocess
import sys
import threading
from typing import Any

import pytest
from raw_support import CPU, INT32, Block, Deleter

from dlx import raw
from dlx._lib.library import backend
from dlx._raw import callbacks
from interpreter import c_library


@pytest.fixture
def unraisable(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What went to sys.unraisablehook."""
    seen: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", seen.append)
    return seen


def test_an_unknown_kind_or_no_function_is_refused() -> None:
    with pytest.raises(ValueError, match="dlx_deleter_fn"):
        raw.callback("dlx_deleter", print)
    with pytest.raises(TypeError, match="`function`"):
        raw.callback("dlx_deleter_fn", 3)  # type: ignore[arg-type]


def test_an_exception_goes_to_the_hook_and_no_further(unraisable: list[Any]) -> None:
    def fail(data: int, user_data: int) -> None:
        raise KeyError(user_data)

    deleter = raw.callback("dlx_deleter_fn", fail)
    block = Block(1)
    raw.dlx_tensor_wrap(block.describe([1]), 0, deleter, 5).release()
    assert len(unraisable) == 1
    assert unraisable[0].exc_type is KeyError
    assert unraisable[0].exc_value.args == (5,)
    assert unraisable[0].object is fail


@pytest.mark.parametrize("result", [KeyError("no"), "text", 1.5, -1, 2**70])
def test_an_allocator_that_fails_is_out_of_memory(result: Any, unraisable: list[Any]) -> None:
    def allocate(*arguments: int) -> Any:
        if isinstance(result, Exception):
            raise result
        return result

    allocator = raw.dlx_allocator(
        allocate=raw.callback("dlx_allocator.allocate", allocate),
        deallocate=raw.callback("dlx_allocator.deallocate", lambda *arguments: None),
    )
    options = raw.dlx_empty_options(allocator=allocator)
    with pytest.raises(MemoryError):
        raw.dlx_tensor_empty(1, [1], INT32, *CPU, options)
    assert len(unraisable) == 1


def test_a_pending_exception_survives_a_deleter() -> None:
    block, deleter = Block(1), Deleter()

    def fail_while_holding() -> None:
        handle = raw.dlx_tensor_wrap(block.describe([1]), 0, deleter.callback, deleter.token)
        try:
            raise ZeroDivisionError("mine")
        finally:
            del handle
            assert len(deleter.calls) == 1

    with pytest.raises(ZeroDivisionError, match="mine"):
        fail_while_holding()


def test_texts_reach_c_where_python_forbids_to_compare_bytes() -> None:
    code = (
        "import ctypes\nfrom dlx import raw\n"
        "why = raw.callback('dlx_backend.error_text', lambda user_data: 'broken')\n"
        "print(ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_void_p)(why.address)(None).decode())"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run(
        [sys.executable, "-bb", "-c", code], env=env, capture_output=True, text=True, timeout=60
    )
    assert (done.stdout, done.stderr) == ("broken\n", "")


def test_a_callback_is_never_freed() -> None:
    seen: list[int] = []
    address = raw.callback("DLManagedTensor.deleter", seen.append).address
    # As when the interpreter clears its modules:
    kept = callbacks._immortal[:]
    callbacks._immortal.clear()
    gc.collect()
    newer = [backend.callback("DLManagedTensor.deleter", lambda struct: None) for _ in range(100)]
    assert address not in map(backend.address, newer)
    backend.function_at("DLManagedTensor.deleter", address)(0x40)
    assert seen == [0x40]
    callbacks._immortal.extend(kept)


def test_a_deleter_runs_on_a_thread_of_c() -> None:
    # pthread_create calls its start routine with one pointer, as a DLPack deleter is called.
    libc = c_library()
    if not hasattr(libc, "pthread_create"):
        pytest.skip("no pthread_create in this process")
    ran_on: list[int] = []
    deleter = raw.callback(
        "DLManagedTensorVersioned.deleter", lambda struct: ran_on.append(threading.get_ident())
    )
    block = Block(2)
    struct = raw.DLManagedTensorVersioned((1, 3), 0, deleter, 0, block.describe([2]))
    t = raw.dlx_tensor_from_dlpack_versioned(struct)
    out = raw.dlx_tensor_to_dlpack_versioned(t)
    t.release()
    start, argument = out.deleter, out.detach()
    thread = ctypes.c_ulong()
    started = libc.pthread_create(
        ctypes.byref(thread), None, ctypes.c_void_p(start), ctypes.c_void_p(argument)
    )
    assert started == 0
    assert libc.pthread_join(thread, None) == 0
    assert len(ran_on) == 1
    assert ran_on[0] != threading.get_ident()


# ---- parallel_for -------------------------------------------------------------------------------


class Task:
    """A task of C's kind: writes down which pieces were done, and on which thread."""

    def __init__(self) -> None:
        self.done: list[int] = []
        self.data: set[int] = set()
        self.callback = raw.callback("dlx_parallel_task_fn", self.run)

    def run(self, task_data: int, index: int) -> None:
        self.data.add(task_data)
        self.done.append(index)

    def start(self, parallel_for: raw.Callback, count: int) -> None:
        """Call parallel_for as C does."""
        function = backend.function_at("dlx_parallel_for_fn", parallel_for.address)
        function(count, self.callback.address, 11, 22)


def test_parallel_for_gets_a_count_a_runner_and_its_data() -> None:
    seen: list[tuple[int, int]] = []

    def serial(count: int, run: Any, user_data: int) -> None:
        seen.append((count, user_data))
        for index in range(count):
            run(index)

    task = Task()
    task.start(raw.callback("dlx_parallel_for_fn", serial), 5)
    assert seen == [(5, 22)]
    assert task.done == [0, 1, 2, 3, 4]
    assert task.data == {11}


def test_pieces_run_on_threads_and_are_waited_for() -> None:
    def parallel(count: int, run: Any, user_data: int) -> None:
        for index in range(count):
            threading.Thread(target=run, args=(index,)).start()

    task = Task()
    task.start(raw.callback("dlx_parallel_for_fn", parallel), 8)
    assert sorted(task.done) == list(range(8))


def test_pieces_that_were_left_out_are_done_all_the_same(unraisable: list[Any]) -> None:
    def half(count: int, run: Any, user_data: int) -> None:
        run(1)
        with pytest.raises(ValueError, match="index"):
            run(1)
        with pytest.raises(ValueError, match="index"):
            run(count)
        raise RuntimeError("no more")

    task = Task()
    task.start(raw.callback("dlx_parallel_for_fn", half), 4)
    assert task.done[0] == 1
    assert sorted(task.done) == [0, 1, 2, 3]
    assert [args.exc_type for args in unraisable] == [RuntimeError]


def test_parallel_for_is_installed_and_removed() -> None:
    seen: list[tuple[Any, ...]] = []
    before = raw.dlx_get_num_threads()
    raw.dlx_set_num_threads(2)
    raw.dlx_set_parallel_for(
        raw.callback("dlx_parallel_for_fn", lambda *arguments: seen.append(arguments)), 7
    )
    with raw.dlx_tensor_empty(2, [1000, 1000], INT32, *CPU) as t:
        raw.dlx_tensor_clone(raw.dlx_tensor_permute(t)).release()
        raw.dlx_set_parallel_for(None)
        calls = len(seen)
        raw.dlx_tensor_clone(raw.dlx_tensor_permute(t)).release()
    raw.dlx_set_num_threads(before)

    assert calls > 0
    assert len(seen) == calls
    assert {user_data for _, _, user_data in seen} == {7}


# ---- the end ------------------------------------------------------------------------------------

AT_EXIT = """
import atexit, sys, threading
sys.path.insert(0, {folder!r})
from dlx import raw
from raw_support import Block, CPU, INT32
deleter = raw.callback("dlx_deleter_fn", lambda data, user: print("freed", user, flush=True))
block = Block(4)
wrap = lambda user: raw.dlx_tensor_wrap(block.describe([4]), 0, deleter, user)
{body}
print("end", flush=True)
"""

ENDINGS = {
    "handles that are left": (
        "left = [wrap(1), raw.dlx_tensor_to_dlpack_versioned(wrap(2))]",
        {"end"},
    ),
    "a release at exit": ("t = wrap(3); atexit.register(t.release)", {"end", "freed 3"}),
    "a cycle": ("class C: pass\nc = C(); c.me = c; c.t = wrap(4)", {"end"}),
    "a reference that nobody has": ("wrap(5).detach()", {"end"}),
    "daemon threads that free": (
        "free = raw.callback('dlx_deleter_fn', lambda data, user: None)\n"
        "def work():\n"
        "    while True:\n"
        "        t = raw.dlx_tensor_wrap(block.describe([4]), 0, free)\n"
        "        raw.dlx_tensor_to_dlpack_versioned(t).release()\n"
        "        t.release()\n"
        "for _ in range(4): threading.Thread(target=work, daemon=True).start()",
        {"end"},
    ),
    # Handlers run backwards: dlx's own allocator is back when this one allocates.
    "an allocator that stays installed": (
        "atexit.register(lambda: print(raw.dlx_tensor_shape("
        "raw.dlx_tensor_empty(1, [9], INT32, *CPU)), flush=True))\n"
        "a = raw.dlx_allocator(allocate=raw.callback('dlx_allocator.allocate', lambda *a: 1 / 0),"
        " deallocate=raw.callback('dlx_allocator.deallocate', lambda *a: None))\n"
        "raw.dlx_set_allocator(raw.kDLCPU, a)",
        {"end", "(9,)"},
    ),
    "a parallel_for that stays installed": (
        "raw.dlx_set_parallel_for(raw.callback('dlx_parallel_for_fn', lambda *a: 1 / 0))",
        {"end"},
    ),
}


def run(body: str) -> subprocess.CompletedProcess[str]:
    """A program of its own; it has to end with success."""
    code = AT_EXIT.format(folder=os.path.dirname(__file__), body=body)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_interpreter_ends_well(ending: str) -> None:
    body, expected = ENDINGS[ending]
    assert set(run(body).stdout.splitlines()) == expected


def test_c_may_call_while_modules_are_being_cleared() -> None:
    # `sys` goes last: whoever frees the struct comes long after this module and dlx's.
    done = run(
        "import ctypes\n"
        "out = raw.dlx_tensor_to_dlpack_versioned(wrap(7))\n"
        "call, struct = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(out.deleter), out.detach()\n"
        "class Holder:\n"
        "    def __del__(self, call=call, struct=struct): call(struct)\n"
        "sys.holder = Holder()"
    )
    assert done.stdout == "end\n"
