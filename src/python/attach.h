#ifndef DLX_SRC_PYTHON_ATTACH_H_
#define DLX_SRC_PYTHON_ATTACH_H_

#include "src/tensor/tensor.h"

namespace dlx::py {

/// As dlx/python.h documents them. Throw Error.
[[gnu::cold]] void attach(void* object_type, void* namespace_dict);
Tensor* unwrap(void* object);
void* wrap(Tensor* tensor);

}  // namespace dlx::py

#endif  // DLX_SRC_PYTHON_ATTACH_H_
