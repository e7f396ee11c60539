"""One tensor in two runtimes of one process: the same memory, freed once, by the last user.

DLX_TWO names the other runtime; each has a process of its own (./dev test --bindings)."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import runtimes

import dlx
from dlx import raw

NAME = os.environ.get("DLX_TWO", "")

pytestmark = pytest.mark.skipif(not NAME, reason="DLX_TWO names no runtime")


@pytest.fixture(scope="module")
def other() -> Any:
    return runtimes.start(NAME)


class Watched(np.ndarray):  # an array that can be watched
    pass


def give(array: Any) -> int:
    """The address of a DLManagedTensorVersioned, which the other runtime will own."""
    managed = raw.dlx_tensor_to_dlpack_versioned(raw.from_tensor(dlx.asarray(array)))
    return managed.detach()


def take(managed: int) -> Any:
    owned = raw.DLManagedTensorVersioned.adopt(managed)
    return np.from_dlpack(raw.to_tensor(raw.dlx_tensor_from_dlpack_versioned(owned)))


def array_and_watch() -> tuple[Any, Any]:
    array = np.arange(6, dtype=np.float32).reshape(2, 3).view(Watched)
    return array, weakref.ref(array)


def test_python_gives_and_the_other_drops_last(other: Any) -> None:
    array, watch = array_and_watch()
    tensor = other.take(give(array))

    assert other.address(tensor) == array.ctypes.data
    assert other.sum(tensor) == 15
    del array
    gc.collect()
    assert watch() is not None
    other.drop(tensor)
    gc.collect()
    assert watch() is None


def test_python_gives_and_drops_last(other: Any) -> None:
    array, watch = array_and_watch()
    other.drop(other.take(give(array)))

    gc.collect()
    assert watch() is not None
    assert array.sum() == 15
    del array
    gc.collect()
    assert watch() is None


def test_a_thread_of_the_other_drops_last(other: Any) -> None:
    array, watch = array_and_watch()
    tensor = other.take(give(array))
    del array

    other.drop_on_thread(tensor)
    gc.collect()
    assert watch() is None


def test_the_other_gives_and_python_drops_last(other: Any) -> None:
    array = take(other.give())

    assert array.ctypes.data == other.given()
    assert array.tolist() == [[0, 1, 2], [3, 4, 5]]
    if not hasattr(other, "released"):
        return  # dlx owns the memory
    before = other.released()
    part = array[:, 1]
    del array
    gc.collect()
    assert other.released() == before
    del part
    gc.collect()
    assert other.released() == before + 1


def test_a_thread_of_python_drops_last(other: Any) -> None:
    held = [take(other.give())]
    before = other.released() if hasattr(other, "released") else 0

    thread = threading.Thread(target=held.clear)
    thread.start()
    thread.join()
    if hasattr(other, "released"):
        assert other.released() == before + 1


def test_there_and_back(other: Any) -> None:
    """Python's memory, through the other runtime, and views on both sides."""
    array, watch = array_and_watch()
    tensor = other.take(give(array[:, ::2]))
    assert other.sum(tensor) == 0 + 2 + 3 + 5
    array[0, 2] = 12
    assert other.sum(tensor) == 20
    other.drop(tensor)
    del array
    gc.collect()
    assert watch() is None


@pytest.mark.parametrize("keep", ["python", "other", "both"])
def test_exit_while_someone_holds_it(keep: str) -> None:
    code = f"""
import numpy as np, runtimes, test_two_runtimes as two
other = runtimes.start({NAME!r})
mine, theirs = two.take(other.give()), other.take(two.give(np.arange(6, dtype=np.float32)))
if {keep!r} == "python": other.drop(theirs)
if {keep!r} == "other": del mine
print("exit")
"""
    folder = Path(__file__).parent
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": f"{folder}:{os.environ.get('PYTHONPATH', '')}"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "exit\n"), done.stderr
