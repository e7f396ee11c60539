// The filters called from C++: prints the blurred image, and an error.
#include <dlx/python.hpp>
#include <iostream>
#include <numeric>
#include <vector>

#include "filter.h"

dlx::Tensor blur(const dlx::Tensor& image, int64_t radius) {
  static const dlx::Contract contract(FILTER_BLUR);
  dlx_tensor* const tensors[] = {image.get(), nullptr, nullptr};
  dlx_argument values[3];
  values[1].integer = radius;
  dlx_tensor* out;
  dlx::check(dlx_contract_call(contract.get(), filter_blur_packed, nullptr, tensors, values, &out));
  return dlx::Tensor::adopt(out);
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
