// Import from the Arrow C Stream Interface: a sequence of arrays, not a stream of a GPU.
#ifndef DLX_SRC_ARROW_ARRAY_STREAM_H_
#define DLX_SRC_ARROW_ARRAY_STREAM_H_

#include <string>
#include <vector>

#include "dlx/arrow.h"
#include "src/arrow/release.h"
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

/// A column of a table: its name, and a tensor whose first axis has the table's rows.
struct Column {
  std::string name;
  TensorRef tensor;
};

/// Whether the type is a struct, whose children are the columns of a table.
bool is_table(const ArrowSchema& schema) noexcept;

/// The columns of a struct array, which is consumed, also on failure. Errors name the column.
std::vector<Column> import_table(ArrowArray* rows, const ArrowSchema& schema,
                                 const CopyRequest& request);

/// Reads a stream, which remains the caller's to release. Of the two read functions one is called,
/// once.
class ArrayStreamReader {
 public:
  /// Reads the type. Throws if the stream fails.
  explicit ArrayStreamReader(ArrowArrayStream* stream);

  bool is_table() const noexcept { return arrow::is_table(schema_.held()); }

  /// The arrays as one tensor. The only array that has elements is shared; several are joined in a
  /// copy, which DLX_COPY_NEVER refuses. `*copied` as in import_array().
  TensorRef read_array(const CopyRequest& request, bool* copied);

  /// The columns, each as read_array() makes it. Errors name the column.
  std::vector<Column> read_table(const CopyRequest& request);

 private:
  ArrowArrayStream* stream_;
  Released<ArrowSchema> schema_;
};

}  // namespace dlx::arrow

#endif  // DLX_SRC_ARROW_ARRAY_STREAM_H_
