#ifndef DLX_SRC_PYTHON_BORROW_H_
#define DLX_SRC_PYTHON_BORROW_H_

#include "dlx/call.h"
#include "src/contract/check.h"
#include "src/python/cpython.h"
#include "src/python/ndarray.h"
#include "src/python/tensor_type.h"

namespace dlx::py {

/// Arguments of compiled functions: the memory of any object as a DLTensor, for the time of a call
/// and without making a Tensor where that can be avoided.

using Borrowed = ::dlx_borrowed;

/// Fills `out` for a plain tensor of torch on the CPU. False: the object has to be imported.
bool read_torch(const PyObject* object, const Parameter& parameter, Borrowed* out) noexcept;

/// borrow() of an array without the usual form. `filled`: `out` describes it already.
void borrow_unusual(PyObject* object, const Contract& contract, const Parameter& parameter,
                    bool filled, const DLTensor* like, Binding* binding, Borrowed* out);

/// Fills `out` for an argument that the caller keeps alive, and checks it against its parameter; if
/// the contract allows it, a temporary takes its place. `like` returns the array of `same_dtype_as`,
/// or NULL. False: there is nothing to give back. Throws PythonError and Error; nothing is held then.
template <typename Like>
[[gnu::always_inline]] inline bool borrow(PyObject* object, const Contract& contract,
                                          const Parameter& parameter, Like&& like, Binding* binding,
                                          Borrowed* out) {
  out->owner = out->original = nullptr;
  bool filled, fits;
  if (is_tensor(object)) {
    const Tensor* const tensor = tensor_of(object);
    out->array = tensor->dl;
    out->flags = tensor->flags;
    // Pinned and device memory may have to wait for a stream.
    filled = tensor->dl.device.device_type == kDLCPU;
    fits = has_usual_form(parameter, tensor->dl, tensor->flags, binding);
  } else {
    filled = read_ndarray(object, &out->array, out->room, &out->flags) ||
             read_torch(object, parameter, out);
    fits = filled && has_usual_form(parameter, out->array, out->flags, binding);
  }
  if (__builtin_expect(fits, 1)) return false;
  borrow_unusual(object, contract, parameter, filled, like(), binding, out);
  return out->owner != nullptr;
}

/// Gives back what borrow() filled. After success, a temporary of an array that the function wrote
/// is copied back; throws Error and PythonError if that fails, with everything given back.
void give_back_slowly(Borrowed* borrowed, bool succeeded);
inline void give_back(Borrowed* borrowed, bool succeeded) {
  if (borrowed->owner != nullptr) give_back_slowly(borrowed, succeeded);
}

/// dlx_python_borrow(). Throws as borrow().
void borrow_all(const Contract& contract, void* const* objects, Borrowed* out);

/// dlx_python_give_back(): all of them, then throws the first failure.
void give_back_all(Borrowed* borrowed, int count, bool succeeded);

/// The arrays that one call has borrowed. Gives them back, as after a failure, unless succeed() did.
template <int kMost>
class Loans {
 public:
  Loans() noexcept {}
  ~Loans() {
    if (owns_) give_all_back(false);
  }
  Loans(const Loans&) = delete;
  Loans& operator=(const Loans&) = delete;

  /// The next one, to be filled by borrow() and then kept, with what that returned.
  Borrowed* next() noexcept { return end_; }
  void keep(bool owns) noexcept {
    ++end_;
    owns_ |= owns;
  }
  const Borrowed* begin() const noexcept { return items_; }
  const Borrowed* end() const noexcept { return end_; }

  void succeed() {
    if (owns_) give_all_back(true);
  }

 private:
  /// From the last to the first: if one throws, the destructor gives back the rest.
  [[gnu::noinline]] void give_all_back(bool succeeded) {
    while (end_ != items_) give_back(--end_, succeeded);
    owns_ = false;
  }

  Borrowed* end_ = items_;
  bool owns_ = false;
  Borrowed items_[kMost];
};

}  // namespace dlx::py

#endif  // DLX_SRC_PYTHON_BORROW_H_
