"""The compiled functions of call_functions.c, built once, for the tests of dlx.function and dlx.Array."""

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


@functools.cache
def library() -> ctypes.CDLL:
    """The library, or a skip where no C compiler is. The variable names one that was compiled for another
    platform."""
    if compiled := os.environ.get("DLX_CALL_FUNCTIONS"):
        return ctypes.CDLL(compiled)
    from dlx._lib import library as dlx_library

    compiler = shutil.which((os.environ.get("CC") or "cc").split()[0])
    if compiler is None:
        pytest.skip("no C compiler")
    folder = Path(tempfile.mkdtemp(prefix="dlx-calls-"))
    path = folder / "call_functions.so"
    subprocess.run(
        [compiler, "-std=c11", "-O1", "-shared", "-fPIC", f"-I{INCLUDE}", str(HERE / "call_functions.c"),
         "-o", str(path), str(dlx_library.path)],
        check=True,
    )  # fmt: skip
    loaded = ctypes.CDLL(str(path))
    shutil.rmtree(folder)
    return loaded
