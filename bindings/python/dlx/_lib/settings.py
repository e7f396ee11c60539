"""The settings of the process: threads of a copy, negative strides in exports."""

from __future__ import annotations

import operator

from dlx._lib import capi
from dlx._lib.constants import NEGATIVE_STRIDES_COPY, NEGATIVE_STRIDES_ERROR, NEGATIVE_STRIDES_SHARE
from dlx.errors import InvalidArgumentError

_POLICIES = {
    "copy": NEGATIVE_STRIDES_COPY,
    "share": NEGATIVE_STRIDES_SHARE,
    "error": NEGATIVE_STRIDES_ERROR,
}


def set_num_threads(num_threads: int, /) -> None:
    """Set how many threads one copy may use, for the whole process.

    Args:
        num_threads: 1 keeps a copy on the calling thread; 0 restores the default: DLX_NUM_THREADS
            from the environment, or else the cores that this process may run on.

    Raises:
        TypeError: not an int.
        ValueError: a negative number (`InvalidArgumentError`).
    """
    capi.set_num_threads(operator.index(num_threads))


def get_num_threads() -> int:
    """How many threads one copy may use; at least 1."""
    return capi.get_num_threads()


def set_export_negative_strides(policy: str, /) -> None:
    """Set what `Tensor.__dlpack__` does with negative strides when `copy=None`.

    DLPack allows them, but PyTorch aborts the process on them.

    Args:
        policy: "copy" exports a compact copy, marked as copied (the policy at start); "share"
            exports them as they are; "error" raises. `copy=False` shares under the first two,
            `copy=True` always copies; `numpy.asarray(t)` and `memoryview(t)` share whatever the
            policy.

    Raises:
        ValueError: no such policy (`InvalidArgumentError`).
    """
    if policy not in list(_POLICIES):  # what has no hash, too
        got = f"{policy!r:.60}" if isinstance(policy, str) else type(policy).__name__
        raise InvalidArgumentError(
            f"`policy` is unknown (got {got}, expected 'copy', 'share' or 'error')"
        )
    capi.set_export_negative_strides(_POLICIES[policy])


def get_export_negative_strides() -> str:
    """The policy that `set_export_negative_strides` set."""
    number = capi.get_export_negative_strides()
    return next(name for name, value in _POLICIES.items() if value == number)
