"""nanobind: an extension compiled here takes tensors and returns arrays."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sysconfig
from pathlib import Path

import arrays
import pytest

import dlx

nanobind = arrays.require("nanobind")
INCLUDE = Path(sysconfig.get_path("include"))
pytestmark = [
    pytest.mark.skipif(
        not (INCLUDE / "Python.h").exists(), reason=f"no Python.h in {INCLUDE}: cannot compile"
    ),
    pytest.mark.skipif(shutil.which("g++") is None, reason="no g++: cannot compile"),
]

SOURCE = """
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
namespace nb = nanobind;

NB_MODULE(dlx_nanobind_test, m) {
    m.def("address", [](nb::ndarray<nb::ro> x) { return (uintptr_t) x.data(); });
    m.def("writable", [](nb::ndarray<> x) { return (uintptr_t) x.data(); });
    m.def("sum", [](nb::ndarray<const float, nb::ndim<2>, nb::device::cpu> x) {
        double total = 0;
        auto view = x.view();
        for (size_t i = 0; i < view.shape(0); ++i)
            for (size_t j = 0; j < view.shape(1); ++j) total += view(i, j);
        return total;
    });
    m.def("fill", [](nb::ndarray<float, nb::device::cpu> x, float value) {
        for (size_t i = 0; i < x.size(); ++i) x.data()[i] = value;
    });
    m.def("bits", [](nb::ndarray<nb::ro> x) { return x.dtype().bits * 256 + x.dtype().code; });
    m.def("make", [](size_t n) {
        float *data = new float[n];
        for (size_t i = 0; i < n; ++i) data[i] = (float) i;
        nb::capsule owner(data, [](void *p) noexcept { delete[] (float *) p; });
        return nb::ndarray<nb::array_api, float>(data, {n}, owner);
    });
}
"""


@pytest.fixture(scope="module")
def extension(tmp_path_factory):
    folder = tmp_path_factory.mktemp("nanobind")
    (folder / "test.cpp").write_text(SOURCE)
    root = Path(nanobind.__file__).parent
    target = folder / "dlx_nanobind_test.so"
    subprocess.run(
        ["g++", "-std=c++17", "-O1", "-fPIC", "-shared", "-fvisibility=hidden",
         f"-I{INCLUDE}", f"-I{nanobind.include_dir()}", f"-I{root / 'ext' / 'robin_map' / 'include'}",
         "test.cpp", str(root / "src" / "nb_combined.cpp"), "-o", str(target)],
        check=True, cwd=folder,
    )  # fmt: skip
    spec = importlib.util.spec_from_file_location("dlx_nanobind_test", target)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("layout", [x for x in arrays.LAYOUTS if x not in ("reversed", "empty")])
def test_layouts(extension, layout):
    source = arrays.LAYOUTS[layout]()
    tensor = dlx.asarray(source)

    assert extension.address(tensor) == source.ctypes.data
    if source.ndim == 2:
        assert extension.sum(tensor) == source.sum()
    if layout == "read-only":
        with pytest.raises(TypeError):
            extension.writable(tensor)
    else:
        assert extension.writable(tensor) == source.ctypes.data


def test_negative_strides_are_right_whichever_protocol_it_takes(extension):
    source = arrays.LAYOUTS["reversed"]()

    assert extension.sum(dlx.asarray(source)) == source.sum()


@pytest.mark.parametrize("name", [*arrays.NUMPY_NAMES, "bfloat16", "float8_e4m3fn"])
def test_dtypes(extension, name):
    tensor = dlx.asarray(arrays.numpy_array(name))
    dtype = dlx.dtype(tensor.dtype)

    assert extension.bits(tensor) == dtype.bits * 256 + dtype.code


def test_writes_are_seen(extension):
    tensor = dlx.empty((2, 3), dtype="float32")
    extension.fill(tensor, 4.0)

    assert tensor.tolist() == [[4] * 3] * 2


def test_arrays_that_it_makes(extension):
    tensor = dlx.asarray(extension.make(5))
    tensor[0] = 9.0

    assert tensor.tolist() == [9, 1, 2, 3, 4]
    assert dlx.convert(extension.make(5), "numpy").tolist() == [0, 1, 2, 3, 4]


def test_lifetimes(extension):
    array = extension.make(1000)
    tensor = dlx.asarray(array)
    del array

    assert tensor.tolist() == list(range(1000))
