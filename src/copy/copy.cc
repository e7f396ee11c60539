#include "src/copy/copy.h"

#include <cstdio>
#include <cstring>

#include "dlx/dlx.h"
#include "src/base/error.h"
#include "src/copy/bits.h"
#include "src/copy/execute.h"
#include "src/copy/in_place.h"
#include "src/copy/plan/overlap.h"
#include "src/copy/plan/plan.h"
#include "src/dtype/dtype.h"

namespace dlx {
namespace {

void check_same_dtype(const DLDataType& dst, const DLDataType& src) {
  if (!same_dtype(dst, src)) {
    fail(DLX_ERROR_INVALID_ARGUMENT, "`src` has another dtype than `dst` (got %s, expected %s)",
         dtype_text(src).text, dtype_text(dst).text);
  }
}

/// The item of elements that are stored in the same way on both sides.
CopyItem item_of(const DLDataType& dtype, bool padded) noexcept {
  const int64_t bits = item_bits(dtype, padded);
  if (bits % 8 == 0) return {bits / 8, bits / 8, bits / 8, 1, false};
  return {bits, bits, bits, 1, true};
}

void run_in_bits(const CopyPlan& plan) {
  if (!operands_overlap(plan, plan.item(), plan.item())) return copy_bits(plan);
  const int64_t bytes = plan.size() / 8 + 1;
  const Temporary buffer = allocate_temporary(bytes);
  std::memset(buffer.get(), 0, static_cast<size_t>(bytes));
  copy_bits(plan.to_compact(buffer.get()));
  copy_bits(plan.from_compact(buffer.get()));
}

}  // namespace

bool converts(const DLDataType& dst, const DLDataType& src) noexcept {
  Conversion conversion;
  return find_conversion(dst, false, src, false, &conversion);
}

bool repeats_elements(const DLTensor& array) noexcept {
  CopyAxis axes[CopyPlan::kMaxAxes];
  int ndim = 0;
  for (int i = 0; i < array.ndim; ++i) {
    if (array.shape[i] == 1) continue;
    if (ndim == CopyPlan::kMaxAxes) return true;  // more elements than there are addresses
    const auto stride = static_cast<uint64_t>(array.strides[i]);
    const uint64_t step = array.strides[i] < 0 ? 0 - stride : stride;
    int64_t reach;
    if (__builtin_mul_overflow(step, array.shape[i] - 1, &reach)) return true;
    int place = ndim++;
    const auto dst = static_cast<int64_t>(step);
    for (; place > 0 && axes[place - 1].dst < dst; --place) axes[place] = axes[place - 1];
    axes[place] = {array.shape[i], dst, 0};
  }
  return repeats_elements(axes, ndim);
}

CopyPlan plan_copy(const DLTensor& dst, bool dst_padded, const DLTensor& src, bool src_padded) {
  check_same_dtype(dst.dtype, src.dtype);
  Conversion conversion;
  const bool changes = find_conversion(dst.dtype, dst_padded, src.dtype, src_padded, &conversion);
  CopyPlan plan(dst, src,
                changes ? conversion.item(dst.dtype.lanes) : item_of(dst.dtype, dst_padded));
  if (!plan.empty()) plan.count_bytes();
  return plan;
}

void copy_tensor(const DLTensor& dst, bool dst_padded, const DLTensor& src, bool src_padded) {
  Conversion conversion;
  if (find_conversion(dst.dtype, dst_padded, src.dtype, src_padded, &conversion)) {
    const CopyPlan plan(dst, src, conversion.item(dst.dtype.lanes));
    if (!plan.empty()) convert(plan, conversion);
    return;
  }
  check_same_dtype(dst.dtype, src.dtype);
  CopyPlan plan(dst, src, item_of(dst.dtype, dst_padded));
  if (plan.empty()) return;
  if (!plan.count_bytes()) {
    const int bits = dst.dtype.bits;
    if (plan.item() != bits || plan.ndim() == 0) return run_in_bits(plan);
    // No element has its neighbour beside it on both sides, so elements move one by one.
    conversion = {{bits, bits}, {bits, bits}, false, nullptr};
    convert(CopyPlan(dst, src, conversion.item(1)), conversion);
  } else if (operands_overlap(plan, plan.item(), plan.item())) {
    copy_overlapping(plan);
  } else {
    execute(plan);
  }
}

size_t describe_copy(const DLTensor& dst, const DLTensor& src, char* buffer, size_t capacity) {
  Conversion conversion;
  const bool changes = find_conversion(dst.dtype, false, src.dtype, false, &conversion);
  if (!changes) check_same_dtype(dst.dtype, src.dtype);
  CopyPlan plan(dst, src, changes ? conversion.item(dst.dtype.lanes) : item_of(dst.dtype, false));
  const char* text = nullptr;
  if (plan.empty()) {
    text = "nothing to copy";
  } else if (changes) {
    text = "packed bits, converted";
  } else if (!plan.count_bytes()) {
    text = "packed bits, one thread";
  } else if (operands_overlap(plan, plan.item(), plan.item())) {
    text = "operands overlap";
  } else {
    return describe_execution(plan, buffer, capacity);
  }
  return static_cast<size_t>(std::snprintf(buffer, capacity, "%s", text));
}

}  // namespace dlx
