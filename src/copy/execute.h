#ifndef DLX_SRC_COPY_EXECUTE_H_
#define DLX_SRC_COPY_EXECUTE_H_

#include <cstddef>

#include "src/copy/plan/plan.h"

namespace dlx {

/// Runs a plan that counts bytes and whose operands do not overlap.
void execute(const CopyPlan& plan) noexcept;

/// Says in words how execute() would run it; returns the length of the whole text.
[[gnu::cold]] size_t describe_execution(const CopyPlan& plan, char* buffer,
                                        size_t capacity) noexcept;

}  // namespace dlx

#endif  // DLX_SRC_COPY_EXECUTE_H_
