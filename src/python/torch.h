#ifndef DLX_SRC_PYTHON_TORCH_H_
#define DLX_SRC_PYTHON_TORCH_H_

#include "src/python/cpython.h"
#include "src/python/import_request.h"
#include "src/python/reference.h"
#include "src/python/type_cache.h"

namespace dlx::py {

/// What torch's tensors need before an import, asked of torch. See torch_plain.h for what need not
/// be asked, and torch_modes.h for who must not answer.

/// torch marks conjugation and negation by a bit on the tensor and applies them later; its own
/// exports ignore the bits. Returns the tensor with the bits applied, to be imported in place of
/// `object`; none if no bit is set. Throws PythonError, and Error for a tensor that requires grad.
/// `code`: of the tensor's dtype, kDLComplex if it is not known: all questions are asked then.
Ref resolve_lazy_bits(PyObject* object, const TypeEntry& entry, uint8_t code,
                      const ImportRequest& request);

}  // namespace dlx::py

#endif  // DLX_SRC_PYTHON_TORCH_H_
