// dlx from C++17: share a std::vector by DLPack. The last user destroys it.
// Build: c++ -std=c++17 share.cc $(pkg-config --cflags --libs dlx)
#include <dlx/dlx.hpp>
#include <iostream>
#include <memory>
#include <vector>

// Prints when the last user is gone.
struct Matrix {
  std::vector<float> values;
  ~Matrix() { std::cout << "released\n"; }
};

int main() {
  auto owner = std::make_unique<Matrix>();
  owner->values = {0, 1, 2, 3, 4, 5};
  float* data = owner->values.data();
  dlx::Tensor matrix = dlx::Tensor::wrap(data, {2, 3}, std::move(owner));

  try {
    matrix.select(0, 9);
  } catch (const dlx::Error& error) {
    std::cout << error.what() << "\n";
  }
  dlx::Managed managed = matrix.transpose().to_dlpack();
  matrix = {};  // the export keeps the memory

  const DLTensor& t = managed->dl_tensor;  // what a DLPack consumer gets
  std::cout << "(" << t.shape[0] << ", " << t.shape[1] << "):";
  for (int64_t i = 0; i < t.shape[0]; ++i) {
    for (int64_t j = 0; j < t.shape[1]; ++j) {
      std::cout << " " << static_cast<float*>(t.data)[i * t.strides[0] + j * t.strides[1]];
    }
  }
  std::cout << "\n";
}
