#ifndef DLX_SRC_ARROW_EXPORT_H_
#define DLX_SRC_ARROW_EXPORT_H_

#include "dlx/arrow.h"
#include "src/tensor/tensor.h"

namespace dlx::arrow {

/// Tensors out as Arrow arrays. Ownership and errors as arrow.h documents them.

struct ExportRequest {
  int32_t copy = DLX_COPY_IF_NEEDED;
  int32_t layout = DLX_ARROW_LISTS;
  Allocation allocation;
};

/// Fills `out`, which holds nothing yet.
void export_schema(Tensor* tensor, const ExportRequest& request, ArrowSchema* out);
/// Fills `out`, which holds nothing yet. What there is of it when this throws is to be released.
void export_array(Tensor* tensor, const ExportRequest& request, ArrowArray* out);
/// The same with the device of the buffers (the tensor's, unless a copy had to leave pinned memory)
/// and an event behind which they are ready.
void export_device_array(Tensor* tensor, const ExportRequest& request, ArrowDeviceArray* out);
/// Throws Error(DEVICE_REFUSED) unless an ArrowArray, which has no device, may hold the memory.
void require_host(const Tensor* tensor);

}  // namespace dlx::arrow

#endif  // DLX_SRC_ARROW_EXPORT_H_
