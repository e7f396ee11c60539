"""What the runners left is added up, and nothing that failed is quiet."""

from __future__ import annotations

import json

import pytest

from dev import summary
from dev.summary import Report

JUNIT = """<testsuites><testsuite>
<testcase classname="tests.a" name="test_good"/>
<testcase classname="tests.a" name="test_skipped"><skipped/></testcase>
<testcase classname="tests.a" name="test_bad"><failure/></testcase>
<testcase classname="tests.a" name="test_worse"><error/></testcase>
</testsuite></testsuites>"""
CMOCKA = """[==========] tests: Running 3 test(s).
[  PASSED  ] 1 test(s).
[  SKIPPED ] tests: 1 test(s), listed below:
[  SKIPPED ] test_left_out
[  FAILED  ] tests: 1 test(s), listed below:
[  FAILED  ] test_bad
"""


@pytest.fixture
def report(tmp_path):
    return Report("job", tmp_path)


def events(report, *, status="PASSED", text=None, built=True):
    """Bazel's build events of one test."""
    outputs = []
    if text is not None:
        log = report.folder / "test.log"
        log.write_text(text)
        outputs = [{"name": "test.log", "uri": f"file://{log}"}]
    lines = [{"id": {"targetCompleted": {"label": "//a:t"}}, "completed": {"success": built}}]
    if built:
        result = {"status": status, "testActionOutput": outputs}
        lines.append({"id": {"testResult": {"label": "//a:t"}}, "testResult": result})
    (report.folder / "c.bazel.json").write_text("\n".join(map(json.dumps, lines)))


def test_pytest(report):
    (report.folder / "py.junit.xml").write_text(JUNIT)
    report.read()

    assert report.count == {"passed": 1, "failed": 2, "skipped": 1}
    assert list(report.failures) == ["py: tests.a.test_bad", "py: tests.a.test_worse"]


def test_cases_of_cmocka_count(report):
    events(report, status="FAILED", text=CMOCKA)
    report.read()

    assert report.count == {"passed": 1, "failed": 1, "skipped": 1}
    assert list(report.failures) == ["c: //a:t test_bad"]


@pytest.mark.parametrize(
    ("options", "count", "failures"),
    [
        ({"text": "fine"}, {"passed": 1, "failed": 0, "skipped": 0}, []),
        ({"status": "FLAKY", "text": ""}, {"passed": 1, "failed": 0, "skipped": 0}, []),
        ({"text": "fine\nskipped: no tool"}, {"passed": 0, "failed": 0, "skipped": 1}, []),
        ({"status": "TIMEOUT"}, {"passed": 0, "failed": 1, "skipped": 0}, ["c: //a:t (timeout)"]),
        ({"status": "FAILED", "text": "[  PASSED  ] 2 test(s)."},
         {"passed": 2, "failed": 1, "skipped": 0}, ["c: //a:t (failed)"]),
        ({"built": False}, {"passed": 0, "failed": 1, "skipped": 0}, ["c: //a:t (build)"]),
    ],
)  # fmt: skip
def test_other_tests_of_bazel(report, options, count, failures):
    events(report, **options)
    report.read()

    assert (report.count, list(report.failures)) == (count, failures)
    assert report.failed == bool(failures)


def test_a_runner_that_broke_is_a_failure(report):
    report.broken.append("py: pytest")
    report.read()

    assert list(report.failures) == ["py: pytest"]
    assert report.failed


def test_a_runner_whose_test_failed_is_not_counted_twice(report):
    (report.folder / "py.junit.xml").write_text(JUNIT)
    report.broken.append("py: pytest")
    report.read()

    assert report.count["failed"] == 2


@pytest.mark.parametrize("name", ["c.bazel.json", "py.junit.xml"])
def test_a_damaged_file_is_a_failure(report, name):
    (report.folder / name).write_text('{"id": {"tar')
    report.read()

    assert report.failed
    assert name in next(iter(report.failures))


def test_the_closing_lines(tmp_path):
    good, bad = Report("good", tmp_path), Report("bad", tmp_path)
    good.seconds, bad.seconds = 61, 3600
    good.add("passed", 12_345)
    good.step("style", "lint", summary.SKIPPED)
    bad.fail("bad: test_x")

    lines = summary.text([good, bad], 3725).splitlines()

    assert lines[-1] == "12345 passed, 1 failed, 1 skipped"
    assert lines[-2] == "FAILED bad: test_x"
    assert lines[-3] == "all of it took 62 min 5 s"
    assert [line.split() for line in lines[1:4]] == [
        ["job", "time", "passed", "failed", "skipped"],
        ["good", "1:01", "12345", "0", "1"],
        ["bad", "60:00", "0", "1", "0"],
    ]
