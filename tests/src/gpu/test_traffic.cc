// What the kernels do to memory: their source as C++ on the host, with counters. The layouts are those of
// benchmarks/bench_gpu.py, smaller.
#include <algorithm>
#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "guarded.h"
#include "host_kernels.h"
#include "src/copy/plan/plan.h"
#include "src/gpu/kernels.h"
#include "src/gpu/launch.h"
#include "tests/src/copy/random_copy.h"

extern "C" {
#include <cmocka.h>
}
#undef fail  // its macro would hide dlx::fail

namespace {

using dlx_test::HostDevice;
using dlx_test::Traffic;
using Axes = std::vector<int64_t>;

/// A view of a compact array by NumPy's transpose(), into a compact one.
struct Layout {
  const char* name;
  const char* kernel;
  Axes shape;
  std::vector<int> order;
  int64_t item;
  double most_read;  // sectors of src that groups read, for one that they write
  double
      most_shared;  // the part of dst's sectors that two groups write: where one row of dst ends in a
                    // sector and the next one begins
  double most_cycles;  // of an access to local memory, on average
  Axes steps = {};     // of the view; negative: backwards; 0: broadcast
  Axes extents = {};   // of the view, if not the shape
  int64_t offset = 0;  // of src, in bytes
};

const Layout kLayouts[] = {
    {"transpose f32", "dlx_turn_4_even", {512, 256}, {1, 0}, 4, 1.0, 0, 1.01},
    {"transpose f32, odd", "dlx_turn_4", {519, 261}, {1, 0}, 4, 1.3, 0.016, 1.01},
    {"transpose u8", "dlx_turn_1_even", {512, 512}, {1, 0}, 1, 1.0, 0, 1.01},
    {"transpose u8, odd", "dlx_turn_1", {777, 771}, {1, 0}, 1, 1.8, 0.045, 1.01},
    {"transpose i16", "dlx_turn_2_even", {512, 320}, {1, 0}, 2, 1.0, 0, 1.01},
    {"transpose i16, odd", "dlx_turn_2", {601, 501}, {1, 0}, 2, 1.7, 0.03, 1.01},
    {"transpose f64", "dlx_turn_8_even", {256, 160}, {1, 0}, 8, 1.0, 0, 1.01},
    {"transpose c128", "dlx_turn_16_even", {160, 96}, {1, 0}, 16, 1.0, 0, 1.01},
    {"f32 7 x n", "dlx_few_in_4", {7, 20000}, {1, 0}, 4, 1.1, 0, 1.6},
    {"f32 n x 7", "dlx_few_out_4", {20000, 7}, {1, 0}, 4, 1.1, 0, 1.01},
    {"NHWC to NCHW u8", "dlx_planes_3", {2, 128, 128, 3}, {0, 3, 1, 2}, 1, 1.1, 0, 0},
    {"NCHW to NHWC u8", "dlx_pixels_3", {2, 3, 128, 128}, {0, 2, 3, 1}, 1, 1.1, 0, 0},
    {"NHWC to NCHW f16", "dlx_few_out_2", {2, 96, 96, 3}, {0, 3, 1, 2}, 2, 1.2, 0, 2.1},
    {"NHWC to NCHW f16, 64 channels",
     "dlx_turn_2_even",
     {2, 56, 56, 64},
     {0, 3, 1, 2},
     2,
     1.0,
     0,
     1.01},
    {"NCHW to NHWC f32, 64 channels",
     "dlx_turn_4_even",
     {2, 64, 56, 56},
     {0, 2, 3, 1},
     4,
     1.0,
     0,
     1.01},
    {"NCHW to NHWC u8, 64 channels",
     "dlx_turn_1_narrow",
     {2, 64, 56, 56},
     {0, 2, 3, 1},
     1,
     1.0,
     0,
     1.01},
    {"BSHD to BHSD f16", "dlx_rows_16", {2, 64, 16, 64}, {0, 2, 1, 3}, 2, 1.0, 0, 0},
    {"3-D 210 f32", "dlx_turn_4", {300, 3, 90}, {2, 1, 0}, 4, 1.3, 0.03, 1.01},
    {"5-D f32", "dlx_turn_4_table", {12, 15, 13, 18, 14}, {4, 1, 3, 0, 2}, 4, 1.5, 0.1, 1.3},
    {"24 axes of 2 reversed",
     "dlx_turn_4_table",
     Axes(18, 2),
     {17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0},
     4,
     1.2,
     0,
     1.3},
    {"u8 [::3]", "dlx_pattern_1_every3", {300000}, {0}, 1, 3.2, 0, 0, {3}, {100000}},
    {"f32 [:, ::2]", "dlx_elements_4", {256, 512}, {0, 1}, 4, 2.0, 0, 0, {1, 2}, {256, 256}},
    {"f64 [::-1]", "dlx_elements_8", {30000}, {0}, 8, 1.1, 0, 0, {-1}},
    {"u8 [:, ::-1]", "dlx_pattern_1_back", {64, 2016}, {0, 1}, 1, 1.1, 0, 0, {1, -1}},
    {"crop to 64 bytes", "dlx_rows_16", {2000, 128}, {0, 1}, 1, 1.0, 0, 0, {1, 1}, {2000, 64}, 32},
    {"crop to 100 columns f32",
     "dlx_rows",
     {400, 160},
     {0, 1},
     4,
     1.3,
     0,
     0,
     {1, 1},
     {400, 100},
     28},
    {"f16 [..., 1:-1]", "dlx_rows", {64, 1002}, {0, 1}, 2, 1.1, 0, 0, {1, 1}, {64, 1000}, 2},
    {"broadcast along columns",
     "dlx_elements_4",
     {256, 1},
     {0, 1},
     4,
     0.2,
     0,
     0,
     {1, 0},
     {256, 512}},
    {"RGB to BGR", "dlx_pattern_3_turned", {24000, 3}, {0, 1}, 1, 1.1, 0, 0, {1, -1}},
    {"RGBA to RGB", "dlx_pattern_3_of4", {24000, 4}, {0, 1}, 1, 1.5, 0, 0, {1, 1}, {24000, 3}},
    {"small matrices", "dlx_small_4", {2000, 9, 5}, {0, 2, 1}, 4, 1.1, 0, 1.6},
};

Traffic run(const Layout& layout, std::string* kernel) {
  const size_t ndim = layout.shape.size();
  Axes strides(ndim), shape(ndim), src(ndim), dst(ndim);
  int64_t elements = layout.item;
  for (size_t k = ndim; k-- > 0;) {
    strides[k] = elements;
    elements *= layout.shape[k];
  }
  int64_t first = layout.offset, written = layout.item;
  for (size_t k = 0; k < ndim; ++k) {
    const auto axis = static_cast<size_t>(layout.order[k]);
    const int64_t step = layout.steps.empty() ? 1 : layout.steps[k];
    shape[k] = layout.extents.empty() ? layout.shape[axis] : layout.extents[k];
    src[k] = strides[axis] * step;
    if (step < 0) first -= src[k] * (shape[k] - 1);
  }
  for (size_t k = ndim; k-- > 0;) {
    dst[k] = written;
    written *= shape[k];
  }
  // Between pages without access, so that a wrong address ends the test.
  const dlx_test::Guarded from(static_cast<size_t>(elements)), to(static_cast<size_t>(written));
  for (int64_t k = 0; k < elements; ++k) from.begin()[k] = static_cast<char>(k * 7 + (k >> 8));
  DLTensor a{}, b{};
  a.data = reinterpret_cast<void*>(1);
  b.data = reinterpret_cast<void*>(1 + first);
  a.ndim = b.ndim = static_cast<int32_t>(ndim);
  a.shape = b.shape = shape.data();
  a.strides = dst.data();
  b.strides = src.data();
  a.dtype = b.dtype = {kDLUInt, 8, 1};
  const dlx::CopyPlan plan = dlx::CopyPlan(a, b, {layout.item, 1, 1, 1, false}).moved(-1, -1);
  HostDevice device(to.begin(), written, from.begin(), elements);
  dlx::gpu::Launches launches(plan, reinterpret_cast<uint64_t>(to.begin()),
                              reinterpret_cast<uint64_t>(from.begin()), {});
  dlx::gpu::Launch launch;
  while (launches.next(&launch)) {
    *kernel = dlx::gpu::kernel_name(launch.kernel);
    device.run(launch);
  }
  Axes index(ndim);
  for (int64_t at = 0; at < written; at += layout.item) {
    int64_t place = first;
    for (size_t k = 0; k < ndim; ++k) place += index[k] * src[k];
    if (std::memcmp(to.begin() + at, from.begin() + place, static_cast<size_t>(layout.item)) != 0) {
      throw std::runtime_error("item at byte " + std::to_string(at) + " differs");
    }
    for (size_t k = ndim; k > 0 && ++index[k - 1] == shape[k - 1]; --k) index[k - 1] = 0;
  }
  return device.traffic();
}

void named_layouts_keep_to_the_budget(void**) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  print_message("skipped: sanitizers do not know fibers\n");
  skip();
#endif
  int failures = 0;
  for (const Layout& layout : kLayouts) {
    std::string kernel, trouble;
    Traffic t;
    try {
      t = run(layout, &kernel);
    } catch (const std::exception& error) {
      trouble = error.what();
    }
    const double read = t.dst_sectors == 0 ? 0
                                           : static_cast<double>(t.src_sectors) /
                                                 static_cast<double>(t.dst_sectors);
    const double shared = t.dst_sectors == 0 ? 0
                                             : static_cast<double>(t.shared_dst_sectors) /
                                                   static_cast<double>(t.dst_sectors);
    const double cycles =
        t.local == 0 ? 0 : static_cast<double>(t.local_cycles) / static_cast<double>(t.local);
    const double accesses =
        t.stored == 0 ? 0 : static_cast<double>(t.accesses) * 128 / static_cast<double>(t.stored);
    print_message(
        "%-32s %-20s %lld launch, sectors read %.2f, shared %.3f, bank cycles %.2f, accesses %.1f "
        "for 128 bytes\n",
        layout.name, kernel.c_str(), static_cast<long long>(t.launches), read, shared, cycles,
        accesses);
    if (kernel != layout.kernel)
      trouble += " kernel " + kernel + " (expected " + layout.kernel + ")";
    if (t.launches != 1) trouble += " launches";
    if (read > layout.most_read + 0.005) trouble += " sectors of src";
    if (shared > layout.most_shared) trouble += " sectors of dst that two groups write";
    if (cycles > layout.most_cycles + 0.005) trouble += " bank conflicts";
    if (!trouble.empty()) {
      print_error("%s:%s%s\n", layout.name, trouble[0] == ' ' ? "" : " ", trouble.c_str());
      ++failures;
    }
  }
  assert_int_equal(failures, 0);
}

