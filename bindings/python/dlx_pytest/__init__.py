"""A plugin of pytest: `pytest --dlx-check module:factory` makes a test of every item.

A package of its own, because pytest imports its plugins always, and dlx is only imported when asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from dlx.testing import Report, Result


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("dlx", "array interchange")
    group.addoption(
        "--dlx-check",
        action="append",
        default=[],
        metavar="NAME",
        help="check a library, module:factory or module:function: a test for every item",
    )


def pytest_collection(session: pytest.Session) -> None:
    """The checks run once, while tests are collected; each item's test tells its result."""
    session.config.stash[_KEY] = [
        _Node.from_parent(session, name=f"dlx-check {name}")
        for name in session.config.getoption("--dlx-check")
    ]


def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    for node in config.stash.get(_KEY, []):
        items.extend(node.collect())


class _Node(pytest.Collector):
    """One name that is checked."""

    def collect(self) -> Iterator[pytest.Item]:
        from dlx.testing import CheckError, check

        target = self.name.partition(" ")[2]
        try:
            report: Report = check(target)
        except CheckError as error:
            raise pytest.UsageError(str(error)) from None
        for result in report.results:
            name = f"{target}: {result.role} {result.number}"
            yield _Item.from_parent(self, name=name, result=result, report=report)


class _Item(pytest.Item):
    """One result: a failure fails, a warning is an expected failure, the rest passes or is skipped."""

    def __init__(self, *, result: Result, report: Report, **keywords: object) -> None:
        super().__init__(**keywords)  # type: ignore[arg-type]
        self._result, self._report = result, report

    def runtest(self) -> None:
        if self._result.outcome == "not applicable":
            pytest.skip(self._result.text)
        if self._result in self._report.failures:
            pytest.fail(str(self._result), pytrace=False)
        if self._result in self._report.warnings:
            pytest.xfail(str(self._result))

    def reportinfo(self) -> tuple[str, int, str]:
        return "dlx-check", 0, self.name


_KEY: pytest.StashKey[list[_Node]] = pytest.StashKey()
