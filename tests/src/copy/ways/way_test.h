// A test for each way of src/copy/ways/ways.cc, in a file of its name: layouts that take the way and,
// for each of its conditions, a layout on the other side that takes another way.
#ifndef DLX_TESTS_SRC_COPY_WAYS_WAY_TEST_H_
#define DLX_TESTS_SRC_COPY_WAYS_WAY_TEST_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace dlx_test {

struct Case {
  const char* what;
  int64_t item;  // bytes
  std::vector<int64_t> shape;
  std::vector<int64_t> src_steps;  // in items, as those of dst
  const char* way;
  std::vector<int64_t> dst_steps = {};  // compact
  int64_t dst_start = 0;                // bytes behind a line
};

/// Cases of one machine, and of one size: data is a few kilobytes, but counts as large if `large`.
struct Cases {
  const char* isa;
  int64_t kib;  // of second-level cache
  bool large;
  std::vector<Case> all;
};

/// Adds the test of the way after which the file is named.
class WayTest {
 public:
  WayTest(const char* file, std::vector<Cases> cases);

  std::string way;
  std::vector<Cases> cases;
};

/// AVX2 with 512 KiB of second-level cache (Zen 3), unless the name says otherwise.
inline Cases small(std::vector<Case> all) { return {"avx2", 512, false, std::move(all)}; }
inline Cases large(std::vector<Case> all) { return {"avx2", 512, true, std::move(all)}; }
inline Cases large_with_1_mib(std::vector<Case> all) {
  return {"avx2", 1024, true, std::move(all)};
}
inline Cases large_with_avx512(std::vector<Case> all) {
  return {"avx512", 512, true, std::move(all)};
}
inline Cases large_with_sse2(std::vector<Case> all) { return {"sse2", 512, true, std::move(all)}; }

}  // namespace dlx_test

#endif  // DLX_TESTS_SRC_COPY_WAYS_WAY_TEST_H_
