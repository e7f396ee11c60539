"""benchmarks/bench_gpu.py, tried out small: on a GPU, on the fake driver, and for what it calls of PyTorch on
the CPU, where there is neither."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from machine import CUDA, problem_of_cuda

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def clean():
    """Of no use here: the program runs in a process of its own."""


@pytest.mark.parametrize("device", [CUDA, "cpu"])
def test_the_benchmark_runs(device, tmp_path):
    if device == CUDA and problem_of_cuda() is not None:
        pytest.skip(problem_of_cuda())
    written = tmp_path / "gpu.md"
    done = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks/bench_gpu.py"), "--small", "--device", device,
         "--only", "ran", "--write", str(written)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    page = written.read_text("utf-8")
    for title in (
        "## The first copy",
        "## Within the GPU",
        "transposed, to the host",
        "## Handing over",
    ):
        assert title in page
    if "without torch" not in done.stderr:
        assert "torch.from_dlpack(dlx)" in page
