// Memory of the CPU backend.
#include <sys/resource.h>

#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <initializer_list>

#include "src/device/backend.h"
#include "src/device/registry.h"

extern "C" {
#include <cmocka.h>
}
#undef fail

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

int64_t page_faults() {
  rusage usage{};
  assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
  return usage.ru_minflt;
}

// An allocation reuses a freed block of the same size with its pages, because new pages take as
// long as a copy.
void freed_blocks_are_found_again(void**) {
  if (kSanitized) {
    std::puts("not under a sanitizer, whose own malloc keeps freed blocks apart");
    skip();
  }
  constexpr int kRounds = 8;
  dlx::Backend& cpu = *dlx::find_backend(kDLCPU);
  for (const size_t mib : {1, 4, 16, 31}) {
    const size_t size = mib << 20;
    int64_t before = 0;
    for (int k = -3; k < kRounds; ++k) {
      if (k == 0) before = page_faults();
      void* const data = cpu.allocate(kDLCPU, 0, size, 256);
      assert_non_null(data);
      std::memset(data, k, size);
      cpu.deallocate(kDLCPU, 0, data);
    }
    assert_in_range(page_faults() - before, 0, kRounds);
  }
}

void alignment_is_kept(void**) {
  dlx::Backend& cpu = *dlx::find_backend(kDLCPU);
  for (const size_t size : {size_t{1}, size_t{5} << 20, size_t{33} << 20}) {
    for (const size_t alignment : {size_t{1}, size_t{64}, size_t{4096}, size_t{8} << 20}) {
      void* const data = cpu.allocate(kDLCPU, 0, size, alignment);
      assert_non_null(data);
      assert_int_equal(reinterpret_cast<uintptr_t>(data) % alignment, 0);
      std::memset(data, 1, size);
      cpu.deallocate(kDLCPU, 0, data);
    }
  }
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(freed_blocks_are_found_again),
      cmocka_unit_test(alignment_is_kept),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
