"""{bench-plot} NAME: a figure out of the tables of docs/benchmarks, as SVG that follows the theme.

Dots on a logarithmic axis, one colour for each program; no number is typed here.
"""

import html
import math
import re
from pathlib import Path
from typing import NamedTuple, Optional

from docutils import nodes
from sphinx.util.docutils import SphinxDirective


class Figure(NamedTuple):
    page: str
    heading: str  # the table is the first one below it
    columns: dict  # of the table -> name in the legend
    unit: str
    ticks: tuple
    label: str
    rows: Optional[dict] = None  # first cell -> name; None: every row
    sort: bool = False


FIGURES = {
    "exchange": Figure(
        "benchmarks/exchange.md",
        "",
        {2: "dlx", 4: "the library's own call"},
        " ns",
        (30, 100, 300, 1000, 3000, 10000),
        "Time of a call, dlx and its peers",
        {
            "import an ndarray": "a NumPy array in",
            "buffer: a bytearray": "a bytearray in",
            "a list": "a list in",
            "convert to torch": "out, to PyTorch",
            "convert an ndarray to torch": "NumPy to PyTorch",
            "convert torch to NumPy": "PyTorch to NumPy",
            "slice": "a slice",
            "store a number": "store one number",
            "an operator": "an operator (PyTorch's)",
            "a function of NumPy's": "exp (PyTorch's)",
            "__array__": "an object with __array__",
        },
        sort=True,
    ),
    "copy": Figure(
        "benchmarks/copy.md",
        "Beyond the caches",
        {2: "dlx", 4: "PyTorch", 3: "NumPy", 5: "HPTT"},
        " ×",
        (0.01, 0.03, 0.1, 0.3, 1, 3),
        "Speed of copies relative to memcpy",
        {
            name: name
            for name in (
                "transpose f32 8192×4096",
                "transpose u8 8192×8192",
                "NHWC→NCHW u8, 3 channels",
                "NCHW→NHWC f32, 3 channels",
                "BSHD→BHDS f16",
                "4-D reversal f32 72×68×76×64",
                "RGB→BGR u8",
                "f32 [:, ::2]",
                "crop to 100 columns f32",
                "planes into RGB of RGBA u8",
                "24 axes of 2 reversed f32",
                "geometric mean",
            )
        },
    ),
    "gpu": Figure(
        "benchmarks/gpu.md",
        "Strided copies on the device",
        {1: "dlx", 2: "PyTorch", 3: "CuPy"},
        " ×",
        (0.03, 0.1, 0.3, 1),
        "Speed of copies on an H100 relative to memcpy",
        {
            name: name
            for name in (
                "f32 16384² transposed",
                "u8 20000² transposed",
                "u8 20001×19999 transposed",
                "f16 12345×9871 transposed",
                "f64 8000² transposed",
                "c128 6000² transposed",
                "f32 unfold 3×3, 5 axes",
                "f32 broadcast along columns",
                "f16 [..., 1:-1]",
                "f32 [:, ::2]",
            )
        },
    ),
    "calls": Figure(
        "benchmarks/calls.md",
        "",
        {2: "an array of NumPy", 5: "of PyTorch", 8: "of dlx"},
        " ns",
        (30, 100, 300, 1000, 3000, 10000),
        "Time of a call of a compiled function",
    ),
}


def table(path: Path, heading: str) -> list[list[str]]:
    """The first table below a heading, without its head."""
    text = path.read_text()
    if heading:
        text = text[text.index(f"\n## {heading}") :]
    rows: list[list[str]] = []
    for line in text.splitlines():
        if line.startswith("|"):
            rows.append(
                [re.sub(r"[*`]{1,2}", "", cell).strip() for cell in line.strip("|").split("|")]
            )
        elif rows:
            break
    return rows[2:]


def number(cell: str):
    found = re.match(r"([\d.,]+)( |$)", cell)
    return float(found[1].replace(",", "")) if found else None


def rows_of(figure: Figure, folder: Path) -> list[tuple[str, list]]:
    rows: dict[str, list] = {}
    for cells in table(folder / figure.page, figure.heading):
        name = cells[0] if figure.rows is None else figure.rows.get(cells[0])
        if name and name not in rows:
            values = [number(cells[column]) for column in figure.columns]
            if any(value is not None for value in values):
                rows[name] = values
    if figure.rows and set(rows) != set(figure.rows.values()):
        raise ValueError(f"{figure.page} has no row {set(figure.rows.values()) - set(rows)}")
    pairs = list(rows.items())
    return sorted(pairs, key=lambda row: row[1][0] or 0) if figure.sort else pairs


def svg(figure: Figure, folder: Path, *, narrow: bool = False) -> str:
    """`narrow` is for a phone: each name stands above its row."""
    names, ticks, unit = list(figure.columns.values()), figure.ticks, figure.unit
    rows = rows_of(figure, folder)
    left, width, step, top = (34, 290, 44, 64) if narrow else (250, 430, 22, 44)
    kind = "narrow" if narrow else "wide"
    low, high = math.log10(ticks[0]), math.log10(ticks[-1])

    def x(value: float) -> float:
        inside = min(max(value, ticks[0]), ticks[-1])
        return left + (math.log10(inside) - low) / (high - low) * width

    height = top + step * len(rows) + 30
    label = html.escape(figure.label)
    out = [
        f'<svg class="bench {kind}" role="img" aria-label="{label}" viewBox="0 0 {left + width + 44} {height}">'
    ]
    at = 2 if narrow else left - 120
    for i, name in enumerate(names):
        out.append(
            f'<circle class="s{i}" cx="{at + 5}" cy="12" r="5"/>'
            f'<text x="{at + 15}" y="16">{html.escape(name)}</text>'
        )
        at += 40 + 8 * len(name)
    for tick in ticks:
        text = f"{tick:g}" + (unit if not narrow or tick == ticks[-1] else "")
        out.append(
            f'<line class="grid" x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="{22 if narrow else top - 12}" y2="{height - 26}"/>'
            f'<text class="tick" text-anchor="middle" x="{x(tick):.1f}" y="{height - 10}">{text}</text>'
        )
    for i, (name, values) in enumerate(rows):
        y = top + step * i
        short = name if len(name) < 36 else name[:34] + "…"
        place = (
            f'x="0" y="{y - 12}"' if narrow else f'text-anchor="end" x="{left - 14}" y="{y + 4}"'
        )
        out.append(f"<text {place}>{html.escape(short)}</text>")
        seen = [x(value) for value in values if value is not None]
        out.append(
            f'<line class="range" x1="{min(seen):.1f}" x2="{max(seen):.1f}" y1="{y}" y2="{y}"/>'
        )
        for k in reversed(range(len(values))):
            if values[k] is not None:
                title = f"{html.escape(names[k])}: {values[k]:g}{unit}"
                out.append(
                    f'<circle class="s{k}" cx="{x(values[k]):.1f}" cy="{y}" r="5"><title>{title}</title></circle>'
                )
    return "\n".join([*out, "</svg>"])


class Plot(SphinxDirective):
    required_arguments = 1

    def run(self):
        figure, folder = FIGURES[self.arguments[0]], Path(self.env.srcdir)
        self.env.note_dependency(str(folder / figure.page))
        both = "".join(svg(figure, folder, narrow=narrow) for narrow in (False, True))
        picture = f'<figure class="bench">{both}</figure>'
        return [nodes.raw("", picture, format="html")]


def setup(app):
    app.add_directive("bench-plot", Plot)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
