#include "copy/overlapping.h"

#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/error.h"
#include "copy/execute.h"
#include "dlx/dlx.h"

namespace dlx {
namespace {

struct Free {
  void operator()(void* data) const noexcept { std::free(data); }
};

/// Equal steps on both sides, and axes that nest, so that index order is address order.
bool is_shift(const CopyPlan& plan) noexcept {
  int64_t reach = plan.item();
  for (int k = plan.ndim() - 1; k >= 0; --k) {
    const CopyAxis& axis = plan.axis(k);
    if (axis.src != axis.dst || axis.dst < reach) return false;
    reach += axis.dst * (axis.extent - 1);
  }
  return true;
}

/// Ascending where src lies above dst, descending where it lies below: what is overwritten has been
/// read.
void copy_shift(const CopyPlan& plan) noexcept {
  if (plan.src() == plan.dst()) return;
  const bool ascending = plan.src() > plan.dst();
  char* dst = plan.dst();
  const char* src = plan.src();
  int64_t index[CopyPlan::kMaxAxes] = {};
  int64_t step[CopyPlan::kMaxAxes];
  for (int k = 0; k < plan.ndim(); ++k) {
    step[k] = ascending ? plan.axis(k).dst : -plan.axis(k).dst;
    if (!ascending) {
      dst += (plan.axis(k).extent - 1) * plan.axis(k).dst;
      src += (plan.axis(k).extent - 1) * plan.axis(k).dst;
    }
  }
  for (;;) {
    std::memmove(dst, src, static_cast<size_t>(plan.item()));
    int k = plan.ndim() - 1;
    for (; k >= 0; --k) {
      dst += step[k];
      src += step[k];
      if (++index[k] < plan.axis(k).extent) break;
      dst -= step[k] * plan.axis(k).extent;
      src -= step[k] * plan.axis(k).extent;
      index[k] = 0;
    }
    if (k < 0) return;
  }
}

}  // namespace

void copy_overlapping(const CopyPlan& plan) {
  if (is_shift(plan)) {
    copy_shift(plan);
    return;
  }
  const std::unique_ptr<char, Free> buffer(
      static_cast<char*>(std::malloc(static_cast<size_t>(plan.size()))));
  if (buffer == nullptr) {
    fail(DLX_ERROR_OUT_OF_MEMORY, "`dst` and `src` overlap: no room for a temporary of %lld bytes",
         static_cast<long long>(plan.size()));
  }
  execute(plan.to_compact(buffer.get()));
  execute(plan.from_compact(buffer.get()));
}

}  // namespace dlx
