#ifndef DLX_SRC_TENSOR_TENSOR_H_
#define DLX_SRC_TENSOR_TENSOR_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "dlx/dlx.h"
#include "src/device/readiness.h"

/// A tensor, of one allocation: this struct, then ndim extents, then ndim strides.
///
/// The tensor that brought the memory in is its *root*; every view, of views too, holds a reference
/// to the root and to nothing else. When the root's count falls to zero it gives the memory back.
/// Immutable but for the count and, in a root, for what its memory waits for.
struct dlx_tensor {
  /// Gives the memory of a root back; called once, before the root itself is freed.
  using ReleaseFn = void (*)(dlx_tensor* root);

  std::atomic<int64_t> references{1};
  dlx_tensor* root = nullptr;  ///< this, if it is a root
  DLTensor dl{};               ///< shape and strides point behind this struct
  uint64_t flags = 0;          ///< READ_ONLY, IS_SUBBYTE_TYPE_PADDED
  int64_t size = 0;            ///< number of elements

  dlx::Readiness readiness;  ///< of a root: what its memory waits for

  // Of a root: how its memory goes back. What the three mean is release_memory's own matter.
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
/// Not noexcept, although nothing is thrown: a foreign deleter may wait for a GIL that never comes,
/// and CPython before 3.14 then ends the thread by unwinding it.
void release(Tensor* tensor);

/// Whether the caller's reference is the last one on memory that goes back to a driver, which may
/// wait for its device then. Asks nobody.
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

/// A new root of uninitialised description with room for `ndim` axes; shape and strides point into
/// it. Throws std::bad_alloc.
TensorRef new_root(int32_t ndim);

/// A new view of `tensor` with room for `ndim` axes: dtype, device, data, flags are those of
/// `tensor`; the caller fills shape and strides, then size by count (known to fit).
TensorRef new_view(Tensor* tensor, int32_t ndim);

/// Bytes that the elements take when compact.
int64_t nbytes_of(const Tensor* tensor) noexcept;

/// Moves `dl.data` (or byte_offset, where data is a handle) by `elements`; throws
/// Error(UNSUPPORTED) if that ends inside a byte.
void advance_data(Tensor* tensor, int64_t elements);

/// A root that describes `description` (checked here), its byte_offset folded into data and its
/// strides filled. The caller sets how the memory goes back.
/// Throws Error(INVALID_ARGUMENT, UNSUPPORTED).
TensorRef describe(const DLTensor& description, uint64_t flags, const char* argument);

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
TensorRef wrap(const DLTensor& description, uint64_t flags, dlx_deleter_fn deleter,
               void* user_data);

}  // namespace dlx

#endif  // DLX_SRC_TENSOR_TENSOR_H_
