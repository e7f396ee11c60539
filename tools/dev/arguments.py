"""Arguments: a mistyped one does not become another command; paths are relative to the caller's folder."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from .settings import Settings
from .shell import Failed

# The argument after one of these options of pytest is not a path.
WITH_VALUE = ("-k", "-m", "-n", "-o", "-p", "-r", "-W")


def hint(word: str, known: Sequence[str]) -> str:
    close = difflib.get_close_matches(word, known, 1, 0.75)
    return f"did you mean '{close[0]}'?" if close else "see ./dev help"


def takes(command: str, arguments: Sequence[str], *allowed: str) -> None:
    for argument in arguments:
        if argument not in allowed:
            raise Failed(f"{command}: unknown argument '{argument}' ({hint(argument, allowed)})")


def paths_in(arguments: Sequence[str]) -> list[int]:
    """The positions of the arguments of pytest that are paths."""
    return [
        index
        for index, argument in enumerate(arguments)
        if not argument.startswith("-") and (index == 0 or arguments[index - 1] not in WITH_VALUE)
    ]


def from_caller(settings: Settings, arguments: Sequence[str]) -> list[str]:
    """The arguments of pytest, with full paths for files in the caller's folder."""
    result = list(arguments)
    if settings.caller != settings.root:
        for index in paths_in(arguments):
            file, *rest = arguments[index].split("::")
            if (settings.caller / file).exists():
                result[index] = "::".join([str(settings.caller / file), *rest])
    return result
