/**
 * Arguments of functions in C++ that Python calls: what dlx/nanobind.h and dlx/pybind11.h share.
 *     struct Image {
 *       static constexpr char contract[] = "image: uint8[h, w] writable";
 *     };
 *     void invert(const dlx::Array<Image>& image);
 *
 * **Ownership**: an Array is valid during the call that it is an argument of; the caller's object
 * keeps the memory. To keep an array longer, take a dlx::Tensor. **Errors**: exceptions, dlx::Error
 * or Python's. **Thread safety**: an Array belongs to one call; a contract is shared by all threads.
 */
#ifndef DLX_PYTHON_HPP_
#define DLX_PYTHON_HPP_

#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "dlx/call.hpp"
#include "dlx/dlx.hpp"
#include "dlx/python.h"

namespace dlx {

/** An array of any library that fits the contract `Tag::contract`, borrowed for a call. Empty if
 * the contract says `= None` and the caller left it out. */
template <typename Tag>
class Array {
 public:
  explicit Array(const dlx_borrowed& borrowed) noexcept : borrowed_(&borrowed) {}

  explicit operator bool() const noexcept {
    return borrowed_->array.shape != nullptr || has_data();
  }
  /** With strides. For functions that take a DLTensor *; it must not be changed. */
  DLTensor* dltensor() const noexcept { return const_cast<DLTensor*>(&borrowed_->array); }
  int32_t ndim() const noexcept { return borrowed_->array.ndim; }
  int64_t extent(int32_t axis) const noexcept { return borrowed_->array.shape[axis]; }
  int64_t size() const noexcept {
    int64_t count = 1;
    for (int32_t axis = 0; axis < ndim(); ++axis) count *= extent(axis);
    return count;
  }
  DType dtype() const noexcept { return borrowed_->array.dtype; }
  bool readonly() const noexcept { return (borrowed_->flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0; }

  /** Address of the first element. Throws InvalidArgument for another dtype, ReadOnly if T is not
   * const but the data is read-only; what the contract says needs no check. */
  template <typename T>
  T* data() const {
    if (dtype() != DType::of<T>()) {
      throw InvalidArgument("dlx::Array::data: the elements are " + dtype().name() + ", not " +
                            DType::of<T>().name());
    }
    if (!std::is_const_v<T> && readonly()) {
      throw ReadOnly("dlx::Array::data: the array is read-only (ask for `writable`, or for const)");
    }
    return reinterpret_cast<T*>(static_cast<char*>(borrowed_->array.data) +
                                borrowed_->array.byte_offset);
  }
  /** Access by index, for any strides: `pixels(row, column)`. */
  template <typename T, size_t kNdim>
  Elements<T, kNdim> elements() const {
    if (ndim() != static_cast<int32_t>(kNdim)) {
      throw InvalidArgument("dlx::Array::elements: the array has " + std::to_string(ndim()) +
                            " axes, not " + std::to_string(kNdim));
    }
    return {data<T>(), borrowed_->array.shape, borrowed_->array.strides};
  }

 private:
  bool has_data() const noexcept { return borrowed_->array.data != nullptr; }

  const dlx_borrowed* borrowed_;
};

/** For the casters: an argument while it is borrowed. The GIL is held. */
class Loan {
 public:
  Loan() noexcept = default;
  Loan(const Loan&) = delete;
  Loan& operator=(const Loan&) = delete;
  /** Temporaries of arrays that the function wrote are copied back, unless it threw. A failure of
   * that copy is left as the Python exception that is set; see `failed`. */
  ~Loan() {
    if (!held_) return;
    const bool succeeded = std::uncaught_exceptions() == exceptions_;
    if (dlx_python_give_back(&borrowed_, 1, succeeded ? 1 : 0) != DLX_OK && failed != nullptr) {
      failed();
    }
  }

  /** False with a Python exception set: the object does not fit. */
  bool take(const Contract& contract, void* object) noexcept {
    held_ = dlx_python_borrow(contract.get(), &object, &borrowed_) == DLX_OK;
    return held_;
  }
  const dlx_borrowed& borrowed() const noexcept { return borrowed_; }

  void (*failed)() = nullptr; /**< called with the Python exception set */

 private:
  bool held_ = false;
  int exceptions_ = std::uncaught_exceptions();
  dlx_borrowed borrowed_;
};

/** A PyObject * of dlx.function, owned: `function` is a dlx_function, or takes the contract's
 * parameters one by one (see dlx_python_function). Throws Error; a Python exception is set then. */
template <typename Function>
void* make_python_function(Function* function, const char* contract, const char* doc = nullptr) {
  const Contract read(contract);
  dlx_function_options options = DLX_FUNCTION_OPTIONS_INIT;
  options.natural = std::is_same_v<Function*, dlx_function> ? 0 : 1;
  options.doc = doc;
  void* out = nullptr;
  check(dlx_python_function(reinterpret_cast<void (*)()>(function), read.get(), &options, &out));
  return out;
}

}  // namespace dlx

#endif  // DLX_PYTHON_HPP_
