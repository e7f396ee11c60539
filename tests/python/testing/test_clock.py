"""What counts as a hang: no time in which a process waits for a processor."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys

import pytest

from dlx.testing import _clock
from dlx.testing._clock import Clock


class Machine:
    """A process and the time, both made up: each `pass_` is a look that comes so many seconds later."""

    def __init__(self, monkeypatch):
        self.now, self.used, self.asleep = 100.0, 5.0, False
        monkeypatch.setattr(_clock.time, "monotonic", lambda: self.now)
        monkeypatch.setattr(_clock, "_look", lambda pid: (self.asleep, self.used))

    def pass_(self, real, used=0.0):
        self.now += real
        self.used += used


@pytest.fixture
def machine(monkeypatch):
    return Machine(monkeypatch)


def test_a_process_that_gets_no_processor_does_not_hang(machine):
    clock = Clock(1, 2)
    for _ in range(50):
        machine.pass_(real=1, used=0.02)  # 50 others want the processor too
        assert not clock.over()


def test_a_process_that_computes_for_long_hangs(machine):
    clock = Clock(1, 2)
    machine.pass_(real=30, used=1.9)
    assert not clock.over()
    machine.pass_(real=1, used=0.2)
    assert clock.over()


def test_a_process_that_sleeps_hangs_by_looks_and_not_by_the_time_between_them(machine):
    clock = Clock(1, 2)
    machine.asleep = True
    for _ in range(15):
        machine.pass_(real=5)  # this process got no processor
        assert not clock.over()
    looks = 0
    while not clock.over():
        machine.pass_(real=clock.wait)
        looks += 1
    assert 8 <= looks <= 12


def test_a_process_that_waits_for_a_disk_hangs_at_last(machine):
    clock = Clock(1, 2)
    machine.pass_(real=119)
    assert not clock.over()
    machine.pass_(real=2)
    assert clock.over()


@pytest.mark.parametrize("work", ["while True: pass", "import time; time.sleep(1000)"])
def test_real_processes(work):
    with subprocess.Popen([sys.executable, "-c", work]) as process:
        clock = Clock(process.pid, 0.3)
        while not clock.over():
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(clock.wait)
            assert process.returncode is None
        process.kill()


def test_a_process_that_is_gone():
    asleep, used = _clock._look(2**22 + 1)
    assert (asleep, used) == (True, 0.0)
    assert _clock._look(os.getpid())[1] > 0
