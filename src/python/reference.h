#ifndef DLX_SRC_PYTHON_REFERENCE_H_
#define DLX_SRC_PYTHON_REFERENCE_H_

#include "src/python/cpython.h"

namespace dlx::py {

/// Holds one reference to a Python object.
class Ref {
 public:
  Ref() = default;
  explicit Ref(PyObject* owned) noexcept : object_(owned) {}
  Ref(Ref&& other) noexcept : object_(other.detach()) {}
  Ref& operator=(Ref&& other) noexcept {
    PyObject* old = object_;
    object_ = other.detach();
    if (old != nullptr) api.Py_DecRef(old);
    return *this;
  }
  Ref(const Ref&) = delete;
  Ref& operator=(const Ref&) = delete;
  ~Ref() {
    if (object_ != nullptr) api.Py_DecRef(object_);
  }

  static Ref share(PyObject* object) noexcept {
    api.Py_IncRef(object);
    return Ref(object);
  }
  PyObject* get() const noexcept { return object_; }
  explicit operator bool() const noexcept { return object_ != nullptr; }
  /// Gives the reference to the caller.
  PyObject* detach() noexcept {
    PyObject* object = object_;
    object_ = nullptr;
    return object;
  }

 private:
  PyObject* object_ = nullptr;
};

/// None, as a new reference.
inline PyObject* none() noexcept { return Ref::share(api.none).detach(); }

}  // namespace dlx::py

#endif  // DLX_SRC_PYTHON_REFERENCE_H_
