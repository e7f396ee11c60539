// copy_tensor against a naive copy, and what it refuses.
#include "src/copy/copy.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <numeric>
#include <string>
#include <vector>

#include "dlx/dlx.h"
#include "random_copy.h"
#include "src/copy/kernels.h"
#include "src/copy/threads.h"

// CMocka needs <csetjmp>, <cstdarg>, <cstddef> and <cstdint> first, and does not say that it is C.
extern "C" {
#include <cmocka.h>
}
#undef fail  // its macro would hide dlx::fail

namespace {

using dlx_test::Choices;
using dlx_test::RandomCopy;

/// A DLTensor that owns its shape and strides.
struct Described {
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;  // empty: NULL
  DLTensor tensor{};

  Described(void* data, std::vector<int64_t> shape_in, std::vector<int64_t> strides_in = {},
            DLDataType dtype = {kDLUInt, 32, 1})
      : shape(std::move(shape_in)), strides(std::move(strides_in)) {
    tensor.data = data;
    tensor.device = {kDLCPU, 0};
    tensor.ndim = static_cast<int32_t>(shape.size());
    tensor.dtype = dtype;
    tensor.shape = shape.data();
    tensor.strides = strides.empty() ? nullptr : strides.data();
  }
  Described(const Described&) = delete;
  Described& operator=(const Described&) = delete;
};

/// The message of the Error that a copy ends in; "" if it does not.
std::string refusal(const Described& dst, const Described& src, int32_t* status = nullptr) {
  try {
    dlx::copy_tensor(dst.tensor, false, src.tensor, false);
  } catch (const dlx::Error& error) {
    if (status != nullptr) *status = error.status();
    return error.what();
  }
  return "";
}

void run_random_copies(uint64_t first_seed, int count, int64_t max_elements) {
  for (uint64_t seed = first_seed; seed < first_seed + static_cast<uint64_t>(count); ++seed) {
    Choices choices(seed);
    const dlx_test::RandomTuning tuning(choices);
    RandomCopy copy(choices, choices.one_in(16) ? max_elements * 20 : max_elements);
    const std::string trouble = copy.run();
    if (!trouble.empty()) {
      print_error("seed %llu: %s\n%s\n", static_cast<unsigned long long>(seed), trouble.c_str(),
                  copy.describe().c_str());
    }
    assert_string_equal(trouble.c_str(), "");
  }
}

// The same seeds each time: a failure can be repeated.
void random_copies_equal_the_naive_copy(void**) { run_random_copies(1, 6000, 1500); }

// Other seeds each time: more of them are seen in the long run.
void fresh_random_copies_equal_the_naive_copy(void**) {
  run_random_copies(static_cast<uint64_t>(std::time(nullptr)) * 1000003u, 2000, 1500);
}

// The same random copies with each instruction set that this machine has. The set is chosen once a
// process, so each gets a process of its own.
void every_instruction_set_is_exact(void**) {
  for (const char* name : {"sse2", "avx2", "avx512", "neon"}) {
    if (dlx::kernels_named(name) == nullptr) {
      print_message("skipped: this machine or this build has no %s\n", name);
      continue;
    }
    const pid_t child = fork();
    if (child == 0) {
      setenv("DLX_ISA", name, 1);
      execl("/proc/self/exe", "test_copy", "--random", nullptr);
      _exit(127);
    }
    int status = -1;
    waitpid(child, &status, 0);

    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
  }
}

// Each axis order of a tensor with extents round the block sizes, each item size, with and without
// streaming.
void every_permutation_of_odd_extents_is_exact(void**) {
  const dlx::Tuning before = dlx::tuning();
  for (const int64_t item : {1, 2, 3, 4, 6, 8, 12, 16}) {
    std::vector<int64_t> shape = {33, 7, 65};
    std::vector<uint8_t> src(static_cast<size_t>(33 * 7 * 65 * item));
    std::iota(src.begin(), src.end(), static_cast<uint8_t>(1));
    std::vector<int> order = {0, 1, 2};
    do {
      for (const int64_t threshold : {int64_t{0}, INT64_MAX}) {
        dlx::tuning().stream_bytes = threshold;
        const int64_t step[] = {7 * 65, 65, 1};
        const DLDataType dtype = {kDLUInt, 8, static_cast<uint16_t>(item)};
        const int64_t n[] = {shape[order[0]], shape[order[1]], shape[order[2]]};
        const int64_t s[] = {step[order[0]], step[order[1]], step[order[2]]};
        std::vector<uint8_t> dst(src.size());
        const Described from(src.data(), {n[0], n[1], n[2]}, {s[0], s[1], s[2]}, dtype);
        const Described to(dst.data(), {n[0], n[1], n[2]}, {}, dtype);

        dlx::copy_tensor(to.tensor, false, from.tensor, false);

        const uint8_t* expected = dst.data();
        for (int64_t i = 0; i < n[0]; ++i) {
          for (int64_t j = 0; j < n[1]; ++j) {
            for (int64_t k = 0; k < n[2]; ++k, expected += item) {
              const size_t at = static_cast<size_t>((i * s[0] + j * s[1] + k * s[2]) * item);
              assert_memory_equal(expected, &src[at], static_cast<size_t>(item));
            }
          }
        }
      }
    } while (std::next_permutation(order.begin(), order.end()));
  }
  dlx::tuning() = before;
}

/// Copies one compact tensor of `shape`, its axes reversed, to another, both some bytes behind a
/// line, and compares the items one by one.
void check_reversal(const std::vector<int64_t>& shape, int64_t item, int64_t dst_start,
                    int64_t src_start) {
  const size_t ndim = shape.size();
  std::vector<int64_t> steps(ndim, 1);  // of src, in items
  for (size_t k = 1; k < ndim; ++k) steps[k] = steps[k - 1] * shape[k - 1];
  const size_t bytes = static_cast<size_t>(steps.back() * shape.back() * item);
  std::vector<uint8_t> src = Choices(bytes).noise(static_cast<int64_t>(bytes) + 128);
  std::vector<uint8_t> dst(src.size());
  const auto at_line = [](std::vector<uint8_t>& memory) {
    return memory.data() + (-reinterpret_cast<uintptr_t>(memory.data()) & 63);
  };
  uint8_t* const from = at_line(src) + src_start;
  uint8_t* const to = at_line(dst) + dst_start;
  const DLDataType dtype = {kDLUInt, 8, static_cast<uint16_t>(item)};

  dlx::copy_tensor(Described(to, shape, {}, dtype).tensor, false,
                   Described(from, shape, steps, dtype).tensor, false);

  std::vector<int64_t> index(ndim, 0);
  for (size_t i = 0; i < bytes; i += static_cast<size_t>(item)) {
    int64_t offset = 0;
    for (size_t k = 0; k < ndim; ++k) offset += index[k] * steps[k];
    assert_memory_equal(to + i, from + offset * item, static_cast<size_t>(item));
    for (size_t k = ndim; k-- > 0;) {
      if (++index[k] < shape[k]) break;
      index[k] = 0;
    }
  }
}

// Powers of two, whose source lines share the sets of any cache.
void reversals_of_powers_of_two_are_exact(void**) {
  const dlx::Tuning before = dlx::tuning();
  dlx::tuning().stream_bytes = 0;
  dlx::tuning().long_row_bytes = 1;
  dlx::tuning().cache_sets = 1;
  for (const int64_t item : {1, 2, 4, 8, 16}) {
    for (const int64_t start : {int64_t{0}, item, int64_t{48}}) {
      check_reversal({128, 4, 64}, item, start, 0);
      check_reversal({32, 16, 16, 32}, item, 0, start);
      check_reversal(std::vector<int64_t>(14, 2), item, start, start);
    }
  }
  dlx::tuning() = before;
}

// Pairs of small elements travel as one item; a third axis leads to places that are no multiples of
// such an item.
void planes_that_begin_inside_items_are_exact(void**) {
  const dlx::Tuning before = dlx::tuning();
  dlx::tuning().stream_bytes = 0;
  dlx::tuning().long_row_bytes = 1;
  const int64_t n = 512, lines = 16;
  for (const int64_t item : {1, 2, 4, 8}) {
    const int64_t row = 2 * n + 64;  // elements of dst, so that columns begin at the same place
    const int64_t plane = lines * row + 1;
    const DLDataType dtype = {kDLUInt, 8, static_cast<uint16_t>(item)};
    const std::vector<uint8_t> src = Choices(7).noise(3 * n * lines * 2 * item);
    std::vector<uint8_t> dst(static_cast<size_t>(3 * plane * item + 64));
    uint8_t* const to = dst.data() + (-reinterpret_cast<uintptr_t>(dst.data()) & 63);

    dlx::copy_tensor(Described(to, {3, lines, n, 2}, {plane, row, 2, 1}, dtype).tensor, false,
                     Described(const_cast<uint8_t*>(src.data()), {3, lines, n, 2},
                               {n * lines * 2, 2, lines * 2, 1}, dtype)
                         .tensor,
                     false);

    for (int64_t a = 0; a < 3; ++a) {
      for (int64_t v = 0; v < lines; ++v) {
        for (int64_t u = 0; u < n; ++u) {
          assert_memory_equal(to + (a * plane + v * row + 2 * u) * item,
                              &src[static_cast<size_t>(((a * n + u) * lines + v) * 2 * item)],
                              static_cast<size_t>(2 * item));
        }
      }
    }
  }
  dlx::tuning() = before;
}

// A square transposed onto itself, and a vector reversed onto itself, as if through a temporary.
void rearrangements_in_place_are_exact(void**) {
  const int64_t n = 301;
  std::vector<uint32_t> matrix(static_cast<size_t>(n * n));
  std::iota(matrix.begin(), matrix.end(), 0u);
  const std::vector<uint32_t> before = matrix;

  dlx::copy_tensor(Described(matrix.data(), {n, n}).tensor, false,
                   Described(matrix.data(), {n, n}, {1, n}).tensor, false);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      assert_int_equal(matrix[static_cast<size_t>(i * n + j)],
                       before[static_cast<size_t>(j * n + i)]);
    }
  }

  std::vector<uint32_t> line = before;
  dlx::copy_tensor(Described(line.data(), {n * n}).tensor, false,
                   Described(&line.back(), {n * n}, {-1}).tensor, false);
  for (size_t i = 0; i < line.size(); ++i) assert_int_equal(line[i], before[line.size() - 1 - i]);
}

