"""The result of `dlx.explain`, apart, because `typing` is not imported with dlx."""

from __future__ import annotations

from typing import NamedTuple

SHARED, COPIED, REFUSED = "shared", "copied", "refused"


class Explanation(NamedTuple):
    """What `dlx.convert(x, to)` does.

    Attributes:
        outcome: "shared", "copied" or "refused".
        why: the reason of a copy or a refusal; of sharing "".
        to: the name of the library.
        notes: the pitfalls of that library.
    """

    outcome: str
    why: str
    to: str
    notes: str

    def __bool__(self) -> bool:
        """Whether there is a result."""
        return self.outcome != REFUSED

    def __str__(self) -> str:
        verb = {SHARED: "shares the memory", COPIED: "gets a copy", REFUSED: "refuses"}
        return f"{self.to} {verb[self.outcome]}{f': {self.why}' if self.why else ''}"
