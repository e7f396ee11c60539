"""./dev demo, and the picture of it in README."""

from __future__ import annotations

import html
import os
import re
from collections.abc import Sequence
from pathlib import Path

from . import debian, downloads, environments
from .runners import python_variables
from .shell import Environment, Failed, Shell

SVG = "--svg"
TREE = "build/demo"
COLOURS = {"1": "bold", "1;32": "good", "1;33": "copy"}
STYLE = (
    "text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#d5dae1;"
    "white-space:pre}.bold{fill:#fff;font-weight:700}.good{fill:#7ee2a8}.copy{fill:#ffc861}"
)
# Prints the result, smaller and with fewer colours, so that README loads fast.
SMALL = """
import base64, io, sys
from PIL import Image
picture, file = Image.open(sys.argv[1]), io.BytesIO()
picture.resize((360, 360 * picture.height // picture.width)).save(file, "JPEG", quality=80, optimize=True)
print(base64.b64encode(file.getvalue()).decode())
"""


def setup(shell: Shell) -> None:
    """No Bazel, which brings Java: the first command downloads little, and needs no root beside a compiler."""
    debian.need(shell, "the demo", debian.DEMO)
    environments.setup_demo(shell)
    if debian.missing({"cmake": "cmake", "ninja": "ninja"}):
        environments.setup(shell, "cmake")


def run(shell: Shell, words: Sequence[str]) -> int:
    downloads.announce(shell, setup)
    setup(shell)
    tree = shell.settings.root / TREE
    shell.say(f"building the library into {TREE}")
    path = {"PATH": f"{shell.settings.venv / 'bin'}:{os.environ['PATH']}"}
    shell.check("cmake", "-GNinja", "-S", ".", "-B", tree, "--log-level=WARNING", env=path)
    shell.check("cmake", "--build", tree, "--target", "dlx", env=path)
    command = (shell.settings.interpreter, "-m", "dlx", "demo")
    if words[:1] != [SVG]:
        return shell.run(*command, *words, env=_variables(shell))
    if len(words) != 2:
        raise Failed(f"demo {SVG} FILE: {'no FILE' if len(words) < 2 else 'one FILE'}")
    return _write_svg(shell, shell.settings.root / words[1])


def _variables(shell: Shell) -> Environment:
    return {**python_variables(shell), "DLX_LIBRARY": str(shell.settings.root / TREE / "libdlx.so")}


def _write_svg(shell: Shell, target: Path) -> int:
    """The demo's table and its result, as one picture."""
    python, variables = shell.settings.interpreter, _variables(shell)
    result = shell.settings.root / "build/demo.png"
    if shell.settings.dry:
        return shell.run(python, "-m", "dlx", "demo", "-o", result, env=variables)
    result.parent.mkdir(exist_ok=True)
    said = shell.ask(
        python, "-m", "dlx", "demo", "-o", result, env={**variables, "FORCE_COLOR": "1"}
    )
    small = shell.ask(python, "-c", SMALL, result)
    if not said or not small:
        raise Failed("demo: the demo failed")
    lines = said.splitlines()
    start = next(i for i, line in enumerate(lines) if "The picture's path" in line)
    target.write_text(svg([line for line in lines[start + 1 :] if "result:" not in line], small))
    shell.print(shell.settings.shown(target))
    return 0


def svg(lines: Sequence[str], picture: str) -> str:
    """Lines with ANSI colours, above a picture in base64."""
    while lines and not lines[-1].strip():
        lines = lines[:-1]
    height = 34 + 19 * len(lines)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 860 {height + 264}" role="img" '
        f'aria-label="The output of ./dev demo">',
        f"<style>{STYLE}</style>",
        f'<rect width="860" height="{height + 264}" rx="8" fill="#14181f"/>',
    ]
    for number, line in enumerate(["$ ./dev demo", *lines]):
        out.append(
            f'<text x="14" y="{24 + 19 * number}" xml:space="preserve">{_spans(line)}</text>'
        )
    out.append(
        f'<image x="14" y="{height + 8}" width="360" height="240" href="data:image/jpeg;base64,{picture}"/>'
    )
    for number, line in enumerate(
        ("One picture in Pillow, NumPy and Arrow.", "The inverted part was written through",
         "one library, and all others saw it.")
    ):  # fmt: skip
        out.append(f'<text x="394" y="{height + 108 + 22 * number}">{line}</text>')
    return "\n".join([*out, "</svg>"]) + "\n"


def _spans(line: str) -> str:
    parts = re.split(r"\x1b\[([\d;]*)m", line)
    out = html.escape(parts[0])
    for code, text in zip(parts[1::2], parts[2::2]):
        kind = COLOURS.get(code)
        escaped = html.escape(text)
        out += f'<tspan class="{kind}">{escaped}</tspan>' if kind else escaped
    return out
