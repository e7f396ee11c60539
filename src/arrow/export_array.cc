#include <cstring>
#include <memory>
#include <utility>

#include "src/arrow/bitmap.h"
#include "src/arrow/event.h"
#include "src/arrow/export.h"
#include "src/arrow/layout.h"
#include "src/base/error.h"
#include "src/base/foreign.h"
#include "src/device/registry.h"
#include "src/dtype/dtype.h"
#include "src/tensor/copies.h"
#include "src/tensor/layout.h"
#include "src/tensor/synchronization.h"
#include "src/tensor/views.h"

namespace dlx::arrow {
namespace {

/// The data of an empty array: some Arrow consumers do not accept NULL.
alignas(64) constexpr char kNothing[64] = {};

/// The private data of one level of an exported array. It contains the child's struct, but the
/// child has its own node: it may be moved out and outlive its parent.
struct ArrayNode {
  const void* buffers[2] = {nullptr, nullptr};
  ArrowArray child{};
  ArrowArray* children[1] = {&child};
  TensorRef tensor;  ///< of the leaf: owns the memory
  std::unique_ptr<SyncEvent> event;
};

/// Uses no Python, so any thread may call it.
void release_array(ArrowArray* array) {
  auto* node = static_cast<ArrayNode*>(array->private_data);
  if (node->child.release != nullptr) call_foreign(node->child.release, &node->child);
  array->release = nullptr;
  Tensor* const tensor = node->tensor.detach();
  delete node;
  if (tensor != nullptr) release(tensor);  // last, because it may end the thread
}

ArrayNode* fill_level(ArrowArray* out, int64_t length, bool is_leaf) {
  auto* node = new ArrayNode;
  *out = ArrowArray{};
  out->length = length;
  out->n_buffers = is_leaf ? 2 : 1;
  out->buffers = node->buffers;
  out->n_children = is_leaf ? 0 : 1;
  out->children = is_leaf ? nullptr : node->children;
  out->private_data = node;
  out->release = release_array;
  return node;
}

void refuse_copy(const ExportRequest& request, const char* why) {
  if (request.copy != DLX_COPY_NEVER) return;
  fail(DLX_ERROR_COPY_REFUSED, "a copy is needed (%s), and `copy` forbids it", why);
}

/// Packs booleans into bits, in a buffer of whole cache lines, as Arrow recommends.
TensorRef pack(Tensor* tensor, const ExportRequest& request) {
  refuse_copy(request, "a tensor's booleans are bytes, Arrow's are bits");
  require_cpu_reachable(tensor->dl.device, "tensor");
  const TensorRef bytes = contiguous(tensor, CopyRequest());
  const int64_t used = tensor->size / 8 + (tensor->size % 8 != 0);
  const int64_t size = (used / 64 + 1) * 64;
  TensorRef bits = empty(1, &size, make_dtype(kDLUInt, 8), kCpu, 0, request.allocation);
  auto* out = static_cast<uint8_t*>(bits->dl.data);
  pack_bits(static_cast<const uint8_t*>(bytes->dl.data), tensor->size, out);
  std::memset(out + used, 0, static_cast<size_t>(size - used));
  return bits;
}

/// The memory to export: compact, with its axes in the order of the layout.
TensorRef prepare(Tensor* tensor, const Layout& layout, const ExportRequest& request) {
  const TensorRef view = physical_view(tensor, layout);
  if (tensor->dl.dtype.code == kDLBool) return pack(view.get(), request);
  CopyRequest copy;
  copy.copy = request.copy;
  copy.allocation = request.allocation;
  return contiguous(view.get(), copy);
}

/// Sets the leaf's data, and its offset if the data is a handle.
void fill_leaf(ArrowArray* out, ArrayNode* node, TensorRef memory) {
  const DLTensor& dl = memory->dl;
  const auto item = static_cast<uint64_t>(dl.dtype.bits / 8);
  if (dl.byte_offset % item != 0) {
    fail(DLX_ERROR_UNSUPPORTED,
         "the data begins at byte %llu of its buffer (expected a multiple of the %llu bytes of an "
         "element)",
         static_cast<unsigned long long>(dl.byte_offset), static_cast<unsigned long long>(item));
  }
  out->offset = static_cast<int64_t>(dl.byte_offset / item);
  node->buffers[1] = dl.data == nullptr ? kNothing : dl.data;
  node->tensor = static_cast<TensorRef&&>(memory);
}

}  // namespace

void require_host(const Tensor* tensor) {
  const DLDevice device = tensor->dl.device;
  if (cpu_reachable(type_of(device))) return;
  fail(DLX_ERROR_DEVICE_REFUSED,
       "the data is on %s, and an ArrowArray must be in CPU memory: export an ArrowDeviceArray, or "
       "move the tensor to the CPU first",
       device_text(type_of(device), device.device_id).text);
}

namespace {

/// Fills `out` level by level; the top level owns the event.
void fill_array(Tensor* tensor, const Layout& layout, TensorRef memory,
                std::unique_ptr<SyncEvent> event, ArrowArray* out) {
  int64_t length = tensor->shape()[0];
  ArrayNode* top = nullptr;
  for (const int64_t size : layout.levels) {
    ArrayNode* node = fill_level(out, length, false);
    if (top == nullptr) top = node;
    out = &node->child;
    length *= size;  // no overflow: the tensor has as many elements, or an extent is 0
  }
  ArrayNode* leaf = fill_level(out, length, true);
  (top == nullptr ? leaf : top)->event = std::move(event);
  fill_leaf(out, leaf, static_cast<TensorRef&&>(memory));
}

}  // namespace

void export_array(Tensor* tensor, const ExportRequest& request, ArrowArray* out) {
  const Layout layout = layout_of(tensor, request.layout, request.copy);
  TensorRef memory = prepare(tensor, layout, request);
  // An ArrowArray has no event, so the host waits for work on pinned memory.
  if (memory->dl.device.device_type != kDLCPU) synchronize(memory.get());
  fill_array(tensor, layout, static_cast<TensorRef&&>(memory), nullptr, out);
}

void export_device_array(Tensor* tensor, const ExportRequest& request, ArrowDeviceArray* out) {
  const Layout layout = layout_of(tensor, request.layout, request.copy);
  TensorRef memory = prepare(tensor, layout, request);
  const DLDevice device = memory->dl.device;
  auto event = std::make_unique<SyncEvent>();
  event->record(memory.get());
  *out = ArrowDeviceArray{};
  out->device_type = type_of(device);
  out->device_id = device.device_type == kDLCPU ? -1 : device.device_id;
  out->sync_event = event->pointer();
  fill_array(tensor, layout, static_cast<TensorRef&&>(memory), std::move(event), &out->array);
}

}  // namespace dlx::arrow
