#include <cstdlib>
#include <new>

#include "src/arrow/export.h"
#include "src/arrow/import.h"
#include "src/arrow/metadata.h"
#include "src/arrow/release.h"
#include "src/arrow/schema.h"
#include "src/arrow/stream.h"
#include "src/device/registry.h"
#include "src/python/import_dlpack.h"
#include "src/python/lockless.h"
#include "src/python/tensor_type.h"

namespace dlx::py {
namespace {

// Arrow's PyCapsule interface: the names of its capsules, each with a struct on the heap.
constexpr const char* kSchema = "arrow_schema";
constexpr const char* kArray = "arrow_array";
constexpr const char* kDeviceArray = "arrow_device_array";
constexpr const char* kStream = "arrow_array_stream";

/// Destructor: releases what no consumer has moved out.
template <typename Struct>
void destroy_capsule(PyObject* capsule, const char* name) {
  if (api.PyCapsule_IsValid(capsule, name) == 0) return;
  auto* held = static_cast<Struct*>(api.PyCapsule_GetPointer(capsule, name));
  const WithoutPendingError aside;
  auto* inner = arrow::releasable(held);
  if (inner->release != nullptr) inner->release(inner);
  std::free(held);
}

void destroy_schema(PyObject* capsule) { destroy_capsule<ArrowSchema>(capsule, kSchema); }
void destroy_array(PyObject* capsule) { destroy_capsule<ArrowArray>(capsule, kArray); }
void destroy_device_array(PyObject* capsule) {
  destroy_capsule<ArrowDeviceArray>(capsule, kDeviceArray);
}

/// A capsule with a zeroed struct, which its destructor knows as released; `*out` is filled later.
template <typename Struct>
Ref new_capsule(const char* name, PyDestructor destructor, Struct** out) {
  auto* held = static_cast<Struct*>(std::calloc(1, sizeof(Struct)));
  if (held == nullptr) throw std::bad_alloc();
  PyObject* capsule = api.PyCapsule_New(held, name, destructor);
  if (capsule == nullptr) {
    std::free(held);
    throw PythonError();
  }
  *out = held;
  return Ref(capsule);
}

/// What a capsule of that name holds, or NULL if it is none.
template <typename Struct>
Struct* open_capsule(PyObject* object, const char* name) {
  if (class_of(object) != api.capsule_type || api.PyCapsule_IsValid(object, name) == 0)
    return nullptr;
  return static_cast<Struct*>(api.PyCapsule_GetPointer(object, name));
}

template <typename Struct>
Struct* require_capsule(PyObject* object, const char* name) {
  auto* held = open_capsule<Struct>(object, name);
  if (held == nullptr) {
    fail(DLX_ERROR_INVALID_ARGUMENT,
         "it must return a PyCapsule named \"%s\" that holds one (got %s)", name,
         type_text(class_of(object)).text);
  }
  return held;
}

/// An array out of its capsule, which shows it as moved meanwhile: another thread may open that
/// while this one works without the GIL. It goes back unless the import consumes it.
class Taken {
 public:
  explicit Taken(ArrowArray* home) : home_(home) {
    const Changing changing;
    taken_ = *home;
    home->release = nullptr;
  }
  ~Taken() {
    if (taken_.release == nullptr) return;  // consumed, or another thread has it
    const Changing changing;
    *home_ = taken_;
  }
  Taken(const Taken&) = delete;
  Taken& operator=(const Taken&) = delete;
  ArrowArray* get() noexcept { return &taken_; }

