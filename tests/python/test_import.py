"""`import dlx`: what it may load, what it costs, and what it says where it cannot work."""

import ast
import importlib.util
import inspect
import modulefinder
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import dlx
from dlx import _native
from dlx._lib import library
from dlx._tensor.methods import _Missing

PACKAGE = Path(dlx.__file__).parent


def python(code, **environment):
    """Output of a fresh interpreter."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


FORBIDDEN = [
    "numpy", "torch", "jax", "tensorflow", "pyarrow", "pandas", "cupy", "ml_dtypes", "scipy", "PIL",
    "pycparser", "inspect", "dataclasses", "typing", "enum", "re", "subprocess", "importlib.metadata",
    "argparse", "json", "threading", "functools", "collections",
]  # fmt: skip


def test_no_array_library_and_nothing_slow_is_imported():
    # What the interpreter itself has loaded (site, .pth files) does not count, nor what its ctypes
    # needs (threading from 3.14 on).
    code = (
        "import sys, ctypes; before = set(sys.modules); import dlx; "
        "print(*(set(sys.modules) - before))"
    )
    new = set(python(code, DLX_BINDING="ctypes").split())

    assert new & set(FORBIDDEN) == set()


def test_a_tensor_of_bytes_needs_no_array_library():
    code = """
import sys, dlx
t = dlx.asarray([[1, 2], [3, 4]])
assert t.tolist() == [[1, 2], [3, 4]] and memoryview(t).shape == (2, 2) and repr(t)
dlx.from_dlpack(t.mT).contiguous().__dlpack__()
print("numpy" in sys.modules)
"""
    before = python("import sys; print('numpy' in sys.modules)")
    assert before == "False\n", "this interpreter imports NumPy by itself"
    # .dtype is where NumPy is imported; nothing of the above needs the public object.
    assert python(code) == "False\n"


def test_everything_works_without_numpy():
    code = """
import sys
sys.modules["numpy"] = None  # makes `import numpy` fail
import dlx
t = dlx.asarray([[1.5, 2.0], [3.0, 4.0]])
assert type(t.dtype) is dlx.dtype and t.dtype == "float64"
assert t.tolist() == [[1.5, 2.0], [3.0, 4.0]]
print(t)
for call in (t.numpy, lambda: dlx.asarray(t, dtype="int8")):
    try:
        call()
    except (ImportError, dlx.UnavailableError) as error:
        assert "numpy" in str(error).lower(), error
    else:
        raise AssertionError
"""
    assert "dtype=float64" in python(code)


def test_public_names_are_there():
    for name in dlx.__all__:
        assert getattr(dlx, name) is not None
    assert sorted(dlx.__all__) == dlx.__all__
    assert dlx.__version__.count(".") == 2


def test_everything_public_has_a_docstring():
    missing = []
    for name in dlx.__all__:
        thing = getattr(dlx, name)
        if not inspect.getdoc(thing):
            missing.append(name)
        if not inspect.isclass(thing):
            continue
        for member, value in vars(thing).items():
            documented = inspect.getdoc(value) if not isinstance(value, (int, str)) else True
            if not member.startswith("_") and not documented:
                missing.append(f"{name}.{member}")
    # Slots carry their words in the class's docstring, under "Attributes".
    slots = {f"dtype.{n}" for n in dlx.dtype.__slots__} | {
        f"Device.{n}" for n in dlx.Device.__slots__
    }
    assert [name for name in missing if name not in slots] == []


def test_operators_written_in_python_have_a_docstring():
    functions = {name: f for name, f in vars(dlx.Tensor).items() if inspect.isfunction(f)}

    assert "__add__" in functions
    assert [name for name, function in functions.items() if not function.__doc__] == []


def test_stub_lists_what_the_native_type_has():
    tree = ast.parse((PACKAGE / "_native.pyi").read_text(encoding="utf-8"))
    tops = {
        node.name: node for node in tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))
    }
    declared = {
        item.target.id if isinstance(item, ast.AnnAssign) else item.name
        for item in tops["Tensor"].body
        if isinstance(item, (ast.AnnAssign, ast.FunctionDef))
    }
    real = {n for n, value in vars(dlx.Tensor).items() if not isinstance(value, _Missing)} - {
        "__doc__", "__module__", "__new__", "__weakref__", "__repr__", "__setattr__", "__getattribute__",
        "__delitem__", "__weaklistoffset__", "__slotnames__", "__release_buffer__",
    }  # fmt: skip
    if sys.version_info < (3, 12):
        declared.discard("__buffer__")  # a Python-level method only from PEP 688 on

    assert declared == real
    for name in tops:
        assert hasattr(_native, name), name


def test_package_is_marked_as_typed():
    assert (PACKAGE / "py.typed").exists()


def test_mypy_is_clean_in_strict_mode(binding):
    if binding != "ctypes":
        pytest.skip("mypy reads the same on either binding")
    if importlib.util.find_spec("mypy") is None:
        pytest.skip("mypy is not installed")
    if sys.version_info < (3, 10):
        pytest.skip("mypy checks against Python 3.10, and NumPy's stubs here may be older")
    user = """
