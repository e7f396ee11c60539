"""The matrix as text for a terminal, as Markdown, and as a self-contained page of HTML."""

from __future__ import annotations

from html import escape

from dlx._cli import matrix_cells
from dlx._cli.matrix_cells import COPIED, DIED, NONE, REFUSED, SHARED, WRONG

TYPE_CHECKING = False
if TYPE_CHECKING:
    Key = tuple[str, str, str, str]
    Cell = tuple[str, str]

BAD = (WRONG, DIED)
_SIGNS = {SHARED: "=", COPIED: "c", REFUSED: "x", NONE: "", WRONG: "WRONG", DIED: "DIED"}
_HOW = {
    SHARED: "shared: the same memory, at the same address; a number is a remark below",
    COPIED: "copied, for the reason with that number; `copy=False` is refused with it",
    REFUSED: "refused, for the reason with that number",
    NONE: "the producer has no such array",
}


class Matrix:
    """The measured cells.

    Attributes:
        names: the consumers; the producers are dlx and these.
        versions: of each library.
        cells: (producer, dtype, layout, consumer) -> (outcome, why).
    """

    def __init__(self, names: list[str], versions: dict[str, str], cells: dict[Key, Cell]) -> None:
        self.names, self.versions, self.cells = names, versions, cells
        self.producers = ["dlx", *names]

    def counts(self, producer: str, consumer: str) -> dict[str, int]:
        """How often each outcome occurred between two libraries."""
        counted = dict.fromkeys((SHARED, COPIED, REFUSED, NONE, WRONG, DIED), 0)
        for dtype, layout in matrix_cells.cases():
            counted[self.cells[producer, dtype, layout, consumer][0]] += 1
        return counted

    def reasons(self, consumer: str) -> dict[Cell, int]:
        """Every (outcome, why) of a consumer with a number for it, in order of appearance."""
        numbers: dict[Cell, int] = {}
        for producer in self.producers:
            for dtype, layout in matrix_cells.cases():
                cell = self.cells[producer, dtype, layout, consumer]
                if cell[1]:
                    numbers.setdefault(cell, len(numbers) + 1)
        return numbers

    def rows(self, consumer: str) -> list[tuple[str, str]]:
        """The cases that at least one producer has."""
        return [
            case
            for case in matrix_cells.cases()
            if any(self.cells[p, case[0], case[1], consumer][0] != NONE for p in self.producers)
        ]


def _title(dtype: str, layout: str) -> str:
    return dtype if layout == "compact" else layout


def text(matrix: Matrix) -> str:
    """The overview: for each pair the numbers of arrays shared, copied and refused."""
    width = max(map(len, matrix.producers)) + 1
    cell = max(10, *(len(name) + 1 for name in matrix.names))
    lines = [
        "from (down) to (across): arrays shared / copied / refused",
        "".ljust(width) + "".join(name.rjust(cell) for name in matrix.names),
    ]
    for producer in matrix.producers:
        line = producer.ljust(width)
        for consumer in matrix.names:
            count = matrix.counts(producer, consumer)
            line += f"{count[SHARED]}/{count[COPIED]}/{count[REFUSED]}".rjust(cell)
        lines.append(line)
    return "\n".join(lines)


_INTRODUCTION = """\
# Which library takes what

What happens when an array of one library is handed to another with `dlx.convert(x, to)`. Every cell
was measured by `python -m dlx matrix`, which makes the array, hands it over, and looks at the
values and the address; run it for the libraries that you have (`--html FILE` writes a page with
the same tables). A test compares this file with a new measurement.

Versions: {versions}.

dtypes are measured on compact arrays of shape (4, 8), layouts on float32. The producer's array lies
at a multiple of 64 bytes, except in "16-byte aligned". An array of the library itself is returned as
it is, and counts as shared. "read-only" is data that must not be written to: a library that honours
this or never writes shares it, one that would write to it gets a copy.

| sign | meaning |
|---|---|
{legend}

## Overview

Arrays shared / copied / refused, of those that the producer has.

"""


