"""Sums up the results of ./dev test: a line for each job, and a closing line for all.

A job's folder has
*.bazel.json    Bazel's build events; a CMocka test counts its cases, any other test is one, which
                is skipped if a line of it begins with "skipped: "
*.junit.xml     pytest
"""

from __future__ import annotations

import json
import re
import urllib.parse
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .shell import minutes

OUTCOMES = ("passed", "failed", "skipped")
SKIPPED = 77  # the status of a step that could not run here
CMOCKA_TOTAL = re.compile(r"^\[ +(PASSED|FAILED|SKIPPED) +\] (?:.*: )?(\d+) test\(s\)", re.M)
SAYS_SKIPPED = re.compile(r"^skipped: ", re.M)
CMOCKA_FAILED = re.compile(r"^\[ +FAILED +\] (?!.*test\(s\))(.+)$", re.M)


class Report:
    """What one job found."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.folder = folder
        self.count = dict.fromkeys(OUTCOMES, 0)
        self.failures: dict[str, None] = {}
        self.broken: list[str] = []  # runners that ended with an error
        self.seconds = 0.0

    def add(self, outcome: str, number: int = 1) -> None:
        self.count[outcome] += number

    def fail(self, name: str, number: int = 1) -> None:
        self.add("failed", number)
        self.failures[name] = None

    def step(self, group: str, name: str, status: int) -> None:
        """A command that counts as one test."""
        if status in (0, SKIPPED):
            self.add("skipped" if status else "passed")
        else:
            self.fail(f"{group}: {name}")

    def read(self) -> None:
        readers = {".bazel.json": add_bazel, ".junit.xml": add_junit}
        for suffix, add in readers.items():
            for path in sorted(self.folder.glob(f"*{suffix}")):
                group = path.name[: -len(suffix)]
                try:
                    add(self, group, path)
                except (ValueError, ElementTree.ParseError) as error:  # the runner was killed
                    self.broken.append(f"{group}: {path.name} is damaged ({error})")
        for name in self.broken:
            # No test of the group says why: a build broke, or the runner itself.
            if not any(failure.startswith(name.split(":")[0] + ":") for failure in self.failures):
                self.fail(name)

    @property
    def failed(self) -> bool:
        return bool(self.broken or self.count["failed"])

    def line(self) -> str:
        counts = "".join(f"{self.count[outcome]:>8}" for outcome in OUTCOMES)
        return f"{self.name:<28}{minutes(self.seconds):>8}{counts}"


def add_bazel(report: Report, group: str, path: Path) -> None:
    for line in path.read_text().splitlines():
        event = json.loads(line)
        if "testResult" in event:
            add_bazel_test(report, group, event)
        elif "targetCompleted" in event["id"] and not event.get("completed", {}).get("success"):
            # Not built. A test that was built and failed has a result of its own.
            report.fail(f"{group}: {event['id']['targetCompleted']['label']} (build)")


def add_bazel_test(report: Report, group: str, event: dict[str, Any]) -> None:
    label = event["id"]["testResult"]["label"]
    result = event["testResult"]
    passed = result["status"] in ("PASSED", "FLAKY")
    logs = [o["uri"] for o in result.get("testActionOutput", []) if o["name"] == "test.log"]
    log = Path(urllib.parse.unquote(logs[0][len("file://") :])) if logs else None
    text = log.read_text(errors="replace") if log and log.exists() else ""
    counts = dict.fromkeys(OUTCOMES, 0)
    for outcome, number in CMOCKA_TOTAL.findall(text):
        counts[outcome.lower()] += int(number)
    for case in dict.fromkeys(CMOCKA_FAILED.findall(text)):
        report.failures[f"{group}: {label} {case}"] = None
    if not passed and not counts["failed"]:
        # It crashed, ran out of time, or counts nothing.
        report.fail(f"{group}: {label} ({result['status'].lower()})")
    elif not any(counts.values()):
        counts["skipped" if SAYS_SKIPPED.search(text) else "passed"] = 1
    for outcome, number in counts.items():
        report.add(outcome, number)


def add_junit(report: Report, group: str, path: Path) -> None:
    for case in ElementTree.parse(path).iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            report.fail(f"{group}: {case.get('classname')}.{case.get('name')}")
        elif case.find("skipped") is not None:
            report.add("skipped")
        else:
            report.add("passed")


def text(reports: Sequence[Report], seconds: float) -> str:
    """The closing lines: each job's wall time, each failure, and the sums."""
    lines = [f"\n{'job':<28}{'time':>8}" + "".join(f"{outcome:>8}" for outcome in OUTCOMES)]
    lines += [report.line() for report in reports]
    lines += [f"\nall of it took {int(seconds) // 60} min {int(seconds) % 60} s"]
    lines += [f"FAILED {name}" for report in reports for name in report.failures]
    total = {outcome: sum(report.count[outcome] for report in reports) for outcome in OUTCOMES}
    lines += [", ".join(f"{total[outcome]} {outcome}" for outcome in OUTCOMES)]
    return "\n".join(lines)
