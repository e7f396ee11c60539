// Compares copy_tensor with a naive copy; tests the input that it refuses.
#include "src/copy/copy.h"

#include <sys/mman.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <limits>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "copy_test.h"
#include "dlx/dlx.h"
#include "random_copy.h"
#include "src/base/error.h"
#include "src/copy/in_place.h"
#include "src/copy/threads/threads.h"
#include "src/copy/ways/buffers.h"

namespace {

using dlx_test::Choices;
using dlx_test::Described;
using dlx_test::RandomCopy;

/// The message of the Error that a copy throws; "" if it succeeds.
std::string refusal(const Described& dst, const Described& src, int32_t* status = nullptr) {
  try {
    dlx::copy_tensor(dst.tensor, false, src.tensor, false);
  } catch (const dlx::Error& error) {
    if (status != nullptr) *status = error.status();
    return error.what();
  }
  return "";
}

#if defined(__SANITIZE_THREAD__)
constexpr int kThousand = 100;  // each takes twenty times as long, and most use one thread
#else
constexpr int kThousand = 1000;
#endif

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

// The same seeds in every run, so that failures can be reproduced.
void random_copies_equal_the_naive_copy(void**) { run_random_copies(1, 6 * kThousand, 1500); }

// Other seeds in every run, to test more layouts over time.
void fresh_random_copies_equal_the_naive_copy(void**) {
  run_random_copies(static_cast<uint64_t>(std::time(nullptr)) * 1000003u, 2 * kThousand, 1500);
}

// The same random copies with each instruction set that this machine has.
void every_instruction_set_is_exact(void**) { dlx_test::run_with_each_isa("--random"); }

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

// Rows of bytes, compact and with gaps, next to inaccessible pages: nothing is read or written
// beyond the elements.
void pages_without_elements_are_not_touched(void**) {
  const size_t page = 4096;
  const size_t pages = 20;
  char* const map = static_cast<char*>(
      mmap(nullptr, (2 * pages + 1) * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  assert_true(map != MAP_FAILED);
  for (size_t k = 0; k < pages; ++k) {  // every other page is accessible
    assert_int_equal(mprotect(map + (2 * k + 1) * page, page, PROT_READ | PROT_WRITE), 0);
  }
  std::vector<uint8_t> dst(pages * 40);
  const auto copy_rows = [&](int64_t width, int64_t every, bool at_end, bool transposed) {
    const auto bytes = static_cast<size_t>((width - 1) * every + 1);
    char* const first = map + page + (at_end ? page - bytes : 0);
    const int64_t step = 2 * static_cast<int64_t>(page);
    const int64_t rows = static_cast<int64_t>(pages);
    for (int64_t r = 0; r < rows; ++r)
      std::memset(first + r * step, static_cast<int>(r + 1), bytes);
    const DLDataType dtype = {kDLUInt, 8, 1};
    const Described rows_of(first, {rows, width}, {step, every}, dtype);
    const Described columns_of(first, {width, rows}, {every, step}, dtype);
    const Described& from = transposed ? columns_of : rows_of;
    const Described to(dst.data(), from.shape, {}, dtype);

    dlx::copy_tensor(to.tensor, false, from.tensor, false);

    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < width; ++c) {
        const int64_t at = transposed ? c * rows + r : r * width + c;
        assert_int_equal(dst[static_cast<size_t>(at)], r + 1);
      }
    }
  };
  for (const int64_t width : {1, 2, 3, 5, 7, 9, 13, 16, 31, 40}) {
    for (const int64_t every : {1, 2, 3, 6}) {
      for (const bool at_end : {false, true}) {
        for (const bool transposed : {false, true}) copy_rows(width, every, at_end, transposed);
      }
    }
  }
  munmap(map, (2 * pages + 1) * page);
}

// Long rows that begin and end with a page, next to inaccessible pages: forwards and backwards,
// transposed and not, streamed.
void long_rows_end_with_their_pages(void**) {
  const dlx::Machine before = dlx::machine();
  dlx::machine().stream_bytes = 0;
  const int64_t page = 4096;
  const int64_t rows = 1100;  // more than strips take at a time
  const int64_t step = 3 * page;
  const size_t mapped = static_cast<size_t>((rows + 1) * step);
  char* const map = static_cast<char*>(
      mmap(nullptr, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  assert_true(map != MAP_FAILED);
  for (int64_t r = 0; r < rows; ++r) {
    assert_int_equal(
        mprotect(map + r * step + page, static_cast<size_t>(page), PROT_READ | PROT_WRITE), 0);
    for (int64_t b = 0; b < page; ++b) {
      map[r * step + page + b] = static_cast<char>(r * 7 + b * 13 + (b >> 8));
    }
  }
  for (const int64_t item : {1, 2, 3, 4, 6, 8, 12, 16}) {
    for (const int64_t every : {-3, -2, -1, 1, 2, 3}) {
      const int64_t gap = every < 0 ? -every : every;
      const int64_t width = std::min<int64_t>(600, page / item / gap - 1);
      const int64_t row_bytes = ((width - 1) * gap + 1) * item;
      for (const bool at_end : {false, true}) {
        for (const bool transposed : {false, true}) {
          char* first = map + page + (at_end ? page - row_bytes : 0);
          if (every < 0) first += row_bytes - item;
          const DLDataType dtype = {kDLUInt, 8, static_cast<uint16_t>(item)};
          if (step % item != 0) continue;
          const int64_t along = step / item;
          const Described from = transposed
                                     ? Described(first, {width, rows}, {every, along}, dtype)
                                     : Described(first, {rows, width}, {along, every}, dtype);
          std::vector<char> dst(static_cast<size_t>(rows * width * item));
          const Described to(dst.data(), from.shape, {}, dtype);

          dlx::copy_tensor(to.tensor, false, from.tensor, false);

          int64_t wrong = 0;
          for (int64_t r = 0; r < rows; ++r) {
            for (int64_t c = 0; c < width; ++c) {
              const int64_t at = (transposed ? c * rows + r : r * width + c) * item;
              wrong +=
                  std::memcmp(&dst[static_cast<size_t>(at)], first + r * step + c * every * item,
                              static_cast<size_t>(item)) != 0;
            }
          }
          assert_int_equal(wrong, 0);
        }
      }
    }
  }
  munmap(map, mapped);
  dlx::machine() = before;
}

// Items with gaps between them, shifted by a few items in either direction, for many buffers.
void shifts_of_items_with_gaps_are_exact(void**) {
  const int64_t n = 30000;
  for (const int64_t every : {2, 3}) {
    for (const int64_t shift : {1, 2, 3, 40, 5000}) {
      for (const bool up : {false, true}) {
        std::vector<uint16_t> memory(static_cast<size_t>(n * every + shift));
        std::iota(memory.begin(), memory.end(), static_cast<uint16_t>(0));
        std::vector<uint16_t> expected = memory;
        const int64_t from = up ? 0 : shift;
        const int64_t to = up ? shift : 0;
        for (int64_t i = 0; i < n; ++i) {
          expected[static_cast<size_t>(to + i * every)] =
              memory[static_cast<size_t>(from + i * every)];
        }
        const DLDataType dtype = {kDLUInt, 16, 1};

        dlx::copy_tensor(
            Described(&memory[static_cast<size_t>(to)], {n}, {every}, dtype).tensor, false,
            Described(&memory[static_cast<size_t>(from)], {n}, {every}, dtype).tensor, false);

        assert_true(memory == expected);
      }
    }
  }
}

// The stride of an axis of one element is unused, and may have any value.
void steps_of_single_elements_do_not_count(void**) {
  uint32_t src[4] = {1, 2, 3, 4};
  uint32_t dst[4] = {};
  dlx::copy_tensor(Described(dst, {1, 4}, {INT64_MAX, 1}).tensor, false,
                   Described(src, {1, 4}, {INT64_MIN, 1}).tensor, false);
  assert_memory_equal(dst, src, sizeof src);
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

// Errors name the bad input, and nothing is written.
void bad_input_is_refused_with_a_message(void**) {
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

  for (const uint32_t value : dst) assert_int_equal(value, 0xeeeeeeeeu);
}

// What does not fit into memory is refused before a byte is written.
void temporaries_that_find_no_memory_are_refused(void**) {
  int32_t status = 0;
  std::string words;
  try {
    dlx::allocate_temporary(INT64_MAX / 2);
  } catch (const dlx::Error& error) {
    status = error.status();
    words = error.what();
  }
  assert_int_equal(status, DLX_ERROR_OUT_OF_MEMORY);
  assert_non_null(
      std::strstr(words.c_str(), "no room for a temporary of 4611686018427387903 bytes"));
}

// More threads than there are shelves for their memory: each has memory of its own.
void scratch_memory_beyond_the_shelves_is_freed(void**) {
  for (int round = 0; round < 2; ++round) {
    std::array<dlx::Buffers, 20> all;
    for (dlx::Buffers& buffers : all) {
      assert_true(buffers.exist());
      buffers[0][0] = static_cast<char>(&buffers - all.data());
    }
    for (dlx::Buffers& buffers : all) assert_int_equal(buffers[0][0], &buffers - all.data());
  }
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

bool repeats(const std::vector<int64_t>& shape, const std::vector<int64_t>& strides) {
  return dlx::repeats_elements(Described(nullptr, shape, strides).tensor);
}

void repeated_elements_are_found(void**) {
  for (uint64_t seed = 1; seed <= 20 * kThousand; ++seed) {
    Choices choices(seed);
    std::vector<int64_t> shape, strides, places = {0};
    for (int64_t axis = choices.below(5); axis > 0; --axis) {
      shape.push_back(1 + choices.below(4));
      strides.push_back(choices.below(25) - 12);
      std::vector<int64_t> all;
      for (int64_t i = 0; i < shape.back(); ++i) {
        for (const int64_t place : places) all.push_back(place + i * strides.back());
      }
      places = all;
    }
    const std::set<int64_t> distinct(places.begin(), places.end());
    const bool right = repeats(shape, strides) == (distinct.size() < places.size());
    if (!right) print_error("seed %llu\n", static_cast<unsigned long long>(seed));
    assert_true(right);
  }
  // What no array can have counts as repeated.
  assert_true(repeats({2}, {std::numeric_limits<int64_t>::min()}));
  assert_true(repeats({1 << 30, 2}, {int64_t{1} << 40, 1}));
  assert_true(repeats(std::vector<int64_t>(65, 2), std::vector<int64_t>(65, 1)));
  assert_false(repeats({1, 2}, {std::numeric_limits<int64_t>::min(), 1}));
}

// Empty copies read and write nothing.
void empty_tensors_need_no_data(void**) {
  assert_string_equal(refusal({nullptr, {3, 0}}, {nullptr, {3, 0}, {0, 0}}).c_str(), "");
}

/// The kernel for a copy of 4-byte items into a compact dst.
std::string kernel_of(const std::vector<int64_t>& shape, const std::vector<int64_t>& strides) {
  std::vector<char> room(size_t{64} << 10);
  const Described to(room.data(), shape);
  const Described from(room.data() + room.size() / 2, shape, strides);
  char text[512];
  dlx::describe_copy(to.tensor, from.tensor, text, sizeof text);
  return std::string(text, std::strcspn(text, " "));
}

/// Some of these once got kernels that took longer than NumPy.
void each_structure_gets_the_kernel_that_suits_it(void**) {
  const std::string cells = dlx::kernels().cells != nullptr ? "cells" : "gather";
  assert_string_equal(kernel_of({50, 3}, {3, -1}).c_str(), "gather");  // few cells
  assert_string_equal(kernel_of({5, 80}, {80, -1}).c_str(), cells.c_str());
  assert_string_equal(kernel_of({9, 40}, {160, 2}).c_str(), cells.c_str());
  assert_string_equal(kernel_of({60, 30}, {1, 0}).c_str(), "gather");  // filled
  assert_string_equal(kernel_of({60, 5}, {1, 0}).c_str(), "transpose");
  assert_string_equal(kernel_of({9, 20, 40}, {40, 360, 1}).c_str(), "rows");
  assert_string_equal(kernel_of({60, 50}, {1, 60}).c_str(), "transpose");
  assert_string_equal(kernel_of({40, 2, 30}, {2, -1, 80}).c_str(), "transpose");  // folded
}

/// The description is cut to its room, and its whole length is returned.
void a_plan_can_be_described(void**) {
  uint32_t dst[64];
  uint32_t src[64] = {};
  const Described to(dst, {8, 8});
  const Described from(src, {8, 8}, {1, 8});
  char text[512];
  char cut[16];

  const size_t length = dlx::describe_copy(to.tensor, from.tensor, text, sizeof text);
  const size_t same = dlx::describe_copy(to.tensor, from.tensor, cut, sizeof cut);
  const size_t asked = dlx::describe_copy(to.tensor, from.tensor, nullptr, 0);

  assert_int_equal(length, std::strlen(text));
  assert_int_equal(same, length);
  assert_int_equal(asked, length);
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
      cmocka_unit_test(rearrangements_in_place_are_exact),
      cmocka_unit_test(pages_without_elements_are_not_touched),
      cmocka_unit_test(long_rows_end_with_their_pages),
      cmocka_unit_test(shifts_of_items_with_gaps_are_exact),
      cmocka_unit_test(steps_of_single_elements_do_not_count),
      cmocka_unit_test(offsets_beyond_32_bits_work),
      cmocka_unit_test(bad_input_is_refused_with_a_message),
      cmocka_unit_test(temporaries_that_find_no_memory_are_refused),
      cmocka_unit_test(scratch_memory_beyond_the_shelves_is_freed),
      cmocka_unit_test(interleaved_but_distinct_elements_are_accepted),
      cmocka_unit_test(repeated_elements_are_found),
      cmocka_unit_test(empty_tensors_need_no_data),
      cmocka_unit_test(each_structure_gets_the_kernel_that_suits_it),
      cmocka_unit_test(a_plan_can_be_described),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
