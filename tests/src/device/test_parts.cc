// How transfers are cut into parts.
#include <algorithm>
#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "src/copy/copy.h"
#include "src/copy/plan/plan.h"
#include "src/device/site.h"
#include "src/device/staging.h"

extern "C" {
#include <cmocka.h>
}
#undef fail  // its macro would hide dlx::fail

namespace {

using dlx::TransferParts;

std::vector<int64_t> sizes(int64_t size, int64_t threads) {
  TransferParts parts(size, threads);
  std::vector<int64_t> all;
  for (int64_t left = size; left > 0; left -= all.back()) {
    all.push_back(std::min(left, parts.next()));
    parts.take(all.back());
  }
  return all;
}

void parts_grow_and_end_small(void**) {
  constexpr int64_t kMiB = 1 << 20;
  const std::vector<int64_t> parts = sizes(256 * kMiB, 8);
  for (size_t k = 0; k < parts.size(); ++k) {
    // The link starts after an eighth of a millisecond, and no thread ends long after the others.
    if (k < 8) assert_int_equal(parts[k], kMiB / 2);
    assert_true(parts[k] <= 2 * kMiB);
  }
  assert_int_equal(parts[20], 2 * kMiB);
  assert_true(parts.back() <= kMiB / 2);
  // Every thread has a part of a small transfer.
  assert_int_equal(TransferParts(4 * kMiB, 8).threads(), 8);
  assert_int_equal(sizes(4 * kMiB, 8).size(), 8);
  assert_int_equal(TransferParts(100, 8).threads(), 1);
  assert_int_equal(TransferParts(100, 8).blocks().bytes, 2 * kMiB);
  assert_int_equal(TransferParts(kMiB << 20, 1000).threads(), TransferParts::kMostThreads);
}

// Without threads of their own, as on CUDA's stream of a thread: blocks that are worth packing together.
void one_thread_has_long_parts(void**) {
  constexpr int64_t kMiB = 1 << 20;
  const TransferParts parts(256 * kMiB, 1);
  assert_int_equal(parts.threads(), 1);
  assert_int_equal(parts.blocks().bytes, 8 * kMiB);
  const std::vector<int64_t> all = sizes(256 * kMiB, 1);
  assert_int_equal(all[0], 2 * kMiB);
  assert_int_equal(all[1], 4 * kMiB);
  assert_int_equal(all[2], 8 * kMiB);
  assert_true(all.size() < 40);
}

// Parts of any length, one after the other, are the whole copy.
void parts_are_the_copy(void**) {
  std::mt19937_64 random(std::random_device{}());
  const auto up_to = [&](int64_t n) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(n));
  };
  for (int round = 0; round < 2000; ++round) {
    const int64_t item = 1 + up_to(40), gap = up_to(2);
    int64_t shape[] = {1 + up_to(7), 1 + up_to(9), 1 + up_to(11)};
    int64_t dst[] = {shape[1] * shape[2], shape[2], 1};
    int64_t src[] = {(shape[2] + gap) * shape[1], shape[2] + gap, 1};
    if (up_to(2) == 0) std::swap(src[0], src[1]), std::swap(shape[0], shape[1]);
    dst[0] = shape[1] * shape[2];
    for (int64_t* strides : {dst, src}) {
      for (int k = 0; k < 3; ++k) strides[k] *= item;
    }
    const auto size = static_cast<size_t>(shape[0] * shape[1] * shape[2] * item);
    std::vector<char> from(size * 2 + 64), to(size), whole(size);
    for (char& byte : from) byte = static_cast<char>(random());
    DLTensor a{}, b{};
    a.data = to.data();
    b.data = from.data();
    a.ndim = b.ndim = 3;
    a.shape = b.shape = shape;
    a.strides = dst;
    b.strides = src;
    a.dtype = b.dtype = {kDLUInt, 8, 1};
    const dlx::CopyPlan plan(a, b, {item, 1, 1, 1, false});
    dlx::execute_alone(plan.to_compact(whole.data()));
    const int64_t most = 1 + up_to(300);  // the size of a block
    dlx::Chunks chunks(plan, most);
    dlx::CopyPlan part = plan;
    int64_t done = 0;
    while (chunks.next(&part, 1 + up_to(300))) {
      assert_true(part.size() <= most);
      dlx::execute_alone(part);
      done += part.size();
    }
    assert_int_equal(done, size);
    assert_true(to == whole);
  }
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {cmocka_unit_test(parts_grow_and_end_small),
                              cmocka_unit_test(one_thread_has_long_parts),
                              cmocka_unit_test(parts_are_the_copy)};
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