def markdown(matrix: Matrix) -> str:
    """docs/matrix.md. It has no dates and no addresses: the same libraries make the same file."""
    versions = ", ".join(f"{name} {matrix.versions[name]}" for name in matrix.names)
    legend = "\n".join(f"| {_SIGNS[key] or '(empty)'} | {how} |" for key, how in _HOW.items())
    parts = [_INTRODUCTION.format(versions=versions, legend=legend)]
    parts.append("| from \\ to | " + " | ".join(matrix.names) + " |\n")
    parts.append("|---" * (len(matrix.names) + 1) + "|\n")
    for producer in matrix.producers:
        row = [matrix.counts(producer, consumer) for consumer in matrix.names]
        cells = " | ".join(f"{c[SHARED]} / {c[COPIED]} / {c[REFUSED]}" for c in row)
        parts.append(f"| {producer} | {cells} |\n")
    parts += [_markdown_section(matrix, consumer) for consumer in matrix.names]
    return "".join(parts)


def _markdown_section(matrix: Matrix, consumer: str) -> str:
    from dlx._give import profiles

    numbers = matrix.reasons(consumer)
    lines = [f"\n## To {consumer}\n", f"Note: {profiles.TABLE[consumer].notes}.\n"]
    lines.append("| array | " + " | ".join(matrix.producers) + " |")
    lines.append("|---" * (len(matrix.producers) + 1) + "|")
    for dtype, layout in matrix.rows(consumer):
        cells = []
        for producer in matrix.producers:
            cell = matrix.cells[producer, dtype, layout, consumer]
            cells.append(f"{_SIGNS[cell[0]]} {numbers.get(cell, '')}".strip())
        lines.append(f"| {_title(dtype, layout)} | {' | '.join(cells)} |")
    lines.append("")
    for (outcome, why), number in numbers.items():
        lines.append(f"{number}. {outcome}: {why}".replace("|", "\\|"))
    return "\n".join(lines) + "\n"


_STYLE = """
:root{--bg:#fbfaf7;--fg:#22211f;--dim:#77736a;--line:#e4e0d6;--card:#fff;--shared:#2f9e6e;
--copied:#e3a52c;--refused:#c9c4b8;--wrong:#d33f3f}
@media(prefers-color-scheme:dark){:root{--bg:#191a1c;--fg:#e8e6e1;--dim:#9a968d;--line:#34363a;
--card:#212327;--shared:#3cb881;--copied:#d99b2b;--refused:#50535a;--wrong:#e05555}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:1400px;padding:40px 24px 80px;background:var(--bg);color:var(--fg);
font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
h1{font-size:30px;margin:0 0 4px;letter-spacing:-.02em}
h2{font-size:20px;margin:48px 0 6px}
p{max-width:95ch;margin:6px 0}
.dim{color:var(--dim)}
.key{display:flex;gap:20px;flex-wrap:wrap;margin:18px 0}
.key i,.bar i{display:inline-block;height:11px}
.key i{width:11px;border-radius:3px;margin-right:6px}
.shared{background:var(--shared)}.copied{background:var(--copied)}.refused{background:var(--refused)}
.WRONG,.DIED{background:var(--wrong)}
.scroll{overflow-x:auto;background:var(--card);border:1px solid var(--line);border-radius:10px}
table{border-collapse:collapse;width:100%;font-size:13px;font-variant-numeric:tabular-nums}
th,td{padding:6px 8px;text-align:center;border-bottom:1px solid var(--line);white-space:nowrap}
tr:last-child>*{border-bottom:0}
thead th{font-weight:600;vertical-align:bottom}
tbody th{text-align:left;font-weight:600;position:sticky;left:0;background:var(--card)}
a{color:inherit;text-decoration-color:var(--dim);text-underline-offset:3px}
td a{color:inherit;text-decoration:none;display:block}
.bar{display:flex;width:66px;margin:0 auto 2px;border-radius:6px;overflow:hidden;background:var(--line)}
.bar i{height:9px}
.n{font-size:11px;color:var(--dim)}
.tile{display:inline-block;min-width:34px;height:20px;line-height:20px;border-radius:5px;color:#fff;
font-size:11px;font-weight:600;font-variant-numeric:tabular-nums;cursor:default}
.tile.refused{color:var(--fg)}
ol{font-size:13px;columns:2;column-gap:40px;padding-left:24px;margin:10px 0}
li{break-inside:avoid;margin:2px 0}
tr.group th{color:var(--dim);font-weight:400;font-size:12px;padding-top:14px}
td.none{text-align:left;color:var(--dim);font-size:12px}
tbody tr:not(.group):hover>*{background:var(--line)}
@media(max-width:760px){ol{columns:1}}
"""


