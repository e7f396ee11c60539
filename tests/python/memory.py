"""How much memory the process holds, for tests that nothing is left behind."""

import gc
import os

import pytest

READABLE = pytest.mark.skipif(
    not os.path.exists("/proc/self/statm"), reason="resident memory is read from /proc"
)

# It keeps what is freed for a while: there the rounds run, and only the sanitizer judges them.
ADDRESS_SANITIZER = "libasan" in os.environ.get("LD_PRELOAD", "")

ROUNDS = 100_000
SLACK = 4 << 20  # bytes of resident memory: a leak of 42 bytes a round exceeds it


def resident():
    """What the process holds now: a peak of before, which getrusage() tells, would hide a leak."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def stays_flat(step, rounds=ROUNDS):
    """Run `step` so often; the memory in use after a tenth of it is the measure."""
    for _ in range(rounds // 10):
        step()
    gc.collect()
    if ADDRESS_SANITIZER:
        return
    before = resident()
    for _ in range(rounds):
        step()
    gc.collect()
    grown = resident() - before
    assert grown < SLACK, f"{grown} bytes more after {rounds} rounds"


def failing(call, *arguments, **keywords):
    """Call what is expected to raise."""
    try:
        call(*arguments, **keywords)
    except (ValueError, TypeError, BufferError, RuntimeError, AttributeError, IndexError):
        return
    raise AssertionError("the call was expected to fail")
