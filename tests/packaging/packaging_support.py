"""What the packaging tests share."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def run(*command, **kwargs) -> str:
    """The standard output of a command; on failure the test shows all that it wrote."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("DLX_", "PYTHONPATH"))}
    environment.update(kwargs.pop("env", {}))
    done = subprocess.run(
        [str(word) for word in command],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        **kwargs,
    )
    words = " ".join(str(word) for word in command)
    assert done.returncode == 0, f"$ {words}\n{done.stdout}{done.stderr}"
    return done.stdout
