#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

namespace nb = nanobind;
using A = nb::ndarray<float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

NB_MODULE(with_nanobind, m) {
  m.def("f0", [] {});
  m.def("f1", [](A) {});
  m.def("f3", [](A, A, A) {});
  m.def("f8", [](A, A, A, A, A, A, A, A) {});
}
