"""The file that the tests of every language run says what dlx does."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "bindings" / "conformance"


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("conformance_run", FOLDER / "run.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


run = load()
CASES = [case for case in run.CASES.read_text(encoding="utf-8").split("\n\n") if "case " in case]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.split("\n")[0][5:])
def test_case(case: str) -> None:
    assert run.completed(case).splitlines() == case.rstrip("\n").splitlines()
