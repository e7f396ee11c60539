"""The cases for CUDA that the tests of every language run (bindings/conformance/cuda.txt)."""

from __future__ import annotations

import pytest

from test_bindings_conformance import run

CASES = [case for case in run.CUDA.read_text(encoding="utf-8").split("\n\n") if "case " in case]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.split("case ")[1].split("\n")[0])
def test_case(case: str) -> None:
    assert run.completed(case).splitlines() == case.rstrip("\n").splitlines()
