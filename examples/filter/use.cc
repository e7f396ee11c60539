// The filters called from C++.
#include <dlx/call.hpp>
#include <iostream>
#include <memory>
#include <vector>

#include "filter.h"

// Prints when the last user is gone.
struct Pixels {
  std::vector<uint8_t> values;
  ~Pixels() { std::cout << "released\n"; }
};

void print(const dlx::Tensor& image) {
  const char* space = "";
  for (const uint8_t pixel : image.span<const uint8_t>()) {
    std::cout << space << int{pixel};
    space = " ";
  }
  std::cout << "\n";
}

int main() {
  const dlx::Function blur(filter_blur_packed, FILTER_BLUR);
  const dlx::Function brighten(filter_brighten_packed, FILTER_BRIGHTEN);

  auto owner = std::make_unique<Pixels>();
  owner->values.resize(12);
  for (size_t i = 0; i < 12; ++i) owner->values[i] = static_cast<uint8_t>(10 * i);
  uint8_t* const pixels = owner->values.data();
  const dlx::Tensor image = dlx::Tensor::wrap(pixels, {3, 4}, std::move(owner));  // no copy
  dlx::Tensor blurred = blur(image)[0];
  print(blurred);
  brighten(image.slice(1, 3));  // the last column, in place
  print(image);

  try {
    blur(image.reshape({12}));
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
