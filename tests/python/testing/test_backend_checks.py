"""`dlx.testing.check_backend`: a backend that is well, and some that are not."""

from __future__ import annotations

import pytest

import dlx.testing
from late_device import LateDevice

# Numbers that DLPack does not use, and other tests neither.
WELL = LateDevice(121, streams=True, strided=True)
PLAIN = LateDevice(122, streams=False, strided=False)
FAILING = LateDevice(123, streams=True, strided=True)
for device in (WELL, PLAIN, FAILING):
    device.register()


def found(report):
    return [(result.number, result.outcome) for result in report.failures + report.warnings]


@pytest.mark.parametrize("device", [WELL, PLAIN])
def test_a_backend_without_fault(device):
    report = dlx.testing.check_backend(str(dlx.Device((device.device_type, 0))))
    assert found(report) == [], report
    assert {result.number for result in report.results} >= {101, 102, 103, 104, 105, 106, 107, 108}


@pytest.mark.parametrize(
    ("function", "number"),
    [("describe", 108), ("stream_create", 105), ("copy_strided", 104)],
)
def test_faults_of_backends(function, number):
    FAILING.fail.clear()
    FAILING.fail[function] = "the cat is on it"
    report = dlx.testing.check_backend(str(dlx.Device((FAILING.device_type, 0))))
    assert number in [n for n, _ in found(report)], report
    FAILING.fail.clear()


def test_a_device_that_is_not_there():
    report = dlx.testing.check_backend(str(dlx.Device((WELL.device_type, 7))))
    assert found(report) == [(108, "fail")], report
    with pytest.raises(dlx.testing.CheckError, match="no_such_device"):
        dlx.testing.check_backend("no_such_device:0")
