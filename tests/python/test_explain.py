"""`dlx.explain`, and `python -m dlx explain`."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import dlx

numpy = pytest.importorskip("numpy")


def test_shared():
    array = numpy.zeros((3, 4))
    for to in ("numpy", "dlx", numpy, numpy.ndarray):
        found = dlx.explain(array, to)
        assert (found.outcome, found.why) == ("shared", "")
        assert found
        assert str(found) == f"{found.to} shares the memory"


def test_copied():
    pyarrow = pytest.importorskip("pyarrow")
    found = dlx.explain(numpy.zeros((3, 4))[::-1], pyarrow.Tensor)
    assert found.outcome == "copied"
    assert str(found).startswith("pyarrow")
    assert "negative strides" in str(found)


def test_refused():
    found = dlx.explain(numpy.array(["a"]), dlx)
    assert found.outcome == "refused"
    assert not found
    assert "strings have no DLPack form" in str(found)


def test_an_unknown_library():
    with pytest.raises((ImportError, ValueError)):
        dlx.explain(numpy.zeros(3), "no_such_library")


def test_the_command():
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    done = subprocess.run([sys.executable, "-m", "dlx", "explain", "numpy", "numpy", "dlx"],
                          capture_output=True, text=True, env=environment, timeout=60)  # fmt: skip
    assert done.returncode == 0, done
    assert done.stdout == "numpy shares the memory\ndlx shares the memory\n"
