#include "src/python/arguments.h"

#include <cstring>
#include <string>

#include "dlx/dlx.h"
#include "src/python/errors.h"
#include "src/python/state.h"
#include "src/python/tensor_type.h"

namespace dlx::py {
namespace {

/// Position of a keyword in the signature; throws if the signature lacks it.
int find_keyword(const Signature& signature, PyObject* keyword) {
  for (int i = signature.positional_only; i < signature.count; ++i) {
    if (*signature.names[i] == keyword) return i;  // both are usually interned
  }
  for (int i = signature.positional_only; i < signature.count; ++i) {
    const int equal = api.PyObject_RichCompareBool(*signature.names[i], keyword, Py_EQ);
    if (equal < 0) throw PythonError();
    if (equal > 0) return i;
  }
  const char* text = api.PyUnicode_AsUTF8AndSize(keyword, nullptr);
  if (text == nullptr) throw PythonError();
  raise(api.type_error, "%s() got an unexpected keyword argument '%.100s'", signature.function,
        text);
}

/// A hint after "takes at most 1 positional argument": NumPy and PyTorch also take extents one by
/// one.
const char* tuple_hint(const Signature& signature) {
  if (signature.positional != 1) return "";
  if (signature.names[0] == &names.shape) return ": pass the shape as one tuple";
  return signature.names[0] == &names.axes ? ": pass the axes as one tuple" : "";
}

/// An argument in messages: its name, or its position if it is positional only.
[[gnu::cold]] std::string argument_text(const Signature& signature, int i) {
  if (i < signature.positional_only) return std::to_string(i + 1);
  const char* name = api.PyUnicode_AsUTF8AndSize(*signature.names[i], nullptr);
  return name == nullptr ? throw PythonError() : "'" + std::string(name) + "'";
}

}  // namespace

void require_count(const char* function, int64_t nargs, int64_t count) {
  if (nargs == count) return;
  raise(api.type_error, "%s() takes %lld arguments (%lld given)", function,
        static_cast<long long>(count), static_cast<long long>(nargs));
}

Tensor* require_tensor(PyObject* object, const char* name) {
  if (is_tensor(object)) return tensor_of(object);
  raise(api.type_error, "`%s` must be a dlx.Tensor (got %s)", name,
        type_text(class_of(object)).text);
}

void parse_arguments(const Signature& signature, PyObject* const* args, int64_t nargs,
                     PyObject* kwnames, PyObject** values) {
  if (nargs > signature.positional) {
    raise(api.type_error, "%s() takes at most %d positional argument%s (%lld given)%s",
          signature.function, signature.positional, signature.positional == 1 ? "" : "s",
          static_cast<long long>(nargs), tuple_hint(signature));
  }
  for (int i = 0; i < signature.count; ++i) values[i] = i < nargs ? args[i] : nullptr;
  const int64_t keywords = kwnames == nullptr ? 0 : api.PyTuple_Size(kwnames);
  for (int64_t k = 0; k < keywords; ++k) {
    const int i = find_keyword(signature, api.PyTuple_GetItem(kwnames, k));
    if (values[i] != nullptr) {
      raise(api.type_error, "%s() got multiple values for argument %s", signature.function,
            argument_text(signature, i).c_str());
    }
    values[i] = args[nargs + k];
  }
  for (int i = 0; i < signature.required; ++i) {
    if (values[i] != nullptr) continue;
    raise(api.type_error, "%s() missing required argument %s", signature.function,
          argument_text(signature, i).c_str());
  }
}

const char* to_text(PyObject* object, const char* name) {
  int64_t length = 0;
  const char* const text = api.PyUnicode_AsUTF8AndSize(object, &length);
  if (text == nullptr) throw PythonError();
  if (static_cast<int64_t>(std::strlen(text)) == length) return text;
  fail(DLX_ERROR_INVALID_ARGUMENT, "`%s` has a NUL inside, which would end it in C", name);
}

int32_t to_copy_mode(PyObject* object) {
  if (object == nullptr || object == api.none) return DLX_COPY_IF_NEEDED;
  if (object == api.true_) return DLX_COPY_ALWAYS;
  if (object == api.false_) return DLX_COPY_NEVER;
  raise(api.type_error, "`copy` must be True, False or None (got %s)",
        type_text(class_of(object)).text);
}

int32_t to_order(PyObject* object) {
  if (object == nullptr) return DLX_ORDER_C;
  const bool text = (api.PyType_GetFlags(class_of(object)) & kTypeFlagUnicode) != 0;
  int64_t length = 0;
  const char* order = text ? api.PyUnicode_AsUTF8AndSize(object, &length) : nullptr;
  if (text && order == nullptr) throw PythonError();
  if (length == 1 && *order == 'C') return DLX_ORDER_C;
  if (length == 1 && *order == 'F') return DLX_ORDER_F;
  if (text)
    fail(DLX_ERROR_INVALID_ARGUMENT, "`order` must be \"C\" or \"F\" (got \"%.40s\")", order);
  raise(api.type_error, "`order` must be \"C\" or \"F\" (got %s)",
        type_text(class_of(object)).text);
}

bool to_force(PyObject* object) {
  if (object == nullptr || object == api.false_) return false;
  if (object == api.true_) return true;
  raise(api.type_error, "`force` must be True or False (got %s)", type_text(class_of(object)).text);
}

}  // namespace dlx::py
