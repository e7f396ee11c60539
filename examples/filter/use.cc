// The filters called from C++: prints the blurred image, and an error.
#include <dlx/python.hpp>
#include <iostream>
#include <numeric>
#include <vector>

#include "filter.h"

dlx::Tensor blur(const dlx::Tensor& image, int64_t radius) {
  static const dlx::Contract contract(FILTER_BLUR);
  dlx::Tensor out = dlx::Tensor::empty(image.shape(), "uint8");
  dlx_argument arguments[3];
  arguments[0].array = const_cast<DLTensor*>(&image.dltensor());
  arguments[1].integer = radius;
  arguments[2].array = const_cast<DLTensor*>(&out.dltensor());
  dlx::check(dlx_contract_check(contract.get(), arguments, nullptr));
  dlx::check(filter_blur_packed(nullptr, arguments));
  return out;
}

int main() {
  std::vector<uint8_t> pixels(12);
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<uint8_t>(10 * i);
  const dlx::Tensor image = dlx::Tensor::wrap(pixels.data(), {3, 4}, nullptr);
  const dlx::Tensor blurred = blur(image, 1);
  for (const uint8_t pixel : blurred.span<const uint8_t>()) std::cout << int{pixel} << ' ';
  try {
    blur(image, -1);
  } catch (const dlx::InvalidArgument& error) {
    std::cout << '\n' << error.what() << '\n';
  }
}
