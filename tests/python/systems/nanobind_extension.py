"""An extension of nanobind, compiled where it is first needed."""

from __future__ import annotations

import atexit
import functools
import importlib.util
import re
import shlex
import shutil
import subprocess
import sysconfig
import tempfile
from pathlib import Path

from dlx._cli import info

INCLUDE = Path(sysconfig.get_path("include"))

SOURCE = """
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <vector>
namespace nb = nanobind;

// An array of nanobind's own on the same memory; x itself would be returned as the caller's object.
template <typename Array, typename Source> Array wrap(const Source &x) {
    std::vector<size_t> shape(x.shape_ptr(), x.shape_ptr() + x.ndim());
    nb::capsule owner(new Source(x), [](void *p) noexcept { delete (Source *) p; });
    return Array(x.data(), x.ndim(), shape.data(), owner, x.stride_ptr(), x.dtype(), x.device_type(),
                 x.device_id());
}

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
    m.def("wrap", [](nb::ndarray<> x) { return wrap<nb::ndarray<nb::array_api>>(x); });
    m.def("wrap_read_only", [](nb::ndarray<nb::ro> x) {
        return wrap<nb::ndarray<nb::array_api, nb::ro>>(x);
    });
    m.def("make", [](size_t n) {
        float *data = new float[n];
        for (size_t i = 0; i < n; ++i) data[i] = (float) i;
        nb::capsule owner(data, [](void *p) noexcept { delete[] (float *) p; });
        return nb::ndarray<nb::array_api, float>(data, {n}, owner);
    });
}
"""


def problem() -> str:
    """Why nothing can be compiled here, or an empty string."""
    if not (INCLUDE / "Python.h").exists():
        return f"no Python.h in {INCLUDE}: cannot compile"
    return "" if shutil.which("g++") else "no g++: cannot compile"


def load():
    """The extension module."""
    return build("dlx_nanobind_test", SOURCE)


def load_page():
    """The module of docs/extensions.md; and a function of several arrays."""
    page = (Path(__file__).resolve().parents[3] / "docs/extensions.md").read_text()
    [source] = re.findall(r"^```cpp\n(.*?)^```", page, re.M | re.S)
    many = '  m.def("many", [](const std::vector<dlx::Tensor>& list) { return list.size(); });\n'
    at = '  m.def("row_sums"'
    assert source.count(at) == 1
    source = "#include <nanobind/stl/vector.h>\n" + source.replace(at, many + at)
    return build("rows", source, *shlex.split(info.compiler_arguments()))


@functools.cache
def build(name, source, *flags):
    """The extension module of a source."""
    import nanobind

    folder = Path(tempfile.mkdtemp(prefix="dlx-nanobind-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    (folder / "test.cpp").write_text(source)
    root = Path(nanobind.__file__).parent
    target = folder / f"{name}.so"
    subprocess.run(
        ["g++", "-std=c++17", "-O1", "-fPIC", "-shared", "-fvisibility=hidden",
         f"-I{INCLUDE}", f"-I{nanobind.include_dir()}", f"-I{root / 'ext' / 'robin_map' / 'include'}",
         "test.cpp", str(root / "src" / "nb_combined.cpp"), *flags, "-o", str(target)],
        check=True, cwd=folder,
    )  # fmt: skip
    spec = importlib.util.spec_from_file_location(name, target)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
