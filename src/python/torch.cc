#include "src/python/torch.h"

#include "src/base/error.h"
#include "src/python/calls.h"
#include "src/python/errors.h"
#include "src/python/state.h"
#include "src/python/torch_modes.h"

namespace dlx::py {
namespace {

bool call_predicate(PyObject* object, PyCFunction function, PyObject* name) {
  const Ref result =
      function != nullptr ? Ref(check(function(object, nullptr))) : call_method(object, name);
  return result.get() == api.true_;
}

}  // namespace

Ref resolve_lazy_bits(PyObject* object, const TypeEntry& entry, uint8_t code,
                      const ImportRequest& request) {
  const WithoutTorchModes without;
  const LazyBitPredicates bits =
      entry.lazy_bits.is_neg != nullptr ? entry.lazy_bits : find_lazy_bits(object);
  if (code != kDLInt && code != kDLUInt && code != kDLBool) {
    const Ref gradient(check(bits.get != nullptr
                                 ? bits.get(bits.requires_grad, object, class_of(object))
                                 : api.PyObject_GetAttr(object, names.requires_grad)));
    if (gradient.get() == api.true_) {
      fail(DLX_ERROR_UNSUPPORTED, "the tensor requires grad, which would be lost: pass x.detach()");
    }
  }
  const bool conjugated = code == kDLComplex && call_predicate(object, bits.is_conj, names.is_conj);
  const bool negated = call_predicate(object, bits.is_neg, names.is_neg);
  if (!conjugated && !negated) return Ref();
  if (request.copy == DLX_COPY_NEVER) {
    fail(DLX_ERROR_COPY_REFUSED,
         "a copy is needed (the tensor's %s bit is set: its memory holds other values), and "
         "copy=False",
         conjugated ? "conj" : "neg");
  }
  const Ref plain = call_method(object, names.resolve_conj);
  return call_method(plain.get(), names.resolve_neg);
}

}  // namespace dlx::py
