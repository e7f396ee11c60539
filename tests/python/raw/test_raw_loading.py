"""Finding and loading the library: DLX_LIBRARY and DLX_BINDING."""

from __future__ import annotations

import ctypes.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dlx._lib import library, mismatch

PACKAGE = Path(library.__file__).parents[1]


def run(code: str, package: Path = PACKAGE, **env: Any) -> subprocess.CompletedProcess[str]:
    """Run Python in which dlx is the package in `package`; variables that are "" are not set."""
    path = [str(package.parent), *(p for p in sys.path if p and Path(p) != PACKAGE.parent)]
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(path), **env}
    variables = {name: value for name, value in variables.items() if value}
    return subprocess.run(
        [sys.executable, "-c", code], env=variables, capture_output=True, text=True, timeout=60
    )


def import_error(**env: Any) -> str:
    """The message of the ImportError that `import dlx` must end in."""
    code = (
        "try:\n  import dlx\nexcept ImportError as error:\n  print(error)\nelse:\n  print('fine')"
    )
    done = run(code, **env)
    assert done.returncode == 0, done.stderr
    assert done.stdout != "fine\n"
    return done.stdout


@pytest.fixture
def alone(tmp_path: Path) -> Path:
    """A copy of the package with no library beside it."""
    package = tmp_path / "dlx"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("libdlx*", "__pycache__"))
    return package


def test_the_binding_is_the_one_that_was_asked_for() -> None:
    assert library.binding == (os.environ.get("DLX_BINDING") or "ctypes")
    assert library.backend.functions.dlx_abi_version() == 1


@pytest.mark.parametrize("name", ["pybind11", "CFFI", "ctypes "])
def test_an_unknown_binding_is_refused(name: str) -> None:
    message = import_error(DLX_BINDING=name)
    assert "ctypes or cffi" in message
    assert repr(name) in message


def test_a_missing_cffi_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "_cffi_backend.py").write_text("raise ImportError('no libffi')")
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "try:\n  import dlx\nexcept ImportError as error:\n  print(error)"
    )
    message = run(code, DLX_BINDING="cffi").stdout
    assert "no libffi" in message
    assert "libdlx[cffi]" in message
    assert "DLX_BINDING=ctypes" in message


def test_a_library_that_is_not_there_is_named() -> None:
    message = import_error(DLX_LIBRARY="/nowhere/libdlx.so")
    assert "DLX_LIBRARY names it" in message
    assert "/nowhere/libdlx.so" in message
    assert "libdlx.so.1" not in message  # what was asked for is not replaced by something else


def test_a_library_that_is_none_says_why() -> None:
    message = import_error(DLX_LIBRARY=__file__)
    assert __file__ in message
    libc = ctypes.util.find_library("c")
    if libc is None:
        pytest.skip("no C library to be found")
    message = import_error(DLX_LIBRARY=libc)
    assert "dlx_abi_version" in message


@pytest.mark.parametrize("binding", ["ctypes", "cffi"])
def test_a_path_that_is_no_text(binding: str) -> None:
    if binding == "cffi":
        pytest.importorskip("cffi")
    code = "try:\n  import dlx\nexcept ImportError as error:\n  print(ascii(str(error)))"
    done = run(code, DLX_LIBRARY="/nowhere/\udcff.so", DLX_BINDING=binding)
    assert done.returncode == 0, done.stderr
    assert r"/nowhere/\udcff.so: " in done.stdout


def test_another_abi_version_is_refused(tmp_path: Path) -> None:
    compiler = shutil.which(os.environ.get("CC") or "cc")
    if compiler is None:
        pytest.skip("no C compiler")
    source, library = tmp_path / "old.c", tmp_path / "libdlx.so"
    source.write_text("int dlx_abi_version(void) { return 2; }\n")
    subprocess.run([compiler, "-shared", "-fPIC", source, "-o", library], check=True)
    message = import_error(DLX_LIBRARY=str(library))
    assert str(library) in message
    assert "ABI version is 2, expected 1" in message


