// The filters called from C++.
#include <dlx/python.hpp>
#include <iostream>
#include <memory>
#include <vector>

#include "filter.h"

// Prints when the last user is gone.
struct Pixels {
  std::vector<uint8_t> values;
  ~Pixels() { std::cout << "released\n"; }
};

dlx::Tensor blur(const dlx::Tensor& image, int64_t radius) {
  static const dlx::Contract contract(FILTER_BLUR);
  dlx_tensor* const tensors[] = {image.get(), nullptr, nullptr};
  dlx_argument values[3];
  values[1].integer = radius;
  dlx_tensor* out;
  dlx::check(dlx_contract_call(contract.get(), filter_blur_packed, nullptr, tensors, values, &out));
  return dlx::Tensor::adopt(out);
}

void brighten(const dlx::Tensor& image, double factor) {
  static const dlx::Contract contract(FILTER_BRIGHTEN);
  dlx_tensor* const tensors[] = {image.get(), nullptr};
  dlx_argument values[2];
  values[1].real = factor;
  dlx::check(
      dlx_contract_call(contract.get(), filter_brighten_packed, nullptr, tensors, values, nullptr));
}

void print(const dlx::Tensor& image) {
  const char* space = "";
  for (const uint8_t pixel : image.span<const uint8_t>()) {
    std::cout << space << int{pixel};
    space = " ";
  }
  std::cout << "\n";
}

int main() {
  auto owner = std::make_unique<Pixels>();
  owner->values.resize(12);
  for (size_t i = 0; i < 12; ++i) owner->values[i] = static_cast<uint8_t>(10 * i);
  uint8_t* const pixels = owner->values.data();
  const dlx::Tensor image = dlx::Tensor::wrap(pixels, {3, 4}, std::move(owner));  // no copy
  dlx::Tensor blurred = blur(image, 1);
  print(blurred);
  brighten(image.slice(1, 3), 1.5);  // the last column, in place
  print(image);

  try {
    blur(image.reshape({12}), 1);
  } catch (const dlx::Error& error) {
    std::cout << error.what() << "\n";
  }
  try {
    blur(image, -1);
  } catch (const dlx::InvalidArgument& error) {
    std::cout << error.what() << "\n";
  }

  dlx::Managed managed = blurred.to_dlpack();  // for any library that takes DLPack
  blurred = {};                                // `managed` keeps the memory
  const dlx::Tensor taken = dlx::Tensor::from_dlpack(std::move(managed));
  std::cout << "(" << taken.shape()[0] << ", " << taken.shape()[1] << "): ";
  print(taken.select(0, 0));
}
