"""How long a process has had to do something, whatever else the machine does.

A process that computes is given processor time, and one that sleeps real time. Time in which it
waits for a processor or for a disk counts for nothing, so that a loaded machine makes no hang of a
check that is only slow.
"""

from __future__ import annotations

import os
import time

_SLICE = 0.05  # the longest time, in seconds, between two looks
_DEAD = 60  # after so many times the limit a process hangs, whatever it seems to do


class Clock:
    """Measures one process, from the first call of `over` on.

    Args:
        pid: the process.
        limit: seconds that it may take.
    """

    def __init__(self, pid: int, limit: float) -> None:
        self._pid, self._limit = pid, limit
        self._slept = 0.0
        self._begin = self._last = time.monotonic()
        _, self._before = _look(pid)

    @property
    def wait(self) -> float:
        """Seconds until the next look."""
        return min(_SLICE, self._limit / 10)

    def over(self) -> bool:
        """Whether the time is over; to be asked after each `wait`."""
        now = time.monotonic()
        asleep, used = _look(self._pid)
        if asleep:
            # If this process itself was kept waiting, the other may have been too.
            self._slept += min(now - self._last, 2 * self.wait)
        self._last = now
        spent = self._slept + max(0.0, used - self._before)
        return spent >= self._limit or now - self._begin >= _DEAD * self._limit


def _look(pid: int) -> tuple[bool, float]:
    """Whether all threads of a process sleep, and the seconds of processor time that it has used."""
    folder = f"/proc/{pid}"
    try:
        threads = [
            _fields(f"{folder}/task/{thread}/stat") for thread in os.listdir(f"{folder}/task")
        ]
        whole = _fields(f"{folder}/stat")
    except OSError:  # it ends just now
        return True, 0.0
    ticks = int(whole[11]) + int(whole[12])
    return not any(fields[0] in "RD" for fields in threads), ticks / os.sysconf("SC_CLK_TCK")


def _fields(path: str) -> list[str]:
    """The state and what follows it, of a process or a thread."""
    with open(path, encoding="utf-8", errors="replace") as stream:
        return stream.read().rpartition(")")[2].split()