def test_every_place_that_was_tried_is_named(alone: Path) -> None:
    code = "try:\n  import dlx\nexcept ImportError as error:\n  print(error)"
    message = run(code, alone, DLX_LIBRARY="", LD_LIBRARY_PATH="").stdout
    assert "DLX_LIBRARY is not set" in message
    assert str(alone / "libdlx.so.1") in message
    assert "  libdlx.so.1: " in message


def elf(machine: int, order: str = "little") -> bytes:
    return (
        b"\x7fELF\x02" + (b"\x01", b"\x02")[order == "big"] + bytes(12) + machine.to_bytes(2, order)
    )


def pe(machine: int) -> bytes:
    return (
        b"MZ"
        + bytes(58)
        + (128).to_bytes(4, "little")
        + bytes(64)
        + b"PE\0\0"
        + machine.to_bytes(2, "little")
    )


def mach_o(machine: int) -> bytes:
    return b"\xcf\xfa\xed\xfe" + machine.to_bytes(4, "little")


@pytest.mark.skipif(sys.platform != "linux", reason="the names are those of Linux")
@pytest.mark.parametrize(
    ("name", "head", "words"),
    [
        ("libdlx.so.1", elf(183), "Linux on aarch64"),
        ("libdlx.so.1", elf(62), "Linux on x86-64"),
        ("libdlx.so.1", elf(22, "big"), "Linux on s390x"),
        ("libdlx.so.1", elf(4242), "Linux on processor 4242"),
        ("libdlx.1.dylib", mach_o(0x0100000C), "macOS on aarch64"),
        ("dlx.dll", pe(0x8664), "Windows on x86-64"),
        ("libdlx.so.1", b"\x7fELF", ""),
        ("dlx.dll", b"MZ", "Windows on processor 0"),
        ("libdlx.so.1", b"", ""),
    ],
    ids=range(9),
)
def test_a_library_for_another_machine(alone: Path, name: str, head: bytes, words: str) -> None:
    (alone / name).write_bytes(head + bytes(100 if words else 0))
    code = "try:\n  import dlx\nexcept ImportError as error:\n  print(error)"
    message = run(code, alone, DLX_LIBRARY="", LD_LIBRARY_PATH="").stdout
    here = mismatch.built_for(sys.executable)
    assert here is not None
    line = (
        f"{alone / name} is for {words}, but this Python is for {here}: `pip install "
        "--force-reinstall libdlx` gets the one for this machine"
    )
    assert (line in message) == bool(words and words != here)
    assert str(alone / "libdlx.so.1: ") in message
    message = import_error(DLX_LIBRARY=str(alone / name))
    assert ("DLX_LIBRARY has to name another file" in message) == bool(words and words != here)


def test_a_library_for_a_newer_libc_is_explained(tmp_path: Path) -> None:
    compiler = shutil.which(os.environ.get("CC") or "cc")
    if compiler is None or "glibc" not in os.confstr("CS_GNU_LIBC_VERSION"):
        pytest.skip("no C compiler, or not glibc")

    def build(to: str, text: str, *options: str) -> Path:
        source, built = tmp_path / f"{to}.c", tmp_path / to
        source.write_text(text)
        command = [compiler, "-shared", "-fPIC", "-nostdlib", source, "-o", built, *options]
        subprocess.run(command, check=True)
        return built

    versions = tmp_path / "versions"
    versions.write_text("GLIBC_2.99 { future; };")
    soname = ("-Wl,-soname,libc.so.6", f"-Wl,--version-script={versions}")
    libc = build("libc.so.6", "void future(void) {}", *soname)
    built = build("libdlx.so.1", "void future(void); void use(void) { future(); }", str(libc))
    message = import_error(DLX_LIBRARY=str(built))
    assert "version `GLIBC_2.99' not found" in message
    assert "built for a newer C library (glibc) than this system has: DLX_LIBRARY has" in message


