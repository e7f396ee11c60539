#ifndef DLX_SRC_PYTHON_ATTACH_H_
#define DLX_SRC_PYTHON_ATTACH_H_

#include "src/tensor/tensor.h"

namespace dlx::py {

/// Connects libdlx.so to the running CPython. dlx/python.h documents the functions; they throw
/// Error.
[[gnu::cold]] void attach(void* object_type, void* namespace_dict);
Tensor* unwrap(void* object);
void* wrap(Tensor* tensor);
/// Throws Error(UNAVAILABLE) if no interpreter is attached.
void require_attached();

}  // namespace dlx::py

#endif  // DLX_SRC_PYTHON_ATTACH_H_
