#ifndef DLX_SRC_COPY_BITS_H_
#define DLX_SRC_COPY_BITS_H_

#include "src/copy/plan/plan.h"

namespace dlx {

/// Runs a plan that counts bits and whose operands do not overlap. Bits of dst beside its elements
/// keep their values.
void copy_bits(const CopyPlan& plan) noexcept;

}  // namespace dlx

#endif  // DLX_SRC_COPY_BITS_H_
