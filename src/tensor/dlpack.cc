#include "src/tensor/dlpack.h"

#include <atomic>
#include <cstdlib>
#include <new>

#include "src/base/error.h"
#include "src/base/foreign.h"
#include "src/device/registry.h"
#include "src/dtype/dtype.h"
#include "src/tensor/copies.h"
#include "src/tensor/layout.h"
#include "src/tensor/synchronization.h"
#include "src/tensor/views.h"

namespace dlx {
namespace {

std::atomic<int32_t> process_policy{DLX_NEGATIVE_STRIDES_COPY};

template <typename Managed>
void release_managed(Tensor* root) {
  auto* managed = static_cast<Managed*>(root->owner);
  if (const auto deleter = managed->deleter; deleter != nullptr)
    call_with_error_aside(deleter, managed);
}

/// Deleters of dlx's exports: pure C++, so any thread may call them, with or without an
/// interpreter.
void delete_versioned(DLManagedTensorVersioned* self) {
  release(static_cast<Tensor*>(self->manager_ctx));
  std::free(self);
}

void delete_legacy(DLManagedTensor* self) {
  release(static_cast<Tensor*>(self->manager_ctx));
  std::free(self);
}

/// Makes an export of dlx that is imported again one more view of its root. Chains of exports and
/// imports would otherwise nest, and releasing a long chain would overflow the stack.
void share_own_root(Tensor* imported, Tensor* exported) noexcept {
  imported->root = exported->root;
  retain(imported->root);
}

template <typename Managed>
Managed* allocate_managed() {
  void* memory = std::malloc(sizeof(Managed));
  if (memory == nullptr) throw std::bad_alloc();
  return new (memory) Managed{};
}

/// A struct that owns the reference `tensor`.
DLManagedTensorVersioned* make_versioned(TensorRef tensor, uint64_t extra_flags) {
  auto* managed = allocate_managed<DLManagedTensorVersioned>();
  managed->version.major = 1;
  managed->version.minor = 3;
  managed->deleter = delete_versioned;
  managed->flags = tensor->flags | extra_flags;
  managed->dl_tensor = tensor->dl;
  if (tensor->size == 0) managed->dl_tensor.data = nullptr;
  managed->manager_ctx = tensor.detach();
  return managed;
}

/// A copy whose consumer named no stream (or -1) was made on dlx's current stream: the default
/// stream must wait for it, as for all exports without a stream. Otherwise it was made on the named
/// stream.
void make_copy_ready(Tensor* made, const CopyRequest& copy) {
  if (!copy.has_stream) make_ready(made, nullptr);
}

bool same_device(const DLDevice& a, const DLDevice& b) noexcept {
  return a.device_type == b.device_type && a.device_id == b.device_id;
}

/// The tensor on the consumer's device; `*copied` if that took a copy.
TensorRef place(Tensor* tensor, const ExportRequest& request, bool markable, bool* copied) {
  const DLDevice wanted = resolve_device(request.device);
  const auto have = type_of(tensor->dl.device);
  const int64_t* stream = request.has_stream ? &request.stream : nullptr;
  *copied = false;
  if (!request.has_device || same_device(wanted, tensor->dl.device)) {
    make_ready(tensor, stream);
    return TensorRef::share(tensor);
  }
  const auto want = type_of(wanted);
  if (stream != nullptr) check_stream(want, *stream);
  if (want == kDLCPU && wanted.device_id == 0 && reads_in_place(tensor)) {
    synchronize(tensor);
    return relabel_device(tensor, wanted);
  }
  if (can_move(tensor->dl.device, wanted)) {
    if (request.copy == DLX_COPY_NEVER) {
      fail(DLX_ERROR_COPY_REFUSED,
           "a copy is needed (the tensor is on %s, `device` is %s), and `copy` forbids it",
           device_text(have, tensor->dl.device.device_id).text,
           device_text(want, wanted.device_id).text);
    }
    *copied = true;
    CopyRequest copy;
    copy.allocation = request.allocation;
    copy.allocation.alignment = request.min_alignment;
    // A copy to host memory is complete on return. It runs on a stream of the tensor's own device,
    // because the consumer's stream may belong to a device of another vendor.
    copy.has_stream = stream != nullptr && *stream != -1 && !cpu_reachable(want);
    copy.stream = request.stream;
    const uint64_t padded = tensor->flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED;
    TensorRef moved = clone_to(tensor, wanted, markable ? padded : 0, copy);
    make_copy_ready(moved.get(), copy);
    return moved;
  }
  Backend* backend = find_backend(want);
  const int32_t count = backend == nullptr ? 0 : backend->count();
  if (count > 0 && wanted.device_id >= count) {
    fail(DLX_ERROR_DEVICE_REFUSED, "`device` %s does not exist (there are %d of that type)",
         device_text(want, wanted.device_id).text, count);
  }
  fail(DLX_ERROR_DEVICE_REFUSED, "`device` %s cannot be reached from a tensor on %s: %s",
       device_text(want, wanted.device_id).text,
       device_text(have, tensor->dl.device.device_id).text,
       absence_reason(want == kDLCPU ? have : want));
}

int32_t effective_policy(const ExportRequest& request) noexcept {
  return request.negative_strides == DLX_NEGATIVE_STRIDES_DEFAULT ? negative_strides_policy()
                                                                  : request.negative_strides;
}

/// Whether negative strides require a copy. Throws if the policy refuses them.
bool copies_negative_strides(const Tensor* tensor, const ExportRequest& request, bool markable) {
  if (!walks_backwards(tensor)) return false;
  const int32_t policy = effective_policy(request);
  const char* refusal = nullptr;
  if (policy == DLX_NEGATIVE_STRIDES_ERROR) {
    refusal = "the policy forbids: ask for";
  } else if (!markable && policy != DLX_NEGATIVE_STRIDES_SHARE) {
    refusal = "need a copy that a legacy DLManagedTensor cannot mark: ask for a versioned export,";
  }
  if (refusal != nullptr) {
    fail(DLX_ERROR_UNSUPPORTED,
         "the tensor has negative strides, which %s a copy, or make it contiguous first", refusal);
  }
  return policy == DLX_NEGATIVE_STRIDES_COPY && request.copy != DLX_COPY_NEVER;
}

/// What to do if a legacy struct cannot express the tensor.
constexpr char kAskOtherwise[] =
    "ask for a versioned one (max_version >= 1.0) or for a copy; in Python dlx.convert() serves "
    "libraries that ask for neither";

/// The tensor to export: `tensor` itself, or a compact copy of it (`*copied`).
TensorRef prepare(Tensor* tensor, const ExportRequest& request, bool markable, bool* copied) {
  TensorRef placed = place(tensor, request, markable, copied);
  if (*copied) return placed;
  *copied = request.copy == DLX_COPY_ALWAYS;
  if (!*copied) {
    if (!markable && placed->readonly()) {
      fail(DLX_ERROR_READ_ONLY,
           "the tensor is read-only, which a legacy DLManagedTensor cannot express: %s",
           kAskOtherwise);
    }
    if (!markable && placed->padded() && placed->dl.dtype.bits < 8) {
      fail(DLX_ERROR_UNSUPPORTED,
           "the tensor has padded sub-byte elements, which a legacy DLManagedTensor cannot "
           "express: %s",
           kAskOtherwise);
    }
    const bool aligned = is_aligned(placed.get(), request.min_alignment);
    if (!aligned && request.copy == DLX_COPY_NEVER) {
      fail(DLX_ERROR_COPY_REFUSED,
           "a copy is needed (the data at %p is not aligned to `min_alignment` %llu), and `copy` "
           "forbids it",
           placed->dl.data, static_cast<unsigned long long>(request.min_alignment));
    }
    if (!aligned && !markable) {
      fail(DLX_ERROR_UNSUPPORTED,
           "the data at %p is not aligned to `min_alignment` %llu, and a legacy DLManagedTensor "
           "cannot mark a copy: %s",
           placed->dl.data, static_cast<unsigned long long>(request.min_alignment), kAskOtherwise);
    }
    *copied = copies_negative_strides(placed.get(), request, markable) || !aligned;
  }
  if (!*copied) return plain_unit_strides(placed.get());
  CopyRequest copy;
  copy.allocation = request.allocation;
  copy.allocation.alignment = request.min_alignment;
  // The copy runs on the consumer's stream, unless the CPU makes it.
  const int64_t* stream = request.has_stream ? &request.stream : nullptr;
  const bool on_cpu = cpu_reachable(type_of(placed->dl.device));
  copy.has_stream = stream != nullptr && *stream != -1 && !on_cpu;
  copy.stream = request.stream;
  TensorRef made = !markable && placed->padded()
                       ? clone_to(placed.get(), placed->dl.device, 0, copy)
                       : clone(placed.get(), copy);
  make_copy_ready(made.get(), copy);
  return made;
}

}  // namespace

TensorRef import_versioned(DLManagedTensorVersioned* managed, bool* consumed, bool* copied) {
  *consumed = *copied = false;
  const uint32_t major = managed->version.major, minor = managed->version.minor;
  if (major != 1) {
    // The standard: for another major version, call the deleter and read nothing else.
    delete_managed(managed);
    *consumed = true;
    fail(DLX_ERROR_UNSUPPORTED, "`managed` has DLPack version %u.%u (expected 1.x)", major, minor);
  }
  const uint64_t flags = managed->flags;
  // IS_COPIED describes the export, not the memory: drop it.
  TensorRef tensor =
      describe(managed->dl_tensor, flags & ~uint64_t{DLPACK_FLAG_BITMASK_IS_COPIED}, "managed");
  *consumed = true;
  *copied = (flags & DLPACK_FLAG_BITMASK_IS_COPIED) != 0;
  if (managed->deleter == delete_versioned) {
    share_own_root(tensor.get(), static_cast<Tensor*>(managed->manager_ctx));
    delete_versioned(managed);
    return tensor;
  }
  tensor->release_memory = release_managed<DLManagedTensorVersioned>;
  tensor->owner = managed;
  return tensor;
}

TensorRef import_legacy(DLManagedTensor* managed, uint64_t flags) {
  TensorRef tensor = describe(managed->dl_tensor, flags, "managed");
  if (managed->deleter == delete_legacy) {
    share_own_root(tensor.get(), static_cast<Tensor*>(managed->manager_ctx));
    delete_legacy(managed);
    return tensor;
  }
  if (is_uint1(tensor->dl.dtype) && !tensor->padded()) {
    // The tensor owns nothing yet, so `managed` stays the caller's.
    fail(DLX_ERROR_UNSUPPORTED,
         "`managed` has dtype uint1 and no version: TVM and others give each element a byte, "
         "DLPack packs eight into one (expected bool, uint8, or a versioned struct)");
  }
  tensor->release_memory = release_managed<DLManagedTensor>;
  tensor->owner = managed;
  return tensor;
}

bool exports_as_is(const Tensor* tensor) noexcept {
  for (int32_t i = 0; i < tensor->dl.ndim; ++i) {
    if (tensor->dl.strides[i] < 0) return false;
  }
  return true;
}

DLManagedTensorVersioned* export_shared(Tensor* tensor) {
  if (tensor->dl.device.device_type != kDLCPU) make_ready(tensor, nullptr);
  return make_versioned(TensorRef::share(tensor), 0);
}

DLManagedTensorVersioned* export_versioned(Tensor* tensor, const ExportRequest& request) {
  if (request.has_max_version && request.max_version_major < 1) {
    fail(
        DLX_ERROR_UNSUPPORTED,
        "`max_version` is below 1.0 (got major %u): dlx_tensor_to_dlpack exports the legacy struct",
        request.max_version_major);
  }
  bool copied;
  TensorRef exported = prepare(tensor, request, true, &copied);
  return make_versioned(static_cast<TensorRef&&>(exported),
                        copied ? DLPACK_FLAG_BITMASK_IS_COPIED : 0);
}

DLManagedTensor* export_legacy(Tensor* tensor, const ExportRequest& request) {
  bool copied;
  TensorRef exported = prepare(tensor, request, false, &copied);
  auto* managed = allocate_managed<DLManagedTensor>();
  managed->deleter = delete_legacy;
  managed->dl_tensor = exported->dl;
  if (exported->size == 0) managed->dl_tensor.data = nullptr;
  managed->manager_ctx = exported.detach();
  return managed;
}

void set_negative_strides_policy(int32_t policy) {
  if (policy < DLX_NEGATIVE_STRIDES_DEFAULT || policy > DLX_NEGATIVE_STRIDES_ERROR) {
    fail(DLX_ERROR_INVALID_ARGUMENT,
         "`policy` is unknown (got %d, expected DLX_NEGATIVE_STRIDES_*)", policy);
  }
  process_policy.store(policy == DLX_NEGATIVE_STRIDES_DEFAULT ? DLX_NEGATIVE_STRIDES_COPY : policy,
                       std::memory_order_relaxed);
}

int32_t negative_strides_policy() noexcept {
  return process_policy.load(std::memory_order_relaxed);
}

}  // namespace dlx
