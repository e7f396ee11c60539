"""What the checks of one target gave."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from dlx.testing._referee.catalogue import BY_KEY
from dlx.testing._referee.items import ITEMS, MUST, SHOULD
from dlx.testing._referee.outcomes import (
    BAD,
    CRASH,
    DEVIATES,
    FACTORY,
    FAIL,
    HANG,
    NOT_APPLICABLE,
    PASS,
    WORST_FIRST,
)

if TYPE_CHECKING:
    from dlx.testing._runner import Outcome

_NOISE = 96


class Result(NamedTuple):
    """One item of one role.

    Attributes:
        role: "producer", "consumer", "exchange" or "backend".
        number: of the item.
        level: MUST, SHOULD or MAY.
        rule: the text of the item.
        outcome: pass, fail, deviates, crash, leak, hang or not applicable: the worst of its cases.
        text: what was seen.
        page: where the standard says it.
        url: of that page.
        section: of that page.
        cases: (name, outcome, text) of each check.
    """

    role: str
    number: int
    level: str
    rule: str
    outcome: str
    text: str
    page: str
    url: str
    section: str
    cases: list[tuple[str, str, str]]

    def __str__(self) -> str:
        place = f" [{self.page}: {self.section}]" if self.section else ""
        return f"{self.number} {self.level} {self.role} {self.outcome}: {self.text}{place}"


class Report:
    """The results of one check.

    Attributes:
        name: what was checked.
        version: of it.
        results: one `Result` for each item and role.
        ok: no MUST failed, and nothing crashed or hung.
        failures: the results that are not as they must be.
        warnings: the results that are not as they should be.
    """

    def __init__(self, name: str, results: list[Result], version: str = "") -> None:
        self.name: str = name
        self.results: list[Result] = results
        self.version: str = version

    @property
    def failures(self) -> list[Result]:
        return [result for result in self.results if _is_failure(result)]

    @property
    def warnings(self) -> list[Result]:
        return [result for result in self.results if _is_warning(result)]

    @property
    def ok(self) -> bool:
        return not self.failures

    def counts(self) -> dict[str, int]:
        """How many results have each outcome."""
        return {
            outcome: sum(result.outcome == outcome for result in self.results)
            for outcome in WORST_FIRST
        }

    def to_json(self) -> str:
        """The report as JSON: name, version, ok, and every result."""
        return json.dumps(self.to_dict(), indent=1, ensure_ascii=False)

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "version": self.version,
            "ok": self.ok,
            "results": [result._asdict() for result in self.results],
        }

    @classmethod
    def from_json(cls, text: str) -> Report:
        """A report that `to_json` wrote."""
        read = json.loads(text)
        results = []
        for fields in read["results"]:
            fields["cases"] = [tuple(case) for case in fields["cases"]]
            results.append(Result(**fields))
        return cls(read["name"], results, read["version"])

    def to_html(self) -> str:
        """The report as a page that needs nothing else."""
        from dlx.testing import _html

        return _html.page([self])

    def __str__(self) -> str:
        lines = [f"{self.name} {self.version}".strip()]
        for title, results in (("MUST", self.failures), ("SHOULD", self.warnings)):
            lines += [f"  {result}" for result in results] or [f"  no {title} failed"]
        counted = ", ".join(f"{n} {outcome}" for outcome, n in self.counts().items() if n)
        lines.append(f"  {counted}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<dlx.testing.Report {self.name}: {len(self.failures)} failures>"


def _is_failure(result: Result) -> bool:
    if result.outcome in (CRASH, HANG):
        return True
    return result.outcome in BAD and result.level != SHOULD


def _is_warning(result: Result) -> bool:
    if _is_failure(result):
        return False
    return result.outcome in BAD or (result.outcome == DEVIATES and result.level in (MUST, SHOULD))


def build(name: str, outcomes: list[Outcome], version: str = "") -> Report:
    """One result for each role and item, in the order of their numbers."""
    grouped: dict[tuple[str, int], list[tuple[str, str, str]]] = {}
    noise: dict[str, str] = {}
    for outcome in outcomes:
        check = BY_KEY[outcome.key]
        if check.item == FACTORY:
            continue
        cases = grouped.setdefault((check.role, check.item), [])
        cases.append((check.case, outcome.outcome, outcome.text))
        # Item 13 lets the library compute, which is another thing than to exchange tensors.
        if outcome.noise and outcome.outcome not in BAD and check.item != 13:
            text = f"item {check.item}, {check.case}, prints: {outcome.noise}"
            noise.setdefault(check.role, text)
    applicable = {role for (role, _), cases in grouped.items()
                  if any(case[1] != NOT_APPLICABLE for case in cases)}  # fmt: skip
    for role in applicable:
        said = noise.get(role)
        grouped[role, _NOISE] = [("output", FAIL if said else PASS, said or "nothing is printed")]
    return Report(name, [result(*key, cases) for key, cases in sorted(grouped.items())], version)


def result(role: str, number: int, cases: list[tuple[str, str, str]]) -> Result:
    """The result of an item: the worst of its cases."""
    item = ITEMS[number]
    outcome = min((case[1] for case in cases), key=WORST_FIRST.index)
    texts: dict[str, list[str]] = {}
    for name, case_outcome, text in cases:
        if case_outcome == outcome:
            texts.setdefault(text, []).append(name)
    parts = [f"{', '.join(names)}: {text}" for text, names in texts.items()]
    shown = parts[:3] if outcome not in (PASS, NOT_APPLICABLE) else parts[:1]
    more = f" (and {len(parts) - len(shown)} more)" if len(parts) > len(shown) else ""
    return Result(role, number, item.level, item.text, outcome, "; ".join(shown) + more,
                  item.page, item.url, item.section, cases)  # fmt: skip
