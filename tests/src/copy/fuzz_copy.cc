// Fuzzes copy_tensor: the bytes choose shapes, strides, overlap, alignment and tuning; a naive copy
// is the oracle. Small tensors with low thresholds reach the engine's ways as well as large ones,
// and thousands of them run in a second.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "src/copy/copy.h"
#include "src/copy/threads/threads.h"

// Cover the engine's branches only. Counting the branches of the oracle would take most of the
// time.
#if defined(__clang__)
#pragma clang attribute push(__attribute__((no_sanitize("coverage"))), apply_to = function)
#endif
#include "random_copy.h"
#if defined(__clang__)
#pragma clang attribute pop
#endif

namespace {

/// Runs the pieces of a copy one after the other, because waking threads would take most of the
/// time. Threads have tests of their own.
void run_in_order(int64_t count, dlx_parallel_task_fn task, void* task_data, void*) {
  for (int64_t index = 0; index < count; ++index) task(task_data, index);
}

}  // namespace

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
/// A long quarantine of freed memory would mean fresh pages for every copy.
extern "C" const char* __asan_default_options() { return "quarantine_size_mb=1"; }
#endif
#endif

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  dlx::set_num_threads(3);
  dlx::set_parallel_for(run_in_order, nullptr);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  uint64_t seed = size;
  for (size_t k = 0; k < size; ++k) seed = seed * 1099511628211u + data[k];
  dlx_test::Choices choices(seed, data, size);
  const dlx_test::RandomTuning tuning(choices);
  dlx_test::RandomCopy copy(choices, choices.one_in(64) ? 4000 : 128);

  const std::string trouble = copy.run();

  if (!trouble.empty()) {
    std::fprintf(stderr, "%s\n%s\n", trouble.c_str(), copy.describe().c_str());
    std::abort();
  }
  return 0;
}
