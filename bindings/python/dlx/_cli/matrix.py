"""`python -m dlx matrix`: measures `dlx.convert` between every two installed array libraries.

For each cell one library makes an array, `dlx.convert` passes it to another, and the values and the
address are compared. A library that ends the process loses only its own cell.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from importlib import metadata, util

from dlx._cli import matrix_cells, matrix_page
from dlx._give import profiles
from dlx.errors import InvalidArgumentError, UnavailableError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dlx._cli.matrix_page import Cell, Key

_TIMEOUT = 900  # seconds for all cells together; a library that hangs counts as died
_DISTRIBUTIONS = {
    "tvm_ffi": ("apache-tvm-ffi",),
    "warp": ("warp-lang",),
    "tensorflow": ("tensorflow", "tensorflow-cpu"),
    "paddle": ("paddlepaddle",),
    "cupy": ("cupy-cuda13x", "cupy-cuda12x", "cupy"),
}


def installed() -> list[str]:
    """The installed libraries of the table, in its order, without importing them."""
    return [name for name in profiles.TABLE if util.find_spec(name) is not None]


def versions(names: list[str]) -> dict[str, str]:
    """Version of each library, by its distribution's metadata."""
    found = {}
    for name in names:
        for distribution in _DISTRIBUTIONS.get(name, (name,)):
            try:
                found[name] = metadata.version(distribution).partition("+")[0]
                break
            except metadata.PackageNotFoundError:
                continue
        else:
            found[name] = "unknown"
    return found


def measure(names: list[str]) -> dict[Key, Cell]:
    """Every cell for these libraries: (producer, dtype, layout, consumer) -> (outcome, why)."""
    producers = ["dlx", *names]
    keys = list(matrix_cells.keys(producers, names))
    cells: list[Cell] = []
    while len(cells) < len(keys):
        lines, end = _run(producers, names, len(cells))
        cells += [(outcome, why) for outcome, why in lines]
        if len(cells) < len(keys):
            if not lines and not cells:
                raise UnavailableError(f"matrix: the measuring process cannot start: {end}")
            cells.append((matrix_cells.DIED, end))
    return dict(zip(keys, cells))


def _run(producers: list[str], consumers: list[str], start: int) -> tuple[list[Cell], str]:
    """Measure from cell `start` on in one process: its cells, and how it ended."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "cells")
        job = {"producers": producers, "consumers": consumers, "start": start, "out": out}
        command = [sys.executable, "-m", "dlx._cli.matrix_cells", json.dumps(job)]
        try:
            done = subprocess.run(command, capture_output=True, timeout=_TIMEOUT, check=False)
            end = _describe(done.returncode, done.stderr.decode("utf-8", "replace"))
        except subprocess.TimeoutExpired:
            end = f"it did not end within {_TIMEOUT} s"
        if not os.path.exists(out):
            return [], end
        with open(out, encoding="utf-8") as stream:
            complete = [line for line in stream if line.endswith("\n")]
        return [tuple(json.loads(line)) for line in complete], end


def _describe(status: int, log: str) -> str:
    last = log.strip().rpartition("\n")[2]
    if status < 0:
        return f"the process died of {signal.Signals(-status).name}"
    return f"the process ended with status {status}: {last}"


def run(html: str | None = None, markdown: str | None = None, libraries: str | None = None) -> int:
    """Measure, print the overview, write the files; 0 if no cell is wrong or died."""
    names = installed()
    if libraries:
        wanted = libraries.replace(",", " ").split()
        if not wanted:
            raise InvalidArgumentError(
                f"matrix: `--libraries` names no library (got {libraries!r})"
            )
        unknown = [name for name in wanted if name not in profiles.TABLE]
        if unknown:
            raise InvalidArgumentError(
                f"matrix: unknown library: {', '.join(unknown)} (known: "
                f"{', '.join(profiles.TABLE)})"
            )
        names = [name for name in names if name in wanted]
        if not names:
            raise UnavailableError(f"matrix: not installed: {', '.join(wanted)}")
    if "numpy" not in installed():
        raise UnavailableError("matrix: NumPy, which makes the arrays, is not installed")
    result = matrix_page.Matrix(names, versions(names), measure(names))
    print(matrix_page.text(result))
    for path, render in ((html, matrix_page.html), (markdown, matrix_page.markdown)):
        if path:
            with open(path, "w", encoding="utf-8") as stream:
                stream.write(render(result))
            print(f"written: {path}")
    bad = [(key, cell) for key, cell in result.cells.items() if cell[0] in matrix_page.BAD]
    for key, (outcome, why) in bad:
        print(f"{outcome}: {' '.join(key)}: {why}", file=sys.stderr)
    return 1 if bad else 0
