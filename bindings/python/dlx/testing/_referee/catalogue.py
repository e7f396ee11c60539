"""All checks: importing this module fills `outcomes.BY_KEY`."""

from __future__ import annotations

from . import calling, consuming, exchanging, feeding, producing, protocols
from .outcomes import AT_EXIT, BY_KEY, FACTORY

__all__ = [
    "BY_KEY",
    "calling",
    "consuming",
    "exchanging",
    "feeding",
    "keys_of",
    "producing",
    "protocols",
]


def keys_of(contexts: dict[str, object]) -> list[str]:
    """The checks of these roles: the factory and what others depend on first, Python's end last."""
    found = [check for check in BY_KEY.values() if check.role in contexts]
    found = [check for check in found if check.struct or not _struct_only(contexts[check.role])]
    found.sort(key=lambda check: (check.key in AT_EXIT, check.item != FACTORY, not check.gate))
    return [check.key for check in found]


def _struct_only(context: object) -> bool:
    return isinstance(context, producing.Producers) and context.struct_only
