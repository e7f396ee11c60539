"""Tests for a machine with an NVIDIA GPU: ./dev test --gpu. Without one all of them are skipped.

What needs no other library also runs on the fake driver (DLX_CUDA_PATH), and so do Numba, where it is
installed, and test_gpu_order.py, with stand_in.py for PyTorch.
"""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path

import pytest
from machine import CUDA, ON_FAKE, problem_of_cuda

import dlx

if ON_FAKE:
    sys.path.append(str(Path(__file__).parents[1] / "devices"))  # fake_driver
# JAX takes three quarters of the memory otherwise, from those who share the GPU with it here.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")


def import_torch():
    if ON_FAKE:
        pytest.skip("PyTorch needs a real driver")
    module = pytest.importorskip("torch")
    if not module.cuda.is_available():
        pytest.skip(f"this PyTorch ({module.__version__}) has no CUDA device")
    return module


@pytest.fixture(scope="session")
def torch():
    return import_torch()


@pytest.fixture(scope="session")
def real_torch():
    """The same for a module whose `torch` may be another."""
    return import_torch()


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
    if ON_FAKE:  # of all libraries the one that takes another driver
        os.environ["NUMBA_CUDA_DRIVER"] = os.environ["DLX_CUDA_PATH"]
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


def rest():
    """Waits for all that the GPU was given, by whomever."""
    gc.collect()
    torch = sys.modules.get("torch")
    if torch is not None and not ON_FAKE and torch.cuda.is_initialized():
        torch.cuda.synchronize()
    dlx.Stream(1, device=CUDA).synchronize()
    dlx.Device(CUDA).synchronize()


@pytest.fixture(autouse=True)
def clean():
    """Each test begins and ends with the GPU at rest. The libraries' fixtures come before this one: their
    import is tried without a GPU, too."""
    problem = problem_of_cuda()
    if problem is not None:
        pytest.skip(problem)
    rest()
    yield
    rest()