 private:
  ArrowArray* home_;
  ArrowArray taken_;
};

/// (tensor, whether its memory is its own)
PyObject* pair_of(TensorRef tensor, bool copied) {
  Ref pair(check(api.PyTuple_New(2)));
  api.PyTuple_SetItem(pair.get(), 0, new_object(static_cast<TensorRef&&>(tensor)));
  api.PyTuple_SetItem(pair.get(), 1, check(api.PyBool_FromLong(copied ? 1 : 0)));
  return pair.detach();
}

/// One tensor of a table's columns, by the hook join_columns, which says whether its memory is its own.
TensorRef join_columns(std::vector<arrow::Column>* columns, int32_t copy, bool* copied) {
  Ref all(check(api.PyTuple_New(static_cast<intptr_t>(columns->size()))));
  for (size_t i = 0; i < columns->size(); ++i) {
    arrow::Column& column = (*columns)[i];
    Ref pair(check(api.PyTuple_New(2)));
    const auto length = static_cast<intptr_t>(column.name.size());
    api.PyTuple_SetItem(pair.get(), 0,
                        check(api.PyUnicode_DecodeUTF8(column.name.data(), length, "replace")));
    api.PyTuple_SetItem(pair.get(), 1, new_object(static_cast<TensorRef&&>(column.tensor)));
    api.PyTuple_SetItem(all.get(), static_cast<intptr_t>(i), pair.detach());
  }
  const Ref mode = copy == DLX_COPY_IF_NEEDED
                       ? Ref::share(api.none)
                       : Ref(check(api.PyBool_FromLong(copy == DLX_COPY_ALWAYS ? 1 : 0)));
  const Ref pair(check(call_objects(state.join_columns, all.get(), mode.get())));
  *copied = api.PyTuple_GetItem(pair.get(), 1) == api.true_;
  return TensorRef::share(tensor_of(api.PyTuple_GetItem(pair.get(), 0)));
}

/// How a table's columns are imported: join_columns() makes the copy that the caller asked for.
CopyRequest for_columns(int32_t copy) {
  CopyRequest request;
  request.copy = copy == DLX_COPY_ALWAYS ? DLX_COPY_IF_NEEDED : copy;
  return request;
}

/// Takes over what the two capsules hold. On failure it remains in them.
TensorRef import_capsules(PyObject* schema_capsule, PyObject* array_capsule, int32_t copy,
                          bool* copied) {
  const auto& schema = *require_capsule<ArrowSchema>(schema_capsule, kSchema);
  if (arrow::is_table(schema) && open_capsule<ArrowArray>(array_capsule, kArray) != nullptr) {
    Taken rows(require_capsule<ArrowArray>(array_capsule, kArray));
    std::vector<arrow::Column> columns = [&] {
      const WithoutGil without(rows.get()->length >= kReleaseGilFrom);
      return arrow::import_table(rows.get(), schema, for_columns(copy));
    }();
    return join_columns(&columns, copy, copied);
  }
  const arrow::TensorType type = arrow::read_schema(schema);
  CopyRequest request;
  request.copy = copy;
  DLDevice device = kCpu;
  ArrowArray* array;
  void* sync_event = nullptr;
  auto* on_device = open_capsule<ArrowDeviceArray>(array_capsule, kDeviceArray);
  if (on_device != nullptr) {
    device = arrow::read_device(*on_device);
    array = &on_device->array;
    sync_event = on_device->sync_event;
  } else {
    array = require_capsule<ArrowArray>(array_capsule, kArray);
  }
  Taken taken(array);
  const bool copies =
      (type.bits || copy == DLX_COPY_ALWAYS) && taken.get()->length >= kReleaseGilFrom;
  const WithoutGil without(copies || sync_event != nullptr);
  return arrow::import_array(taken.get(), type, device, sync_event, request, copied);
}

/// _from_arrow(schema, array, copy): the capsules of __arrow_c_array__ or __arrow_c_device_array__.
PyObject* from_arrow(PyObject*, PyObject* const* args, intptr_t nargs, PyObject*) {
  return positional("asarray", nargs, 3, [&] {
    bool copied;
    TensorRef tensor = import_capsules(args[0], args[1], to_copy_mode(args[2]), &copied);
    return pair_of(static_cast<TensorRef&&>(tensor), copied);
  });
}

/// Calls an Arrow method that returns (schema, array); none after the exception `allowed`.
Ref call_for_pair(PyObject* object, PyObject* name, PyObject* allowed) {
  PyObject* arguments[] = {object};
  Ref pair(api.PyObject_VectorcallMethod(name, arguments, 1, nullptr));
  if (!pair) {
    if (allowed == nullptr || api.PyErr_ExceptionMatches(allowed) == 0) throw PythonError();
    api.PyErr_Clear();
    return pair;
  }
  const bool tuple = (api.PyType_GetFlags(class_of(pair.get())) & kTypeFlagTuple) != 0;
  if (!tuple || api.PyTuple_Size(pair.get()) != 2) {
    fail(DLX_ERROR_INVALID_ARGUMENT, "it must return a tuple of two capsules (got %s)",
         type_text(class_of(pair.get())).text);
  }
  return pair;
}

/// The stream is released in every case, because the rest of it is of no use to another reader.
TensorRef import_stream_capsule(PyObject* capsule, int32_t copy, bool* copied) {
  auto* held = require_capsule<ArrowArrayStream>(capsule, kStream);
  auto stream = [held] {
    const Changing changing;
    return arrow::Released<ArrowArrayStream>(held);
  }();
  std::vector<arrow::Column> columns;
  {
    const WithoutGil without(true);  // a stream may wait for threads that need it
    arrow::StreamReader reader(stream.get());
    if (!reader.is_table()) {
      CopyRequest request;
      request.copy = copy;
      return reader.read_array(request, copied);
    }
    columns = reader.read_table(for_columns(copy));
  }
  return join_columns(&columns, copy, copied);
}

/// _from_arrow_object(object, copy): by its __arrow_c_array__ or __arrow_c_device_array__.
PyObject* from_arrow_object(PyObject*, PyObject* const* args, intptr_t nargs, PyObject*) {
  return positional("asarray", nargs, 2, [&] {
    bool copied = false;
    TensorRef tensor = import_by_arrow(args[0], to_copy_mode(args[1]), &copied);
    return pair_of(static_cast<TensorRef&&>(tensor), copied);
  });
}

/// _from_arrow_stream(object, copy): by its __arrow_c_stream__.
PyObject* from_arrow_stream(PyObject*, PyObject* const* args, intptr_t nargs, PyObject*) {
  return positional("asarray", nargs, 2, [&] {
    bool copied;
    TensorRef tensor = import_by_arrow_stream(args[0], to_copy_mode(args[1]), &copied);
    return pair_of(static_cast<TensorRef&&>(tensor), copied);
  });
}

// ---- methods of Tensor -------------------------------------------------------------------------

/// The layout that a consumer would like; whatever else it asks for is left to its own casts.
arrow::ExportRequest read_requested(PyObject* requested) {
  arrow::ExportRequest request;
  if (requested == nullptr || requested == api.none) return request;
  const auto* schema = open_capsule<ArrowSchema>(requested, kSchema);
  if (schema == nullptr) {
    raise(api.type_error, "`requested_schema` must be a PyCapsule named \"%s\" or None (got %s)",
          kSchema, type_text(class_of(requested)).text);
  }
  std::string_view name;
  if (schema->release != nullptr &&
      arrow::find_metadata(schema->metadata, arrow::kExtensionName, &name) &&
      name == arrow::kFixedShapeTensor) {
    request.layout = DLX_ARROW_TENSORS;
  }
  return request;
}

/// (schema, array): both capsules exist before anything is exported into them.
template <typename Struct, typename Fill>
PyObject* export_pair(Tensor* tensor, const arrow::ExportRequest& request, const char* name,
                      PyDestructor destructor, Fill&& fill) {
  ArrowSchema* schema;
  Struct* array;
  Ref pair(check(api.PyTuple_New(2)));
  api.PyTuple_SetItem(pair.get(), 0, new_capsule(kSchema, destroy_schema, &schema).detach());
  api.PyTuple_SetItem(pair.get(), 1, new_capsule(name, destructor, &array).detach());
  arrow::export_schema(tensor, request, schema);
  const WithoutGil without(may_take_long(tensor));
  fill(array);
  return pair.detach();
}

/// Sorts out **kwargs, which may only be None as long as Arrow gives them no meaning.
PyObject* read_device_arguments(PyObject* const* args, intptr_t nargs, PyObject* kwnames) {
  if (nargs > 1) {
    raise(api.type_error,
          "__arrow_c_device_array__() takes at most 1 positional argument (%lld given)",
          static_cast<long long>(nargs));
  }
  PyObject* requested = nargs == 1 ? args[0] : nullptr;
  const intptr_t keywords = kwnames == nullptr ? 0 : api.PyTuple_Size(kwnames);
  for (intptr_t i = 0; i < keywords; ++i) {
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
      if (text == nullptr) throw PythonError();
      raise(api.not_implemented_error, "__arrow_c_device_array__() knows no keyword '%.100s'",
            text);
    }
  }
  return requested;
}

}  // namespace

