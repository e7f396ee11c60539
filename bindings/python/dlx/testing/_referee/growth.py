"""Whether memory grows while something is repeated."""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from collections.abc import Callable

from .outcomes import LeakError
from .structs import system

_ROUNDS = 3


class _Mallinfo(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in (
        "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks",
        "fordblks", "keepcost")]  # fmt: skip


# A sanitizer has a malloc of its own, and keeps freed memory for a while: it is resident and not in use.
_sanitizer = getattr(system, "__sanitizer_get_current_allocated_bytes", None)
if _sanitizer is not None:
    _sanitizer.restype = ctypes.c_size_t


def _in_use() -> int:
    """Bytes that malloc has given out; 0 where it does not say (before glibc 2.33)."""
    if _sanitizer is not None:
        return int(_sanitizer())
    function = getattr(system, "mallinfo2", None)
    if function is None:
        return 0
    function.restype = _Mallinfo
    info = function()
    return int(info.uordblks + info.hblkhd)


def _resident() -> int:
    if _sanitizer is not None:
        return _in_use()
    with open("/proc/self/statm", encoding="ascii") as stream:
        return int(stream.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _measure() -> tuple[int, int, int]:
    gc.collect()
    return sys.getallocatedblocks(), _in_use(), _resident()


def require_none(action: Callable[[], object], what: str, times: int = 50, size: int = 0) -> str:
    """Repeat `action`; LeakError if Python's blocks, malloc's bytes or the process grow each round.

    Args:
        size: if given, only a leak of whole tensors of so many bytes counts: it shows in the
            process, whoever allocates.
    """
    for _ in range(times):
        action()
    before = _measure()
    steps = []
    for _ in range(_ROUNDS):
        for _ in range(times):
            action()
        after = _measure()
        steps.append(tuple(new - old for new, old in zip(after, before)))
        before = after
    blocks, malloc, resident = (min(step[index] for step in steps) for index in range(3))
    if size:
        if max(malloc, resident) >= size * times // 2:
            raise LeakError(f"{what}: {max(malloc, resident) // times} bytes stay behind each time")
    elif blocks >= times:
        raise LeakError(f"{what}: {blocks / times:.1f} Python objects stay behind each time")
    elif malloc >= 16 * times:
        raise LeakError(f"{what}: {malloc / times:.0f} bytes stay behind each time")
    return f"{times * (_ROUNDS + 1)} times, no growth"
