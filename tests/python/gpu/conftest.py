"""Tests for a machine with an NVIDIA GPU: ./dev test --gpu. Without one all of them are skipped.

What needs no other library also runs on the fake driver (DLX_CUDA_PATH).
"""

from __future__ import annotations

import os

import pytest

import dlx
from dlx import _capi

ON_FAKE = os.path.basename(os.environ.get("DLX_CUDA_PATH", "")).startswith("fake_")


def problem_of_cuda():
    if _capi.device_count(2):
        return None
    return f"no NVIDIA GPU: {_capi.device_reason(2)}"


def pytest_collection_modifyitems(items):
    problem = problem_of_cuda()
    for item in items:
        if problem is not None and "/gpu/" in item.nodeid:
            item.add_marker(pytest.mark.skip(reason=problem))


@pytest.fixture(scope="session")
def torch():
    if ON_FAKE:
        pytest.skip("PyTorch needs a real driver")
    module = pytest.importorskip("torch")
    if not module.cuda.is_available():
        pytest.skip(f"this PyTorch ({module.__version__}) has no CUDA device")
    return module


@pytest.fixture(scope="session")
def cupy():
    if ON_FAKE:
        pytest.skip("CuPy needs a real driver")
    module = pytest.importorskip("cupy")
    try:
        module.zeros(1)
    except Exception as error:
        pytest.skip(f"CuPy cannot allocate: {error}")
    return module


@pytest.fixture(scope="session")
def numba_cuda():
    if ON_FAKE:
        pytest.skip("numba needs a real driver")
    cuda = pytest.importorskip("numba.cuda")
    if not cuda.is_available():
        pytest.skip("numba finds no CUDA device")
    return cuda


@pytest.fixture(scope="session")
def jax():
    if ON_FAKE:
        pytest.skip("JAX needs a real driver")
    module = pytest.importorskip("jax")
    try:
        module.devices("gpu")
    except RuntimeError as error:
        pytest.skip(f"JAX finds no GPU: {error}")
    return module


@pytest.fixture
def busy(torch):
    """Keeps a stream of torch's busy for some tenths of a second."""

    def keep(stream, milliseconds=300):
        with torch.cuda.stream(stream):
            torch.cuda._sleep(int(milliseconds * 1_500_000))  # cycles of the GPU's clock
        return stream

    return keep


@pytest.fixture(autouse=True)
def clean():
    """Each test begins and ends with the GPU at rest."""
    dlx.Device("cuda:0").synchronize()
    yield
    dlx.Device("cuda:0").synchronize()