from typing import Any
import dlx
t: dlx.Tensor = dlx.asarray([1, 2], dtype="float32", copy=None)
n: int = t.shape[0] + dlx.empty((2, 3)).ndim
u: dlx.Tensor = t[1:, None, ..., 0].T.reshape((2, -1), copy=False).to_device("cpu")
d: dlx.Device = dlx.from_pointer(0, (0,), "int8", on_release=lambda: None).device
for row in t:
    row.numpy(force=True)
dlx.zeros(2)  # type: ignore[attr-defined]

import numpy
numpy.from_dlpack(t), numpy.asarray(t), memoryview(t)
t.expand_dims(numpy.int64(0)).reshape(numpy.int64(2), 1).permute_dims((numpy.int64(1), 0))

array: numpy.ndarray[Any, Any] = dlx.convert(t, numpy.ndarray)
array = dlx.convert(t, "np", copy=False)
same: dlx.Tensor = dlx.convert([1, 2], dlx.Tensor)
memory: memoryview = dlx.convert(t, memoryview)
anything = dlx.convert(t, numpy, readonly="share"), dlx.convert(t, like=array)
wrong: int = dlx.convert(t, "numpy")  # type: ignore[assignment]
bits: int = t.dtype.itemsize
total: dlx.Tensor = t.sum((0, 1), dtype="float64", keepdims=True).clip(0, max=3).mean(axis=0)
t.sum(axes=1)  # type: ignore[call-arg]
first: dlx.Tensor = t.nonzero()[0].astype(t.dtype).take([0], axis=0).round(2)
unsure = t.astype("S4"), t.view(numpy.dtype("M8[s]"))
texts: dlx.Tensor = unsure[0]  # type: ignore[assignment]
days: numpy.ndarray[Any, Any] = unsure[1]  # type: ignore[assignment]
third: dlx.Tensor = t.view("int8").view(numpy.dtype("f4")).astype(float).astype(dlx.dtype("int4"))
contract: str = dlx.Array("float32").contract
key: int = {dlx.dtype("int8"): 1}[dlx.dtype(t)]

class DeviceOfTorch:
    type: str = "cpu"
    index: int = 0
for device in (DeviceOfTorch(), t, (1, 0), "cpu"):
    dlx.asarray(t, device=device), t.to_device(device), dlx.empty(2, device=device)
"""
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "mypy",
            "--strict",
            "--config-file=",
            "--no-error-summary",
            "-c",
            user,
        ],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "MYPYPATH": str(PACKAGE.parent)},
    )
    assert (done.returncode, done.stdout) == (0, "")


def test_every_public_type_is_known():
    # mypy's half of it is above.
    if importlib.util.find_spec("basedpyright") is None:
        pytest.skip("basedpyright is not installed")
    words = ("--verifytypes", "dlx", "--ignoreexternal", "--pythonpath", sys.executable)
    done = subprocess.run(
        [sys.executable, "-m", "basedpyright", *words],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(PACKAGE.parent)},
    )
    assert "Type completeness score: 100%" in done.stdout, done.stdout


@pytest.mark.parametrize("name", ["pypy", "graalpy"])
def test_other_interpreters_are_told_why_and_keep_dlx_raw(name):
    # As seen from Python, this is such an interpreter.
    code = f"""
