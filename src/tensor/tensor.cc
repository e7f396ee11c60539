#include "src/tensor/tensor.h"

#include <cstdlib>
#include <cstring>
#include <new>

#include "src/base/error.h"
#include "src/base/foreign.h"
#include "src/base/shape_text.h"
#include "src/device/readiness.h"
#include "src/device/registry.h"
#include "src/dtype/dtype.h"
#include "src/tensor/layout.h"

namespace dlx {
namespace {

constexpr uint64_t kKnownFlags =
    DLPACK_FLAG_BITMASK_READ_ONLY | DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED;

constexpr size_t kAlignment = 64;  ///< of new memory by default

/// Up to this size, data on the CPU lies in one block with the description: a second, aligned block
/// would take most of the time in which a number becomes a tensor.
constexpr int64_t kInlineBytes = 64;

/// `extra` bytes follow the strides.
Tensor* allocate_tensor(int32_t ndim, size_t extra = 0) {
  const size_t bytes = sizeof(Tensor) + 2 * sizeof(int64_t) * static_cast<size_t>(ndim) + extra;
  void* memory = std::malloc(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  auto* tensor = new (memory) Tensor;
  auto* extents = reinterpret_cast<int64_t*>(tensor + 1);
  tensor->dl.ndim = ndim;
  tensor->dl.shape = extents;
  tensor->dl.strides = extents + ndim;
  return tensor;
}

/// Whether the caller held the last reference.
bool drop(Tensor* tensor) noexcept {
  // The last holder needs no atomic subtraction, because nobody else can see the tensor.
  return tensor->references.load(std::memory_order_acquire) == 1 ||
         tensor->references.fetch_sub(1, std::memory_order_acq_rel) == 1;
}

/// Releases the tensor; `give_back(root)` calls the root's release_memory.
template <typename GiveBack>
void release_by(Tensor* tensor, GiveBack give_back) {
  if (!drop(tensor)) return;
  Tensor* const root = tensor->root;
  if (root != tensor) {
    std::free(tensor);
    if (!drop(root)) return;
  }
  if (root->release_memory != nullptr) give_back(root);
  root->readiness.~Readiness();
  std::free(root);
}

void release_wrapped(Tensor* root) {
  call_with_error_aside(reinterpret_cast<dlx_deleter_fn>(root->owner_function), root->owner,
                        root->owner_data);
}

/// The arguments of deallocate(), in `owner_data`. The device is the one that was asked for,
/// because DLPack's id of pinned and managed memory is 0.
struct AllocatedMemory {
  dlx_allocator allocator;
  size_t size;
  DLDevice device;
};

void release_allocated(Tensor* root) {
  auto* memory = static_cast<AllocatedMemory*>(root->owner_data);
  call_with_error_aside(memory->allocator.deallocate, root->owner, memory->size,
                        type_of(memory->device), memory->device.device_id,
                        memory->allocator.user_data);
  std::free(memory);
}

/// `owner_data` is the number of the device that was asked for.
void release_builtin(Tensor* root) {
  const auto type = type_of(root->dl.device);
  const auto id = static_cast<int32_t>(reinterpret_cast<intptr_t>(root->owner_data));
  find_backend(type)->deallocate(type, id, root->owner);
}

void check_flags(uint64_t flags) {
  if ((flags & ~kKnownFlags) == 0) return;
  fail(DLX_ERROR_UNSUPPORTED,
       "`flags` has bits that do not describe memory (got 0x%llx, expected at most READ_ONLY and "
       "IS_SUBBYTE_TYPE_PADDED)",
       static_cast<unsigned long long>(flags));
}

}  // namespace

void retain(Tensor* tensor) noexcept { tensor->references.fetch_add(1, std::memory_order_relaxed); }

void release(Tensor* tensor) {
  release_by(tensor, [](Tensor* root) { call_foreign(root->release_memory, root); });
}

void release_with_error_aside(Tensor* tensor) {
  release_by(tensor, [](Tensor* root) { root->release_memory(root); });
}

bool frees_device_memory(const Tensor* tensor) noexcept {
  const Tensor* root = tensor->root;
  return root->dl.device.device_type != kDLCPU && root->release_memory == release_builtin &&
         tensor->references.load(std::memory_order_relaxed) == 1 &&
         root->references.load(std::memory_order_relaxed) == 1;
}

namespace {

TensorRef new_root(int32_t ndim, size_t extra) {
  Tensor* tensor = allocate_tensor(ndim, extra);
  tensor->root = tensor;
  return TensorRef(tensor);
}

}  // namespace

TensorRef new_root(int32_t ndim) { return new_root(ndim, 0); }

TensorRef new_view(Tensor* tensor, int32_t ndim) {
  Tensor* view = allocate_tensor(ndim);
  view->root = tensor->root;
  retain(view->root);
  view->dl.data = tensor->dl.data;
  view->dl.device = tensor->dl.device;
  view->dl.dtype = tensor->dl.dtype;
  view->dl.byte_offset = tensor->dl.byte_offset;
  view->flags = tensor->flags;
  view->size = tensor->size;
  return TensorRef(view);
}

int64_t nbytes_of(const Tensor* tensor) noexcept {
  int64_t bytes = 0;
  // Cannot overflow: checked when the tensor was made.
  (void)compact_bytes(tensor->dl.dtype, tensor->padded(), tensor->size, &bytes);
  return bytes;
}

void advance_data(Tensor* tensor, int64_t elements) {
  if (elements == 0) return;
  const int64_t bits = elements * item_bits(tensor->dl.dtype, tensor->padded());
  if (bits % 8 != 0) {
    fail(
        DLX_ERROR_UNSUPPORTED,
        "the view would start inside a byte, which a DLTensor cannot express (offset %lld elements "
        "of %s): begin at a whole byte, or unpack the elements first, in Python with "
        "dlx.asarray(x, dtype='%s')",
        static_cast<long long>(elements), dtype_text(tensor->dl.dtype).text,
        dtype_text(whole_dtype(tensor->dl.dtype)).text);
  }
  if (data_is_address(type_of(tensor->dl.device))) {
    // Integers, because C++ allows no pointer arithmetic on a device's addresses.
    tensor->dl.data = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(tensor->dl.data) +
                                              static_cast<uintptr_t>(bits / 8));
  } else {
    tensor->dl.byte_offset += static_cast<uint64_t>(bits / 8);
  }
}

TensorRef describe(const DLTensor& foreign, uint64_t flags, const char* argument) {
  check_flags(flags);
  const bool padded = (flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED) != 0;
  // Each number is read once, and the copy is checked: the producer may change its own meanwhile.
  DLTensor description = foreign;
  require_axes(description, argument);
  TensorRef tensor = new_root(description.ndim);
  // Loops, because a call of memcpy costs more than copying a few extents.
  for (int32_t i = 0; i < description.ndim; ++i) tensor->shape()[i] = description.shape[i];
  description.shape = tensor->shape();
  if (description.strides != nullptr) {
    for (int32_t i = 0; i < description.ndim; ++i) tensor->strides()[i] = description.strides[i];
    description.strides = tensor->strides();
  }
  const int64_t size = check_description(description, padded, argument);
  if (description.strides == nullptr) {
    fill_compact_strides(description.ndim, tensor->shape(), DLX_ORDER_C, tensor->strides());
  }
  tensor->size = size;
  tensor->flags = flags;
  DLTensor& dl = tensor->dl;
  dl.dtype = description.dtype;
  dl.device = description.device;
  if (dl.device.device_type == kDLCPU) {
    dl.device.device_id = 0;
  } else {
    dl.device = resolve_device(dl.device);
  }
  dl.data = description.data;
  if (!data_is_address(type_of(dl.device))) {
    dl.byte_offset = description.byte_offset;
  } else if (size > 0) {
    // check_description() has checked the sum. An empty tensor has no first element to point at.
    dl.data =
        reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(dl.data) + description.byte_offset);
  }
  // Only sub-byte elements can be padded: a view of whole bytes as smaller elements is packed.
  if (dl.dtype.bits >= 8) tensor->flags &= ~uint64_t{DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED};
  return tensor;
}

