#include "src/python/dtype_device.h"

#include <cstring>

#include "src/base/error.h"
#include "src/device/registry.h"
#include "src/dtype/dtype.h"
#include "src/python/errors.h"
#include "src/python/integers.h"
#include "src/python/lockless.h"
#include "src/python/reference.h"
#include "src/python/state.h"

namespace dlx::py {
namespace {

/// A Python object and its dtype or device as a number.
struct CachedObject {
  uint64_t key;
  PyObject* object;
};

/// Objects by number and back. A process has few of them, so the list only grows.
class ObjectCache {
 public:
  PyObject* find(uint64_t key) noexcept {
    for (const CachedObject& entry : entries_) {
      if (entry.key == key) return entry.object;
    }
    return nullptr;
  }
  bool find_key(PyObject* object, uint64_t* key) noexcept {
    for (const CachedObject& entry : entries_) {
      if (entry.object != object) continue;
      *key = entry.key;
      return true;
    }
    return false;
  }
  void add(uint64_t key, PyObject* object) noexcept {
    Ref kept = Ref::share(object);
    entries_.add([&](CachedObject* entry) { *entry = {key, kept.detach()}; });
  }
  void clear() noexcept { entries_.clear(); }

 private:
  GrowingList<CachedObject, 64> entries_;
};

ObjectCache dtypes, devices;  // the public objects
// Objects of other libraries that always mean the same dtype: of arrays, and asked for by callers.
ObjectCache foreign_dtypes, requested_dtypes;

DLDataType dtype_of_key(uint64_t key) noexcept {
  return make_dtype(static_cast<int>(key >> 32), static_cast<int>(key >> 16 & 0xffff),
                    static_cast<int>(key & 0xffff));
}

PyObject* number(int64_t value) { return check(api.PyLong_FromLongLong(value)); }

/// Reads the tuple of `count` ints that a hook returned.
void read_numbers(PyObject* tuple, int count, const char* hook, int64_t* out) {
  if ((api.PyType_GetFlags(class_of(tuple)) & kTypeFlagTuple) == 0 ||
      api.PyTuple_Size(tuple) != count) {
    raise(api.type_error, "the hook %s must return a tuple of %d numbers (got %s)", hook, count,
          type_text(class_of(tuple)).text);
  }
  for (int i = 0; i < count; ++i) out[i] = to_int64(api.PyTuple_GetItem(tuple, i), hook);
}

/// The text of a str without zero bytes and surrogates; else NULL.
const char* find_name(PyObject* object) {
  if ((api.PyType_GetFlags(class_of(object)) & kTypeFlagUnicode) == 0) return nullptr;
  int64_t length = 0;
  const char* name = api.PyUnicode_AsUTF8AndSize(object, &length);
  if (name == nullptr) {
    if (api.PyErr_ExceptionMatches(api.value_error) == 0) throw PythonError();
    api.PyErr_Clear();
    return nullptr;
  }
  return std::strlen(name) == static_cast<size_t>(length) ? name : nullptr;
}

/// A name that dlx knows as a dtype; false for other objects, which the hook knows or refuses.
bool dtype_by_name(PyObject* object, DLDataType* out) {
  const char* name = find_name(object);
  if (name == nullptr) return false;
  try {
    *out = parse_dtype(name);
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

DLDataType dtype_of_numbers(const int64_t* n) {
  if (n[0] < 0 || n[0] > 255 || n[1] < 0 || n[1] > 255 || n[2] < 0 || n[2] > 65535) {
    fail(DLX_ERROR_INVALID_ARGUMENT,
         "`dtype` is out of range (got code %lld, bits %lld, lanes %lld)",
         static_cast<long long>(n[0]), static_cast<long long>(n[1]), static_cast<long long>(n[2]));
  }
  return make_dtype(static_cast<int>(n[0]), static_cast<int>(n[1]), static_cast<int>(n[2]));
}

PyObject* dtype_numbers(DLDataType dtype) {
  const int64_t numbers[] = {dtype.code, dtype.bits, dtype.lanes};
  return tuple_of(3, numbers);
}

bool is_unknown_dtype_name(PyObject* object) {
  DLDataType named;
  return find_name(object) != nullptr && !dtype_by_name(object, &named);
}

DLDataType to_dtype(PyObject* object) {
  DLDataType named;
  if (dtype_by_name(object, &named)) return named;
  uint64_t key;
  // A dtype object of dlx (`tensor.dtype`), or one that was asked for before.
  if (dtypes.find_key(object, &key) || requested_dtypes.find_key(object, &key)) {
    return dtype_of_key(key);
  }
  Ref code(check(call_objects(state.dtype_code, object)));
  int64_t numbers[4];  // the last: whether the object always means this dtype
  read_numbers(code.get(), 4, "dtype_code", numbers);
  const DLDataType dtype = dtype_of_numbers(numbers);
  require_known_dtype(dtype, "dtype");
  if (numbers[3] != 0) requested_dtypes.add(key_of(dtype), object);
  return dtype;
}

DLDataType checked_dtype(PyObject* object, PyObject* array) {
  uint64_t key;
  if (foreign_dtypes.find_key(object, &key)) return dtype_of_key(key);
  const Ref forever(check(call_objects(state.check_dtype, object, array)));
  const DLDataType dtype = to_dtype(object);
  if (forever.get() == api.true_) foreign_dtypes.add(key_of(dtype), object);
  return dtype;
}

DLDevice to_device(PyObject* object) {
  const char* name = find_name(object);
  if (name != nullptr && std::strcmp(name, "cpu") == 0) return kCpu;
  Ref code(check(call_objects(state.device_code, object)));
  int64_t numbers[2];
  read_numbers(code.get(), 2, "device_code", numbers);
  if (numbers[0] <= 0 || numbers[0] > INT32_MAX || numbers[1] < 0 || numbers[1] > INT32_MAX) {
    fail(DLX_ERROR_INVALID_ARGUMENT, "`device` is not a device (got type %lld, id %lld)",
         static_cast<long long>(numbers[0]), static_cast<long long>(numbers[1]));
  }
  return make_device(static_cast<int32_t>(numbers[0]), static_cast<int32_t>(numbers[1]));
}

int64_t to_stream(PyObject* object, DLDevice device) {
  if (class_of(object) == api.long_type) return to_int64(object, "stream");
  const Ref type(number(static_cast<int64_t>(device.device_type))), id(number(device.device_id));
  const Ref found(check(call_objects(state.stream_number, object, type.get(), id.get())));
  return to_int64(found.get(), "stream");
}

PyObject* dtype_object(DLDataType dtype) {
  const uint64_t key = key_of(dtype);
  PyObject* known = dtypes.find(key);
  if (known != nullptr) {
    api.Py_IncRef(known);
    return known;
  }
  Ref code(number(dtype.code)), bits(number(dtype.bits)), lanes(number(dtype.lanes));
  Ref made(check(call_objects(state.make_dtype, code.get(), bits.get(), lanes.get())));
  dtypes.add(key, made.get());
  return made.detach();
}

PyObject* device_object(DLDevice device) {
  const auto type = static_cast<uint32_t>(device.device_type);
  const uint64_t key = uint64_t{type} << 32 | static_cast<uint32_t>(device.device_id);
  PyObject* known = devices.find(key);
  if (known != nullptr) {
    api.Py_IncRef(known);
    return known;
  }
  Ref type_number(number(type)), id(number(device.device_id));
  Ref made(check(call_objects(state.make_device, type_number.get(), id.get())));
  devices.add(key, made.get());
  return made.detach();
}

void clear_object_caches() noexcept {
  dtypes.clear();
  devices.clear();
  foreign_dtypes.clear();
  requested_dtypes.clear();
}

}  // namespace dlx::py
