"""docs/referee: what is committed is what is found here, and how it is drawn."""

from __future__ import annotations

import json
import os

import pytest

from referee_columns import DOCS, check_column, table

COMMITTED = {path.stem: path for path in sorted((DOCS / "referee").glob("*.json"))}
# The known faults, which the checks have to find without being told.
KNOWN = {
    "torch": [("consumer 11", "crash")],
    "ctypes_dlpack": [("producer 31", "leak")],
    "paddle": [("consumer 14", "fail"), ("consumer 6", "leak"), ("consumer 72", "crash")],
    "tensorflow": [("consumer 13", "crash")],
    "mxnet": [("consumer 14", "fail")],
    "warp": [("consumer 14", "fail")],
}


HEAVY = {"torch", "tvm_ffi"}  # they import PyTorch for several processes


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.heavy] if name in HEAVY else [])
        for name in sorted(COMMITTED.keys() - {"dlx"})
    ],
)
def test_the_column_of_a_library(name):
    check_column(name)


@pytest.mark.parametrize("name", KNOWN)
def test_known_faults_are_in_the_table(name):
    report = table.read(str(COMMITTED[name]))
    found = {f"{result.role} {result.number}": result.outcome for result in report.results}
    for key, outcome in KNOWN[name]:
        assert found[key] == outcome


def test_the_page_and_the_summary_are_drawn_from_the_results():
    reports = table.read_all(str(DOCS / "referee"))
    assert reports[0].name == "dlx"
    assert (DOCS / "referee.md").read_text() == table.markdown(reports)
    assert (DOCS / "referee.html").read_text() == table.page(reports)


def test_the_results_are_small():
    for path in COMMITTED.values():
        assert path.stat().st_size < 40_000, path
        assert set(json.loads(path.read_text())) == {"name", "version", "results"}
    assert os.path.getsize(DOCS / "referee.html") < 600_000
