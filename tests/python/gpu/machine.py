"""What the tests know of the machine that they run on."""

from __future__ import annotations

import os

from dlx import _capi

CUDA = "cuda:0"
ON_FAKE = os.path.basename(os.environ.get("DLX_CUDA_PATH", "")).startswith("fake_")


def problem_of_cuda():
    """Why there is no GPU, or None."""
    return None if _capi.device_count(2) else f"no NVIDIA GPU: {_capi.device_reason(2)}"
