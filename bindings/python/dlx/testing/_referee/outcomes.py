"""What a check can find, and the list of all checks."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

PASS, FAIL, DEVIATES, CRASH, LEAK, HANG, NOT_APPLICABLE = (
    "pass", "fail", "deviates", "crash", "leak", "hang", "not applicable")  # fmt: skip
# The worst outcome of an item's checks is the item's outcome.
WORST_FIRST = (CRASH, HANG, LEAK, FAIL, DEVIATES, PASS, NOT_APPLICABLE)

MALFORMED = 76  # each of these runs in a process of its own: it may corrupt memory
FACTORY = 0  # the number of no rule: if the factory fails there is nothing to check
BAD = (CRASH, HANG, LEAK, FAIL)


class FindingError(Exception):
    """Something is wrong."""

    outcome = FAIL


class LeakError(FindingError):
    outcome = LEAK


class DeviationError(FindingError):
    """Something differs where the standard leaves room, or a legal tensor is refused properly."""

    outcome = DEVIATES


class NotApplicableError(Exception):
    """The check has nothing to look at."""


class Check(NamedTuple):
    """One check of one item.

    Attributes:
        role: what is checked: "producer", "consumer" or "exchange".
        gate: the other checks are left out if this one finds something.
        struct: the check looks at the managed tensor only, so it serves a C function too.
        at_exit: the process ends after this check, and its exit status is part of the result.
    """

    item: int
    role: str
    case: str
    run: Callable[[Any], str | None]
    gate: bool
    struct: bool
    at_exit: bool

    @property
    def key(self) -> str:
        return f"{self.role} {self.item} {self.case}"


BY_KEY: dict[str, Check] = {}  # all checks, in the order of their files
AT_EXIT: set[str] = set()  # keys of checks that need a process of their own


def check(
    item: int,
    role: str,
    case: str,
    *,
    gate: bool = False,
    struct: bool = False,
    at_exit: bool = False,
) -> Callable[[Callable[..., str | None]], Callable[..., str | None]]:
    """Add a function to the list. It returns what it saw, or raises what it found."""

    def add(function: Callable[..., str | None]) -> Callable[..., str | None]:
        added = Check(item, role, case, function, gate, struct, at_exit)
        BY_KEY[added.key] = added
        if at_exit:
            AT_EXIT.add(added.key)
        return function

    return add


def said(error: BaseException) -> str:
    """An exception in one short line."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:160]}" if text else type(error).__name__


def in_threads(tasks: Sequence[Callable[[], None]], problems: list[str]) -> None:
    """Run the tasks at the same time, a thread each, and raise the first problem that they noted."""
    threads = [threading.Thread(target=task) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if problems:
        raise FindingError(problems[0])
