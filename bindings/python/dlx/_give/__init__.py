"""From a Tensor to an array of another library: `dlx.convert` and `dlx.explain`.

`explain` is here, because `import dlx` needs it; the first call imports what convert needs.
"""

from __future__ import annotations

from dlx import _native
from dlx.errors import CopyRefusedError, Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dlx._give.explanation import Explanation


def explain(x: Any, to: Any) -> Explanation:
    """Say whether `dlx.convert(x, to)` would share the memory, copy it, or refuse, and why.

    It is tried out, with `copy=False` first: a copy is made, and dropped, where one is needed.

    Args:
        x: an array of any library, or a Tensor.
        to: as for `dlx.convert`: a name, a module, a class, or an array of the library.

    Example:
        >>> print(dlx.explain(numpy.zeros((3, 4))[::-1], "torch"))
        torch gets a copy: torch takes no negative strides

    Raises:
        ImportError, ValueError, TypeError: `to` is no library that is known here.
    """
    from dlx._give.explanation import COPIED, REFUSED, SHARED, Explanation

    name, notes = _target(to)
    try:
        _native.convert(x, to, copy=False)
        return Explanation(SHARED, "", name, notes)
    except CopyRefusedError as error:
        why = _reason(str(error))
    except (Error, TypeError, AttributeError) as error:
        return Explanation(REFUSED, _reason(str(error)), name, notes)
    try:
        _native.convert(x, to)
    except (Error, TypeError, AttributeError) as error:
        return Explanation(REFUSED, _reason(str(error)), name, notes)
    return Explanation(COPIED, why, name, notes)


def _target(to: Any) -> tuple[str, str]:
    from dlx._give import targets

    if targets.is_dlx(to):
        return "dlx", ""
    profile, _ = targets.find(to)
    return profile.name, profile.notes


def _reason(message: str) -> str:
    """The part of an error's text that says why."""
    text = message.removeprefix("convert: ")
    text = text.partition("; copy=False forbids a copy")[0]
    _, found, rest = text.partition(" cannot share this tensor: ")
    return rest if found else text