def html(matrix: Matrix) -> str:
    """The page: an overview of all pairs, and a table for each consumer."""
    versions = ", ".join(f"{name} {matrix.versions[name]}" for name in matrix.names)
    total = sum(1 for cell in matrix.cells.values() if cell[0] != NONE)
    shared = sum(1 for cell in matrix.cells.values() if cell[0] == SHARED)
    sections = "".join(_html_section(matrix, consumer) for consumer in matrix.names)
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<title>dlx: which library takes what</title><style>{_STYLE}</style></head><body>
<h1>Which library takes what</h1>
<p>What happens when an array of one library is handed to another with
<code>dlx.convert(x, to)</code>: {total} hand-overs measured, {shared} of them without a copy.</p>
<p class="dim">{escape(versions)}</p>
<div class="key"><span><i class="shared"></i>shared, same address</span>
<span><i class="copied"></i>copied, with the reason</span>
<span><i class="refused"></i>refused, with the reason</span>
<span class="dim">empty: the producer has no such array</span></div>
<h2>From (down) to (across)</h2>
{_html_overview(matrix)}
{sections}
</body></html>
"""


def _html_overview(matrix: Matrix) -> str:
    head = "".join(f'<th><a href="#{name}">{escape(name)}</a></th>' for name in matrix.names)
    rows = []
    span = len(matrix.names)
    for producer in matrix.producers:
        cells = []
        if all(cell[0] == NONE for key, cell in matrix.cells.items() if key[0] == producer):
            none = f'<td class="none" colspan="{span}">makes no arrays on this machine</td>'
            rows.append(f"<tr><th>{escape(producer)}</th>{none}</tr>")
            continue
        for consumer in matrix.names:
            count = matrix.counts(producer, consumer)
            total = sum(n for outcome, n in count.items() if outcome != NONE) or 1
            bars = "".join(
                f'<i class="{outcome}" style="width:{100 * count[outcome] / total:.1f}%"></i>'
                for outcome in (SHARED, COPIED, REFUSED, WRONG, DIED)
                if count[outcome]
            )
            numbers = f"{count[SHARED]} · {count[COPIED]} · {count[REFUSED]}"
            told = f"{producer} to {consumer}: " + ", ".join(
                f"{n} {outcome}" for outcome, n in count.items() if n and outcome != NONE
            )
            cells.append(
                f'<td title="{escape(told)}"><a href="#{consumer}"><span class="bar">{bars}</span>'
                f'<span class="n">{numbers}</span></a></td>'
            )
        rows.append(f"<tr><th>{escape(producer)}</th>{''.join(cells)}</tr>")
    return (
        f'<div class="scroll"><table><thead><tr><th></th>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _html_section(matrix: Matrix, consumer: str) -> str:
    from dlx._give import profiles

    numbers = matrix.reasons(consumer)
    head = "".join(f"<th>{escape(name)}</th>" for name in matrix.producers)
    rows, group = [], ""
    span = len(matrix.producers) + 1
    for dtype, layout in matrix.rows(consumer):
        cells = "".join(
            _html_cell(matrix.cells[producer, dtype, layout, consumer], numbers)
            for producer in matrix.producers
        )
        title = "dtypes, of compact arrays" if layout == "compact" else "layouts, of float32"
        if title != group:
            group = title
            rows.append(f'<tr class="group"><th colspan="{span}">{title}</th></tr>')
        rows.append(f"<tr><th>{escape(_title(dtype, layout))}</th>{cells}</tr>")
    reasons = "".join(
        f'<li value="{number}">{outcome}: {escape(why)}</li>'
        for (outcome, why), number in numbers.items()
    )
    notes = escape(profiles.TABLE[consumer].notes)
    return (
        f'<h2 id="{consumer}">To {escape(consumer)}</h2><p class="dim">Note: {notes}.</p>'
        f'<div class="scroll"><table><thead><tr><th></th>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div><ol>{reasons}</ol>"
    )


def _html_cell(cell: Cell, numbers: dict[Cell, int]) -> str:
    outcome, why = cell
    if outcome == NONE:
        return "<td></td>"
    told = escape(f"{outcome}: {why}" if why else outcome)
    return f'<td><span class="tile {outcome}" title="{told}">{numbers.get(cell, "=")}</span></td>'
