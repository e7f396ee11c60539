"""Thresholds of the copy engine and the notes that justify them cite each other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted((ROOT / "src/copy").rglob("*.*"))
NOTES = re.findall(
    r"(?m)^- \*\*\[(\d+)(?:, (\w+))?\]\*\*",
    (ROOT / "docs/copy-notes.md").read_text(encoding="utf-8"),
)


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
