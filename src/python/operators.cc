#include "src/python/operators.h"

#include "src/python/arguments.h"
#include "src/python/entry.h"
#include "src/python/errors.h"
#include "src/python/import.h"
#include "src/python/ndarray.h"
#include "src/python/numpy_numbers.h"
#include "src/python/reference.h"
#include "src/python/sequence.h"
#include "src/python/tensor_type.h"
#include "src/python/type_cache.h"

namespace dlx::py {
namespace {

/// A Tensor as an ndarray on its memory, or a Python number as it is; none for other objects, and
/// for a dtype that NumPy's C API lacks.
Ref operand_of(PyObject* object) {
  if (is_tensor(object)) return new_ndarray(object);
  return natural_of(object) == kNone ? Ref() : Ref::share(object);
}

/// Whether NumPy's result can be a Tensor: not an object array, made for an int that is too large.
bool becomes_tensor(PyObject* result) {
  if (is_numpy_number(result)) return true;
  const bool array = (look_up_type(class_of(result)).flags & kNdarray) != 0;
  return array && has_plain_dtype(result);
}

/// _operate(function, self[, other, reflected]): the result of an operator, computed by the NumPy
/// function; None if Python code must look at the operands.
PyObject* operate(PyObject*, PyObject* const* args, int64_t nargs, PyObject*) {
  return positional("_operate", nargs, nargs == 2 ? 2 : 4, [&] {
    const bool binary = nargs == 4;
    const Ref own = is_tensor(args[1]) ? new_ndarray(args[1]) : Ref();
    const Ref other = own && binary ? operand_of(args[2]) : Ref();
    if (!own || (binary && !other)) return none();
    const bool reflected = binary && args[3] == api.true_;
    Ref result(check(reflected ? call_objects(args[0], other.get(), own.get())
                               : call_objects(args[0], own.get(), other.get())));
    return becomes_tensor(result.get()) ? as_tensor(result.get()) : result.detach();
  });
}

}  // namespace

PyMethodDef operator_functions[] = {fast_entry("_operate", operate), {}};

}  // namespace dlx::py
