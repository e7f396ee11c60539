"""Check producers, consumers, exchange tables and backends against DLPack and the array API.

```python
import dlx.testing

report = dlx.testing.check_producer("mylibrary.tests:make")  # or a function of this process
assert report.ok, report
for result in report.failures:
    print(result.number, result.level, result.outcome, result.text)
```

The checks use the structs directly, and never dlx's own library. They run in processes of their
own: what is named by a string is imported there; a function is called in forks of this process.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dlx.testing._referee.producing import CASES
from dlx.testing._report import Report, Result
from dlx.testing._runner import CheckError

if TYPE_CHECKING:
    from dlx.testing._referee.sources import Source
    from dlx.testing._runner import Progress

__all__ = [
    "CASES",
    "CheckError",
    "Report",
    "Result",
    "check",
    "check_backend",
    "check_consumer",
    "check_exchange_api",
    "check_producer",
    "producers",
]


def check(name: str, *, timeout: float = 20, progress: Progress | None = None) -> Report:
    """Check all that a name has.

    Args:
        name: an installed library; "module:factory", a function without required arguments that
            makes a producer; "module:function", a consumer; "module:Class", a type with an exchange
            table; or "file.so:symbol", a C function `DLManagedTensorVersioned *symbol(void)`.
        timeout: seconds that one check may take.
        progress: called with (done, all, key) after each check.

    Raises:
        CheckError: there is no such name, or it cannot be imported.
    """
    from dlx.testing import _report, _runner

    outcomes = _runner.run(name, None, timeout, progress)
    return _report.build(name, outcomes, _version(name))


def check_producer(make: str | Callable[..., Any], *, timeout: float = 20) -> Report:
    """Check objects with `__dlpack__`.

    Args:
        make: makes a new object. If its parameter is named `case`, it is called with each name of
            `dlx.testing.CASES` ("plain", "empty", "read-only", "int8" …) and returns None for those
            that it does not have.
    """
    from dlx.testing._referee import targets

    return _check(make, targets.producer, timeout)


def check_consumer(
    from_dlpack: str | Callable[..., Any],
    *,
    takes: str = "object",
    read: Callable[[Any], Any] | None = None,
    timeout: float = 20,
) -> Report:
    """Check a `from_dlpack` function with legal and hostile producers.

    Args:
        takes: "object", as the array API says; "capsule" or "legacy capsule" for older functions.
        read: turns a result into an object that has `__dlpack__`, a buffer or
            `__array_interface__`; needed if the result has none of them.
    """
    from dlx.testing._referee import targets
    from dlx.testing._referee.consuming import OBJECT, ROLE, Consumers

    def contexts(function: Any) -> dict[str, Any]:
        return {ROLE: Consumers(function, takes, read)}

    if isinstance(from_dlpack, str) and (read or takes != OBJECT):
        from_dlpack = targets.find(from_dlpack)  # what is added here is not known elsewhere: fork
    return _check(from_dlpack, contexts, timeout)


def check_exchange_api(cls: str | type, *, timeout: float = 20) -> Report:
    """Check the table `__dlpack_c_exchange_api__` of a type."""
    from dlx.testing._referee.exchanging import ROLE, Exchange

    return _check(cls, lambda found: {ROLE: Exchange(found)}, timeout)


def check_backend(device: str, *, timeout: float = 20) -> Report:
    """Check a backend that was added by `dlx_register_backend`, e.g. of "ext_dev:0".

    This one goes through dlx's own library, which is what calls the backend.
    """
    from dlx.testing import _backend

    return _check(device, _backend.contexts, timeout, fork=True)


def producers() -> list[Source]:
    """New producers of every kind, legal and hostile, for tests of your own consumer.

    Each has `name`, `legal`, `why`, `values` (bytes of each element), `calls` and `deleted`, the
    number of calls of its deleters. Hostile ones must be refused with an exception.
    """
    from dlx.testing._referee import sources

    return sources.producers()


def _check(
    target: Any, contexts: Callable[[Any], dict[str, Any]], timeout: float, fork: bool = False
) -> Report:
    from dlx.testing import _report, _runner

    if isinstance(target, str) and not fork:
        return check(target, timeout=timeout)
    name = (
        target
        if isinstance(target, str)
        else getattr(target, "__qualname__", type(target).__name__)
    )
    try:
        found = contexts(target)
    except Exception as error:
        raise CheckError(f"{name}: {type(error).__name__}: {error}") from error
    return _report.build(name, _runner.run(name, found, timeout))


def _version(name: str) -> str:
    from importlib import metadata

    for distribution in metadata.packages_distributions().get(name.partition(":")[0], ()):
        return metadata.version(distribution).partition("+")[0]
    return ""
