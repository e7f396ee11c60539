// The part of a hostile caller that all its calls share: what it holds, options to call with, and
// what has to be true of every result.
#ifndef DLX_TESTS_CAPI_FUZZ_CALLER_H_
#define DLX_TESTS_CAPI_FUZZ_CALLER_H_

#include "tests/capi/fuzz_producers.h"

namespace dlx_test {

constexpr int32_t kDevice = kDLExtDev;
/// Larger tensors are copied only if the allocation of the copy fails.
constexpr int64_t kSmall = 1 << 14, kHuge = int64_t{1} << 45;

struct Held {
  dlx_tensor* tensor;
  bool readable;  ///< its elements are there
};

/// Returns NULL, misaligned or correct memory for new tensors.
inline void* allocate(size_t size, size_t alignment, int32_t, int32_t, void*) {
  if (size > 1 << 26 || fails_now(8)) return nullptr;
  ++live_things;
  void* data = nullptr;
  if (posix_memalign(&data, alignment < 8 ? 8 : alignment, size + 1) != 0) std::abort();
  return data;
}
inline void deallocate(void* data, size_t, int32_t, int32_t, void*) {
  --live_things;
  std::free(data);
}
inline const dlx_allocator kAllocator = {sizeof(dlx_allocator), 0, allocate, deallocate, nullptr};

class CallerBase {
 protected:
  CallerBase(const uint8_t* data, size_t size) : in_(data, size) {}

  // ---- arguments of calls ----

  Held pick() {
    return tensors_.empty() || in_.one_in(64)
               ? Held{nullptr, false}
               : tensors_[static_cast<size_t>(in_.byte()) % tensors_.size()];
  }
  /// A tensor that may be copied.
  Held pick_small() {
    const Held held = pick();
    const int64_t size = dlx_tensor_size(held.tensor);
    return held.readable && (size <= kSmall || size > kHuge) ? held : Held{nullptr, false};
  }
  int32_t axis() { return in_.one_in(8) ? static_cast<int32_t>(in_.number()) : in_.below(6) - 3; }
  int32_t device() {
    static constexpr int32_t kDevices[] = {1, 1, kDevice, kDevice, kDevice, 2, 3, 7, 13, 77, 0, -1};
    return kDevices[in_.below(12)];
  }
  int32_t id() { return in_.one_in(8) ? static_cast<int32_t>(in_.number()) : in_.below(2); }
  int64_t stream() { return in_.one_in(4) ? in_.number() : in_.below(3); }

  template <typename Options>
  Options* spoil(Options* options) {
    if (in_.one_in(32)) options->struct_size = in_.byte() % sizeof *options;
    if (in_.one_in(32)) options->reserved = in_.byte();
    return in_.one_in(3) ? nullptr : options;
  }
  const dlx_copy_options* copy_options() {
    copy_ = DLX_COPY_OPTIONS_INIT;
    copy_.copy = in_.below(4) - (in_.one_in(16) ? 1 : 0);
    copy_.order = in_.below(3);
    if (in_.one_in(8)) copy_.flags = in_.byte();
    copy_.stream = stream();
    if (in_.one_in(4)) copy_.alignment = static_cast<uint64_t>(in_.number());
    if (in_.one_in(2)) copy_.allocator = &kAllocator;
    return spoil(&copy_);
  }
  const dlx_export_options* export_options(bool may_copy) {
    export_ = DLX_EXPORT_OPTIONS_INIT;
    export_.copy = may_copy ? in_.below(4) : DLX_COPY_NEVER;
    if (in_.one_in(4)) export_.flags = in_.byte();
    export_.max_version_major = in_.below(3);
    export_.max_version_minor = in_.below(5);
    export_.device_type = device();
    export_.device_id = id();
    export_.stream = stream();
    if (in_.one_in(4)) export_.min_alignment = static_cast<uint64_t>(in_.number());
    export_.negative_strides = in_.below(5);
    if (in_.one_in(2)) export_.allocator = &kAllocator;
    const dlx_export_options* options = spoil(&export_);
    return may_copy ? options : &export_;
  }

  // ---- results of calls ----

  dlx_status check(dlx_status status) {
    require(status >= DLX_OK && status <= DLX_ERROR_DEVICE_REFUSED, dlx_last_error());
    require(status == DLX_OK || std::strstr(dlx_last_error(), ": ") != nullptr, "no words");
    return status;
  }
  /// `out_` was the output of a call.
  dlx_status made(dlx_status status, bool readable) {
    require((check(status) == DLX_OK) == (out_ != nullptr), "a handle without success, or none");
    if (out_ == nullptr) return status;
    const DLTensor* tensor = dlx_tensor_dltensor(out_);
    require(dlx_tensor_size(out_) >= 0 && dlx_tensor_nbytes(out_) >= 0, "a negative size");
    require(tensor->ndim == 0 || (tensor->shape != nullptr && tensor->strides != nullptr), "NULL");
    tensors_.push_back({out_, readable});
    out_ = poison();
    return status;
  }
  static dlx_tensor* poison() { return reinterpret_cast<dlx_tensor*>(uintptr_t{64}); }
  dlx_tensor** out() { return &(out_ = poison()); }

  FuzzSource in_;
  std::vector<Held> tensors_;
  std::vector<DLManagedTensorVersioned*> versioned_;
  std::vector<DLManagedTensor*> legacy_;
  dlx_tensor* out_ = nullptr;
  dlx_copy_options copy_{};
  dlx_export_options export_{};
};

}  // namespace dlx_test

#endif  // DLX_TESTS_CAPI_FUZZ_CALLER_H_
