#ifndef DLX_SRC_ARROW_IMPORT_H_
#define DLX_SRC_ARROW_IMPORT_H_

#include "dlx/arrow.h"
#include "src/arrow/schema.h"
#include "src/tensor/copies.h"
#include "src/tensor/tensor.h"

namespace dlx::arrow {

/// Import of Arrow arrays. arrow.h documents ownership and errors.

/// No process has more memory. A buffer that would be longer is not read.
constexpr int64_t kMostBytes = int64_t{1} << 47;

/// Imports `array`, whose memory is on `device`; consumes it on success. Sets `*copied` if the
/// result has its own memory. The data is ready after `sync_event`, or now if that is NULL.
TensorRef import_array(ArrowArray* array, const TensorType& type, DLDevice device, void* sync_event,
                       const CopyRequest& request, bool* copied);

/// A table's rows: throws unless `array` is a struct of so many children.
void check_struct(const ArrowArray& array, int64_t children);
/// Throws if the struct has nulls of its own. Call check_lengths() with each column before.
void check_rows(const ArrowArray& array);
/// Throws what import_array() throws without reading a buffer.
void check_lengths(const ArrowArray& array, const TensorType& type);

/// The DLPack device of a device array.
DLDevice read_device(const ArrowDeviceArray& array);

/// Makes an empty tensor, for a stream without arrays.
TensorRef import_nothing(const TensorType& type, const CopyRequest& request);

}  // namespace dlx::arrow

#endif  // DLX_SRC_ARROW_IMPORT_H_