import sys
sys.implementation.name = {name!r}
import dlx
for use in ("dlx.asarray", "dlx.Tensor", "from dlx import from_dlpack", "import dlx.xp"):
    try:
        exec(use)
    except ImportError as error:
        assert {name!r} in str(error) and "dlx.raw" in str(error), error
    else:
        raise AssertionError(use)
assert issubclass(dlx.UnsupportedError, BufferError) and dlx.__version__
assert not hasattr(dlx, "__wrapped__")
import dlx.raw
print("raw" in vars(dlx))
"""
    assert python(code) == "True\n"


def test_a_command_that_needs_another_interpreter_says_so_in_a_line():
    code = """
import runpy, sys
sys.implementation.name = "pypy"
sys.argv = ["dlx", "info"]
runpy.run_module("dlx", run_name="__main__")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)

    assert done.returncode == 1
    assert "needs CPython" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_library_that_is_older_than_the_package(monkeypatch):
    monkeypatch.setattr(library, "attach", lambda *_: 0)  # which adds nothing
    spec = importlib.util.spec_from_file_location("older", _native.__file__)
    older = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(older)

    with pytest.raises(ImportError, match="the library is older than this package"):
        older.attach({})


def test_tools_that_follow_import_statements_find_every_module(tmp_path):
    """PyInstaller, cx_Freeze and Nuitka put into a program what they find so."""
    program = tmp_path / "program.py"
    program.write_text("import dlx.raw, dlx.__main__")
    finder = modulefinder.ModuleFinder([str(PACKAGE.parent)])
    finder.run_script(str(program))

    files = (f.relative_to(PACKAGE.parent) for f in PACKAGE.rglob("*.py"))
    names = (".".join(f.with_suffix("").parts) for f in files if f.parts[1] != "_pyinstaller")
    modules = {re.sub(r"\.__init__$", "", name) for name in names}
    assert modules <= set(finder.modules)


def test_missing_library_is_an_import_error_that_names_it(tmp_path):
    code = """
try:
    import dlx
except ImportError as error:
    print(error)
"""
    missing = str(tmp_path / "libnothing.so")

    assert missing in python(code, DLX_LIBRARY=missing)


def test_info_names_library_devices_and_array_libraries():
    output = subprocess.run(
        [sys.executable, "-m", "dlx", "info"], capture_output=True, text=True, check=True
    ).stdout

    assert dlx.__version__ in output
    assert "cpu" in output
    for title in ("Library", "Devices", "Array libraries"):
        assert title in output.splitlines()


def test_without_a_command_the_help_is_shown():
    def run(*arguments):
        return subprocess.run(
            [sys.executable, "-m", "dlx", *arguments], capture_output=True, text=True
        )

    done = run()
    assert done.returncode == 2
    assert all(command in done.stdout for command in ("info", "demo", "matrix"))
    header, library, *runpath = shlex.split(run("config").stdout)
    assert Path(header[2:], "dlx", "dlx.h").is_file()
    if runpath:
        assert runpath == [f"-Wl,-rpath,{Path(library).parent}"]
    else:
        assert library.startswith("-l:")
    refused = run("matrix", "--libraries", "nothing")
    assert refused.returncode == 1
    assert refused.stderr.startswith("python -m dlx matrix: ")
    assert "Traceback" not in refused.stderr
    reader, writer = os.pipe()
    os.close(reader)  # as in `| head`, which ends early
    done = subprocess.run([sys.executable, "-m", "dlx", "info"], stdout=writer, stderr=-1)
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, b"")
    assert run("--version").stdout == f"dlx {dlx.__version__}\n"


def test_info_imports_none_of_them():
    code = "import sys; from dlx._cli import info; info.report(); print([m for m in ('numpy', 'torch', 'pyarrow') if m in sys.modules])"

    assert python(code) == "[]\n"
