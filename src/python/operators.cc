#include "src/python/sequence.h"
#include "src/python/tensor_type.h"
#include "src/python/type_cache.h"

namespace dlx::py {
namespace {

/// The array on the memory of a Tensor, or a number of Python's; none for all else, and for what
/// NumPy's C API has no dtype for.
Ref operand_of(PyObject* object) {
  if (is_tensor(object)) return new_ndarray(object);
  return natural_of(object) == kNone ? Ref() : Ref::share(object);
}

/// Whether NumPy's result has a dtype that a Tensor has: not the objects of an int that is too large.
bool becomes_tensor(PyObject* result) {
  if (is_numpy_number(result)) return true;
  const bool array = (look_up_type(class_of(result)).flags & kNdarray) != 0;
  return array && has_plain_dtype(result);
}

/// _operate(function, self[, other, reflected]): what an operator of Python gives for Tensors, where
/// NumPy does the work; None where Python code has to look at the operands.
PyObject* operate(PyObject*, PyObject* const* args, intptr_t nargs, PyObject*) {
  return positional("_operate", nargs, nargs == 2 ? 2 : 4, [&] {
    const bool binary = nargs == 4;
    const Ref own = is_tensor(args[1]) ? new_ndarray(args[1]) : Ref();
    const Ref other = own && binary ? operand_of(args[2]) : Ref();
    if (!own || (binary && !other)) return Ref::share(api.none).detach();
    const bool reflected = binary && args[3] == api.true_;
    Ref result(check(reflected ? call_objects(args[0], other.get(), own.get())
                               : call_objects(args[0], own.get(), other.get())));
    return becomes_tensor(result.get()) ? as_tensor(result.get()) : result.detach();
  });
}

}  // namespace

PyMethodDef operator_functions[] = {fast_entry("_operate", operate), {}};

}  // namespace dlx::py
