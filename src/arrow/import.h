#ifndef DLX_SRC_ARROW_IMPORT_H_
#define DLX_SRC_ARROW_IMPORT_H_

#include "dlx/arrow.h"
#include "src/arrow/schema.h"
#include "src/tensor/copies.h"
#include "src/tensor/tensor.h"

namespace dlx::arrow {

/// Arrow arrays in. Ownership and errors as arrow.h documents them.

/// Takes `array`, whose memory is on `device`, over on success. `*copied` tells whether the result
/// has memory of its own. The data is ready behind `sync_event`, unless that is NULL.
TensorRef import_array(ArrowArray* array, const TensorType& type, DLDevice device, void* sync_event,
                       const CopyRequest& request, bool* copied);

/// Throws unless `array` is a struct of so many children, without nulls of its own: a table's rows.
void check_struct(const ArrowArray& array, int64_t children);

/// The device of a device array in DLPack's terms.
DLDevice read_device(const ArrowDeviceArray& array);

/// A tensor of no elements, for a stream without arrays.
TensorRef import_nothing(const TensorType& type, const CopyRequest& request);

}  // namespace dlx::arrow

#endif  // DLX_SRC_ARROW_IMPORT_H_
