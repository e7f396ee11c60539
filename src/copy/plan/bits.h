#ifndef DLX_SRC_COPY_PLAN_BITS_H_
#define DLX_SRC_COPY_PLAN_BITS_H_

#include "src/copy/plan/plan.h"

namespace dlx {

/// Runs a plan that counts bits and whose operands do not overlap. Bits of dst beside its elements
/// keep their values. `whole_bytes`: each item fills a whole byte, with zeros above the item.
void copy_bits(const CopyPlan& plan, bool whole_bytes) noexcept;

}  // namespace dlx

#endif  // DLX_SRC_COPY_PLAN_BITS_H_
