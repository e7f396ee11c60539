"""NumPy's and PyArrow's own tests of their protocols, as far as their packages ship them, with dlx in
NumPy's place: once as the consumer, once between producer and consumer."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

import dlx

numpy = pytest.importorskip("numpy", reason="it is NumPy's tests that are run")

# Tests that ask for what dlx does otherwise, on purpose.
OTHERWISE = {
    "test_strides_not_multiple_of_itemsize": "dlx copies where copy=None allows it",
    "test_writeable": "dlx takes legacy capsules of libraries with mutable arrays as writable",
}

SUBSTITUTE = '''
import importlib
import dlx
suite = importlib.import_module({module!r})

class Substitute:
    """NumPy, but for from_dlpack."""

    def __getattr__(self, name):
        return getattr(numpy, name)

    @staticmethod
    def from_dlpack(x, **keywords):
        if {between!r}:
            return numpy.from_dlpack(dlx.from_dlpack(x), **keywords)
        return dlx.from_dlpack(x, **keywords).numpy()

numpy = suite.np
suite.np = Substitute()
globals().update((name, value) for name, value in vars(suite).items() if not name.startswith("__"))
'''


def module_of(*names):
    for name in names:
        try:
            if importlib.util.find_spec(name) is not None:
                return name
        except ImportError:
            continue
    return None


@pytest.mark.parametrize("between", [False, True], ids=["consumer", "between"])
@pytest.mark.parametrize("suite", ["numpy", "pyarrow"])
def test_from_dlpack(suite, between, tmp_path):
    module = {
        "numpy": module_of("numpy._core.tests.test_dlpack", "numpy.core.tests.test_dlpack"),
        "pyarrow": module_of("pyarrow.tests.test_dlpack"),
    }[suite]
    if module is None:
        pytest.skip(f"{suite}'s package here has no test_dlpack.py")
    path = tmp_path / "test_substituted.py"
    path.write_text(SUBSTITUTE.format(module=module, between=between))
    done = run_pytest(path, " and ".join(f"not {name}" for name in OTHERWISE))

    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert " passed" in done.stdout


def run_pytest(path, select):
    package = str(Path(dlx.__file__).parents[1])
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", select, str(path)],
        capture_output=True,
        text=True,
        cwd=path.parent,
        env={**os.environ, "PYTHONPATH": package},
        timeout=600,
    )


class Interface:
    def __init__(self, array):
        self.array, self.__array_interface__ = array, array.__array_interface__


class Struct:
    def __init__(self, array):
        self.array, self.__array_struct__ = array, array.__array_struct__


class Method:
    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None, copy=None):
        return self.array


class Mine(numpy.ndarray):
    """A subclass that means nothing else."""


@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "i4", "u8", "e", "f", "d", "F", "D"])
@pytest.mark.parametrize(
    "arraylike", [memoryview, Interface, Struct, Method, lambda array: array.view(Mine)]
)
def test_array_likes_that_numpys_tests_have(arraylike, dtype):
    for array in (
        numpy.arange(12).reshape(3, 4).astype(dtype),
        numpy.arange(24).reshape(4, 6).astype(dtype)[::-2, 1::2],
        numpy.array(1, dtype),
        numpy.zeros((0, 3), dtype)[::-1],
    ):
        tensor = dlx.asarray(arraylike(array))

        numpy.testing.assert_array_equal(tensor.numpy(), array, strict=True)
        assert array.size == 0 or tensor.data_ptr == array.__array_interface__["data"][0]
        for wanted in ("float64", "int16"):
            if array.dtype.kind != "c":
                converted = dlx.asarray(arraylike(array), dtype=wanted)
                numpy.testing.assert_array_equal(
                    converted.numpy(), array.astype(wanted), strict=True
                )
