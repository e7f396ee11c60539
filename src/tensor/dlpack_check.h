#ifndef DLX_SRC_TENSOR_DLPACK_CHECK_H_
#define DLX_SRC_TENSOR_DLPACK_CHECK_H_

#include <cstddef>
#include <cstdint>

#include "dlx/dlpack.h"

namespace dlx {

/// Checks of DLPack structs against the standard, for dlx_dlpack_check.

/// The findings: one line of text for each, cut off at `capacity`.
struct CheckReport {
  char* text;
  size_t capacity;
  size_t used = 0;
  int32_t errors = 0;
  int32_t warnings = 0;
};
void check_versioned(const DLManagedTensorVersioned& managed, CheckReport* report);
void check_legacy(const DLManagedTensor& managed, CheckReport* report);

}  // namespace dlx

#endif  // DLX_SRC_TENSOR_DLPACK_CHECK_H_
