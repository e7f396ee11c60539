// Fuzzes copy_tensor: the bytes choose shapes, strides, overlap, alignment and tuning; a naive copy
// is the oracle.
#include <cstdio>
#include <cstdlib>

#include "random_copy.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  uint64_t seed = size;
  for (size_t k = 0; k < size; ++k) seed = seed * 1099511628211u + data[k];
  dlx_test::Choices choices(seed, data, size);
  const dlx_test::RandomTuning tuning(choices);
  dlx_test::RandomCopy copy(choices, 4000);

  const std::string trouble = copy.run();

  if (!trouble.empty()) {
    std::fprintf(stderr, "%s\n%s\n", trouble.c_str(), copy.describe().c_str());
    std::abort();
  }
  return 0;
}
