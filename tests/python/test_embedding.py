"""dlx in a program that embeds CPython: twice in a row, and in a subinterpreter."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import dlx

SOURCE = Path(__file__).parents[1] / "embed" / "embed.c"


def shared_libpython() -> Path | None:
    """The interpreter as a shared library, if there is one."""
    name = sysconfig.get_config_var("INSTSONAME") or ""
    if ".so" not in name:
        return None
    for folder in (sysconfig.get_config_var("LIBDIR"), sysconfig.get_config_var("LIBPL")):
        if folder and (Path(folder) / name).exists():
            return Path(folder) / name
    return None


def environment() -> dict[str, str]:
    folders = [p for p in sys.path if p]
    return {
        **os.environ,
        "PYTHONHOME": sys.base_prefix,
        "PYTHONPATH": os.pathsep.join(folders),
        "DLX_LIBRARY": str(dlx._lib.library.path),
    }


@pytest.mark.skipif(bool(os.environ.get("LD_PRELOAD")), reason="a sanitizer is preloaded")
def test_a_program_starts_and_ends_the_interpreter_three_times(tmp_path):
    library = shared_libpython()
    if library is None:
        pytest.skip("this CPython has no shared library to embed")
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler")
    program = tmp_path / "embed"
    subprocess.run(
        [compiler, "-O1", "-Wall", "-Wextra", "-o", program, SOURCE, "-ldl", "-lpthread"],
        check=True,
    )
    done = subprocess.run(
        [program, library, dlx._lib.library.path],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "ok"


def test_a_subinterpreter_is_refused_with_a_reason():
    code = """
try:
    import _xxsubinterpreters as sub
except ImportError:
    import _interpreters as sub
id = sub.create()
script = '''
try:
    from dlx import asarray
except ImportError as error:
    assert "subinterpreter" in str(error), error
else:
    raise SystemError("imported")
'''
result = sub.run_string(id, script)
assert result is None, result
print("refused")
"""
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment(), capture_output=True, text=True, timeout=60
    )
    if "No module named '_" in done.stderr and "interpreters" in done.stderr:
        pytest.skip("this CPython has no module for subinterpreters")
    assert done.returncode == 0, done.stderr
    assert "refused" in done.stdout