TensorRef import_by_arrow(PyObject* object, int32_t copy, bool* copied) {
  auto import = [&](const Ref& pair) {
    return import_capsules(api.PyTuple_GetItem(pair.get(), 0), api.PyTuple_GetItem(pair.get(), 1),
                           copy, copied);
  };
  const Ref method = find_attribute(class_of(object), names.__arrow_c_array__);
  if (method && method.get() != api.none) {
    TensorRef tensor = by_protocol("`__arrow_c_array__`", object, [&] {
      // PyArrow's answer for data that is not on the CPU. Its other method takes twice the time.
      const Ref pair = call_for_pair(object, names.__arrow_c_array__, api.not_implemented_error);
      return pair ? import(pair) : TensorRef();
    });
    if (tensor.get() != nullptr) return tensor;
  }
  return by_protocol("`__arrow_c_device_array__`", object, [&] {
    return import(call_for_pair(object, names.__arrow_c_device_array__, nullptr));
  });
}

TensorRef import_by_arrow_stream(PyObject* object, int32_t copy, bool* copied) {
  const Ref capsule = call_method(object, names.__arrow_c_stream__);
  return by_protocol("`__arrow_c_stream__`", object,
                     [&] { return import_stream_capsule(capsule.get(), copy, copied); });
}

PyObject* tensor_arrow_c_array(PyObject* self, PyObject* const* args, intptr_t nargs,
                               PyObject* kwnames) {
  return enter("__arrow_c_array__", static_cast<PyObject*>(nullptr), [&] {
    static constexpr Signature kSignature = {"__arrow_c_array__",      1, 1, 0, 0,
                                             {&names.requested_schema}};
    PyObject* requested;
    parse_arguments(kSignature, args, nargs, kwnames, &requested);
    Tensor* tensor = tensor_of(self);
    const arrow::ExportRequest request = read_requested(requested);
    arrow::require_host(tensor);
    return export_pair<ArrowArray>(tensor, request, kArray, destroy_array, [&](ArrowArray* array) {
      arrow::export_array(tensor, request, array);
    });
  });
}

