"""./dev fuzz: a finding fails, whatever status the target ends with, and the other targets still run."""

from __future__ import annotations

import re

import pytest

# As libFuzzer: a finding ends with 77, but for an -error_exitcode.
FINDING = """status=77
for word; do case $word in -error_exitcode=*) status=${word#*=};; esac; done
echo "the finding"; exit $status"""


@pytest.fixture
def fuzzed(clone):
    for name in ("clang-19", "clang-format"):
        clone.program(f"fakes/{name}", "")
    clone.program(
        "fakes/bazel",
        'case $1 in query) echo "//tests:fuzz_a //tests:fuzz_b";; info) echo "$PWD/built";; esac',
    )

    def run(first):
        clone.program("built/tests/fuzz_a", first)
        clone.program("built/tests/fuzz_b", "echo the other target")
        return clone.dev("fuzz", "1")

    return run


def test_a_finding_fails(fuzzed):
    done = fuzzed(FINDING)

    assert done.returncode == 1, done.stderr
    assert "the finding" in done.stdout
    assert "the other target" in done.stdout
    assert done.stdout.splitlines()[-1] == "fuzz: findings of //tests:fuzz_a"


def test_the_rate_is_that_of_processor_time(fuzzed):
    said = fuzzed("echo 'stat::number_of_executed_units: 300'").stdout

    found = re.search(
        r"^//tests:fuzz_a: 300 executions, (\d+) a second of processor time$", said, re.M
    )
    assert found is not None, said
    assert 0 < int(found[1]) <= 30_000  # of less than 0.01 s counts 0.01 s


def test_no_finding(fuzzed):
    assert fuzzed("true").returncode == 0
