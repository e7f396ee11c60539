// Check of structured layouts, each of which the engine has a way of its own for, against loops over
// elements.
#ifndef DLX_TESTS_SRC_COPY_LAYOUT_TEST_H_
#define DLX_TESTS_SRC_COPY_LAYOUT_TEST_H_

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "copy_test.h"
#include "random_copy.h"
#include "src/copy/copy.h"
#include "src/copy/schedule/machine.h"

namespace dlx_test {

/// Copies elements of `item` bytes from the middle of some noise to `start` bytes behind a line, and
/// compares all of dst and what lies round it with loops over elements.
inline void check_layout(const std::vector<int64_t>& shape, const std::vector<int64_t>& dst_steps,
                         const std::vector<int64_t>& src_steps, int64_t item, int64_t start = 0) {
  int64_t lowest = 0, highest = 0, dst_extent = 1, count = 1;
  for (size_t k = 0; k < shape.size(); ++k) {
    const int64_t reach = (shape[k] - 1) * src_steps[k];
    (reach < 0 ? lowest : highest) += reach;
    dst_extent += (shape[k] - 1) * dst_steps[k];
    count *= shape[k];
  }
  std::vector<uint8_t> src =
      Choices(static_cast<uint64_t>(count)).noise((highest - lowest + 1) * item);
  std::vector<uint8_t> dst(static_cast<size_t>(dst_extent * item + 256), 0xCD);
  std::vector<uint8_t> expected = dst;
  uint8_t* const from = src.data() - lowest * item;
  uint8_t* const to = dst.data() + (-reinterpret_cast<uintptr_t>(dst.data()) & 63) + 64 + start;
  const DLDataType dtype = {kDLUInt, 8, static_cast<uint16_t>(item)};

  dlx::copy_tensor(Described(to, shape, dst_steps, dtype).tensor, false,
                   Described(from, shape, src_steps, dtype).tensor, false);

  uint8_t* const expected_to = expected.data() + (to - dst.data());
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i, d = 0, s = 0;
    for (size_t k = shape.size(); k-- > 0; rest /= shape[k]) {
      d += rest % shape[k] * dst_steps[k];
      s += rest % shape[k] * src_steps[k];
    }
    std::memcpy(expected_to + d * item, from + s * item, static_cast<size_t>(item));
  }
  assert_memory_equal(dst.data(), expected.data(), dst.size());
}

/// What the plan of such a copy says of itself; nothing is read or written.
inline std::string plan_of(const std::vector<int64_t>& shape, const std::vector<int64_t>& dst_steps,
                           const std::vector<int64_t>& src_steps, int64_t item) {
  char text[1024];
  void* const to = reinterpret_cast<void*>(uintptr_t{1} << 40);
  void* const from = reinterpret_cast<void*>(uintptr_t{1} << 41);
  const DLDataType dtype = {kDLUInt, 8, static_cast<uint16_t>(item)};
  dlx::describe_copy(Described(to, shape, dst_steps, dtype).tensor,
                     Described(from, shape, src_steps, dtype).tensor, text, sizeof text);
  return text;
}

inline std::vector<int64_t> compact(const std::vector<int64_t>& shape) {
  std::vector<int64_t> steps(shape.size(), 1);
  for (size_t k = shape.size() - 1; k > 0; --k) steps[k - 1] = steps[k] * shape[k];
  return steps;
}

/// main() of such tests: each of them with each instruction set that this machine has.
template <size_t kCount>
int run_layouts(int argc, char** argv, const CMUnitTest (&layouts)[kCount]) {
  if (argc > 1 && std::strcmp(argv[1], "--layouts") == 0) {
#ifdef __SANITIZE_THREAD__
    std::puts("only what threads share: the other layouts are copied on one thread");
    cmocka_set_test_filter("large_repeated_runs_are_exact");
#endif
    return cmocka_run_group_tests(layouts, nullptr, nullptr);
  }
  const CMUnitTest tests[] = {
      {"every_instruction_set_is_exact", [](void**) { run_with_each_isa("--layouts"); }, nullptr,
       nullptr, nullptr},
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}

}  // namespace dlx_test

#endif  // DLX_TESTS_SRC_COPY_LAYOUT_TEST_H_
