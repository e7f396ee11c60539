"""Functions in C, built once: those of call_functions.c are for the tests of dlx.function and dlx.Array."""

from __future__ import annotations

import ctypes
import functools
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
INCLUDE = HERE.parents[1] / "include"


def library() -> ctypes.CDLL:
    """The library, or a skip where no C compiler is. The variable names one that was compiled for another
    platform."""
    if elsewhere := os.environ.get("DLX_CALL_FUNCTIONS"):
        return ctypes.CDLL(elsewhere)
    return compiled("call_functions.c")


@functools.cache
def compiled(source: str) -> ctypes.CDLL:
    """A file of this folder as a library, or a skip where no C compiler is."""
    from dlx._lib import library as dlx_library

    compiler = shutil.which((os.environ.get("CC") or "cc").split()[0])
    if compiler is None:
        pytest.skip("no C compiler")
    folder = Path(tempfile.mkdtemp(prefix="dlx-calls-"))
    path = folder / f"{source}.so"
    subprocess.run(
        [compiler, "-std=c11", "-O1", "-shared", "-fPIC", f"-I{INCLUDE}", str(HERE / source),
         "-o", str(path), str(dlx_library.path)],
        check=True,
    )  # fmt: skip
    loaded = ctypes.CDLL(str(path))
    shutil.rmtree(folder)
    return loaded
