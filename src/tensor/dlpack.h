#ifndef DLX_SRC_TENSOR_DLPACK_H_
#define DLX_SRC_TENSOR_DLPACK_H_

#include <cstdint>

#include "src/base/foreign.h"
#include "src/tensor/tensor.h"

namespace dlx {

/// Import and export of DLPack structs. dlx.h documents ownership and errors.

/// Takes over `managed` on success. `*consumed`: whether it was taken over or deleted, also if this
/// throws. `*copied`: whether the producer marked it as a copy.
TensorRef import_versioned(DLManagedTensorVersioned* managed, bool* consumed, bool* copied);
TensorRef import_legacy(DLManagedTensor* managed, uint64_t flags);

/// Calls the deleter, if there is one.
template <typename Managed>
void delete_managed(Managed* managed) {
  if (const auto deleter = managed->deleter; deleter != nullptr) call_foreign(deleter, managed);
}

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
/// Whether export_shared() may be used without options: the tensor has no negative stride.
bool exports_as_is(const Tensor* tensor) noexcept;
/// Shares `tensor` as it is. Throws std::bad_alloc, and errors of synchronisation for device
/// memory.
DLManagedTensorVersioned* export_shared(Tensor* tensor);

/// What exports do with negative strides, for the whole process: DLX_NEGATIVE_STRIDES_*.
void set_negative_strides_policy(int32_t policy);
int32_t negative_strides_policy() noexcept;

}  // namespace dlx

#endif  // DLX_SRC_TENSOR_DLPACK_H_