/// Bounds, alignment, bytes and the order of items in local memory, of whatever kernel is chosen.
void random_layouts_are_exact_in_any_order_of_items(void**) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  print_message("skipped: sanitizers do not know fibers\n");
  skip();
#endif
  const char* const given = std::getenv("DLX_TEST_SEED");
  const uint64_t seed =
      given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device()();
  print_message("seed %llu\n", static_cast<unsigned long long>(seed));
  std::mt19937_64 random(seed);
  const auto up_to = [&](uint64_t n) { return static_cast<int64_t>(random() % n); };
  std::map<std::string, int> kernels;
  for (int round = 0; round < 400; ++round) {
    static constexpr int64_t kItems[] = {1, 1, 2, 2, 3, 4, 4, 6, 8, 12, 16};
    Layout layout{"random", "", {}, {}, kItems[up_to(11)], 0, 0, 0};
    const auto ndim = static_cast<size_t>(1 + up_to(4));
    int64_t room = 40000;
    for (size_t k = 0; k < ndim; ++k) {
      const int64_t most = k + 1 == ndim || up_to(2) == 0 ? 300 : 9;
      const int64_t extent =
          std::max<int64_t>(1, std::min(1 + up_to(static_cast<uint64_t>(most)), room));
      room = std::max<int64_t>(1, room / extent);
      layout.shape.push_back(extent);
      layout.order.push_back(static_cast<int>(k));
    }
    std::shuffle(layout.order.begin(), layout.order.end(), random);
    for (size_t k = 0; k < ndim; ++k)
      layout.steps.push_back(up_to(6) == 0 ? -1 : up_to(9) == 0 ? 0 : 1);
    std::string kernel, trouble;
    try {
      run(layout, &kernel);
    } catch (const std::exception& error) {
      trouble = error.what();
    }
    ++kernels[kernel];
    if (trouble.empty()) continue;
    print_error("seed %llu, round %d, %s, item %lld:", static_cast<unsigned long long>(seed), round,
                kernel.c_str(), static_cast<long long>(layout.item));
    for (size_t k = 0; k < ndim; ++k) {
      print_error(" %lld (axis %d, step %lld)", static_cast<long long>(layout.shape[k]),
                  layout.order[k], static_cast<long long>(layout.steps[k]));
    }
    print_error(" %s\n", trouble.c_str());
    assert_true(trouble.empty());
  }
  for (const auto& kernel : kernels) print_message("%s: %d\n", kernel.first.c_str(), kernel.second);
  assert_true(kernels.size() > 12);
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {cmocka_unit_test(named_layouts_keep_to_the_budget),
                              cmocka_unit_test(random_layouts_are_exact_in_any_order_of_items)};
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