// Rows next to pages that may not be touched: no read and no write beyond the elements.
void pages_without_elements_are_not_touched(void**) {
  const size_t page = 4096;
  const size_t pages = 8;
  char* const map = static_cast<char*>(
      mmap(nullptr, (2 * pages + 1) * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  assert_true(map != MAP_FAILED);
  for (size_t k = 0; k < pages; ++k) {  // every other page is there
    assert_int_equal(mprotect(map + (2 * k + 1) * page, page, PROT_READ | PROT_WRITE), 0);
  }
  std::vector<uint8_t> dst(pages * 40);
  for (const int64_t width : {1, 2, 3, 5, 7, 13, 16, 31, 40}) {
    for (const bool at_end : {false, true}) {
      for (const bool transposed : {false, true}) {
        char* const first = map + page + (at_end ? page - static_cast<size_t>(width) : 0);
        const int64_t step = 2 * static_cast<int64_t>(page);
        const int64_t rows = static_cast<int64_t>(pages);
        for (int64_t r = 0; r < rows; ++r)
          std::memset(first + r * step, static_cast<int>(r + 1), width);
        const DLDataType dtype = {kDLUInt, 8, 1};
        const Described rows_of(first, {rows, width}, {step, 1}, dtype);
        const Described columns_of(first, {width, rows}, {1, step}, dtype);
        const Described& from = transposed ? columns_of : rows_of;
        const Described to(dst.data(), from.shape, {}, dtype);

        dlx::copy_tensor(to.tensor, false, from.tensor, false);

        for (int64_t r = 0; r < rows; ++r) {
          for (int64_t c = 0; c < width; ++c) {
            const int64_t at = transposed ? c * rows + r : r * width + c;
            assert_int_equal(dst[static_cast<size_t>(at)], r + 1);
          }
        }
      }
    }
  }
  munmap(map, (2 * pages + 1) * page);
}

// Offsets beyond 2^32 bytes and 2^31 elements, in memory that is mapped but never filled.
void offsets_beyond_32_bits_work(void**) {
  const int64_t rows = 5;
  const int64_t step = (int64_t{1} << 31) + 4097;  // elements of 1 byte
  const size_t bytes = static_cast<size_t>(step * (rows - 1) + 4096);
  void* const map = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map == MAP_FAILED) {
    print_message("skipped: no address space for %zu bytes\n", bytes);
    skip();
  }
  uint8_t* const src = static_cast<uint8_t*>(map);
  for (int64_t r = 0; r < rows; ++r) std::memset(src + r * step, static_cast<int>(r + 1), 100);
  std::vector<uint8_t> dst(static_cast<size_t>(rows * 100));
  const DLDataType dtype = {kDLUInt, 8, 1};

  dlx::copy_tensor(Described(dst.data(), {100, rows}, {}, dtype).tensor, false,
                   Described(src, {100, rows}, {1, step}, dtype).tensor, false);

  for (size_t k = 0; k < dst.size(); ++k) assert_int_equal(dst[k], k % 5 + 1);
  munmap(map, bytes);
}

// Bad input is named, and nothing is written.
void bad_input_is_refused_in_words(void**) {
  uint32_t dst[64];
  uint32_t src[64] = {};
  std::memset(dst, 0xee, sizeof dst);
  int32_t status = 0;

  assert_string_equal(refusal({dst, {2, 3}}, {src, {3, 2}}, &status).c_str(),
                      "`src` has another shape than `dst` (got (3, 2), expected (2, 3))");
  assert_int_equal(status, DLX_ERROR_INVALID_ARGUMENT);
  assert_non_null(std::strstr(refusal({dst, {2}}, {src, {2}, {}, {kDLInt, 32, 1}}).c_str(),
                              "another dtype than `dst` (got int32, expected uint32)"));
  assert_non_null(std::strstr(refusal({dst, {2}, {0}}, {src, {2}}).c_str(),
                              "`dst` stores several elements in one place"));
  assert_non_null(std::strstr(refusal({dst, {3, 3}, {2, 1}}, {src, {3, 3}}).c_str(),
                              "`dst` stores several elements in one place"));
  assert_non_null(std::strstr(refusal({dst, {2}, {INT64_MAX / 2}}, {src, {2}}).c_str(),
                              "`dst` reaches beyond the address space"));
  assert_non_null(std::strstr(refusal({dst, {2}}, {src, {2}, {INT64_MIN}}).c_str(),
                              "`src` reaches beyond the address space"));
  assert_non_null(std::strstr(refusal({dst, {-1}}, {src, {-1}}).c_str(), "negative extent"));
  assert_non_null(std::strstr(refusal({dst, {2}}, {nullptr, {2}}).c_str(), "`src`"));

  for (const uint32_t value : dst) assert_int_equal(value, 0xeeeeeeeeu);
}

// Strides (2, 3) of a 2 x 2 dst interleave but do not collide: that is allowed.
void interleaved_but_distinct_elements_are_accepted(void**) {
  uint32_t dst[6] = {};
  const uint32_t src[4] = {1, 2, 3, 4};

  const std::string words = refusal({dst, {2, 2}, {2, 3}}, {const_cast<uint32_t*>(src), {2, 2}});

  assert_string_equal(words.c_str(), "");
  const uint32_t expected[6] = {1, 0, 3, 2, 0, 4};
  assert_memory_equal(dst, expected, sizeof dst);
}

// Nothing is read or written where there is nothing to copy.
void empty_tensors_need_no_data(void**) {
  assert_string_equal(refusal({nullptr, {3, 0}}, {nullptr, {3, 0}, {0, 0}}).c_str(), "");
}

// The description fits in what it is given, and says how long it would be.
/// The kernel that a copy of 4-byte items into a compact dst gets.
std::string kernel_of(const std::vector<int64_t>& shape, const std::vector<int64_t>& strides) {
  std::vector<char> room(size_t{64} << 10);
  const Described to(room.data(), shape);
  const Described from(room.data() + room.size() / 2, shape, strides);
  char text[512];
  dlx::describe_copy(to.tensor, from.tensor, text, sizeof text);
  return std::string(text, std::strcspn(text, " "));
}

/// The first, the third and the fifth once went to kernels that took several times as long as
/// NumPy.
void each_structure_gets_the_kernel_that_suits_it(void**) {
  const std::string cells = dlx::kernels().cells != nullptr ? "cells" : "gather";
  assert_string_equal(kernel_of({50, 3}, {3, -1}).c_str(), "gather");  // few cells
  assert_string_equal(kernel_of({5, 80}, {80, -1}).c_str(), cells.c_str());
  assert_string_equal(kernel_of({60, 30}, {1, 0}).c_str(), "gather");  // filled
  assert_string_equal(kernel_of({60, 5}, {1, 0}).c_str(), "transpose");
  assert_string_equal(kernel_of({9, 20, 40}, {40, 360, 1}).c_str(), "rows");
  assert_string_equal(kernel_of({60, 50}, {1, 60}).c_str(), "transpose");
}

void a_plan_can_be_described(void**) {
  uint32_t dst[64];
  uint32_t src[64] = {};
  const Described to(dst, {8, 8});
  const Described from(src, {8, 8}, {1, 8});
  char text[512];
  char cut[16];

  const size_t length = dlx::describe_copy(to.tensor, from.tensor, text, sizeof text);
  const size_t same = dlx::describe_copy(to.tensor, from.tensor, cut, sizeof cut);

  assert_int_equal(length, std::strlen(text));
  assert_int_equal(same, length);
  assert_int_equal(std::strlen(cut), sizeof cut - 1);
  assert_memory_equal(text, cut, sizeof cut - 1);
  assert_non_null(std::strstr(text, "transpose of 4-byte items"));
}

}  // namespace

