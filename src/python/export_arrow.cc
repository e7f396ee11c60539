#include "src/python/export_arrow.h"

#include <cstdlib>
#include <new>
#include <string_view>

#include "src/arrow/export.h"
#include "src/arrow/metadata.h"
#include "src/arrow/release.h"
#include "src/arrow/schema.h"
#include "src/base/foreign.h"
#include "src/python/arguments.h"
#include "src/python/arrow_capsules.h"
#include "src/python/calls.h"
#include "src/python/capsule_names.h"
#include "src/python/entry.h"
#include "src/python/errors.h"
#include "src/python/gil.h"
#include "src/python/reference.h"
#include "src/python/state.h"
#include "src/python/tensor_type.h"

namespace dlx::py {
namespace {

/// Destructor: releases the struct unless a consumer has moved it out.
template <typename Struct>
void destroy_capsule(PyObject* capsule, const char* name) {
  if (api.PyCapsule_IsValid(capsule, name) == 0) return;
  auto* held = static_cast<Struct*>(api.PyCapsule_GetPointer(capsule, name));
  auto* inner = arrow::releasable(held);
  if (inner->release != nullptr) call_foreign(inner->release, inner);
  std::free(held);
}

void destroy_schema(PyObject* capsule) { destroy_capsule<ArrowSchema>(capsule, kArrowSchema); }
void destroy_array(PyObject* capsule) { destroy_capsule<ArrowArray>(capsule, kArrowArray); }
void destroy_device_array(PyObject* capsule) {
  destroy_capsule<ArrowDeviceArray>(capsule, kArrowDeviceArray);
}

/// A capsule with a zeroed struct, which counts as released; `*out` is filled later.
template <typename Struct>
Ref new_capsule(const char* name, PyDestructor destructor, Struct** out) {
  auto* held = static_cast<Struct*>(std::calloc(1, sizeof(Struct)));
  // not covered: memory has run out
  if (held == nullptr) throw std::bad_alloc();
  PyObject* capsule = api.PyCapsule_New(held, name, destructor);
  // not covered: the same
  if (capsule == nullptr) {
    // not covered from here: CPython is out of memory
    std::free(held);
    throw PythonError();
    // covered again
  }
  *out = held;
  return Ref(capsule);
}

/// The layout that the consumer requests; other requests are left to the consumer's own casts.
arrow::ExportRequest read_requested(PyObject* requested) {
  arrow::ExportRequest request;
  if (requested == nullptr || requested == api.none) return request;
  const auto* schema = open_capsule<ArrowSchema>(requested, kArrowSchema);
  if (schema == nullptr) {
    raise(api.type_error, "`requested_schema` must be a PyCapsule named \"%s\" or None (got %s)",
          kArrowSchema, type_text(class_of(requested)).text);
  }
  std::string_view name;
  if (schema->release != nullptr &&
      arrow::find_metadata(schema->metadata, arrow::kExtensionName, &name) &&
      name == arrow::kFixedShapeTensor) {
    request.layout = DLX_ARROW_TENSORS;
  }
  return request;
}

/// (schema, array). Makes both capsules before anything is exported into them.
template <typename Struct, typename Fill>
PyObject* export_pair(Tensor* tensor, const arrow::ExportRequest& request, const char* name,
                      PyDestructor destructor, Fill&& fill) {
  ArrowSchema* schema;
  Struct* array;
  Ref schema_capsule = new_capsule(kArrowSchema, destroy_schema, &schema);
  Ref pair = pair_of(static_cast<Ref&&>(schema_capsule), new_capsule(name, destructor, &array));
  arrow::export_schema(tensor, request, schema);
  const WithoutGil without(may_take_long(tensor));
  fill(array);
  return pair.detach();
}

/// Reads the arguments of __arrow_c_device_array__: further keywords must be None, because Arrow
/// has not given them a meaning.
PyObject* read_device_arguments(PyObject* const* args, int64_t nargs, PyObject* kwnames) {
  if (nargs > 1) {
    raise(api.type_error,
          "__arrow_c_device_array__() takes at most 1 positional argument (%lld given)",
          static_cast<long long>(nargs));
  }
  PyObject* requested = nargs == 1 ? args[0] : nullptr;
  const int64_t keywords = kwnames == nullptr ? 0 : api.PyTuple_Size(kwnames);
  for (int64_t i = 0; i < keywords; ++i) {
    PyObject* keyword = api.PyTuple_GetItem(kwnames, i);
    const int equal = api.PyObject_RichCompareBool(keyword, names.requested_schema, Py_EQ);
    if (equal < 0) throw PythonError();
    if (equal > 0) {
      if (requested != nullptr) {
        raise(api.type_error,
              "__arrow_c_device_array__() got multiple values for argument 'requested_schema'");
      }
      requested = args[nargs + i];
    } else if (args[nargs + i] != api.none) {
      const char* text = api.PyUnicode_AsUTF8AndSize(keyword, nullptr);
      // not covered: memory has run out
      if (text == nullptr) throw PythonError();
      raise(api.not_implemented_error, "__arrow_c_device_array__() has no keyword '%.100s'", text);
    }
  }
  return requested;
}

}  // namespace

PyObject* tensor_arrow_c_array(PyObject* self, PyObject* const* args, int64_t nargs,
                               PyObject* kwnames) {
  return enter("__arrow_c_array__", static_cast<PyObject*>(nullptr), [&] {
    static constexpr Signature kSignature = {"__arrow_c_array__",      1, 1, 0, 0,
                                             {&names.requested_schema}};
    PyObject* requested;
    parse_arguments(kSignature, args, nargs, kwnames, &requested);
    Tensor* tensor = tensor_of(self);
    const arrow::ExportRequest request = read_requested(requested);
    arrow::require_host(tensor);
    return export_pair<ArrowArray>(
        tensor, request, kArrowArray, destroy_array,
        [&](ArrowArray* array) { arrow::export_array(tensor, request, array); });
  });
}

PyObject* tensor_arrow_c_device_array(PyObject* self, PyObject* const* args, int64_t nargs,
                                      PyObject* kwnames) {
  return enter("__arrow_c_device_array__", static_cast<PyObject*>(nullptr), [&] {
    Tensor* tensor = tensor_of(self);
    const arrow::ExportRequest request =
        read_requested(read_device_arguments(args, nargs, kwnames));
    return export_pair<ArrowDeviceArray>(
        tensor, request, kArrowDeviceArray, destroy_device_array,
        [&](ArrowDeviceArray* array) { arrow::export_device_array(tensor, request, array); });
  });
}

PyObject* tensor_arrow_c_schema(PyObject* self, PyObject*) {
  return enter("__arrow_c_schema__", static_cast<PyObject*>(nullptr), [&] {
    ArrowSchema* schema;
    Ref capsule = new_capsule(kArrowSchema, destroy_schema, &schema);
    arrow::export_schema(tensor_of(self), arrow::ExportRequest(), schema);
    return capsule.detach();
  });
}

}  // namespace dlx::py
