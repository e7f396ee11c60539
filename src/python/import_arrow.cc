#include "src/python/import_arrow.h"

#include <vector>

#include "src/arrow/array_stream.h"
#include "src/arrow/import.h"
#include "src/arrow/release.h"
#include "src/arrow/schema.h"
#include "src/base/error.h"
#include "src/device/registry.h"
#include "src/python/arguments.h"
#include "src/python/arrow_capsules.h"
#include "src/python/calls.h"
#include "src/python/capsule_names.h"
#include "src/python/dtype_device.h"
#include "src/python/entry.h"
#include "src/python/errors.h"
#include "src/python/gil.h"
#include "src/python/lockless.h"
#include "src/python/reference.h"
#include "src/python/state.h"
#include "src/python/tensor_type.h"
#include "src/tensor/copies.h"

namespace dlx::py {
namespace {

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

/// Moves an array out of its capsule, which looks released meanwhile: another thread may open the
/// capsule while this one works without the GIL. Moves it back unless the import consumes it.
class TakenArray {
 public:
  explicit TakenArray(ArrowArray* home) : home_(home) {
    const WriteLock lock;
    taken_ = *home;
    home->release = nullptr;
  }
  ~TakenArray() {
    if (taken_.release == nullptr) return;  // consumed, or another thread has it
    const WriteLock lock;
    *home_ = taken_;
  }
  TakenArray(const TakenArray&) = delete;
  TakenArray& operator=(const TakenArray&) = delete;
  ArrowArray* get() noexcept { return &taken_; }

 private:
  ArrowArray* home_;
  ArrowArray taken_;
};

/// (tensor, whether nobody else uses its memory)
PyObject* tensor_and_copied(TensorRef tensor, bool copied) {
  Ref object(new_object(static_cast<TensorRef&&>(tensor)));
  return pair_of(static_cast<Ref&&>(object), Ref(check(api.PyBool_FromLong(copied ? 1 : 0))))
      .detach();
}

/// One tensor of a table's columns, by the hook join_columns, which says whether its memory is its own.
TensorRef join_columns(std::vector<arrow::Column>* columns, int32_t copy, const DLDataType* dtype,
                       bool* copied) {
  Ref all(check(api.PyTuple_New(static_cast<int64_t>(columns->size()))));
  for (size_t i = 0; i < columns->size(); ++i) {
    arrow::Column& column = (*columns)[i];
    const auto length = static_cast<int64_t>(column.name.size());
    Ref name(check(api.PyUnicode_DecodeUTF8(column.name.data(), length, "replace")));
    Ref tensor(new_object(static_cast<TensorRef&&>(column.tensor)));
    Ref pair = pair_of(static_cast<Ref&&>(name), static_cast<Ref&&>(tensor));
    api.PyTuple_SetItem(all.get(), static_cast<int64_t>(i), pair.detach());
  }
  const Ref mode = copy == DLX_COPY_IF_NEEDED
                       ? Ref::share(api.none)
                       : Ref(check(api.PyBool_FromLong(copy == DLX_COPY_ALWAYS ? 1 : 0)));
  const Ref code = dtype == nullptr ? Ref::share(api.none) : Ref(dtype_numbers(*dtype));
  const Ref pair(check(call_objects(state.join_columns, all.get(), mode.get(), code.get())));
  *copied = api.PyTuple_GetItem(pair.get(), 1) == api.true_;
  return TensorRef::share(tensor_of(api.PyTuple_GetItem(pair.get(), 0)));
}

/// How a table's columns are imported: join_columns() makes the copy that the caller asked for.
CopyRequest for_columns(int32_t copy) {
  CopyRequest request;
  request.copy = copy == DLX_COPY_ALWAYS ? DLX_COPY_IF_NEEDED : copy;
  return request;
}

/// Takes over what the two capsules hold; after an error they still hold it.
TensorRef import_capsules(PyObject* schema_capsule, PyObject* array_capsule, int32_t copy,
                          const DLDataType* dtype, bool* copied) {
  const auto& schema = *require_capsule<ArrowSchema>(schema_capsule, kArrowSchema);
  if (arrow::is_table(schema) && open_capsule<ArrowArray>(array_capsule, kArrowArray) != nullptr) {
    TakenArray rows(require_capsule<ArrowArray>(array_capsule, kArrowArray));
    std::vector<arrow::Column> columns = [&] {
      const WithoutGil without(rows.get()->length >= kReleaseGilFrom);
      return arrow::import_table(rows.get(), schema, for_columns(copy));
    }();
    return join_columns(&columns, copy, dtype, copied);
  }
  const arrow::TensorType type = arrow::read_schema(schema);
  CopyRequest request;
  request.copy = copy;
  DLDevice device = kCpu;
  ArrowArray* array;
  void* sync_event = nullptr;
  auto* on_device = open_capsule<ArrowDeviceArray>(array_capsule, kArrowDeviceArray);
  if (on_device != nullptr) {
    device = arrow::read_device(*on_device);
    array = &on_device->array;
    sync_event = on_device->sync_event;
  } else {
    array = require_capsule<ArrowArray>(array_capsule, kArrowArray);
  }
  TakenArray taken(array);
  const bool copies =
      (type.bits || copy == DLX_COPY_ALWAYS) && taken.get()->length >= kReleaseGilFrom;
  const WithoutGil without(copies || sync_event != nullptr);
  return arrow::import_array(taken.get(), type, device, sync_event, request, copied);
}

/// _from_arrow(schema, array, copy): the capsules of __arrow_c_array__ or __arrow_c_device_array__.
PyObject* from_arrow(PyObject*, PyObject* const* args, int64_t nargs, PyObject*) {
  return positional("asarray", nargs, 3, [&] {
    bool copied;
    TensorRef tensor = import_capsules(args[0], args[1], to_copy_mode(args[2]), nullptr, &copied);
    return tensor_and_copied(static_cast<TensorRef&&>(tensor), copied);
  });
}

/// Always releases the stream: a second reader of the capsule would get only the rest of it.
TensorRef import_stream_capsule(PyObject* capsule, int32_t copy, const DLDataType* dtype,
                                bool* copied) {
  auto* held = require_capsule<ArrowArrayStream>(capsule, kArrowArrayStream);
  auto stream = [held] {
    const WriteLock lock;
    return arrow::Released<ArrowArrayStream>(held);
  }();
  std::vector<arrow::Column> columns;
  {
    const WithoutGil without(true);  // a stream may wait for threads that need the GIL
    arrow::ArrayStreamReader reader(stream.get());
    if (!reader.is_table()) {
      CopyRequest request;
      request.copy = copy;
      return reader.read_array(request, copied);
    }
    columns = reader.read_table(for_columns(copy));
  }
  return join_columns(&columns, copy, dtype, copied);  // not covered: in tests/python/systems
}

/// A dtype of the caller, or none for None.
class Wanted {
 public:
  explicit Wanted(PyObject* dtype) : given_(dtype != api.none) {
    if (given_) dtype_ = to_dtype(dtype);
  }
  const DLDataType* dtype() const noexcept { return given_ ? &dtype_ : nullptr; }

