"""Prints and times the demo's steps, and prints the table of the picture's path."""

from __future__ import annotations

import os
import shutil
import textwrap
import time
from collections import namedtuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    from dlx import Tensor

    T = TypeVar("T")

    # The same step without dlx: code, seconds, whether it shares memory.
    Instead = tuple[str, float, bool]

# The place of data: address, bytes, and the layout as text.
Place = namedtuple("Place", ("address", "size", "layout"))


class Paper:
    """Prints: colours in a terminal or with FORCE_COLOR, plain text in a pipe or with NO_COLOR."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        terminal = bool(getattr(stream, "isatty", lambda: False)())
        wanted = terminal or os.environ.get("FORCE_COLOR")
        self._colour = bool(wanted) and not os.environ.get("NO_COLOR")
        self._width = shutil.get_terminal_size().columns if terminal else 100
        encoding = getattr(stream, "encoding", None) or "ascii"
        try:
            "→µ─".encode(encoding)
            self._ascii = False
        except (UnicodeEncodeError, LookupError):
            self._ascii = True

    def line(self, text: str = "") -> None:
        if self._ascii:
            for fancy, plain in (("→", "->"), ("µ", "u"), ("─", "-")):
                text = text.replace(fancy, plain)
        print(text, file=self._stream, flush=True)

    def paint(self, text: str, style: str) -> str:
        codes = {"bold": "1", "dim": "2", "good": "1;32", "copy": "1;33", "head": "1;36"}
        return f"\033[{codes[style]}m{text}\033[0m" if self._colour else text

    def wrap(self, text: str) -> list[str]:
        """Lines that fit the terminal, indented like the steps."""
        width = min(self._width, 100)
        return textwrap.wrap(text, width, initial_indent="    ", subsequent_indent="         ")

    def verdict(self, shared: bool, width: int = 0) -> str:
        word = "shared" if shared else "copied"
        return self.paint(word.ljust(width), "good" if shared else "copy")


class Journey:
    """The stations of the picture, and the pieces of memory that held it."""

    def __init__(self, paper: Paper) -> None:
        self.paper = paper
        self.stations: list[tuple[str, str, str, str, str]] = []
        self._memory: list[tuple[int, int]] = []

    def memory(self, address: int, size: int) -> tuple[str, bool]:
        """The letter of the piece of memory that contains an address, and whether it is new."""
        for number, (start, length) in enumerate(self._memory):
            if start <= address < start + length:
                return chr(ord("A") + number), False
        self._memory.append((address, size))
        return chr(ord("A") + len(self._memory) - 1), True

    @property
    def pieces(self) -> int:
        return len(self._memory)

    def step(
        self,
        title: str,
        code: str,
        seconds: float,
        place: Place,
        why: str,
        instead: Instead | None,
    ) -> None:
        """Print one step, and add its station."""
        letter, new = self.memory(place.address, place.size)
        paper = self.paper
        number = len(self.stations) + 1
        paper.line()
        head = f"{number:2}  {title}"
        paper.line(
            f"{paper.paint(f'{head:<70}', 'head')}{paper.verdict(not new)}  {_time(seconds):>9}"
        )
        paper.line(f"    {code}")
        paper.line(f"    {place.layout}, address {place.address:#x} (memory {letter})")
        for line in paper.wrap(f"why: {why}"):
            paper.line(paper.paint(line, "dim"))
        if instead is not None:
            other, took, shared = instead
            row = f"    without dlx: {other}"
            paper.line(f"{row:<70}{paper.verdict(shared)}  {_time(took):>9}")
        by = "copied" if new else "shared"
        self.stations.append((title, letter, by, _time(seconds), place.layout))

    def table(self) -> None:
        """The picture's path."""
        rows = [("station", "memory", "by", "time", "layout"), *self.stations]
        widths = [max(len(row[column]) for row in rows) for column in range(5)]
        paper = self.paper
        for index, row in enumerate(rows):
            cells = [cell.ljust(width) for cell, width in zip(row, widths)]
            cells[3] = row[3].rjust(widths[3])
            if index == 0:
                paper.line("  " + paper.paint("  ".join(cells).rstrip(), "bold"))
                paper.line("  " + "─" * (sum(widths) + 8))
                continue
            cells[2] = paper.verdict(row[2] == "shared", widths[2])
            paper.line("  " + "  ".join(cells).rstrip())


def _time(seconds: float) -> str:
    if seconds < 1e-3:
        return f"{seconds * 1e6:.1f} µs"
    return f"{seconds * 1e3:.2f} ms" if seconds < 1 else f"{seconds:.2f} s"


def timed(function: Callable[[], T]) -> tuple[T, float]:
    """The result, and the median time of a call, of at least 3 calls and as many as fit into 50 ms."""
    function()  # the first call may import or allocate for the first time
    times: list[float] = []
    end = time.perf_counter() + 0.05
    while len(times) < 3 or (time.perf_counter() < end and len(times) < 2000):
        start = time.perf_counter()
        result = function()
        times.append(time.perf_counter() - start)
    return result, sorted(times)[len(times) // 2]


def layout_of(tensor: Tensor) -> str:
    """Shape, dtype and strides as text."""
    shape = "x".join(str(extent) for extent in tensor.shape)
    compact = "compact" if tensor.is_contiguous() else f"strides {tensor.strides}"
    return f"{shape} {tensor.dtype}, {compact}{', read-only' if tensor.readonly else ''}"
