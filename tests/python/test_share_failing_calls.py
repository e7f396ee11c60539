"""Every system call of shared memory fails in turn: an exception, nothing leaks, and the next try works."""

from __future__ import annotations

import errno
import fcntl
import os
import sys

import pytest

import dlx
from dlx import _native
from test_share import mapped, name, numbers  # noqa: F401

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="memfd is Linux's")

# All that dlx._share.segments and sharing call; _map calls mmap, and returns the error's number.
CALLS = [
    *((os, call) for call in ("memfd_create", "open", "dup", "fstat", "stat", "statvfs", "pread")),
    *((os, call) for call in ("pwrite", "posix_fallocate", "fchmod", "link", "unlink")),
    (fcntl, "fcntl"),
    (_native, "_map"),
]
# The refusals that a caller may expect.
EXPECTED = (OSError, dlx.Error)


class Failing:
    """Counts all calls, and lets the n-th fail."""

    def __init__(self, monkeypatch):
        self.count, self.fails, self.number, self.name = 0, 0, errno.EIO, ""
        for module, call in CALLS:
            if hasattr(module, call):
                monkeypatch.setattr(module, call, self.wrapped(call, getattr(module, call)))

    def wrapped(self, call_name, real):
        def call(*arguments, **options):
            self.count += 1
            if self.count == self.fails:
                self.name = call_name
                if call_name == "_map":
                    return self.number
                raise OSError(self.number, os.strerror(self.number))
            return real(*arguments, **options)

        return call

    def arm(self, fails):
        self.count, self.fails, self.name = 0, fails, ""


def share_and_attach():
    shared = dlx.share(numbers(3))
    attached = dlx.attach(dlx.shared_fd(shared))
    attached[0] = 7
    assert shared.tolist() == [7, 1, 2]


def share_readonly():
    assert dlx.attach(dlx.shared_fd(dlx.share(numbers(3), readonly=True))).tolist() == [0, 1, 2]
    dlx.shared_fd(dlx.share(numbers(3)).as_readonly())


def by_name(given):
    dlx.share(numbers(3), name=given)
    try:
        assert dlx.attach(given).tolist() == [0, 1, 2]
    finally:
        dlx.unshare(given)


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOMEM, errno.EMFILE, errno.EPERM])
@pytest.mark.parametrize("work", [share_and_attach, share_readonly, by_name])
def test_each_call_fails_in_turn(monkeypatch, name, work, number):  # noqa: F811
    def run():
        work(name) if work is by_name else work()

    def held():
        return os.listdir("/proc/self/fd"), mapped()

    run()  # imports what it needs
    before = held()
    failing = Failing(monkeypatch)
    failing.number = number
    raised = {}
    for n in range(1, 200):
        failing.arm(n)
        try:
            run()
        except EXPECTED as error:
            raised[failing.name] = type(error)  # not its traceback, which keeps the descriptors
        failed = failing.name
        failing.arm(0)
        if os.path.exists(f"/dev/shm/{name}"):
            assert failed == "unlink"
            dlx.unshare(name)
        assert held() == before, f"call {n}, {failed}"
        run()
        if not failed:
            break
    assert not failed
    assert len(raised) > 2
    if number == errno.ENOMEM:
        assert issubclass(raised["_map"], dlx.OutOfMemoryError)
    if number == errno.EMFILE and "dup" in raised:
        assert issubclass(raised["dup"], dlx.UnavailableError)
