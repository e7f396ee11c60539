#ifndef DLX_SRC_PYTHON_BORROW_H_
#define DLX_SRC_PYTHON_BORROW_H_

#include "dlx/call.h"
#include "src/contract/check.h"
#include "src/python/cpython.h"

namespace dlx::py {

/// Arguments of compiled functions: the memory of any object as a DLTensor, for the time of a call
/// and without making a Tensor where that can be avoided.

using Borrowed = ::dlx_borrowed;

/// Fills `out` for an argument that the caller keeps alive, and checks it against its parameter; if
/// the contract allows it, a temporary takes its place. `like` is the array of `same_dtype_as`, or
/// NULL. Throws PythonError and Error; nothing is held then.
void borrow(PyObject* object, const Contract& contract, const Parameter& parameter,
            const DLTensor* like, Binding* binding, Borrowed* out);

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
    if (count_ > 0) drop();
  }
  Loans(const Loans&) = delete;
  Loans& operator=(const Loans&) = delete;

  /// The next one, to be filled by borrow() and then kept().
  Borrowed* next() noexcept { return &items_[count_]; }
  void kept() noexcept { ++count_; }
  int count() const noexcept { return count_; }
  const Borrowed& at(int index) const noexcept { return items_[index]; }

  void succeed() {
    while (count_ > 0) give_back(&items_[--count_], true);
  }

 private:
  void drop() noexcept {
    while (count_ > 0) give_back(&items_[--count_], false);
  }

  int count_ = 0;
  Borrowed items_[kMost];
};

}  // namespace dlx::py

#endif  // DLX_SRC_PYTHON_BORROW_H_
