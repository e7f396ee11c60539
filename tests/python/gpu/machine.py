"""What the tests know of the machine that they run on."""

from __future__ import annotations

import os

from dlx._lib import capi

CUDA = "cuda:0"
ON_FAKE = os.path.basename(os.environ.get("DLX_CUDA_PATH", "")).startswith("fake_")


def problem_of_cuda():
    """Why there is no GPU, or None."""
    return None if capi.device_count(2) else f"no NVIDIA GPU: {capi.device_reason(2)}"
