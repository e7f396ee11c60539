#include "src/copy/copy.h"

#include <cstdio>
#include <cstdlib>
#include <memory>

#include "dlx/dlx.h"
#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/copy/execute.h"
#include "src/copy/in_place.h"
#include "src/copy/plan/bits.h"
#include "src/copy/plan/overlap.h"
#include "src/copy/plan/plan.h"
#include "src/dtype/dtype.h"

namespace dlx {
namespace {

void check_same_dtype(const DLDataType& dst, const DLDataType& src) {
  if (dst.code != src.code || dst.bits != src.bits || dst.lanes != src.lanes) {
    fail(DLX_ERROR_INVALID_ARGUMENT, "`src` has another dtype than `dst` (got %s, expected %s)",
         dtype_text(src).text, dtype_text(dst).text);
  }
  if (dst.bits == 0 || dst.lanes == 0) {
    fail(DLX_ERROR_INVALID_ARGUMENT, "`dst` has elements of no size (got %d bits, %d lanes)",
         dst.bits, dst.lanes);
  }
}

/// Sub-byte elements that are padded on both sides are bytes; where only one side is, each lane
/// moves alone, from its bits into a byte of its own or back.
CopyItem item_of(const DLDataType& dtype, bool dst_padded, bool src_padded) noexcept {
  const int64_t bits = dtype.bits;
  const int64_t lanes = dtype.lanes;
  if (bits < 8 && dst_padded != src_padded) {
    return {bits, dst_padded ? 8 : bits, src_padded ? 8 : bits, lanes, true};
  }
  if (bits < 8 && dst_padded) return {lanes, lanes, lanes, 1, false};
  const int64_t all = bits * lanes;
  if (all % 8 == 0) return {all / 8, all / 8, all / 8, 1, false};
  return {all, all, all, 1, true};
}

void run_in_bits(const CopyPlan& plan, const CopyItem& item) {
  const bool whole_bytes = item.dst_pitch > item.width;
  const int64_t dst_room = whole_bytes ? item.dst_pitch : plan.item();
  const int64_t src_room = item.src_pitch > item.width ? item.src_pitch : plan.item();
  if (!operands_overlap(plan, dst_room, src_room)) {
    copy_bits(plan, whole_bytes);
    return;
  }
  const int64_t bytes = plan.size() / 8 + 1;
  const std::unique_ptr<char, Free> buffer(
      static_cast<char*>(std::calloc(static_cast<size_t>(bytes), 1)));
  if (buffer == nullptr) {
    fail(DLX_ERROR_OUT_OF_MEMORY, "`dst` and `src` overlap: no room for a temporary of %lld bytes",
         static_cast<long long>(bytes));
  }
  copy_bits(plan.to_compact(buffer.get()), false);
  copy_bits(plan.from_compact(buffer.get()), whole_bytes);
}

}  // namespace

CopyPlan plan_copy(const DLTensor& dst, bool dst_padded, const DLTensor& src, bool src_padded) {
  check_same_dtype(dst.dtype, src.dtype);
  CopyPlan plan(dst, src, item_of(dst.dtype, dst_padded, src_padded));
  if (!plan.empty()) plan.count_bytes();
  return plan;
}

void copy_tensor(const DLTensor& dst, bool dst_padded, const DLTensor& src, bool src_padded) {
  check_same_dtype(dst.dtype, src.dtype);
  const CopyItem item = item_of(dst.dtype, dst_padded, src_padded);
  CopyPlan plan(dst, src, item);
  if (plan.empty()) return;
  if (!plan.count_bytes()) {
    run_in_bits(plan, item);
  } else if (operands_overlap(plan, plan.item(), plan.item())) {
    copy_overlapping(plan);
  } else {
    execute(plan);
  }
}

size_t describe_copy(const DLTensor& dst, const DLTensor& src, char* buffer, size_t capacity) {
  check_same_dtype(dst.dtype, src.dtype);
  const CopyItem item = item_of(dst.dtype, false, false);
  CopyPlan plan(dst, src, item);
  const char* text = nullptr;
  if (plan.empty()) {
    text = "nothing to copy";
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
