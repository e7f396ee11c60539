#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

#include "src/device/registry.h"
#include "src/dtype/dtype.h"
#include "src/python/lockless.h"
#include "src/python/tensor_type.h"
#include "src/python/type_cache.h"

namespace dlx::py {
namespace {

/// Public objects by their numbers. There are few of either in a process; the list only grows.
struct CachedObject {
  uint64_t key;
  PyObject* object;
};

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

ObjectCache dtypes, devices;
// Objects of other libraries, which mean the same for ever: of data, and where a dtype is asked for.
ObjectCache foreign_dtypes, requested_dtypes;

DLDataType dtype_of_key(uint64_t key) noexcept {
  return make_dtype(static_cast<int>(key >> 32), static_cast<int>(key >> 16 & 0xffff),
                    static_cast<int>(key & 0xffff));
}

PyObject* number(int64_t value) { return check(api.PyLong_FromLongLong(value)); }

/// A tuple of `count` ints, from a hook.
void read_numbers(PyObject* tuple, int count, const char* hook, int64_t* out) {
  if ((api.PyType_GetFlags(class_of(tuple)) & kTypeFlagTuple) == 0 ||
      api.PyTuple_Size(tuple) != count) {
    raise(api.type_error, "the hook %s must return a tuple of %d numbers (got %s)", hook, count,
          type_text(class_of(tuple)).text);
  }
  for (int i = 0; i < count; ++i) out[i] = to_int64(api.PyTuple_GetItem(tuple, i), hook);
}

}  // namespace

PyObject* tuple_of(int32_t count, const int64_t* numbers) {
  Ref tuple(check(api.PyTuple_New(count)));
  for (int32_t i = 0; i < count; ++i) {
    api.PyTuple_SetItem(tuple.get(), i, check(api.PyLong_FromLongLong(numbers[i])));
  }
  return tuple.detach();
}

int64_t to_int64_slow(PyObject* object, const char* name, PyObject* overflow) {
  if (api.PyIndex_Check(object) == 0) {
    raise(api.type_error, "`%s` must be an integer (got %s)", name,
          type_text(class_of(object)).text);
  }
  const Ref index(check(api.PyNumber_Index(object)));
  const int64_t value = api.PyLong_AsLongLong(index.get());
  if (value != -1 || api.PyErr_Occurred() == nullptr) return value;
  if (api.PyErr_ExceptionMatches(api.overflow_error) == 0) throw PythonError();
  api.PyErr_Clear();
  raise(overflow != nullptr ? overflow : state.errors[DLX_ERROR_INVALID_ARGUMENT],
        "`%s` is out of range (got an integer beyond 64 bits)", name);
}

int64_t to_device_type(PyObject* object, const char* name) {
  const bool plain = class_of(object) == api.long_type;
  if (plain || api.PyIndex_Check(object) != 0) return to_int64(object, name);
  const Ref value = find_attribute(object, names.value);
  return to_int64(value ? value.get() : object, name);
}

Int64List::Int64List(PyObject* object, const char* name) : Int64List() {
  if (api.PyIndex_Check(object) != 0) {
    // Arrays have an __index__, too, which refuses those with axes.
    const Ref index(api.PyNumber_Index(object));
    if (!index && api.PyErr_ExceptionMatches(api.type_error) == 0) throw PythonError();
    if (index) {
      numbers_[0] = to_int64(index.get(), name);
      count_ = 1;
      return;
    }
    api.PyErr_Clear();
  }
  const bool is_tuple = class_of(object) == api.tuple_type;
  // Others one by one: what has no end would be read for ever.
  const Ref iterator(is_tuple ? nullptr : api.PyObject_GetIter(object));
  if (!is_tuple && !iterator) {
    if (api.PyErr_ExceptionMatches(api.type_error) == 0) throw PythonError();
    api.PyErr_Clear();
    raise(api.type_error, "`%s` must be an integer or a sequence of integers (got %s)", name,
          type_text(class_of(object)).text);
  }
  for (intptr_t i = 0; is_tuple && i < api.PyTuple_Size(object); ++i) {
    add(to_int64(api.PyTuple_GetItem(object, i), name), name);
  }
  while (!is_tuple) {
    const Ref item(api.PyIter_Next(iterator.get()));
    if (!item && api.PyErr_Occurred() != nullptr) throw PythonError();
    if (!item) break;
    add(to_int64(item.get(), name), name);
  }
}

void Int64List::add(int64_t number, const char* name) {
  if (count_ == DLX_MAX_NDIM) {
    fail(DLX_ERROR_INVALID_ARGUMENT,
         "`%s` has too many numbers (got %d or more, expected at most %d)", name, DLX_MAX_NDIM + 1,
         DLX_MAX_NDIM);
  }
  if (count_ == kInline) {
    auto* const numbers = static_cast<int64_t*>(std::malloc(sizeof(int64_t) * DLX_MAX_NDIM));
    if (numbers == nullptr) throw std::bad_alloc();
    std::copy(inline_, inline_ + kInline, numbers);
    numbers_ = numbers;
  }
  numbers_[count_++] = number;
}

Int64List::~Int64List() {
  if (numbers_ != inline_) std::free(numbers_);
}

namespace {

/// A string that may be a name: without zero bytes and surrogates. Else NULL.
const char* find_name(PyObject* object) {
  if ((api.PyType_GetFlags(class_of(object)) & kTypeFlagUnicode) == 0) return nullptr;
  intptr_t length = 0;
  const char* name = api.PyUnicode_AsUTF8AndSize(object, &length);
  if (name == nullptr) {
    if (api.PyErr_ExceptionMatches(api.value_error) == 0) throw PythonError();
    api.PyErr_Clear();
    return nullptr;
  }
  return std::strlen(name) == static_cast<size_t>(length) ? name : nullptr;
}

/// A name of dlx as a dtype; false for all else, which is the hook's to know or to refuse.
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

DLDataType to_dtype(PyObject* object) {
  DLDataType named;
  if (dtype_by_name(object, &named)) return named;
  uint64_t key;
  // One of our own, `tensor.dtype`, or one that was asked for before.
  if (dtypes.find_key(object, &key) || requested_dtypes.find_key(object, &key)) {
    return dtype_of_key(key);
  }
  Ref code(check(call_objects(state.dtype_code, object)));
  int64_t numbers[4];  // the last: whether the object means this for ever
  read_numbers(code.get(), 4, "dtype_code", numbers);
  const DLDataType dtype = dtype_of_numbers(numbers);
  require_known_dtype(dtype, "dtype");
  if (numbers[3] != 0) requested_dtypes.add(key_of(dtype), object);
  return dtype;
}

DLDataType checked_dtype(PyObject* object) {
  uint64_t key;
  if (foreign_dtypes.find_key(object, &key)) return dtype_of_key(key);
  const Ref forever(check(call_objects(state.check_dtype, object)));
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
  intptr_t length = 0;
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

namespace {

/// Position of a keyword in the signature; throws if there is none.
int find_keyword(const Signature& signature, PyObject* keyword) {
  for (int i = signature.positional_only; i < signature.count; ++i) {
    if (*signature.names[i] == keyword) return i;  // interned, as literals in calls are
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

/// What follows "takes at most 1 positional argument": NumPy and PyTorch take extents one by one.
const char* tuple_hint(const Signature& signature) {
  if (signature.positional != 1) return "";
  if (signature.names[0] == &names.shape) return ": pass the shape as one tuple";
  return signature.names[0] == &names.axes ? ": pass the axes as one tuple" : "";
}

/// An argument in messages: by its name, or by its place where it has no name for callers.
[[gnu::cold]] std::string argument_text(const Signature& signature, int i) {
  if (i < signature.positional_only) return std::to_string(i + 1);
  const char* name = api.PyUnicode_AsUTF8AndSize(*signature.names[i], nullptr);
  return name == nullptr ? throw PythonError() : "'" + std::string(name) + "'";
}

}  // namespace

void require_count(const char* function, intptr_t nargs, intptr_t count) {
  if (nargs == count) return;
  raise(api.type_error, "%s() takes %lld arguments (%lld given)", function,
        static_cast<long long>(count), static_cast<long long>(nargs));
}

Tensor* require_tensor(PyObject* object, const char* name) {
  if (is_tensor(object)) return tensor_of(object);
  raise(api.type_error, "`%s` must be a dlx.Tensor (got %s)", name,
        type_text(class_of(object)).text);
}

void parse_arguments(const Signature& signature, PyObject* const* args, intptr_t nargs,
                     PyObject* kwnames, PyObject** values) {
  if (nargs > signature.positional) {
    raise(api.type_error, "%s() takes at most %d positional argument%s (%lld given)%s",
          signature.function, signature.positional, signature.positional == 1 ? "" : "s",
          static_cast<long long>(nargs), tuple_hint(signature));
  }
  for (int i = 0; i < signature.count; ++i) values[i] = i < nargs ? args[i] : nullptr;
  const intptr_t keywords = kwnames == nullptr ? 0 : api.PyTuple_Size(kwnames);
  for (intptr_t k = 0; k < keywords; ++k) {
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

}  // namespace dlx::py
