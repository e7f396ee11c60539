"""Thresholds of the copy engine and the notes that justify them cite each other."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted((ROOT / "src/copy").rglob("*.*"))
TEXT = (ROOT / "docs/copy-notes.md").read_text(encoding="utf-8")
NOTES = re.findall(r"(?m)^- \*\*\[(\d+)(?:, (\w+))?\]\*\*", TEXT)
ROW = re.compile(r"(?m)^ *\| `([\w/.]+):(k\w+)` \| ([^|]+?) \|")
THRESHOLD = re.compile(r"constexpr (?:\w+) (k\w+) =\s+([^;]+);[^\n]*\[note (\d+)\]")


class Measured(NamedTuple):
    """A threshold with what other values of it cost: a row of a table in a note."""

    file: str
    name: str
    value: str
    note: str


def in_notes() -> set[Measured]:
    parts = re.split(r"(?m)^- \*\*\[(\d+)[^\n]*", TEXT)
    return {
        Measured(*row, note)
        for note, part in zip(parts[1::2], parts[2::2], strict=True)
        for row in ROW.findall(part)
    }


def in_sources(notes: set[str]) -> set[Measured]:
    return {
        Measured(str(file.relative_to(ROOT / "src/copy")), name, value, note)
        for file in SOURCES
        if file.suffix in (".h", ".cc", ".inc")
        for name, value, note in THRESHOLD.findall(file.read_text(encoding="utf-8"))
        if note in notes
    }


def cited() -> dict[int, str]:
    return {
        int(number): str(file.relative_to(ROOT))
        for file in SOURCES
        if file.suffix in (".h", ".cc", ".inc")
        for number in re.findall(r"\[note (\d+)\]", file.read_text(encoding="utf-8"))
    }


def test_notes_have_one_number_each():
    numbers = [int(number) for number, _ in NOTES]

    assert len(numbers) > 70
    assert len(set(numbers)) == len(numbers)
    assert {mark for _, mark in NOTES} == {"", "general", "kernels"}


def test_every_note_that_the_code_cites_exists():
    missing = {n: file for n, file in cited().items() if str(n) not in dict(NOTES)}

    assert missing == {}


@pytest.mark.parametrize("number", [int(n) for n, mark in NOTES if not mark])
def test_every_note_about_a_threshold_is_cited(number):
    assert number in cited()


def test_measured_thresholds_have_the_value_and_the_note_of_their_row():
    rows = in_notes()

    assert len(rows) > 30
    assert in_sources({row.note for row in rows}) == rows
