#ifndef DLX_SRC_ARROW_EXPORT_H_
#define DLX_SRC_ARROW_EXPORT_H_

#include "dlx/arrow.h"
#include "src/tensor/tensor.h"

namespace dlx::arrow {

/// Export of tensors as Arrow arrays. arrow.h documents ownership and errors.

struct ExportRequest {
  int32_t copy = DLX_COPY_IF_NEEDED;
  int32_t layout = DLX_ARROW_LISTS;
  Allocation allocation;
};

/// Fills `out`, whose previous content is ignored. If one of these functions throws, the caller
/// must release the filled part of `out`.
void export_schema(Tensor* tensor, const ExportRequest& request, ArrowSchema* out);
void export_array(Tensor* tensor, const ExportRequest& request, ArrowArray* out);
/// As export_array(), with the device of the buffers (the tensor's, unless a copy left pinned
/// memory) and an event after which they are ready.
void export_device_array(Tensor* tensor, const ExportRequest& request, ArrowDeviceArray* out);
/// Throws Error(DEVICE_REFUSED) unless the CPU can access the memory, which ArrowArray requires.
void require_host(const Tensor* tensor);

}  // namespace dlx::arrow

#endif  // DLX_SRC_ARROW_EXPORT_H_