PyObject* tensor_arrow_c_device_array(PyObject* self, PyObject* const* args, intptr_t nargs,
                                      PyObject* kwnames) {
  return enter("__arrow_c_device_array__", static_cast<PyObject*>(nullptr), [&] {
    Tensor* tensor = tensor_of(self);
    const arrow::ExportRequest request =
        read_requested(read_device_arguments(args, nargs, kwnames));
    return export_pair<ArrowDeviceArray>(
        tensor, request, kDeviceArray, destroy_device_array,
        [&](ArrowDeviceArray* array) { arrow::export_device_array(tensor, request, array); });
  });
}

PyObject* tensor_arrow_c_schema(PyObject* self, PyObject*) {
  return enter("__arrow_c_schema__", static_cast<PyObject*>(nullptr), [&] {
    ArrowSchema* schema;
    Ref capsule = new_capsule(kSchema, destroy_schema, &schema);
    arrow::export_schema(tensor_of(self), arrow::ExportRequest(), schema);
    return capsule.detach();
  });
}

PyMethodDef arrow_functions[] = {fast_entry("_from_arrow", from_arrow),
                                 fast_entry("_from_arrow_object", from_arrow_object),
                                 fast_entry("_from_arrow_stream", from_arrow_stream),
                                 {}};

}  // namespace dlx::py
