"""What the wheels of other platforms run on: each part is made once, and one that fails stops no other."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import pytest

from dev import debian, foreign, settings
from dev.shell import Failed, Shell


@pytest.fixture
def shell(tmp_path, monkeypatch) -> Shell:
    monkeypatch.setattr(debian, "need", lambda *_, **__: None)
    return Shell(dataclasses.replace(settings.read({}), root=tmp_path))


def parts(monkeypatch, folder: Path, failing: str) -> list[str]:
    """Parts that only make their last file; returns the names of those that ran."""
    ran: list[str] = []

    def part(name: str, last: str):
        def make(*_):
            ran.append(name)
            if name == failing:
                raise Failed(f"no {name}")
            os.makedirs(folder / last)

        monkeypatch.setattr(foreign, name, make)

    part("_debian", "arm64/site")
    part("_windows", "windows/python.exe")
    part("_musl", "musl/site")
    return ran


def test_a_part_that_fails_is_made_the_next_time(shell, monkeypatch, capsys):
    folder = shell.settings.elsewhere("platforms")
    first = parts(monkeypatch, folder, failing="_windows")
    foreign.setup(shell, Path("zig"))
    assert first == ["_debian", "_windows", "_musl"]
    assert "going on without some tests of other platforms (no _windows)" in capsys.readouterr().err

    again = parts(monkeypatch, folder, failing="")
    foreign.setup(shell, Path("zig"))
    assert again == ["_windows"]
