"""What a report offers, producers for people's own tests, and the plugin of pytest."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy
import pytest

import dlx.testing
from dlx.testing._referee.catalogue import BY_KEY
from dlx.testing._referee.items import ITEMS


def make():
    return numpy.arange(6, dtype="float32").reshape(2, 3)


def wrong(x, /, *, device=None, copy=None):
    """Drops byte_offset's meaning: copies from the wrong place."""
    result = numpy.from_dlpack(x)
    return result.copy() if result.shape == (2, 3) else result


@pytest.fixture(scope="module")
def report():
    return dlx.testing.check_consumer(wrong)


def test_failures_have_number_level_outcome_and_text(report):
    assert not report.ok
    numbers = {result.number for result in report.failures}
    assert {60, 71} <= numbers
    result = next(result for result in report.failures if result.number == 60)
    assert (result.level, result.outcome, result.role) == ("MUST", "fail", "consumer")
    assert result.text == "the same memory: the data is copied although nothing asks for it"
    assert str(result) in str(report)
    assert all(result.level in ("MUST", "SHOULD") for result in report.warnings)


def test_a_report_survives_json(report):
    again = dlx.testing.Report.from_json(report.to_json())
    assert again.results == report.results
    assert str(again) == str(report)


def test_the_page_needs_nothing_else(report):
    page = report.to_html()
    assert page.startswith("<!DOCTYPE html>")
    assert "the data is copied although nothing asks for it" in page
    assert "src=" not in page


def test_strings_are_imported_in_a_process_of_their_own():
    report = dlx.testing.check_producer(f"{__name__}:make")
    assert report.ok, report
    assert report.failures == []


@pytest.mark.parametrize("bad", [lambda: 5, lambda: 1 / 0])
def test_nothing_to_check(bad):
    with pytest.raises(
        dlx.testing.CheckError, match=r"the factory: (makes an object of type int|raises Zero)"
    ):
        dlx.testing.check_producer(bad)


def test_a_type_without_a_table():
    report = dlx.testing.check_exchange_api(dict)
    (warning,) = report.warnings
    assert (warning.number, warning.outcome) == (78, "fail")
    assert warning.text == "the capsule: the type has no __dlpack_c_exchange_api__"


def test_every_item_has_a_place_in_a_standard():
    for item in ITEMS.values():
        assert item.level in ("MUST", "SHOULD", "MAY")
        assert item.text.endswith(".")
        assert item.url.startswith("https://") or item.page.startswith("good manners")


def test_every_item_is_checked_or_said_not_to_be():
    page = (Path(__file__).parents[3] / "docs/testing.md").read_text()
    section = page.partition("## What is not checked\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| ([0-9, ]+) \|", section, re.M)
    left_out = [int(number) for row in rows for number in row.split(",")]
    assert sorted(left_out + [number for number in ITEMS if number <= 91]) == list(range(1, 92))
    assert {check.item for check in BY_KEY.values()} >= ITEMS.keys() - {96} - set(range(101, 109))


def test_the_judge_imports_nothing_of_dlx():
    folder = Path(dlx.testing.__file__).parent / "_referee"
    for path in folder.glob("*.py"):
        tree = ast.parse(path.read_text())
        imports = [
            node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))
        ]
        for node in imports:
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [
                node.module or ""]  # fmt: skip
            if path.name != "libraries.py":  # which makes dlx's arrays when dlx is judged
                assert not [name for name in names if name.split(".")[0] == "dlx"], path


def test_the_plugin_makes_a_test_of_every_item(tmp_path):
    (tmp_path / "mine.py").write_text(
        "import numpy\ndef take(x, /, *, device=None, copy=None):\n"
        "    return numpy.from_dlpack(x).copy()\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    command = [sys.executable, "-m", "pytest", "-p", "dlx_pytest", "-p", "no:cacheprovider",
               "-rfE", "--dlx-check"]  # fmt: skip
    done = subprocess.run([*command, "mine:take"], cwd=tmp_path, capture_output=True, text=True,
                          env=environment, timeout=900)  # fmt: skip
    assert done.returncode == 1, done.stdout
    assert "mine:take: consumer 60" in done.stdout
    assert "60 MUST consumer fail: the same memory: the data is copied" in done.stdout
    assert " passed" in done.stdout
    done = subprocess.run([*command, "mine:nothing"], cwd=tmp_path, capture_output=True, text=True,
                          env=environment, timeout=900)  # fmt: skip
    assert done.returncode == 4
    assert "mine:nothing: mine has no nothing" in done.stderr + done.stdout
