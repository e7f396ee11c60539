#ifndef DLX_SRC_TENSOR_DLPACK_H_
#define DLX_SRC_TENSOR_DLPACK_H_

#include <cstddef>
#include <cstdint>

#include "src/tensor/tensor.h"

namespace dlx {

/// DLPack structs in and out. Ownership and errors as dlx.h documents them.

/// Takes `managed` over on success. `*consumed` tells whether it is gone, thrown or not.
TensorRef import_versioned(DLManagedTensorVersioned* managed, bool* consumed);
TensorRef import_legacy(DLManagedTensor* managed, uint64_t flags);

struct ExportRequest {
  int32_t copy = DLX_COPY_IF_NEEDED;
  bool has_max_version = false;
  uint32_t max_version_major = 0;
  bool has_device = false;
  DLDevice device{};
  bool has_stream = false;
  int64_t stream = 0;
  uint64_t min_alignment = 0;
  int32_t negative_strides = DLX_NEGATIVE_STRIDES_DEFAULT;
  Allocation allocation;
};

DLManagedTensorVersioned* export_versioned(Tensor* tensor, const ExportRequest& request);
DLManagedTensor* export_legacy(Tensor* tensor, const ExportRequest& request);
/// The export of a tensor that needs no look at any option: shared, on its own device.
bool exports_as_is(const Tensor* tensor) noexcept;
/// `tensor` as it is; throws only std::bad_alloc.
DLManagedTensorVersioned* export_shared(Tensor* tensor);

void set_negative_strides_policy(int32_t policy);
int32_t negative_strides_policy() noexcept;

/// Findings of dlx_dlpack_check.
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

#endif  // DLX_SRC_TENSOR_DLPACK_H_
