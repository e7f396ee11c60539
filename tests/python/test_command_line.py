"""`python -m dlx` where its output or its arguments are odd: one line of why, and no traceback."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dlx._lib import library

PYTHON = shlex.quote(sys.executable)


def shell(arguments, **environment):
    """Run `python -m dlx` by a shell; what it prints are bytes."""
    return subprocess.run(
        ["/bin/sh", "-c", f"{PYTHON} -m dlx {arguments}"],
        capture_output=True,
        timeout=300,
        check=False,
        env={**os.environ, **environment},
    )


@pytest.mark.parametrize("command", ["info", "config", "demo", "matrix --libraries numpy"])
def test_without_a_standard_output(command):
    done = shell(f"{command} >&-")

    assert done.returncode == 1
    assert done.stderr.startswith(b"python -m dlx ")
    assert done.stderr.count(b"\n") == 1


def test_a_list_of_libraries_that_names_none():
    pytest.importorskip("numpy")
    done = shell("matrix --libraries ,")

    assert done.returncode == 1
    assert b"`--libraries` names no library" in done.stderr
    assert b"Traceback" not in done.stderr


@pytest.fixture(params=["é b", "a\udcff"])
def odd_library(request, tmp_path):
    """The library under a path that is not ASCII, or no text at all."""
    if not os.path.isfile(library.path):
        pytest.skip("the system's loader found the library")
    if request.param == "a\udcff" and library.binding == "cffi":
        pytest.skip("cffi takes paths in UTF-8 only")
    return shutil.copy(library.path, tmp_path / f"{request.param}.so")


def test_a_folder_with_a_comma(tmp_path):
    if not os.path.isfile(library.path) or not shutil.which("cc"):
        pytest.skip("the system's loader found the library, or there is no cc")
    (tmp_path / "a,b").mkdir()
    copied = shutil.copy(library.path, tmp_path / "a,b/libdlx.so.1")
    (tmp_path / "program.c").write_text(
        "int dlx_abi_version(void); int main(void) { return dlx_abi_version(); }"
    )
    said = shell("config --libs", DLX_LIBRARY=copied).stdout.decode()
    program = tmp_path / "program"
    subprocess.run(["cc", tmp_path / "program.c", *shlex.split(said), "-o", program], check=True)

    assert subprocess.run([program], check=False).returncode == 1


def test_paths_that_the_terminal_cannot_show(odd_library):
    environment = {"DLX_LIBRARY": str(odd_library), "PYTHONIOENCODING": "ascii"}
    info, config = shell("info", **environment), shell("config", **environment)

    assert (info.returncode, config.returncode) == (0, 0), info.stderr + config.stderr
    assert info.stdout.isascii()
    assert str(odd_library).encode("ascii", "backslashreplace") in info.stdout
    # A shell gets the path itself.
    words = shlex.split(os.fsdecode(config.stdout))
    assert os.fspath(Path(odd_library).resolve()) in words


def test_config_gives_what_compiling_and_what_linking_needs():
    words = shlex.split(os.fsdecode(shell("config").stdout))
    cflags, libs = (
        shlex.split(os.fsdecode(shell(f"config {part}").stdout)) for part in ("--cflags", "--libs")
    )

    assert [word[:2] for word in cflags] == ["-I"]
    assert libs
    assert cflags + libs == words
    assert shell("config --libs --cflags").returncode == 2


def test_the_help_of_config_says_how_spaces_are_read():
    assert b"eval" in shell("config --help").stdout
