"""Jobs side by side, and what one job that fails does to the others."""

from __future__ import annotations

import threading

import pytest

from dev import jobs, settings
from dev.jobs import Job
from dev.shell import Failed

SETTINGS = settings.read({})
NOTHING = "true"


def run(folder, work, count=2):
    return {report.name: report for report in jobs.run_jobs(SETTINGS, work, folder, count)}


@pytest.mark.parametrize("count", [1, 2, 4])
def test_all_jobs_run_and_are_reported_in_their_order(tmp_path, count):
    work = [Job(f"job{n}", lambda r: r.step("g", "true", "true")) for n in range(7)]

    reports = jobs.run_jobs(SETTINGS, work, tmp_path, count)

    assert [report.name for report in reports] == [job.name for job in work]
    assert [report.count["passed"] for report in reports] == [1] * 7


def test_two_jobs_run_at_once(tmp_path):
    both = threading.Barrier(2, timeout=20)
    run(tmp_path, [Job("a", lambda r: both.wait()), Job("b", lambda r: both.wait())])
    assert not both.broken


def test_jobs_that_use_the_same_thing_do_not_run_at_once(tmp_path):
    running, most = [], []

    def work(runner):
        running.append(runner)
        most.append(len(running))
        runner.step("g", "sleep", "sleep", "0.02")
        running.remove(runner)

    run(tmp_path, [Job(f"job{n}", work, uses="bazel") for n in range(6)], count=4)

    assert most == [1] * 6


def test_a_job_begins_after_those_that_it_needs(tmp_path):
    order = []

    def slow(runner):
        runner.step("g", "sleep", "sleep", "0.2")
        order.append("slow")

    work = [Job("slow", slow), Job("late", lambda r: order.append("late"), after=("slow",)),
            Job("free", lambda r: order.append("free"))]  # fmt: skip
    run(tmp_path, work)

    assert order == ["free", "slow", "late"]


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("error", [Failed("no compiler"), ValueError("a fault")])
def test_the_others_go_on_when_one_fails(tmp_path, count, error):
    def fail(runner):
        raise error

    work = [Job("bad", fail), Job("next", lambda r: r.step("next", "true", "true"), after=("bad",))]
    reports = run(tmp_path, work, count)

    assert reports["bad"].failed
    assert str(error) in " ".join(reports["bad"].failures)
    assert not reports["next"].failed


def test_steps_count_by_their_status(tmp_path):
    def work(runner):
        runner.step("g", "good", "true")
        runner.step("g", "bad", "false")
        runner.step("g", "left out", "sh", "-c", "exit 77")
        runner.step("g", "killed", "sh", "-c", "kill -9 $$")
        runner.step("g", "missing", "no-such-program")

    report = run(tmp_path, [Job("steps", work)], count=1)["steps"]

    assert report.count == {"passed": 1, "failed": 3, "skipped": 1}
    assert list(report.failures) == ["g: bad", "g: killed", "g: missing"]


def test_what_jobs_say_comes_whole(tmp_path, capfd):
    say = "for i in 1 2 3; do echo $0 $i; sleep 0.05; done; echo $0 err >&2"
    run(
        tmp_path,
        [Job(name, lambda r, n=name: r.step(n, "say", "sh", "-c", say, n)) for name in "ab"],
    )

    lines = [
        line
        for line in capfd.readouterr().out.splitlines()
        if line[:2] in ("a ", "b ") and "=" not in line
    ]
    lines = [line for line in lines if line.split()[1] in ("1", "2", "3", "err")]
    assert sorted([lines[:4], lines[4:]]) == [
        ["a 1", "a 2", "a 3", "a err"],
        ["b 1", "b 2", "b 3", "b err"],
    ]


def test_pytest_without_tests_is_nothing_and_its_failure_is_one(tmp_path):
    (tmp_path / "test_none.py").write_text("")
    (tmp_path / "test_bad.py").write_text("def test_bad(): assert 0\ndef test_good(): pass\n")
    (tmp_path / "test_broken.py").write_text("import nothing_of_that_name\n")

    def job(name):
        words = (str(tmp_path / f"test_{name}.py"), "-c", "/dev/null")
        return Job(name, lambda r: r.pytest(name, "ctypes", *words))

    (tmp_path / "results").mkdir()
    reports = run(tmp_path / "results", [job(name) for name in ("none", "bad", "broken")], count=1)

    assert not reports["none"].failed
    assert reports["bad"].count == {"passed": 1, "failed": 1, "skipped": 0}
    assert list(reports["bad"].failures) == ["bad: test_bad.test_bad"]
    assert reports["broken"].count["failed"] == 1
