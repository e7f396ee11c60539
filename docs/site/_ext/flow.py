"""{flow}: the picture of the first page, in two layouts, of which the style sheet shows one."""

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

IN = (
    "NumPy · pandas · Arrow",
    "PyTorch · JAX · TensorFlow",
    "CuPy · memory of a GPU",
    "a buffer · a file · C memory",
)
OUT = (
    "any library, by its name",
    "whatever takes DLPack",
    "C, C++, Rust, Go, Java …",
    "another process",
)
CORE = ("shape · strides · dtype", "owner · read-only · device", "views · copies · streams")
MEMORY = "one memory, its producer's, until the last user is gone"
LABEL = (
    "Arrays of any library go through asarray into a dlx.Tensor, and through convert to any library, "
    "language or process, all on one memory"
)


class Drawing:
    def __init__(self, name: str, width: int, height: int):
        self.out = [
            f'<svg class="flow {name}" role="img" aria-label="{LABEL}" viewBox="0 0 {width} {height}">'
        ]

    def box(self, x, y, width, height, text, kind="box", size=15):
        self.out.append(
            f'<rect class="{kind}" x="{x}" y="{y}" width="{width}" height="{height}" rx="7"/>'
        )
        self.text(x + width / 2, y + height / 2 + size / 3, text, size=size)

    def text(self, x, y, text, kind="", size=15):
        self.out.append(
            f'<text class="{kind}" x="{x}" y="{y:.0f}" text-anchor="middle" font-size="{size}">{text}</text>'
        )

    def arrow(self, x1, y1, x2, y2):
        head = (
            f"{x2 - 9},{y2 - 6} {x2},{y2} {x2 - 9},{y2 + 6}"
            if y1 == y2
            else f"{x2 - 6},{y2 - 9} {x2},{y2} {x2 + 6},{y2 - 9}"
        )
        self.out.append(
            f'<path class="line" d="M{x1} {y1}L{x2} {y2}"/><polygon class="head" points="{head}"/>'
        )

    def core(self, x, y, width):
        self.out.append(
            f'<rect class="core" x="{x}" y="{y}" width="{width}" height="132" rx="10"/>'
        )
        middle = x + width / 2
        self.text(middle, y + 32, "dlx.Tensor", "name", 19)
        for i, line in enumerate(CORE):
            self.text(middle, y + 60 + 26 * i, line)

    def done(self) -> str:
        return "\n".join([*self.out, "</svg>"])


def wide() -> str:
    d = Drawing("wide", 780, 266)
    for i, (left, right) in enumerate(zip(IN, OUT)):
        y = 8 + 48 * i
        d.box(4, y, 210, 38, left)
        d.box(566, y, 210, 38, right)
    d.core(282, 34, 216)
    for x, word in ((214, "asarray"), (498, "convert")):
        d.text(x + 34, 92, word, "soft", 14)
        d.arrow(x + 2, 102, x + 66, 102)
    d.box(4, 218, 772, 38, MEMORY, "memory")
    return d.done()


def narrow() -> str:
    d = Drawing("narrow", 360, 690)
    for i, (above, below) in enumerate(zip(IN, OUT)):
        d.box(40, 6 + 46 * i, 280, 38, above, size=17)
        d.box(40, 448 + 46 * i, 280, 38, below, size=17)
    d.core(60, 244, 240)
    for y, word in ((194, "asarray"), (382, "convert")):
        d.text(225, y + 28, word, "soft", 16)
        d.arrow(180, y + 4, 180, y + 44)
    d.box(4, 644, 352, 40, MEMORY, "memory", 12.5)
    return d.done()


class Flow(SphinxDirective):
    def run(self):
        return [nodes.raw("", f"<figure>{wide()}{narrow()}</figure>", format="html")]


def setup(app):
    app.add_directive("flow", Flow)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
