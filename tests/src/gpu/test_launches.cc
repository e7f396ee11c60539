// How a copy is divided into launches: the guarantees for kernels, and sizes beyond 32 bits.
#include <sys/mman.h>

#include <algorithm>
#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kernel_copy.h"
#include "src/gpu/kernels.h"
#include "src/gpu/ways.h"
#include "tests/src/copy/random_copy.h"

extern "C" {
#include <cmocka.h>
}
#undef fail  // its macro would hide dlx::fail

namespace {

using dlx::CopyPlan;
using dlx_test::Choices;
using dlx_test::OpenClDevice;

using Axes = std::vector<int64_t>;

constexpr int64_t kGiB = int64_t{1} << 30;

/// Strides in bytes. Each side's first element lies at `first`.
CopyPlan plan_of(Axes shape, Axes dst_strides, Axes src_strides, int64_t item, int64_t first = 0) {
  DLTensor dst{}, src{};
  dst.data = src.data = reinterpret_cast<void*>(1 + first);
  dst.ndim = src.ndim = static_cast<int32_t>(shape.size());
  dst.shape = src.shape = shape.data();
  dst.strides = dst_strides.data();
  src.strides = src_strides.data();
  dst.dtype = src.dtype = {kDLUInt, 8, 1};
  return CopyPlan(dst, src, {item, 1, 1, 1, false}).moved(-1, -1);
}

/// The moves of a launch: (position in dst, position in src, bytes).
struct Move {
  int64_t dst, src, bytes;
  bool operator<(const Move& other) const { return dst < other.dst; }
  bool operator==(const Move& other) const {
    return dst == other.dst && src == other.src && bytes == other.bytes;
  }
};

void add_moves(const dlx_strided_copy& copy, std::vector<Move>* moves) {
  std::vector<Move> all = {{copy.dst, copy.src, copy.item}};
  for (uint32_t k = 0; k < copy.axes; ++k) {
    std::vector<Move> longer;
    for (const Move& move : all) {
      for (int64_t i = 0; i < copy.extent[k]; ++i) {
        longer.push_back(
            {move.dst + i * copy.dst_step[k], move.src + i * copy.src_step[k], move.bytes});
      }
    }
    all.swap(longer);
  }
  moves->insert(moves->end(), all.begin(), all.end());
}

/// Sorts the moves, and joins neighbours that are contiguous on both sides.
std::vector<Move> joined(std::vector<Move> moves) {
  std::sort(moves.begin(), moves.end());
  std::vector<Move> result;
  for (const Move& move : moves) {
    if (!result.empty()) {
      Move& last = result.back();
      if (last.dst + last.bytes == move.dst && last.src + last.bytes == move.src) {
        last.bytes += move.bytes;
        continue;
      }
    }
    result.push_back(move);
  }
  return result;
}

std::vector<Move> moves_of(const CopyPlan& plan) {
  std::vector<Move> moves = {{reinterpret_cast<intptr_t>(plan.dst()),
                              reinterpret_cast<intptr_t>(plan.src()), plan.item()}};
  for (int k = 0; k < plan.ndim(); ++k) {
    std::vector<Move> longer;
    for (const Move& move : moves) {
      for (int64_t i = 0; i < plan.axis(k).extent; ++i) {
        longer.push_back(
            {move.dst + i * plan.axis(k).dst, move.src + i * plan.axis(k).src, move.bytes});
      }
    }
    moves.swap(longer);
  }
  return joined(moves);
}

/// Whether a kernel counts the steps of an axis in 32 bits.
bool is_run_axis(const dlx::gpu::Launch& launch, uint32_t k) {
  if (dlx::gpu::family_of(launch.kernel) == dlx::gpu::kTiles) return true;
  return k < launch.copy.dst_axes + launch.copy.src_axes &&
         std::strstr(dlx::gpu::kernel_name(launch.kernel), "scatter") == nullptr;
}

/// Asserts what every kernel relies on.
void check_promises(const dlx::gpu::Launch& launch, const dlx::gpu::Limits& limits) {
  const dlx_strided_copy& copy = launch.copy;
  assert_true(launch.kernel >= 0 && launch.kernel < dlx::gpu::kernel_count());
  assert_true(copy.axes <= DLX_STRIDED_COPY_AXES);
  assert_int_equal(copy.outer_axes + copy.src_axes + copy.dst_axes, copy.axes);
  assert_true(copy.item > 0 && copy.item <= kGiB);
  int64_t bytes = copy.item;
  for (uint32_t k = 0; k < copy.axes; ++k) {
    assert_true(copy.extent[k] >= 2 && copy.extent[k] < 2 * kGiB);
    if (is_run_axis(launch, k)) {
      assert_true(std::abs(copy.dst_step[k]) <= INT32_MAX);
      assert_true(std::abs(copy.src_step[k]) <= INT32_MAX);
    }
    bytes *= copy.extent[k];
  }
  assert_true(bytes <= 17 * kGiB);
  assert_true(launch.groups[0] > 0 && launch.groups[1] == 1 && launch.groups[2] == 1);
  assert_true(int64_t{launch.groups[0]} * launch.group_size[0] < 4 * kGiB);
  assert_int_equal(launch.group_size[0], copy.group_size);
  if (limits.max_groups != 0) assert_true(launch.groups[0] <= limits.max_groups);
  if (limits.max_group_size != 0) assert_true(copy.group_size <= limits.max_group_size);
}

int64_t bytes_of(const dlx_strided_copy& copy) {
  int64_t bytes = copy.item;
  for (uint32_t k = 0; k < copy.axes; ++k) bytes *= copy.extent[k];
  return bytes;
}

int check_launches(const CopyPlan& plan, const dlx::gpu::Limits& limits = {}) {
  dlx::gpu::Launches launches(plan, 0, 0, limits);
  dlx::gpu::Launch launch;
  std::vector<Move> moves;
  int count = 0;
  for (; launches.next(&launch); ++count) {
    check_promises(launch, limits);
    add_moves(launch.copy, &moves);
  }
  assert_false(launches.next(&launch));
  assert_true(joined(moves) == moves_of(plan));
  return count;
}

void one_launch_is_usual(void**) {
  assert_int_equal(check_launches(plan_of({100, 200}, {200, 1}, {1, 100}, 1)), 1);
  assert_int_equal(check_launches(plan_of({1}, {1}, {1}, 1)), 1);
  // The largest matrix of bytes that a 16 GiB GPU can hold twice.
  assert_int_equal(check_launches(plan_of({8}, {kGiB}, {kGiB}, kGiB - 1)), 1);
}

void long_items_are_cut(void**) {
  assert_int_equal(check_launches(plan_of({}, {}, {}, 5 * kGiB + 3)), 2);
  assert_int_equal(check_launches(plan_of({}, {}, {}, 5 * kGiB, 16)), 1);
  assert_int_equal(check_launches(plan_of({3}, {7 * kGiB}, {6 * kGiB}, 5 * kGiB)), 1);
  assert_int_equal(check_launches(plan_of({3}, {7 * kGiB + 1}, {6 * kGiB}, 5 * kGiB - 1)), 2);
}

/// Where the family of rows turns out to be missing, the other ones take the whole plan.
void rows_that_do_not_load_are_cut_anew(void**) {
  const CopyPlan plan = plan_of({3}, {7 * kGiB + 1}, {6 * kGiB}, 5 * kGiB - 1);
  dlx::gpu::Limits limits{};
  dlx::gpu::Launches launches(plan, 0, 0, limits);
  dlx::gpu::Launch launch;
  assert_true(launches.next(&launch));
  assert_int_equal(dlx::gpu::family_of(launch.kernel), dlx::gpu::kRows);
  limits.missing = 1u << dlx::gpu::kRows;
  int64_t bytes = 0;
  launches.again(limits, &launch);
  do {
    check_promises(launch, limits);
    bytes += bytes_of(launch.copy);
  } while (launches.next(&launch));
  assert_int_equal(bytes, plan.size());
}

void long_steps_take_one_launch(void**) {
  const int counts[] = {
      check_launches(plan_of({3, 5}, {3 * kGiB, 4}, {8, 2 * kGiB}, 4)),
      check_launches(plan_of({3, 5}, {4, 3 * kGiB}, {2 * kGiB, 8}, 4)),
      check_launches(plan_of({2, 3, 7}, {4 * kGiB, 100, 4}, {400, -2 * kGiB, 4}, 4, 60 * kGiB)),
      check_launches(plan_of({40, 2, 40}, {80, 2 * kGiB, 2}, {2, 2 * kGiB, 80}, 2)),
  };
  for (const int count : counts) assert_int_equal(count, 1);
}

void many_axes_take_few_launches(void**) {
  for (int ndim = 7; ndim <= 14; ++ndim) {
    Axes shape(static_cast<size_t>(ndim), 2), dst(shape.size()), src(shape.size());
    int64_t dst_step = 3, src_step = 3;
    for (size_t k = shape.size(); k-- > 0;) {
      dst[k] = dst_step;
      dst_step = dst_step * 2 + 3;
      src[shape.size() - 1 - k] = src_step;
      src_step = src_step * 2 + 3;
    }
    assert_int_equal(check_launches(plan_of(shape, dst, src, 3)), 1);
  }
}

/// Counts the launches, which must not be more than 4.
int count_few_launches(const CopyPlan& plan) {
  dlx::gpu::Launches launches(plan, 0, 0, {});
  dlx::gpu::Launch launch;
  int count = 0;
  int64_t bytes = 0;
  for (; launches.next(&launch); ++count) {
    check_promises(launch, {});
    bytes += bytes_of(launch.copy);
  }
  if (count > 4) {
    print_error("%d launches, item %lld\n", count, static_cast<long long>(plan.item()));
    for (int k = 0; k < plan.ndim(); ++k) {
      print_error(" %lld by %lld, %lld\n", static_cast<long long>(plan.axis(k).extent),
                  static_cast<long long>(plan.axis(k).dst),
                  static_cast<long long>(plan.axis(k).src));
    }
  }
  assert_in_range(count, 1, 4);
  assert_int_equal(bytes, plan.size());
  return count;
}

/// Sizes of elements: all that a kernel may be chosen for.
constexpr int64_t kItems[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
constexpr int64_t kMostElements = int64_t{1} << 31;

/// 2^31 elements in as many axes as there can be.
void no_layout_takes_more_than_4_launches(void**) {
  for (const int64_t item : kItems) {
    Axes shape(31, 2), dst(31), src(31);
    for (size_t k = 0; k < 31; ++k) {
      dst[k] = item << (30 - k);
      src[k] = item << k;
    }
    count_few_launches(plan_of(shape, dst, src, item));
  }
}

/// Up to 2^31 elements in rows: compact ones, far from each other, backwards, and unaligned.
void no_long_rows_take_more_than_4_launches(void**) {
  const int64_t most_rows[] = {1, 2, 3, 5, 7, 10, 31, 32, 1000, int64_t{1} << 20};
  for (const int64_t item : kItems) {
    for (const int64_t rows : most_rows) {
      for (const int64_t less : {0, 1, 2}) {
        const int64_t n = kMostElements / rows - less, row = n * item;
        for (const int64_t gap : {item, 16 * item, kGiB / 16 * 16 * item}) {
          const int64_t far = rows * (row + gap);
          count_few_launches(plan_of({rows, n}, {row + gap, item}, {row, item}, item));
          count_few_launches(plan_of({rows, n}, {row, item}, {row + gap, item}, item));
          count_few_launches(plan_of({rows, n}, {row, item}, {-row, item}, item, far));
          count_few_launches(plan_of({rows, n}, {row + gap, item}, {row, -item}, item, far));
          count_few_launches(plan_of({rows, n}, {row, item}, {item, rows * item}, item));
          count_few_launches(plan_of({rows, n}, {2 * row, 2 * item}, {3 * row, 3 * item}, item));
          count_few_launches(plan_of({rows, n}, {row, item}, {item, 0}, item));
          count_few_launches(plan_of({rows, n}, {row + gap, item}, {0, item}, item));
        }
      }
    }
  }
}

/// Up to 2^31 elements in random axes, with gaps, backwards and repeated.
void no_random_layout_takes_more_than_4_launches(void**) {
  int most = 0;
  for (uint64_t seed = 1; seed <= 40000; ++seed) {
    Choices choices(seed);
    const int64_t item =
        choices.one_in(2) ? int64_t{1} << choices.below(5) : kItems[choices.below(16)];
    const auto ndim = static_cast<size_t>(1 + choices.below(31));
    Axes shape(ndim), dst(ndim), src(ndim), order(ndim);
    int64_t room = kMostElements, dst_step = item, src_step = item;
    const int64_t long_axis = choices.below(static_cast<int64_t>(ndim));
    for (size_t k = ndim; k-- > 0;) {
      const bool takes_all = static_cast<int64_t>(k) == long_axis;
      const int64_t most_here = takes_all || choices.one_in(4) ? room : std::min<int64_t>(room, 6);
      shape[k] = takes_all || choices.one_in(3) ? most_here : 1 + choices.below(most_here);
      room = std::max<int64_t>(room / shape[k], 1);
      order[k] = static_cast<int64_t>(k);
      dst[k] = dst_step;
      dst_step = dst_step * shape[k] + (choices.one_in(4) ? choices.below(3) * item : 0);
    }
    for (size_t k = ndim; k > 1; --k)
      std::swap(order[k - 1], order[static_cast<size_t>(choices.below(static_cast<int64_t>(k)))]);
    for (const int64_t axis : order) {
      const auto k = static_cast<size_t>(axis);
      src[k] = choices.one_in(8) ? 0 : choices.one_in(6) ? -src_step : src_step;
      src_step = src_step * shape[k] + (choices.one_in(4) ? item : 0);
    }
    if (dst_step > (int64_t{1} << 60) || src_step > (int64_t{1} << 60)) continue;
    most = std::max(most, count_few_launches(plan_of(shape, dst, src, item)));
  }
  print_message("%d launches at most\n", most);
}

void as_many_axes_as_a_plan_can_have(void**) {
  // 40 axes of extent 2 would be 2^40 items: of 64 axes, all but a few have extent 1.
  Axes shape(64, 1), dst(64, 1), src(64, 1);
  for (size_t k = 0; k < 64; k += 6) {
    shape[k] = 2;
    dst[k] = int64_t{5} << (2 * (63 - k) / 6);
    src[k] = int64_t{5} << (2 * k / 6);
  }
  check_launches(plan_of(shape, dst, src, 4));
}

/// More axes than a kernel takes, each with a step of its own on both sides.
void axes_beyond_those_of_a_kernel_are_looped_over(void**) {
  Axes shape(34, 2), dst(34), src(34);
  for (size_t k = 0; k < 34; ++k) {
    dst[k] = int64_t{1} << (33 - k);
    src[k] = int64_t{1} << k;
  }
  dlx::gpu::Launches launches(plan_of(shape, dst, src, 1), 0, 0, {});
  dlx::gpu::Launch launch;
  int64_t bytes = 0;
  for (int count = 0; launches.next(&launch); ++count) {
    assert_in_range(count, 0, 15);
    check_promises(launch, {});
    bytes += bytes_of(launch.copy);
  }
  assert_int_equal(bytes, int64_t{1} << 34);
}

void short_turned_rows_have_a_launch(void**) {
  assert_int_equal(check_launches(plan_of({3}, {1}, {-1}, 1, 2)), 1);
  assert_int_equal(check_launches(plan_of({2}, {1}, {-1}, 1, 1)), 1);
}

/// What Launches divides before it comes to this is refused.
void launches_beyond_the_limits_are_refused(void**) {
  dlx::gpu::Launch launch;
  assert_true(dlx::gpu::set_groups((int64_t{1} << 24) - 1, {}, &launch));
  assert_int_equal(launch.groups[0], (1 << 24) - 1);
  assert_int_equal(launch.group_size[0], 256);
  assert_false(dlx::gpu::set_groups(int64_t{1} << 24, {}, &launch));  // 2^32 work items
  dlx::gpu::Limits limits{};
  limits.max_group_size = 1;
  assert_true(dlx::gpu::set_groups(INT32_MAX, limits, &launch));
  assert_false(dlx::gpu::set_groups(int64_t{1} << 31, limits, &launch));
  limits.max_groups = 7;
  assert_true(dlx::gpu::set_groups(7, limits, &launch));
  assert_false(dlx::gpu::set_groups(8, limits, &launch));
  assert_true(dlx::gpu::set_count(INT32_MAX - 1024, 4, {}, &launch));
  assert_int_equal(launch.copy.count, INT32_MAX - 1024);
  assert_false(dlx::gpu::set_count(INT32_MAX - 1023, 4, {}, &launch));
  // No way takes a copy that needs more groups.
  limits.max_groups = 1;
  for (const int64_t item : {1, 3, 4, 6, 16, 40}) {
    const CopyPlan plan = plan_of({600, 500}, {500 * item, item}, {item, 600 * item}, item);
    dlx::gpu::choose_kernel(plan, 0, 0, limits, &launch);
    assert_int_equal(launch.kernel, -1);
  }
}

void limits_of_a_device_are_kept(void**) {
  dlx::gpu::Limits limits{};
  limits.max_group_size = 64;
  limits.max_groups = 7;
  assert_true(check_launches(plan_of({50, 60}, {60, 1}, {1, 50}, 1), limits) > 1);
  assert_true(check_launches(plan_of({50, 60}, {480, 8}, {8, 400}, 8), limits) > 1);
  assert_true(check_launches(plan_of({3}, {6000}, {5000}, 4999), limits) > 3);  // parts of items
  limits.max_group_size = 1;
  limits.max_groups = 1;
  check_launches(plan_of({3, 5}, {5, 1}, {1, 3}, 1), limits);
}

void random_plans_keep_their_promises(void**) {
  for (uint64_t seed = 1; seed <= 3000; ++seed) {
    Choices choices(seed);
    const auto ndim = static_cast<size_t>(choices.below(13));
    const int64_t item = 1 + choices.below(choices.one_in(4) ? 200 : 16);
    Axes shape(ndim), dst(ndim), src(ndim);
    int64_t dst_step = item, src_step = item, room = 3000, low = 0;
    for (size_t k = ndim; k-- > 0;) {
      shape[k] = 1 + choices.below(std::min<int64_t>(room, choices.one_in(3) ? 40 : 4));
      room = std::max<int64_t>(room / shape[k], 1);
      dst[k] = dst_step;
      dst_step = dst_step * shape[k] + choices.below(3) * item;
      if (choices.one_in(10)) dst_step += 3 * kGiB;
    }
    Axes order(ndim);
    for (size_t k = 0; k < ndim; ++k) order[k] = static_cast<int64_t>(k);
    for (size_t k = ndim; k > 1; --k)
      std::swap(order[k - 1], order[static_cast<size_t>(choices.below(static_cast<int64_t>(k)))]);
    for (const int64_t axis : order) {
      const auto k = static_cast<size_t>(axis);
      src[k] = choices.one_in(8) ? 0 : choices.one_in(6) ? -src_step : src_step;
      if (src[k] < 0) low -= src[k] * (shape[k] - 1);
      src_step = src_step * shape[k] + choices.below(3);
      if (choices.one_in(10)) src_step += 3 * kGiB;
    }
    if (dst_step > (int64_t{1} << 60) || src_step > (int64_t{1} << 60)) continue;
    check_launches(plan_of(shape, dst, src, item, low));
  }
}

// Real kernels on sparse memory, which PoCL uses in place.
void kernels_reach_beyond_32_bits(void**) {
  OpenClDevice* device = OpenClDevice::find_or_skip();
  const size_t size = static_cast<size_t>(7 * kGiB + kGiB / 2);
  void* all = mmap(nullptr, 2 * size, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (all == MAP_FAILED) {
    print_message("skipped: no address space for 15 GiB\n");
    skip();
  }
  char* dst_memory = static_cast<char*>(all);
  char* src_memory = dst_memory + size;
  dlx::opencl::Memory dst = nullptr, src = nullptr;
  bool wrapped = true;
  try {
    dst = device->wrap(dst_memory, size);
    src = device->wrap(src_memory, size);
  } catch (const std::exception& error) {
    print_message("skipped: no buffers of 7.5 GiB: %s\n", error.what());
    wrapped = false;
  }
  if (!wrapped) skip();  // outside: skip() jumps
  const struct {
    Axes shape, dst, src;
    int64_t item;
  } cases[] = {
      {{4, 300}, {2 * kGiB + 4096, 1}, {1, 4}, 1},                 // a step beyond int
      {{3, 5, 300}, {300, 1 * kGiB + 512, 1}, {1500, 300, 1}, 1},  // many steps within int
      {{7, 64, 64}, {1 * kGiB, 256, 4}, {1 * kGiB, 4, 256}, 4},    // tiles far apart
      {{7, 64, 96}, {1 * kGiB, 96, 1}, {1 * kGiB + 1, 1, 64}, 1},
      {{7, 1000}, {1 * kGiB, 8}, {1 * kGiB, 16}, 8},
      {{300, 4}, {4, 1}, {1, 2 * kGiB + 4096}, 1},
  };
  for (const auto& c : cases) {
    const CopyPlan plan = plan_of(c.shape, c.dst, c.src, c.item);
    const std::vector<Move> moves = moves_of(plan);
    uint8_t next = 1;
    for (const Move& move : moves) {
      for (int64_t k = 0; k < move.bytes; ++k)
        src_memory[move.src + k] = static_cast<char>(next += 7);
    }
    dlx::gpu::Launches launches(plan, 0, 0, {});
    dlx::gpu::Launch launch;
    while (launches.next(&launch)) device->run(dst, src, launch);
    for (const Move& move : moves) {
      assert_memory_equal(dst_memory + move.dst, src_memory + move.src,
                          static_cast<size_t>(move.bytes));
    }
    madvise(all, 2 * size, MADV_DONTNEED);
  }
  device->release(dst);
  device->release(src);
  munmap(all, 2 * size);
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(one_launch_is_usual),
      cmocka_unit_test(long_items_are_cut),
      cmocka_unit_test(long_steps_take_one_launch),
      cmocka_unit_test(many_axes_take_few_launches),
      cmocka_unit_test(no_layout_takes_more_than_4_launches),
      cmocka_unit_test(rows_that_do_not_load_are_cut_anew),
      cmocka_unit_test(no_long_rows_take_more_than_4_launches),
      cmocka_unit_test(no_random_layout_takes_more_than_4_launches),
      cmocka_unit_test(as_many_axes_as_a_plan_can_have),
      cmocka_unit_test(axes_beyond_those_of_a_kernel_are_looped_over),
      cmocka_unit_test(short_turned_rows_have_a_launch),
      cmocka_unit_test(launches_beyond_the_limits_are_refused),
      cmocka_unit_test(limits_of_a_device_are_kept),
      cmocka_unit_test(random_plans_keep_their_promises),
      cmocka_unit_test(kernels_reach_beyond_32_bits),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
