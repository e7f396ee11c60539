// Import from the Arrow C Stream Interface: a sequence of arrays, not a stream of a GPU.
#ifndef DLX_SRC_ARROW_ARRAY_STREAM_H_
#define DLX_SRC_ARROW_ARRAY_STREAM_H_

#include "dlx/arrow.h"
#include "src/tensor/copies.h"
#include "src/tensor/tensor.h"

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE

/// Arrow's C Stream Interface: a sequence of arrays of one type. Functions return 0 or an errno;
/// get_last_error() may return its message.
struct ArrowArrayStream {
  int (*get_schema)(ArrowArrayStream* self, ArrowSchema* out);
  int (*get_next)(ArrowArrayStream* self, ArrowArray* out);  ///< a released array means the end
  const char* (*get_last_error)(ArrowArrayStream* self);
  void (*release)(ArrowArrayStream* self);
  void* private_data;
};

#endif  // ARROW_C_STREAM_INTERFACE

namespace dlx::arrow {

/// Imports the only non-empty array of a stream; the tensor shares its memory. A second non-empty
/// array is Error(UNSUPPORTED). The caller still releases the stream. `*copied` is as in
/// import_array().
TensorRef import_array_stream(ArrowArrayStream* stream, const CopyRequest& request, bool* copied);

}  // namespace dlx::arrow

#endif  // DLX_SRC_ARROW_ARRAY_STREAM_H_
