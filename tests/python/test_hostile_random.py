"""Random calls with objects that lie, fail and misbehave (hostile_objects.py, hostile_calls.py), in
processes of their own: no crash, no hang, no SystemError, no error of an object swallowed, nothing
released never or twice, and the right data where an object tells the truth.

DLX_HOSTILE_SECONDS=600 runs so long, with seeds that differ from time to time; DLX_HOSTILE_SEED=N runs
that seed alone. A failure says which seed it was.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import time

import pytest

pytest.importorskip("numpy", reason="half of what asarray takes is NumPy's")

SECONDS = float(os.environ.get("DLX_HOSTILE_SECONDS", "3"))
SEED = os.environ.get("DLX_HOSTILE_SEED")
LONG = "DLX_HOSTILE_SECONDS" in os.environ
CALLS = os.path.join(os.path.dirname(__file__), "hostile_calls.py")


def first_seed():
    if SEED is not None:
        return int(SEED)
    return int(time.time()) * 1000 if LONG else 0


@pytest.mark.parametrize(
    ("options", "variables"),
    [
        ([], {}),
        ([], {"PYTHONMALLOC": "debug"}),  # freed memory is overwritten at once
        (["-X", "dev"], {"DLX_HOSTILE_GC": "1"}),  # the collector runs whenever it can
    ],
    ids=["plain", "debug malloc", "dev and gc"],
)
def test_random_calls_with_hostile_objects(options, variables):
    if "PYTHONMALLOC" in variables and sysconfig.get_config_var("Py_GIL_DISABLED"):
        pytest.skip(
            "with it, free-threaded CPython 3.13 hangs in gc.collect() after `import numpy`"
        )
    count = [] if SEED is None else ["1"]
    command = [
        sys.executable,
        "-W",
        "ignore",
        *options,
        CALLS,
        str(first_seed()),
        str(SECONDS),
        *count,
    ]

    done = subprocess.run(
        command,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=SECONDS + 120,
        text=True,
        errors="replace",
    )

    lines = done.stdout.splitlines()
    seed = next((line for line in reversed(lines) if line.startswith("seed ")), "no seed")
    told = "\n".join([line for line in lines if not line.startswith("seed ")][-60:])
    assert done.returncode == 0, f"{seed} (DLX_HOSTILE_SEED runs it again):\n{told}"
