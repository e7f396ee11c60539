#ifndef DLX_SRC_COPY_CONSTANT_H_
#define DLX_SRC_COPY_CONSTANT_H_

#include "src/copy/kernels.h"
#include "src/copy/schedule.h"

namespace dlx {

/// Streams rows of dst that repeat one item of src. False, with nothing done, where rows are none
/// such, or short.
bool run_constant(const Schedule& schedule, const Kernels& kernels) noexcept;

}  // namespace dlx

#endif  // DLX_SRC_COPY_CONSTANT_H_
