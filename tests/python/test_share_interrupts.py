"""Shared memory and KeyboardInterrupt: no interrupt leaves a descriptor or a mapping open, or is lost."""

import contextlib
import dis
import functools
import gc
import os
import random
import signal
import sys
import time

import pytest

import dlx
from dlx._share import sharing
from test_share import mapped, numbers

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="memfd is Linux's")

NAME = f"dlx-interrupt-{os.getpid()}"


SOURCE = numbers(3)
SHARED, FROZEN = dlx.share(SOURCE), dlx.share(b"abc")


class Handle:
    """A message's descriptor, without the lines of multiprocessing, which can be interrupted themselves."""

    def __init__(self, descriptor):
        self.detach = functools.partial(os.dup, descriptor)


def message(tensor):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sharing, "_handle", Handle)
        return sharing._reduce(tensor)


REBUILD, RECEIVED = message(SHARED)
REBUILD, RECEIVED_VIEW = message(SHARED[1:].as_readonly())
CALLS = {
    "share": lambda: dlx.share(SOURCE),
    "share read-only": lambda: dlx.share(b"abc"),
    "share with a name": lambda: dlx.share(SOURCE, name=NAME),
    "attach": lambda: dlx.attach(dlx.shared_fd(SHARED)),
    "attach read-only": lambda: dlx.attach(dlx.shared_fd(FROZEN)),
    "descriptor of a view": lambda: dlx.shared_fd(dlx.share(SOURCE).as_readonly()),
    "receive": lambda: REBUILD(*RECEIVED),
    "receive a view": lambda: REBUILD(*RECEIVED_VIEW),
}


def held():
    gc.collect()
    return len(os.listdir("/proc/self/fd")), len(mapped())


def forget_name():
    with contextlib.suppress(FileNotFoundError):
        os.unlink(f"/dev/shm/{NAME}")


@pytest.fixture(autouse=True)
def nothing_is_lost(monkeypatch):
    """An exception in a destructor or a callback of a weak reference is only printed."""
    lost = []
    monkeypatch.setattr(sys, "unraisablehook", lambda found: lost.append(repr(found.exc_value)))
    yield
    gc.collect()
    assert lost == []


@functools.lru_cache(None)
def opcodes(code):
    return {each.offset: each.opname for each in dis.get_instructions(code)}


def looks_for_signals(name):
    """CPython does so after calls, when a function starts, and at jumps backwards."""
    # Not at PRECALL of 3.11: between it and CALL a `with` would never call __exit__, and keep its lock.
    places = ("RESUME", "JUMP_BACKWARD", "JUMP_ABSOLUTE")
    return name is None or ("CALL" in name and name != "PRECALL") or name in places


def interrupt(call, place):
    """Interrupt `call` at the given of the places where CPython may do so. Returns their number."""
    seen, last = 0, {}

    def trace(frame, event, argument):
        nonlocal seen
        frame.f_trace_opcodes = True
        if event == "opcode":
            name = last.get(frame)
            last[frame] = opcodes(frame.f_code).get(frame.f_lasti)
            seen += looks_for_signals(name)
            if looks_for_signals(name) and seen == place:
                last.clear()
                raise KeyboardInterrupt
        elif event == "exception":
            last[frame] = "a call that did not return"
        elif event == "return":
            last.pop(frame, None)
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:  # contextlib.suppress would be interrupted itself
        call()
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(before)
    forget_name()
    return seen


@pytest.mark.parametrize("kind", CALLS)
def test_an_interrupt_at_every_place(kind):
    call = CALLS[kind]
    call()
    forget_name()
    before = held()
    interrupt(call, 0)  # CPython 3.12 does not trace bytecodes the first time
    places = interrupt(call, 0)
    assert places > 50
    for place in range(1, places + 1):
        interrupt(call, place)
        if place % 16 == 0 or place == places:  # looking at /proc takes longer than the call
            assert held() == before, f"interrupted at place {place}, or up to 15 before it"


@pytest.mark.parametrize("kind", CALLS)
def test_interrupts_at_random_moments(kind):
    call, seed = CALLS[kind], random.randrange(1 << 32)
    print("seed", seed)
    chance = random.Random(seed)
    armed = False

    def handle(number, frame):
        if armed:
            raise KeyboardInterrupt

    handler = signal.signal(signal.SIGALRM, handle)
    try:
        start = time.perf_counter()
        for _ in range(20):
            call()
            forget_name()
        duration = (time.perf_counter() - start) / 20
        before, caught = held(), 0
        for _ in range(1000):
            try:
                armed = True
                signal.setitimer(signal.ITIMER_REAL, chance.uniform(1e-6, duration))
                call()
                armed = False
            except KeyboardInterrupt:
                armed = False
                caught += 1
            signal.setitimer(signal.ITIMER_REAL, 0)
            forget_name()
        assert held() == before
        assert caught > 20
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
