"""A copy of more than 2^32 bytes, and of more than 2^32 elements."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dlx

SIDE = 65_537  # SIDE² is 2^32 + 2^17 + 1


def available_bytes() -> int:
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return 0


@pytest.mark.heavy
def test_transposition_beyond_four_gibibytes_is_exact() -> None:
    """Element (i, j) is a sum of one term for i and one for j: every row of the result can be told."""
    needed = 2 * SIDE * SIDE + (1 << 30)
    if not Path("/proc/meminfo").exists() or available_bytes() < needed:
        pytest.skip(f"needs {needed >> 20} MB of memory, has {available_bytes() >> 20} MB")
    one = (np.arange(SIDE) * 7 % 251).astype(np.uint8)
    other = (np.arange(SIDE) * 13 % 251).astype(np.uint8)
    src = np.empty((SIDE, SIDE), np.uint8)
    for i in range(SIDE):
        np.add(other, one[i], out=src[i])
    dst = np.empty((SIDE, SIDE), np.uint8)

    dlx.copyto(dlx.from_dlpack(dst), dlx.from_dlpack(src.T))

    wrong = [j for j in range(SIDE) if not np.array_equal(dst[j], one + other[j])]
    assert wrong == []
