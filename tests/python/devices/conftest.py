"""Tests on fake drivers: DLX_CUDA_PATH and DLX_HIP_PATH name tests/stubs' shared objects.

A process opens its drivers once, so these tests run in one of their own, which ./dev test starts
(`fakes-ctypes-devices`, `fakes-cffi-devices`). Without the fakes nothing is collected here.
"""

from __future__ import annotations

import gc
import os

import pytest

ON_FAKES = os.path.basename(os.environ.get("DLX_CUDA_PATH", "")).startswith("fake_")
if ON_FAKES:
    os.environ.setdefault("FAKE_DEVICES", "2")
else:
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(autouse=True)
def driver():
    """The fake libcuda, eager; at the end nothing went wrong in it that the API would not show."""
    import fake_driver

    fake = fake_driver.cuda()
    fake.set_schedule(b"eager")
    before = fake.report()
    yield fake
    gc.collect()
    fake.unblock()
    fake.finish()
    fake.set_schedule(b"eager")
    after = fake.report()
    for mistake in fake_driver.MISTAKES:
        assert getattr(after, mistake) == getattr(before, mistake), mistake
    assert after.streams == before.streams, "streams leaked"
    assert after.pushed == before.pushed, "a context was left current"


@pytest.fixture(params=["eager", "latest", "random:1", "random:2"])
def schedule(request, driver):
    """Each order in which a device may do its work."""
    driver.set_schedule(request.param.encode())
    return request.param
