#include "src/python/integers.h"

#include <algorithm>
#include <cstdlib>
#include <new>

#include "src/base/error.h"
#include "src/python/calls.h"
#include "src/python/errors.h"
#include "src/python/reference.h"
#include "src/python/state.h"

namespace dlx::py {

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

int32_t to_int32(PyObject* object, const char* name) {
  const int64_t value = to_int64(object, name);
  if (value != static_cast<int32_t>(value)) {
    fail(DLX_ERROR_INVALID_ARGUMENT, "`%s` is out of range (got %lld)", name,
         static_cast<long long>(value));
  }
  return static_cast<int32_t>(value);
}

int64_t to_device_type(PyObject* object, const char* name) {
  const bool plain = class_of(object) == api.long_type;
  if (plain || api.PyIndex_Check(object) != 0) return to_int64(object, name);
  const Ref value = find_attribute(object, names.value);
  return to_int64(value ? value.get() : object, name);
}

Int64List::Int64List(PyObject* object, const char* name) : Int64List() {
  if (api.PyIndex_Check(object) != 0) {
    // Arrays have __index__, too; it refuses arrays with axes.
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
  // Other iterables are read one by one, because they may be endless.
  const Ref iterator(is_tuple ? nullptr : api.PyObject_GetIter(object));
  if (!is_tuple && !iterator) {
    if (api.PyErr_ExceptionMatches(api.type_error) == 0) throw PythonError();
    api.PyErr_Clear();
    raise(api.type_error, "`%s` must be an integer or a sequence of integers (got %s)", name,
          type_text(class_of(object)).text);
  }
  for (int64_t i = 0; is_tuple && i < api.PyTuple_Size(object); ++i) {
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
    // not covered: memory has run out
    if (numbers == nullptr) throw std::bad_alloc();
    std::copy(inline_, inline_ + kInline, numbers);
    numbers_ = numbers;
  }
  numbers_[count_++] = number;
}

Int64List::~Int64List() {
  if (numbers_ != inline_) std::free(numbers_);
}

}  // namespace dlx::py
