"""The inputs that fuzzing kept for the harnesses in Python (tests/fuzz), in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("numpy", reason="the harnesses compare with NumPy")

FOLDER = Path(__file__).parents[1] / "fuzz"
HARNESSES = sorted(path.stem for path in FOLDER.glob("fuzz_*.py"))


def test_every_harness_has_a_corpus():
    assert HARNESSES
    assert [name for name in HARNESSES if not (FOLDER / f"{name}.corpus").exists()] == []


@pytest.mark.parametrize("name", HARNESSES)
def test_kept_inputs(name):
    path = [str(FOLDER), str(Path(__file__).parent), *sys.path]

    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(FOLDER / "replay.py"), name],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=300,
        text=True,
        errors="replace",
    )

    assert done.returncode == 0, done.stdout[-6000:]
