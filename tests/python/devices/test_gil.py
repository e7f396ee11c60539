"""Waiting for a device lets other threads run: a stream may wait for one of them (`cudaLaunchHostFunc` with a
function in Python, as CuPy and numba have it)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SETUP = """
import ctypes, sys
sys.path[:0] = {path!r}
import dlx, numpy
from fake_driver import Memory, cuda
from dlpack_ctypes import Imported
cuda().set_schedule(b"latest")
memory = Memory(managed={managed})
tensor = dlx.from_pointer(memory.address, 4, "int32", device={device!r})
other = dlx.empty(4, dtype="int32", device="cuda:0")
called = []
@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def call(data):  # takes the GIL
    called.append(1)
cuda().within(0, "cuLaunchHostFunc", ctypes.c_void_p(memory.stream), call, ctypes.c_void_p(0))
memory.fill(0x11)
dlx.Stream(memory.stream, device="cuda:0").wrote(tensor)
{run}
assert called
print("done")
"""

WAITS = {
    "numpy": "tensor.numpy(force=True)",
    "to_device": "tensor.to_device('cpu')",
    "synchronize": "tensor.synchronize()",
    "stream": "dlx.Stream(memory.stream, device='cuda:0').synchronize()",
    "from_dlpack": "dlx.from_dlpack(tensor, device='cpu')",
    "asarray": "dlx.asarray(tensor, device='cpu')",
    "dtype": "dlx.asarray(tensor, dtype='float32', force=True)",
    "convert": "dlx.convert(tensor, 'numpy', force=True)",
    "export": "Imported(tensor.__dlpack__(dl_device=(1, 0), max_version=(1, 3))).free()",
    "copyto": "dlx.copyto(numpy.zeros(4, 'i4'), tensor)",
    "release": (
        "cuda().within(0, 'cuLaunchHostFunc', ctypes.c_void_p(0), call, ctypes.c_void_p(0)); "
        "cuda().write(other.data_ptr, 1, 0); called.clear(); del other"
    ),
    "capsule": (
        "cuda().within(0, 'cuLaunchHostFunc', ctypes.c_void_p(0), call, ctypes.c_void_p(0)); "
        "cuda().write(other.data_ptr, 1, 0); called.clear(); "
        "capsule = other.__dlpack__(); del other, capsule"
    ),
    "setitem": "host = dlx.empty(4, dtype='int32'); host[:] = tensor",
}
IN_PLACE = {
    "buffer": "memoryview(tensor)",
    "tolist": "tensor.tolist()",
    "numpy in place": "tensor.numpy()",
    "interface": "tensor.__array_interface__",
    "copy of host memory": "dlx.copyto(dlx.empty(4, dtype='int32'), tensor)",
    "export in place": "Imported(tensor.__dlpack__(dl_device=(1, 0), max_version=(1, 3))).free()",
}
HERE = Path(__file__).parent


def runs(run, device, managed):
    code = SETUP.format(path=[str(HERE), str(HERE.parent)], run=run, device=device, managed=managed)
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.stdout == "done\n", done.stderr


@pytest.mark.parametrize("wait", WAITS)
def test_whoever_waits_lets_others_run(wait):
    runs(WAITS[wait], "cuda:0", managed=False)


@pytest.mark.parametrize("wait", IN_PLACE)
def test_whoever_reads_in_place_lets_others_run(wait):
    runs(IN_PLACE[wait], "cuda_managed", managed=True)
