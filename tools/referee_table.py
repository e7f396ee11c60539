"""The public table: one file of results for each library, drawn as a page and as Markdown.

`python tools/referee_table.py FOLDER NAME…` checks libraries and writes FOLDER/NAME.json; NAME=MODULE
checks a module that makes the arrays of a library and imports into them, if NAME itself cannot.
`python tools/referee_table.py FOLDER` draws FOLDER/../referee.html and referee.md.
"""

from __future__ import annotations

import json
import os
import re
import sys
from importlib import metadata

from dlx.testing import Report, Result, _html, check
from dlx.testing._referee.items import ITEMS
from dlx.testing._referee.outcomes import DEVIATES, NOT_APPLICABLE, PASS

_ORDER = ("dlx", "numpy", "array_api_strict", "torch", "jax", "tensorflow", "pyarrow", "paddle")
_INTRODUCTION = """\
# The referee's table

What `python -m dlx check` found in each library, on the CPU. [testing.md](testing.md) says how it
checks; [referee.html](referee.html) is the same as a page, in which each cell explains itself. The
results are in [referee/](referee); a test compares them with what is installed.

A crash or a hang is a failure at every level. "Deviates" means that the standard leaves room, or that
a legal tensor is refused with a proper exception. Hostile tensors (item 76) are not legal: a NULL
`shape` ends most processes. [referee-faults.md](referee-faults.md) tells the real faults in short.

CuPy has no column, because it needs a GPU: on such a machine `python -m dlx check cupy` makes one.
nanobind is a way to write extensions: its column is of one whose function takes any array and returns it.
dpnp's arrays are on a oneAPI device that is the processor.

"""
_PAGE = """\
<p>What <code>python -m dlx check</code> found in each library, on the CPU. Open a cell to read what
was seen; the rules link to where the standard says them. Hostile tensors (item 76) are not legal:
libraries differ in how they refuse them.</p>
"""


def checked(name: str, module: str = "", timeout: float = 20) -> Report:
    """The report of a library, from a check of the module that stands for it."""
    report = check(module or name, timeout=timeout)
    if module:
        report.name, report.version = name, metadata.version(name)
    return report


def columns(report: Report) -> dict[str, str]:
    """Outcome by role and item: what a test compares. Alignment (item 13) is a matter of chance."""
    return {
        f"{result.role} {result.number}": result.outcome
        for result in report.results
        if result.number != 13 and result.outcome != NOT_APPLICABLE
    }


def to_text(report: Report) -> str:
    """A short form: a line for each result, without the texts of the rules."""
    lines = [
        json.dumps([result.role, result.number, result.outcome, result.text], ensure_ascii=False)
        for result in report.results
    ]
    head = json.dumps({"name": report.name, "version": report.version})[:-1]
    return f'{head}, "results": [\n' + ",\n".join(lines) + "\n]}\n"


def read(path: str) -> Report:
    """A report from the short form."""
    with open(path, encoding="utf-8") as stream:
        found = json.load(stream)
    results = []
    for role, number, outcome, text in found["results"]:
        item = ITEMS[number]
        results.append(Result(role, number, item.level, item.text, outcome, text, item.page,
                              item.url, item.section, [("seen", outcome, text)]))  # fmt: skip
    return Report(found["name"], results, found["version"])


def read_all(folder: str) -> list[Report]:
    reports = [read(os.path.join(folder, name)) for name in os.listdir(folder)
               if name.endswith(".json")]  # fmt: skip
    known = {name: place for place, name in enumerate(_ORDER)}
    return sorted(reports, key=lambda report: (known.get(report.name, len(known)), report.name))


def markdown(reports: list[Report]) -> str:
    """docs/referee.md."""
    parts = [_INTRODUCTION]
    parts.append(
        "| library | version | kept | deviates | MUST broken, or a crash | SHOULD broken |\n"
    )
    parts.append("|---|---|---|---|---|---|\n")
    for report in reports:
        counts = report.counts()
        soft = [result for result in report.warnings if result.outcome != DEVIATES]
        parts.append(
            f"| {report.name} | {report.version} | {counts[PASS]} | {counts[DEVIATES]} | "
            f"{_numbers(report.failures)} | {_numbers(soft)} |\n"
        )
    parts.append("\nNumbers are items; those of exchange tables are marked x, of consumers c.\n")
    for report in reports:
        parts.append(f"\n## {report.name} {report.version}".rstrip() + "\n\n")
        if not report.failures and not report.warnings:
            parts.append("No MUST and no SHOULD is broken.\n")
        for result in report.failures + report.warnings:
            page = _as_code(result.page)
            place = f"[{page}]({result.url})" if result.url else page
            section = f", {result.section}" if result.section else ""
            parts.append(
                f"- **{result.number} {result.level}, {result.role}, {result.outcome}.** "
                f"{_as_code(result.rule)} Seen: {_as_code(result.text)}. {place}{section}.\n"
            )
    return "".join(parts)


def _as_code(text: str) -> str:
    """Names like __dlpack__ in backticks, which Markdown would show in bold, without their underscores."""
    parts = text.split("`")
    parts[::2] = [re.sub(r"__\w+__", r"`\g<0>`", part) for part in parts[::2]]
    return "`".join(parts)


def page(reports: list[Report]) -> str:
    """docs/referee.html."""
    return _html.page(reports, _PAGE)


def _numbers(results: list[Result]) -> str:
    marks = {"exchange": "x", "consumer": "c"}
    shown = [f"{marks.get(r.role, '')}{r.number}" for r in results if r.outcome != NOT_APPLICABLE]
    return ", ".join(shown) or "none"


def main(arguments: list[str]) -> int:
    folder, names = arguments[0], arguments[1:]
    for name in names:
        name, _, module = name.partition("=")
        report = checked(name, module)
        with open(os.path.join(folder, f"{name}.json"), "w", encoding="utf-8") as stream:
            stream.write(to_text(report))
    if not names:
        reports = read_all(folder)
        parent = os.path.dirname(os.path.abspath(folder))
        for name, text in (
            ("referee.md", markdown(reports)),
            ("referee.html", page(reports)),
        ):
            with open(os.path.join(parent, name), "w", encoding="utf-8") as stream:
                stream.write(text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