int main(int argc, char** argv) {
  const CMUnitTest random[] = {cmocka_unit_test(random_copies_equal_the_naive_copy)};
  if (argc > 1 && std::strcmp(argv[1], "--random") == 0) {
    return cmocka_run_group_tests(random, nullptr, nullptr);
  }
  const CMUnitTest tests[] = {
      cmocka_unit_test(random_copies_equal_the_naive_copy),
      cmocka_unit_test(fresh_random_copies_equal_the_naive_copy),
      cmocka_unit_test(every_instruction_set_is_exact),
      cmocka_unit_test(every_permutation_of_odd_extents_is_exact),
      cmocka_unit_test(reversals_of_powers_of_two_are_exact),
      cmocka_unit_test(planes_that_begin_inside_items_are_exact),
      cmocka_unit_test(rearrangements_in_place_are_exact),
      cmocka_unit_test(pages_without_elements_are_not_touched),
      cmocka_unit_test(offsets_beyond_32_bits_work),
      cmocka_unit_test(bad_input_is_refused_in_words),
      cmocka_unit_test(interleaved_but_distinct_elements_are_accepted),
      cmocka_unit_test(empty_tensors_need_no_data),
      cmocka_unit_test(each_structure_gets_the_kernel_that_suits_it),
      cmocka_unit_test(a_plan_can_be_described),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
