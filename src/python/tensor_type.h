#ifndef DLX_SRC_PYTHON_TENSOR_TYPE_H_
#define DLX_SRC_PYTHON_TENSOR_TYPE_H_

#include "src/python/cpython.h"
#include "src/python/state.h"
#include "src/tensor/tensor.h"

namespace dlx::py {

/// An instance of dlx.Tensor. It has no garbage-collector head because it refers to no Python
/// object that the collector could traverse: owners hang on the C++ tensor, where cycles are the
/// user's matter.
struct TensorObject {
  alignas(PyObject*) char head[kLargestHead];
  PyObject* weak_references;
  Tensor* tensor;
};

inline bool is_tensor(PyObject* object) noexcept { return class_of(object) == state.tensor_type; }
inline Tensor* tensor_of(PyObject* object) noexcept {
  return reinterpret_cast<TensorObject*>(object)->tensor;
}

/// Whether the tensor has one element, which lies in ordinary CPU memory.
inline bool is_one_here(const Tensor* tensor) noexcept {
  const DLTensor& dl = tensor->dl;
  return tensor->size == 1 && dl.device.device_type == kDLCPU && dl.data != nullptr;
}

/// A new dlx.Tensor that holds the reference. Throws PythonError.
PyObject* new_object(TensorRef tensor);

/// Makes the type; a new reference. Throws PythonError.
[[gnu::cold]] PyObject* make_tensor_type();

}  // namespace dlx::py

#endif  // DLX_SRC_PYTHON_TENSOR_TYPE_H_
