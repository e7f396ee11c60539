"""Add up what the runners of ./dev test left in a folder, and close with one line over all of them.

*.bazel.json      Bazel's build events; a CMocka test counts its cases, any other test is one
*.junit.xml       pytest
*.steps.tsv       outcome, name
failed-runners    runners that ended with an error, one a line
"""

from __future__ import annotations

import json
import re
import sys
import urllib.parse
import xml.etree.ElementTree as ElementTree
from pathlib import Path

OUTCOMES = ("passed", "failed", "skipped")
CMOCKA_TOTAL = re.compile(r"^\[ +(PASSED|FAILED|SKIPPED) +\] (?:.*: )?(\d+) test\(s\)", re.M)
CMOCKA_FAILED = re.compile(r"^\[ +FAILED +\] (?!.*test\(s\))(.+)$", re.M)


class Results:
    def __init__(self) -> None:
        self.count = dict.fromkeys(OUTCOMES, 0)
        self.failures: dict[str, None] = {}

    def add(self, outcome: str, number: int = 1) -> None:
        self.count[outcome] += number

    def fail(self, name: str, number: int = 1) -> None:
        self.add("failed", number)
        self.failures[name] = None


def add_bazel(results: Results, group: str, path: Path) -> None:
    for line in path.read_text().splitlines():
        event = json.loads(line)
        if "testResult" in event:
            add_bazel_test(results, group, event)
        elif "targetCompleted" in event["id"] and not event.get("completed", {}).get("success"):
            # It was not built. A test that was built and failed has a result of its own.
            results.fail(f"{group}: {event['id']['targetCompleted']['label']} (build)")


def add_bazel_test(results: Results, group: str, event: dict) -> None:
    label = event["id"]["testResult"]["label"]
    result = event["testResult"]
    passed = result["status"] in ("PASSED", "FLAKY")
    logs = [o["uri"] for o in result.get("testActionOutput", []) if o["name"] == "test.log"]
    log = Path(urllib.parse.unquote(logs[0].removeprefix("file://"))) if logs else None
    text = log.read_text(errors="replace") if log and log.exists() else ""
    counts = dict.fromkeys(OUTCOMES, 0)
    for outcome, number in CMOCKA_TOTAL.findall(text):
        counts[outcome.lower()] += int(number)
    for case in dict.fromkeys(CMOCKA_FAILED.findall(text)):
        results.failures[f"{group}: {label} {case}"] = None
    if not passed and not counts["failed"]:
        # It crashed, ran out of time, or counts nothing.
        results.fail(f"{group}: {label} ({result['status'].lower()})")
    elif not any(counts.values()):
        counts["passed"] = 1
    for outcome, number in counts.items():
        results.add(outcome, number)


def add_junit(results: Results, group: str, path: Path) -> None:
    for case in ElementTree.parse(path).iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            results.fail(f"{group}: {case.get('classname')}.{case.get('name')}")
        elif case.find("skipped") is not None:
            results.add("skipped")
        else:
            results.add("passed")


def add_steps(results: Results, group: str, path: Path) -> None:
    for line in path.read_text().splitlines():
        outcome, name = line.split("\t", 1)
        if outcome == "failed":
            results.fail(f"{group}: {name}")
        else:
            results.add(outcome)


def main(folder: Path) -> int:
    results = Results()
    readers = {".bazel.json": add_bazel, ".junit.xml": add_junit, ".steps.tsv": add_steps}
    for suffix, read in readers.items():
        for path in sorted(folder.glob(f"*{suffix}")):
            read(results, path.name.removesuffix(suffix), path)
    runners = folder / "failed-runners"
    broken = runners.read_text().splitlines() if runners.exists() else []
    for name in broken:
        # No test of the group says why: a build broke, or the runner itself.
        if not any(failure.startswith(name.split(":")[0] + ":") for failure in results.failures):
            results.fail(name)
    for name in results.failures:
        print(f"FAILED {name}")
    print(", ".join(f"{results.count[outcome]} {outcome}" for outcome in OUTCOMES))
    return 1 if broken or results.count["failed"] else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
