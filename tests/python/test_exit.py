"""Daemon threads that are inside dlx when the interpreter shuts down: they sleep, and the process ends
as it would without them. Before 3.14, CPython ends such threads where they wait for the GIL."""

import subprocess
import sys

import pytest

CODE = """
import sys, threading, time
sys.setswitchinterval(1e-5)
import dlx

big, other = dlx.empty(1 << 24, dtype="uint8"), dlx.empty(1 << 24, dtype="uint8")

class Slow:
    def __index__(self):
        return sum(1 for _ in range(100)) // 100

    __bool__ = lambda self: self.__index__() == 0

def refuse():
    raise ValueError(Slow().__index__())

sys.unraisablehook = lambda arguments: Slow().__index__()
bytes_of = bytearray(12)
dlx._native._usual(  # convert() calls that at once
    "a library", {bytearray: False}, lambda capsule: Slow().__index__(), True, 1,
    dlx.asarray(bytes_of), 0)

class Producer:
    def __dlpack__(self, **kwargs):
        Slow().__index__()
        return big.__dlpack__(**kwargs)

    def __dlpack_device__(self):
        return 1, 0

class Interface:
    @property
    def __array_interface__(self):
        Slow().__index__()
        return {"version": 3, "shape": (3,), "typestr": "|u1", "data": (big.data_ptr, Slow())}

class Failing:
    def __array__(self, *args, **kwargs):
        refuse()

def fail():
    try:
        dlx.asarray(Failing())
    except ValueError:
        pass

work = {
    "copy": lambda: dlx.copyto(other, big),
    "producer": lambda: dlx.from_dlpack(Producer()),
    "interface": lambda: dlx.asarray(Interface()),
    "failing": fail,
    "shape": lambda: dlx.empty((Slow(), Slow())),
    "release": lambda: dlx.from_pointer(big.data_ptr, 3, "uint8", on_release=Slow().__index__),
    "unraisable": lambda: dlx.from_pointer(big.data_ptr, 3, "uint8", on_release=refuse),
    "convert": lambda: dlx.convert(bytes_of, "a library"),
}[sys.argv[1]]

def loop():
    while True:
        work()

for _ in range(3):
    threading.Thread(target=loop, daemon=True).start()
time.sleep(0.1)
"""


WAYS = ["copy", "producer", "interface", "failing", "shape", "release", "unraisable", "convert"]


@pytest.mark.parametrize("way", WAYS)
def test_daemon_threads_do_not_end_the_process(way):
    for _ in range(3):
        done = subprocess.run(
            [sys.executable, "-c", CODE, way], capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stderr
