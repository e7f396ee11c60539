#ifndef DLX_SRC_PYTHON_NDARRAY_H_
#define DLX_SRC_PYTHON_NDARRAY_H_

#include "dlx/dlpack.h"
#include "src/python/cpython.h"
#include "src/python/reference.h"
#include "src/tensor/tensor.h"

namespace dlx::py {

/// numpy.ndarray, read through its C struct and made through NumPy's C API.

/// Whether the ndarray's dtype is one of DLPack's by NumPy's type number alone, and the fields of
/// the struct can be trusted. Throws PythonError.
bool has_plain_dtype(PyObject* object);

/// Fills `out` for an object that is exactly a numpy.ndarray, if its dtype is one of DLPack's, its
/// strides are whole elements, and it has at most 8 axes, which are copied into `room` of 16 numbers.
/// False: use another way. Owns nothing.
bool read_ndarray(const PyObject* object, DLTensor* out, int64_t* room, uint64_t* flags) noexcept;

/// To be called for an object with the struct of an ndarray after read_ndarray() failed: from then on
/// its class is known, if it is numpy.ndarray itself.
void note_ndarray(PyObject* object);

/// The tensor of an object that is exactly a numpy.ndarray; none if its fields cannot be trusted.
/// If its strides are not whole elements, copies (`*copied` becomes true) or, without `may_copy`,
/// throws Error(COPY_REFUSED). Throws PythonError and Error.
TensorRef import_ndarray(PyObject* object, bool may_copy, bool* copied);

/// A new numpy.ndarray on the memory of a dlx.Tensor, which becomes its base. None if NumPy's C API
/// is not known, cannot be trusted, or lacks the dtype. Throws PythonError.
Ref new_ndarray(PyObject* owner);

/// A new numpy.ndarray of its own memory, uninitialised. None as above. Throws PythonError.
Ref new_empty_ndarray(DLDataType dtype, int32_t ndim, const int64_t* shape, int32_t order);

/// Remembers NumPy's C API, the capsule `_ARRAY_API`, if a trial shows that it works. Throws
/// PythonError.
[[gnu::cold]] void note_array_api(PyObject* capsule);

/// Forgets the API, and whether ndarray's fields were checked.
void reset_ndarray_check() noexcept;

}  // namespace dlx::py

#endif  // DLX_SRC_PYTHON_NDARRAY_H_
