"""Each planted fault is found under its own number, and nothing else is reported."""

from __future__ import annotations

import planted_consumers
import planted_producers
import pytest

import dlx.testing


def found(report):
    return [(result.number, result.outcome) for result in report.failures + report.warnings]


def test_a_producer_without_fault():
    report = dlx.testing.check_producer(planted_producers.maker(planted_producers.Clean))
    assert found(report) == [], report
    assert report.ok
    assert report.counts()["pass"] >= 34


def test_a_consumer_without_fault():
    report = dlx.testing.check_consumer(planted_consumers.Clean())
    assert found(report) == [], report
    assert report.ok
    assert report.counts()["pass"] > 30


@pytest.mark.parametrize("cls", planted_producers.PLANTED, ids=lambda cls: cls.__name__)
def test_faults_of_producers(cls):
    number, outcome = planted_producers.PLANTED[cls]
    timeout = 6 if outcome == "hang" else 20
    report = dlx.testing.check_producer(planted_producers.maker(cls), timeout=timeout)
    assert found(report) == [(number, outcome)], report


@pytest.mark.parametrize("cls", planted_consumers.PLANTED, ids=lambda cls: cls.__name__)
def test_faults_of_consumers(cls):
    number, outcome = planted_consumers.PLANTED[cls]
    timeout = 6 if outcome == "hang" else 20
    report = dlx.testing.check_consumer(cls(), timeout=timeout)
    assert found(report) == [(number, outcome)], report


def test_enough_faults_are_planted():
    assert len({number for number, _ in planted_producers.PLANTED.values()}) >= 20
    assert len({number for number, _ in planted_consumers.PLANTED.values()}) >= 10
