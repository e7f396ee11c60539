#ifndef DLX_SRC_TENSOR_TENSOR_H_
#define DLX_SRC_TENSOR_TENSOR_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "dlx/dlx.h"
#include "src/device/readiness.h"

/// A tensor, of one allocation: this struct, then ndim extents, then ndim strides.
///
/// The tensor that imported or allocated the memory is the *root*; every view, also a view of a
/// view, holds one reference to the root. When the root's count falls to zero, it gives the memory
/// back. Immutable except for the count and, in a root, the readiness of the memory.
struct dlx_tensor {
  /// Gives back the memory of a root; called once, before the root itself is freed.
  using ReleaseFn = void (*)(dlx_tensor* root);

  std::atomic<int64_t> references{1};
  dlx_tensor* root = nullptr;  ///< `this` in a root
  DLTensor dl{};               ///< shape and strides follow this struct
  uint64_t flags = 0;          ///< READ_ONLY, IS_SUBBYTE_TYPE_PADDED
  int64_t size = 0;            ///< number of elements

  dlx::Readiness readiness;  ///< of a root: the work that its memory waits for

  // Of a root: how its memory is given back. Only release_memory reads the three owner fields.
  ReleaseFn release_memory = nullptr;
  void* owner = nullptr;
  void* owner_function = nullptr;
  void* owner_data = nullptr;

  int64_t* shape() noexcept { return dl.shape; }
  int64_t* strides() noexcept { return dl.strides; }
  bool readonly() const noexcept { return (flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0; }
  bool padded() const noexcept { return (flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED) != 0; }
};

namespace dlx {

using Tensor = ::dlx_tensor;

void retain(Tensor* tensor) noexcept;
/// Throws nothing, but is not noexcept: a foreign deleter may wait for a GIL that never comes, and
/// CPython before 3.14 then ends the thread by unwinding it.
void release(Tensor* tensor);
/// The same for a caller that has put the language's pending error aside (src/base/foreign.h).
void release_with_error_aside(Tensor* tensor);

/// Whether release() would give memory back to a driver, which may wait for the device. Calls no
/// driver.
bool frees_device_memory(const Tensor* tensor) noexcept;

/// Holds one reference.
class TensorRef {
 public:
  TensorRef() = default;
  explicit TensorRef(Tensor* owned) noexcept : tensor_(owned) {}
  TensorRef(TensorRef&& other) noexcept : tensor_(other.detach()) {}
  TensorRef& operator=(TensorRef&& other) noexcept {
    if (this != &other) {
      if (tensor_ != nullptr) dlx::release(tensor_);
      tensor_ = other.detach();
    }
    return *this;
  }
  TensorRef(const TensorRef&) = delete;
  TensorRef& operator=(const TensorRef&) = delete;
  ~TensorRef() {
    if (tensor_ != nullptr) dlx::release(tensor_);
  }

  static TensorRef share(Tensor* tensor) noexcept {
    dlx::retain(tensor);
    return TensorRef(tensor);
  }

  Tensor* get() const noexcept { return tensor_; }
  Tensor* operator->() const noexcept { return tensor_; }
  /// Gives the reference to the caller.
  Tensor* detach() noexcept {
    Tensor* tensor = tensor_;
    tensor_ = nullptr;
    return tensor;
  }

 private:
  Tensor* tensor_ = nullptr;
};

/// A new root with room for `ndim` axes, whose description is not initialised. Throws
/// std::bad_alloc.
TensorRef new_root(int32_t ndim);

/// A new view of `tensor` with room for `ndim` axes and the tensor's dtype, device, data, flags and
/// size. The caller fills shape and strides, and the size if it differs.
TensorRef new_view(Tensor* tensor, int32_t ndim);

/// Bytes of the elements when compact.
int64_t nbytes_of(const Tensor* tensor) noexcept;

/// Moves `dl.data` (or byte_offset, where data is a handle) by `elements`; throws
/// Error(UNSUPPORTED) if that ends inside a byte.
void advance_data(Tensor* tensor, int64_t elements);

/// A new root for `description`, which is checked: adds byte_offset to data and fills the strides.
/// The caller sets how the memory is given back. Throws Error(INVALID_ARGUMENT, UNSUPPORTED).
TensorRef describe(const DLTensor& foreign, uint64_t flags, const char* argument);

/// How to allocate, decoded from the options of the C API.
struct Allocation {
  int32_t order = DLX_ORDER_C;
  uint64_t alignment = 0;  ///< 0: the default
  const dlx_allocator* allocator = nullptr;
};

/// A new, uninitialised, compact tensor.
/// Throws Error(INVALID_ARGUMENT, UNSUPPORTED, UNAVAILABLE, OUT_OF_MEMORY).
TensorRef empty(int32_t ndim, const int64_t* shape, DLDataType dtype, DLDevice device,
                uint64_t flags, const Allocation& allocation);

/// A root on memory that `deleter(description.data, user_data)` frees.
TensorRef wrap(const DLTensor& foreign, uint64_t flags, dlx_deleter_fn deleter, void* user_data);

}  // namespace dlx

#endif  // DLX_SRC_TENSOR_TENSOR_H_
