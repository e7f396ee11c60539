"""docs/devices-internals.md: every rule names tests, and every test that it names is there and runs."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
PAGE = TESTS.parent / "docs" / "devices-internals.md"


def rules():
    """{id: [(file, [names])]}"""
    found = {}
    for line in PAGE.read_text("utf-8").splitlines():
        row = re.fullmatch(r"\| ([A-Z]\d+) \| (.+) \| (.+) \|", line)
        if row is None:
            continue
        spans = re.findall(r"`([^`]+)`", row.group(3))
        assert row.group(1) not in found, row.group(1)
        found[row.group(1)] = [
            (path, [name.strip() for name in names.split(",")] if names else [])
            for path, _, names in (span.partition(": ") for span in spans)
        ]
    return found


def problem_of(path, names):
    """What is wrong with a reference, or None."""
    files = [TESTS / f"{path}{suffix}" for suffix in (".py", ".cc", ".c", ".sh")]
    file = next((file for file in files if file.exists()), None)
    if file is None:
        return f"no file {path}"
    if (file.suffix == ".sh") != (not names):
        return f"{path}: names are for files with cases"
    text = file.read_text("utf-8")
    for name in names:
        start = "def" if file.suffix == ".py" else "void"
        if re.search(rf"^(static )?{start} {re.escape(name)}\(", text, re.M) is None:
            return f"{path} has no {name}"
        if file.suffix != ".py" and len(re.findall(rf"\b{re.escape(name)}\b", text)) < 2:
            return f"{path} never runs {name}"
    return None


def test_every_rule_has_tests_that_are_there():
    found = rules()
    assert len(found) > 60
    problems = [
        f"{rule}: {problem_of(*reference) if references else 'no test'}"
        for rule, references in found.items()
        for reference in references or [(None, None)]
        if not references or problem_of(*reference)
    ]
    assert not problems, "\n".join(problems)


def test_wrong_references_are_noticed():
    assert problem_of("device/test_streams", ["views_wait_for_the_same"]) is None
    assert "no file" in problem_of("device/test_nothing", ["x"])
    assert "has no" in problem_of("device/test_streams", ["nothing_of_the_kind"])