@pytest.mark.parametrize("option", ["-E", "-I"])
def test_a_python_that_ignores_the_environment_ignores_these_variables(
    option: str, alone: Path
) -> None:
    """Such a Python runs where others may set variables: none of them may choose what is loaded."""
    beside = alone / "libdlx.so.1"
    code = f"""
import sys
sys.path[:0] = {[str(alone.parent), *sys.path]!r}
try:
    import dlx._lib.library as library
except ImportError as error:
    print(error)
else:
    print(library.path, library.binding)
"""
    env = {**os.environ, "DLX_LIBRARY": "/nowhere/libdlx.so", "DLX_BINDING": "none"}
    env.pop("LD_LIBRARY_PATH", None)

    def said() -> str:
        command = [sys.executable, option, "-c", code]
        return subprocess.run(
            command, env=env, capture_output=True, text=True, timeout=60, check=True
        ).stdout

    assert "(DLX_LIBRARY is ignored, because Python runs with -E or -I)" in said()
    shutil.copy(library.path, beside)
    assert said() == f"{beside} ctypes\n"


def test_the_library_beside_the_package_is_found(alone: Path) -> None:
    beside = alone / "libdlx.so.1"
    shutil.copy(library.path, beside)
    done = run("import dlx._lib.library as l; print(l.path)", alone, DLX_LIBRARY="")
    assert done.stdout == f"{beside}\n", done.stderr


def test_the_systems_loader_is_asked_last(alone: Path, tmp_path: Path) -> None:
    shutil.copy(library.path, tmp_path / "libdlx.so.1")
    code = "import dlx._lib.library as l; print(l.path)"
    done = run(code, alone, DLX_LIBRARY="", LD_LIBRARY_PATH=str(tmp_path))
    assert done.stdout == "libdlx.so.1\n", done.stderr


def test_import_brings_in_nothing_heavy() -> None:
    heavy = {
        "inspect", "dataclasses", "typing", "re", "enum", "numpy", "torch", "pycparser", "cffi",
        "dlx.raw", "dlx._raw.generated",
    }  # fmt: skip
    code = (
        "import sys; before = set(sys.modules); import dlx._lib.library\n"
        "print(*sorted(set(sys.modules) - before))"
    )
    done = run("import sys\n" + code)
    loaded = set(done.stdout.split())
    assert "dlx._lib.library" in loaded, done.stderr
    assert loaded & heavy == set()


def test_the_shared_pythonapi_stays_as_it_is() -> None:
    code = (
        "import ctypes; before = dict(vars(ctypes.pythonapi))\n"
        "from dlx import raw; raw.callback('dlx_deleter_fn', print); import dlx\n"
        "print(before == vars(ctypes.pythonapi))"
    )
    done = run(code)
    assert done.stdout == "True\n", done.stderr


def test_raw_works_where_attach_is_impossible() -> None:
    code = (
        "import sys, types\n"
        "sys.implementation = types.SimpleNamespace(**{**vars(sys.implementation), 'name': 'pypy'})\n"
        "from dlx import raw\n"
        "t = raw.dlx_tensor_empty(1, [3], raw.DLDataType(2, 32, 1), 1, 0)\n"
        "print(raw.dlx_tensor_shape(t))\n"
    )
    done = run(code)
    assert done.stdout == "(3,)\n", done.stderr


@pytest.mark.parametrize("wrong", ["4abc", "1e3", "3.7", "0x4", "0", "-2", "many"])
def test_what_is_no_number_of_threads_is_ignored(wrong: str) -> None:
    code = "from dlx import raw; print(raw.dlx_get_num_threads())"
    assert run(code, DLX_NUM_THREADS=" 1234 ").stdout == "1024\n"  # the most that there are
    assert run(code, DLX_NUM_THREADS=wrong).stdout == run(code, DLX_NUM_THREADS="").stdout
