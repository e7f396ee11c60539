#include "copy/execute.h"

#include <cstdio>
#include <cstring>

namespace dlx {

void execute(const CopyPlan& plan) noexcept {
  if (plan.empty()) return;
  int64_t index[CopyPlan::kMaxAxes] = {};
  char* dst = plan.dst();
  const char* src = plan.src();
  for (;;) {
    std::memcpy(dst, src, static_cast<size_t>(plan.item()));
    int k = plan.ndim() - 1;
    for (; k >= 0; --k) {
      dst += plan.axis(k).dst;
      src += plan.axis(k).src;
      if (++index[k] < plan.axis(k).extent) break;
      dst -= plan.axis(k).dst * plan.axis(k).extent;
      src -= plan.axis(k).src * plan.axis(k).extent;
      index[k] = 0;
    }
    if (k < 0) return;
  }
}

size_t describe_execution(const CopyPlan& plan, char* buffer, size_t capacity) noexcept {
  return static_cast<size_t>(std::snprintf(buffer, capacity, "%d axes, items of %lld bytes",
                                           plan.ndim(), static_cast<long long>(plan.item())));
}

}  // namespace dlx
