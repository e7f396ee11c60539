"""Reports as one page of HTML that needs nothing else: rows by item, columns by library."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from dlx.testing._referee.outcomes import DEVIATES, FAIL, NOT_APPLICABLE, PASS, WORST_FIRST

if TYPE_CHECKING:
    from dlx.testing._report import Report, Result

_STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 90rem; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2.5rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; }
th, td { padding: .25rem .5rem; border-bottom: 1px solid color-mix(in srgb, currentColor 15%, transparent); vertical-align: top; }
thead th { position: sticky; top: 0; background: Canvas; font-weight: 600; text-align: center; }
td.rule { min-width: 22rem; } td.rule small { opacity: .7; } td.n { text-align: right; }
td.cell { text-align: center; }
details summary { list-style: none; cursor: pointer; } details summary::-webkit-details-marker { display: none; }
details[open] { text-align: left; min-width: 18rem; } details ul { margin: .3rem 0; padding-left: 1.1rem; font-size: 13px; }
.mark { border-radius: .3rem; padding: 0 .45rem; font-size: 13px; white-space: nowrap; }
.pass { color: light-dark(#1b6e3b, #6fd394); }
.fail, .leak { background: light-dark(#fbd9d5, #6b1f18); }
.crash, .hang { background: light-dark(#c62f21, #d6493b); color: #fff; }
.deviates { background: light-dark(#fdeec4, #5c4a12); }
.soft { background: light-dark(#fde3cf, #5c3712); }
.na { opacity: .35; }
.faults p { margin: .4rem 0; }
"""
_SIGNS = {PASS: "✓", NOT_APPLICABLE: "–", DEVIATES: "differs"}
_ROLES = {
    "producer": "Producers: __dlpack__ and its siblings",
    "consumer": "Consumers: from_dlpack",
    "exchange": "Exchange tables: __dlpack_c_exchange_api__",
    "backend": "Backends of dlx",
}
_LEGEND = (
    (PASS, "kept"), (NOT_APPLICABLE, "not applicable"),
    (DEVIATES, "the standard leaves room, or a legal tensor is refused properly"),
    (FAIL, "broken"), ("leak", "memory is never freed"), ("crash", "the process died"),
    ("hang", "it never ended"),
)  # fmt: skip


def page(reports: list[Report], introduction: str = "") -> str:
    """The page; `introduction` is HTML."""
    names = ", ".join(f"{report.name} {report.version}".strip() for report in reports)
    parts = [
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Array interchange: {escape(names)}</title><style>{_STYLE}</style></head><body>",
        "<h1>Array interchange, item by item</h1>",
        introduction or f"<p>{escape(names)}. Checked by <code>python -m dlx check</code>.</p>",
        "<p>",
        " ".join(f"{_mark(outcome)} {escape(text)} &nbsp;" for outcome, text in _LEGEND),
        "</p>",
    ]
    for role, title in _ROLES.items():
        shown = [r for r in reports if any(result.role == role for result in r.results)]
        if shown:
            parts += [f"<h2>{escape(title)}</h2>", _table(role, shown)]
    parts.append("<h2>What is not as it must be</h2>")
    parts += [_faults(report) for report in reports]
    parts.append("</body></html>\n")
    return "\n".join(parts)


def _mark(outcome: str, level: str = "") -> str:
    kind = "na" if outcome == NOT_APPLICABLE else outcome
    if outcome == FAIL and level == "SHOULD":
        kind = "soft"
    return f'<span class="mark {kind}">{escape(_SIGNS.get(outcome, outcome))}</span>'


def _table(role: str, reports: list[Report]) -> str:
    rows: dict[int, dict[str, Result]] = {}
    for report in reports:
        for result in report.results:
            if result.role == role:
                rows.setdefault(result.number, {})[report.name] = result
    lines = ['<div class="scroll"><table><thead><tr><th>item</th><th>rule</th>']
    lines += [f"<th>{escape(report.name)}<br>{escape(report.version)}</th>" for report in reports]
    lines.append("</tr></thead><tbody>")
    for number, cells in sorted(rows.items()):
        one = next(iter(cells.values()))
        place = escape(f"{one.page}, {one.section}" if one.section else one.page)
        link = f'<a href="{escape(one.url)}">{place}</a>' if one.url else place
        lines.append(
            f'<tr><td class="n">{number}</td><td class="rule"><b>{one.level}</b> '
            f"{escape(one.rule)}<br><small>{link}</small></td>"
        )
        lines += [_cell(cells.get(report.name)) for report in reports]
        lines.append("</tr>")
    lines.append("</tbody></table></div>")
    return "\n".join(lines)


def _cell(result: Result | None) -> str:
    if result is None:
        return f'<td class="cell">{_mark(NOT_APPLICABLE)}</td>'
    cases = sorted(result.cases, key=lambda case: WORST_FIRST.index(case[1]))
    lines = "".join(
        f"<li>{_mark(outcome)} {escape(name)}: {escape(text)}</li>" for name, outcome, text in cases
    )
    return (
        f'<td class="cell"><details><summary title="{escape(result.text)}">'
        f"{_mark(result.outcome, result.level)}</summary><ul>{lines}</ul></details></td>"
    )


def _faults(report: Report) -> str:
    lines = [f'<div class="faults"><h3>{escape(report.name)} {escape(report.version)}</h3>']
    for result in report.failures + report.warnings:
        lines.append(
            f"<p>{_mark(result.outcome, result.level)} <b>{result.number} {result.level}</b> "
            f"({result.role}) {escape(result.rule)} Seen: {escape(result.text)}</p>"
        )
    if len(lines) == 1:
        lines.append("<p>Nothing.</p>")
    return "\n".join([*lines, "</div>"])
