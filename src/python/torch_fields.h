#ifndef DLX_SRC_PYTHON_TORCH_FIELDS_H_
#define DLX_SRC_PYTHON_TORCH_FIELDS_H_

#include <cstdint>

#include "dlx/dlpack.h"
#include "src/python/cpython.h"
#include "src/python/reference.h"
#include "src/python/results.h"

namespace dlx::py {

/// The description of a torch tensor by the C functions that torch exports for compiled models
/// (aoti_torch_get_data_ptr …): 12 ns, where the exchange table takes 47. They answer for every
/// tensor, so only a plain one (torch_plain.h) may be asked about.
///
/// Torch does not promise where in a Python object the tensor is. So the functions are trusted for a
/// dtype only after they agreed with the exchange table about one tensor of that dtype, and never
/// again once they disagreed.

/// Fills `out` for a tensor of exactly torch.Tensor or Parameter on the CPU; shape and strides are
/// copied into `room`, of 16 numbers. False: use another way.
bool read_torch_fields(const PyObject* object, DLTensor* out, int64_t* room) noexcept;

/// To be called for a plain tensor after read_torch_fields() failed: learns its dtype. Throws
/// PythonError.
void note_torch_fields(PyObject* object);

/// A new tensor of the CPU by torch's own allocator, which can be resized: half of the exchange
/// table's time. None: use another way (torch before 2.14, a dtype that was not learned yet, a failure).
Ref new_torch_tensor(const ArraySpec& spec);

/// Whether torch records operations for gradients on this thread; true if unknown.
bool torch_records() noexcept;

/// For another interpreter, whose torch is another one.
void forget_torch_fields() noexcept;

}  // namespace dlx::py

#endif  // DLX_SRC_PYTHON_TORCH_FIELDS_H_
