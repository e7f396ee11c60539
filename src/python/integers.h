#ifndef DLX_SRC_PYTHON_INTEGERS_H_
#define DLX_SRC_PYTHON_INTEGERS_H_

#include <cstdint>

#include "dlx/dlx.h"
#include "src/python/cpython.h"

namespace dlx::py {

/// Python's integers, and tuples of them, as numbers of C and back. All throw PythonError and
/// Error; `name` is the argument in messages.

/// (number, …) as a new tuple.
PyObject* tuple_of(int32_t count, const int64_t* numbers);

/// to_int64() for what is not a plain int, or may not fit.
int64_t to_int64_slow(PyObject* object, const char* name, PyObject* overflow);
/// An object with `__index__` as a number. `overflow`: the exception for a number that does not
/// fit; InvalidArgumentError if NULL.
inline int64_t to_int64(PyObject* object, const char* name, PyObject* overflow = nullptr) {
  if (class_of(object) == api.long_type) {
    const int64_t value = api.PyLong_AsLongLong(object);
    if (value != -1) return value;
  }
  return to_int64_slow(object, name, overflow);
}
/// The same, but the number must fit in 32 bits.
int32_t to_int32(PyObject* object, const char* name);
/// A device type: an integer, or an Enum member whose value is one.
int64_t to_device_type(PyObject* object, const char* name);

/// A single integer, or the integers of a tuple, list or other iterable: at most DLX_MAX_NDIM.
class Int64List {
 public:
  Int64List(PyObject* object, const char* name);
  ~Int64List();
  Int64List(const Int64List&) = delete;
  Int64List& operator=(const Int64List&) = delete;
  int32_t count() const noexcept { return count_; }
  const int64_t* data() const noexcept { return numbers_; }

 private:
  static constexpr int32_t kInline = 8;

  Int64List() noexcept = default;
  void add(int64_t number, const char* name);

  int32_t count_ = 0;
  int64_t* numbers_ = inline_;
  int64_t inline_[kInline];
};

}  // namespace dlx::py

#endif  // DLX_SRC_PYTHON_INTEGERS_H_
