#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

namespace py = pybind11;
using A = py::array_t<float, py::array::c_style>;

PYBIND11_MODULE(with_pybind11, m) {
  const auto a = py::arg().noconvert();
  m.def("f0", [] {});
  m.def("f1", [](const A&) {}, a);
  m.def("f3", [](const A&, const A&, const A&) {}, a, a, a);
  m.def(
      "f8", [](const A&, const A&, const A&, const A&, const A&, const A&, const A&, const A&) {},
      a, a, a, a, a, a, a, a);
}