TensorRef wrap(const DLTensor& foreign, uint64_t flags, dlx_deleter_fn deleter, void* user_data) {
  const DLTensor description = foreign;
  TensorRef tensor = describe(description, flags, "description");
  if (deleter != nullptr) {
    tensor->release_memory = release_wrapped;
    tensor->owner = description.data;
    tensor->owner_function = reinterpret_cast<void*>(deleter);
    tensor->owner_data = user_data;
  }
  return tensor;
}

namespace {

/// Fills `tensor`'s memory from a user's allocator.
void allocate_custom(Tensor* tensor, DLDevice device, const dlx_allocator& allocator, size_t bytes,
                     size_t alignment) {
  auto* memory = static_cast<AllocatedMemory*>(std::malloc(sizeof(AllocatedMemory)));
  if (memory == nullptr) throw std::bad_alloc();
  *memory = AllocatedMemory{allocator, bytes, device};
  void* data = call_foreign(allocator.allocate, bytes, alignment, type_of(device), device.device_id,
                            allocator.user_data);
  if (data == nullptr) {
    std::free(memory);
    fail(DLX_ERROR_OUT_OF_MEMORY, "the allocator returned NULL for %zu bytes", bytes);
  }
  if (data_is_address(device.device_type) && reinterpret_cast<uintptr_t>(data) % alignment != 0) {
    call_foreign(allocator.deallocate, data, bytes, type_of(device), device.device_id,
                 allocator.user_data);
    std::free(memory);
    fail(DLX_ERROR_INVALID_ARGUMENT,
         "`allocator` returned memory that is not aligned as asked (got %p, expected a multiple of "
         "%zu)",
         data, alignment);
  }
  tensor->dl.data = tensor->owner = data;
  tensor->owner_data = memory;
  tensor->release_memory = release_allocated;
}

/// Fills `tensor`'s memory from the device's backend.
void allocate_builtin(Tensor* tensor, DLDevice device, Backend& backend, size_t bytes,
                      size_t alignment) {
  const auto type = type_of(device);
  void* data = backend.allocate(type, device.device_id, bytes, alignment);
  if (data == nullptr) {
    release_all_held(backend);  // may free memory
    data = backend.allocate(type, device.device_id, bytes, alignment);
  }
  if (data == nullptr) {
    fail(DLX_ERROR_OUT_OF_MEMORY, "there is no room for %zu bytes on %s (shape %s of %s)", bytes,
         device_text(type, device.device_id).text,
         shape_text(tensor->dl.ndim, tensor->shape()).text, dtype_text(tensor->dl.dtype).text);
  }
  tensor->dl.data = tensor->owner = data;
  tensor->owner_data = reinterpret_cast<void*>(intptr_t{device.device_id});
  tensor->release_memory = release_builtin;
}

}  // namespace

