#ifndef DLX_SRC_ARROW_STREAM_H_
#define DLX_SRC_ARROW_STREAM_H_

#include "dlx/arrow.h"
#include "src/tensor/copies.h"
#include "src/tensor/tensor.h"

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE

/// Arrow's C Stream Interface: arrays of one type, one after the other. Functions return 0 or an
/// errno, whose words get_last_error() may have.
struct ArrowArrayStream {
  int (*get_schema)(ArrowArrayStream* self, ArrowSchema* out);
  int (*get_next)(ArrowArrayStream* self, ArrowArray* out);  ///< a released array: the end
  const char* (*get_last_error)(ArrowArrayStream* self);
  void (*release)(ArrowArrayStream* self);
  void* private_data;
};

#endif  // ARROW_C_STREAM_INTERFACE

namespace dlx::arrow {

/// The only array of a stream that has elements, of which the tensor then shares the memory. The
/// stream is read as far as the second such array, which is an error; it remains the caller's to
/// release. `*copied` as in import_array().
TensorRef import_stream(ArrowArrayStream* stream, const CopyRequest& request, bool* copied);

}  // namespace dlx::arrow

#endif  // DLX_SRC_ARROW_STREAM_H_