 private:
  bool given_;
  DLDataType dtype_{};
};

/// _from_arrow_object(object, copy, dtype): by its __arrow_c_array__ or __arrow_c_device_array__.
PyObject* from_arrow_object(PyObject*, PyObject* const* args, int64_t nargs, PyObject*) {
  return positional("asarray", nargs, 3, [&] {
    bool copied = false;
    const Wanted wanted(args[2]);
    TensorRef tensor = import_by_arrow(args[0], to_copy_mode(args[1]), wanted.dtype(), &copied);
    return tensor_and_copied(static_cast<TensorRef&&>(tensor), copied);
  });
}

/// _from_arrow_stream(object, copy, dtype): by its __arrow_c_stream__.
PyObject* from_arrow_stream(PyObject*, PyObject* const* args, int64_t nargs, PyObject*) {
  return positional("asarray", nargs, 3, [&] {
    bool copied;
    const Wanted wanted(args[2]);
    TensorRef tensor =
        import_by_arrow_stream(args[0], to_copy_mode(args[1]), wanted.dtype(), &copied);
    return tensor_and_copied(static_cast<TensorRef&&>(tensor), copied);
  });
}

/// Calls an Arrow method that returns (schema, array). None after the exception `allowed`.
Ref call_for_pair(PyObject* object, PyObject* name, PyObject* allowed) {
  PyObject* arguments[] = {object};
  Ref pair(api.PyObject_VectorcallMethod(name, arguments, 1, nullptr));
  if (!pair) {
    if (allowed == nullptr || api.PyErr_ExceptionMatches(allowed) == 0) throw PythonError();
    api.PyErr_Clear();  // not covered: in tests/python/systems
    return pair;        // not covered: in tests/python/systems
  }
  const bool tuple = (api.PyType_GetFlags(class_of(pair.get())) & kTypeFlagTuple) != 0;
  if (!tuple || api.PyTuple_Size(pair.get()) != 2) {
    fail(DLX_ERROR_INVALID_ARGUMENT, "it must return a tuple of two capsules (got %s)",
         type_text(class_of(pair.get())).text);
  }
  return pair;
}

}  // namespace

TensorRef import_by_arrow(PyObject* object, int32_t copy, const DLDataType* dtype, bool* copied) {
  auto import = [&](const Ref& pair) {
    return import_capsules(api.PyTuple_GetItem(pair.get(), 0), api.PyTuple_GetItem(pair.get(), 1),
                           copy, dtype, copied);
  };
  const Ref method = find_attribute(class_of(object), names.__arrow_c_array__);
  if (method && method.get() != api.none) {
    TensorRef tensor = by_protocol("`__arrow_c_array__`", object, [&] {
      // NotImplementedError: PyArrow's data is not on the CPU. Its device method takes twice the
      // time.
      const Ref pair = call_for_pair(object, names.__arrow_c_array__, api.not_implemented_error);
      return pair ? import(pair) : TensorRef();
    });
    if (tensor.get() != nullptr) return tensor;
  }
  return by_protocol("`__arrow_c_device_array__`", object, [&] {
    return import(call_for_pair(object, names.__arrow_c_device_array__, nullptr));
  });
}

TensorRef import_by_arrow_stream(PyObject* object, int32_t copy, const DLDataType* dtype,
                                 bool* copied) {
  const Ref capsule = call_method(object, names.__arrow_c_stream__);
  return by_protocol("`__arrow_c_stream__`", object,
                     [&] { return import_stream_capsule(capsule.get(), copy, dtype, copied); });
}

PyMethodDef arrow_functions[] = {fast_entry("_from_arrow", from_arrow),
                                 fast_entry("_from_arrow_object", from_arrow_object),
                                 fast_entry("_from_arrow_stream", from_arrow_stream),
                                 {}};

}  // namespace dlx::py