TensorRef empty(int32_t ndim, const int64_t* shape, DLDataType dtype, DLDevice device,
                uint64_t flags, const Allocation& allocation) {
  require_ndim(ndim, "ndim");
  if (ndim > 0 && shape == nullptr) fail(DLX_ERROR_INVALID_ARGUMENT, "`shape` is NULL");
  require_known_dtype(dtype, "dtype");
  Backend& backend = require_device(type_of(device), device.device_id);
  const int64_t elements = count_elements(ndim, shape);
  const bool padded = (flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED) != 0;
  int64_t bytes;
  if (!compact_bytes(dtype, padded, elements, &bytes)) {
    fail(DLX_ERROR_INVALID_ARGUMENT, "`shape` has more than 2^63-1 bytes (got %s of %s)",
         shape_text(ndim, shape).text, dtype_text(dtype).text);
  }
  // An empty tensor gets an address, too, because foreign code may not expect NULL.
  const size_t size = bytes == 0 ? 1 : static_cast<size_t>(bytes);
  const size_t alignment = allocation.alignment != 0 ? allocation.alignment
                           : size >= 4096            ? 256
                                                     : kAlignment;
  dlx_allocator allocator;
  const bool has_default = default_allocator(type_of(device), &allocator);
  const bool is_inline = device.device_type == kDLCPU && bytes <= kInlineBytes &&
                         allocation.alignment <= kAlignment && allocation.allocator == nullptr &&
                         !has_default;
  TensorRef tensor = new_root(ndim, is_inline ? kInlineBytes + kAlignment : 0);
  if (ndim > 0) std::memcpy(tensor->shape(), shape, sizeof(int64_t) * static_cast<size_t>(ndim));
  fill_compact_strides(ndim, tensor->shape(), allocation.order, tensor->strides());
  tensor->size = elements;
  tensor->dl.dtype = dtype;
  tensor->dl.device = device;
  if (id_is_zero(type_of(device))) tensor->dl.device.device_id = 0;
  tensor->flags = flags;
  if (is_inline) {
    const auto end = reinterpret_cast<uintptr_t>(tensor->strides() + ndim);
    tensor->dl.data = reinterpret_cast<void*>((end + kAlignment - 1) / kAlignment * kAlignment);
  } else if (allocation.allocator != nullptr) {
    allocate_custom(tensor.get(), device, *allocation.allocator, size, alignment);
  } else if (has_default) {
    allocate_custom(tensor.get(), device, allocator, size, alignment);
  } else {
    allocate_builtin(tensor.get(), device, backend, size, alignment);
  }
  // Clear the unused bits of the last byte.
  const bool open_bits = elements % 8 * item_bits(dtype, padded) % 8 != 0;
  if (open_bits && device.device_type == kDLCPU) static_cast<char*>(tensor->dl.data)[bytes - 1] = 0;
  return tensor;
}

}  // namespace dlx
