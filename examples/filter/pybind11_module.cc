// The filters by pybind11.
#include <dlx/pybind11.h>

#include "filter.h"

namespace py = pybind11;

struct Image {
  static constexpr char contract[] = "image: uint8[h, w] writable strided";
};
struct Matrix {
  static constexpr char contract[] = "matrix: float32[rows, columns] strided";
};

void brighten(dlx::Array<Image> image, double factor) {
  dlx::check(filter_brighten(image.dltensor(), factor));
}
int64_t brightness(dlx::Array<Image> image) {
  const auto pixels = image.elements<const uint8_t, 2>();
  int64_t sum = 0;
  for (int64_t i = 0; i < pixels.extent(0); ++i) {
    for (int64_t j = 0; j < pixels.extent(1); ++j) sum += pixels(i, j);
  }
  return sum;
}
double sum_matrix(dlx::Array<Matrix> matrix) {
  const auto numbers = matrix.elements<const float, 2>();
  double sum = 0;
  for (int64_t i = 0; i < numbers.extent(0); ++i) {
    for (int64_t j = 0; j < numbers.extent(1); ++j) sum += numbers(i, j);
  }
  return sum;
}

PYBIND11_MODULE(filter_pybind11, m) {
  dlx::translate_pybind11_errors();
  m.attr("blur") = dlx::pybind11_function(&filter_blur, FILTER_BLUR);
  m.def("brighten", &brighten, py::arg("image"), py::arg("factor") = 1.5,
        py::call_guard<py::gil_scoped_release>());
  m.def("sum", &brightness);  // overloads by contract
  m.def("sum", &sum_matrix);
  m.def("transpose", [](const dlx::Tensor& image) { return image.transpose(); });  // may be kept
}
