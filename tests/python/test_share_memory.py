"""Shared memory while memory runs out: each allocation of CPython inside dlx.attach, dlx.share and
dlx.shared_fd fails in turn, alone and with the three that follow, in processes of their own. The call
raises MemoryError or works, no descriptor and no mapping is left over, and the next call works.

CPython 3.11 loops for ever if all that follow fail: an exception's way to its handler needs an int. And
it leaks the arguments of a function with a variable that an inner function uses, if there is no memory for
that variable's cell."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

pytest.importorskip(
    "_testcapi", reason="this Python has no _testcapi, which makes allocations fail"
)
if not hasattr(os, "memfd_create"):
    pytest.skip("this Python lacks memfd_create", allow_module_level=True)

PROGRAM = """
import gc, json, os, sys
import _testcapi
import dlx

work, together = json.loads(sys.argv[1])
shared = dlx.share(dlx.asarray([1.0, 2.0, 3.0]))
descriptor = dlx.shared_fd(shared)
foreign = os.memfd_create("sender", os.MFD_CLOEXEC)
text = b'{"dtype": [2, 64, 1], "flags": 0, "shape": [3, 4]}'
os.write(foreign, bytes(128) + text + len(text).to_bytes(8, "little") + b"dlxshare")

def attach_own():
    return dlx.attach(descriptor)

def attach_foreign():
    return dlx.attach(foreign, trust=True)

def share():
    return dlx.share(shared)

def share_fd():
    return dlx.shared_fd(shared)

call = locals()[work]

def held():
    gc.collect()
    with open("/proc/self/maps") as maps:
        mapped = sum("memfd" in line for line in maps)
    return len(os.listdir("/proc/self/fd")), mapped

def attempt(n):
    _testcapi.set_nomemory(n, n + together)
    try:
        call()
    except BaseException as error:
        _testcapi.remove_mem_hooks()
        error.__traceback__ = error.__context__ = None
        return type(error).__name__ + ": " + str(error)
    finally:
        _testcapi.remove_mem_hooks()
    return ""

for _ in range(3):  # modules that are imported late, caches
    call()
before, found, calm = held(), [], 0
n = 0
while calm < 40 and n < 2000:  # until nothing fails any more
    n += 1
    said = attempt(n)
    calm = 0 if said else calm + 1
    now = held()
    assert call() is not None
    if said or now != before:
        found.append([n, said, list(now)])
print(json.dumps([list(before), found, n]))
"""


@pytest.mark.parametrize("together", [1, 4])
@pytest.mark.parametrize("work", ["attach_own", "attach_foreign", "share", "share_fd"])
def test_every_allocation_fails_in_turn(work, together):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps([work, together])],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=120,
    )

    assert done.returncode == 0, done.stderr[-4000:]
    before, found, tried = json.loads(done.stdout)
    assert tried < 2000
    assert found, "no allocation failed"
    assert [case for case in found if "MemoryError" not in case[1]] == []
    assert [case for case in found if case[2] != before] == []
