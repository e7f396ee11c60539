#ifndef DLX_SRC_PYTHON_IMPORT_REQUEST_H_
#define DLX_SRC_PYTHON_IMPORT_REQUEST_H_

#include <cstdint>

#include "dlx/dlx.h"
#include "src/tensor/tensor.h"

namespace dlx::py {

/// What the caller of from_dlpack or asarray asked for.
struct ImportRequest {
  int32_t copy = DLX_COPY_IF_NEEDED;
  bool has_device = false;
  DLDevice device{};
  const DLDataType* dtype = nullptr;  ///< for the columns of a table; others are converted later

  /// Whether the caller takes whatever the import yields.
  bool is_plain() const noexcept { return copy == DLX_COPY_IF_NEEDED && !has_device; }
};

/// What an import yields. No tensor: this way of importing does not serve the object.
struct Imported {
  TensorRef tensor;
  bool copied = false;          ///< nobody else uses the memory
  bool copy_requested = false;  ///< the producer was asked to copy, and did not refuse
};

}  // namespace dlx::py

#endif  // DLX_SRC_PYTHON_IMPORT_REQUEST_H_
