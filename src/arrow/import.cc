#include "src/arrow/import.h"

#include <cstdlib>
#include <memory>
#include <new>

#include "src/arrow/bitmap.h"
#include "src/arrow/event.h"
#include "src/arrow/release.h"
#include "src/base/checked.h"
#include "src/base/error.h"
#include "src/base/foreign.h"
#include "src/device/registry.h"
#include "src/dtype/dtype.h"
#include "src/tensor/layout.h"
#include "src/tensor/views.h"

namespace dlx::arrow {
namespace {

/// The position of an array's elements: `start` counts elements from the start of `buffer`.
struct Elements {
  const void* buffer;
  int64_t start;
};

/// Elements [first, first + count) of one level, counted from the start of its buffers.
struct Range {
  int64_t first;
  int64_t count;
};

/// Checks a copy of one level. Returns its child; NULL if `children` is 0.
const ArrowArray* check_level(const ArrowArray& array, int64_t buffers, int64_t children) {
  if (array.release == nullptr) {
    fail(DLX_ERROR_INVALID_ARGUMENT, "`array`, or one of its children, has been released or moved");
  }
  int64_t end;
  if (array.length < 0 || array.offset < 0 || array.null_count < -1 ||
      !checked_add(array.offset, array.length, &end)) {
    fail(DLX_ERROR_INVALID_ARGUMENT,
         "`array` has an impossible length, offset or null_count (got %lld, %lld, %lld)",
         static_cast<long long>(array.length), static_cast<long long>(array.offset),
         static_cast<long long>(array.null_count));
  }
  if (array.n_buffers != buffers || array.n_children != children) {
    fail(
        DLX_ERROR_INVALID_ARGUMENT,
        "`array` does not match the type in `schema` (got %lld buffers and %lld children, expected "
        "%lld and %lld)",
        static_cast<long long>(array.n_buffers), static_cast<long long>(array.n_children),
        static_cast<long long>(buffers), static_cast<long long>(children));
  }
  if (array.buffers == nullptr)
    fail(DLX_ERROR_INVALID_ARGUMENT, "`array` has no buffers (got NULL)");
  const ArrowArray* child = nullptr;
  if (children != 0 && array.children != nullptr) child = array.children[0];
  if (children != 0 && child == nullptr) {
    fail(DLX_ERROR_INVALID_ARGUMENT, "`array` has no child (got NULL)");
  }
  if (array.dictionary != nullptr) {
    fail(DLX_ERROR_INVALID_ARGUMENT, "`array` has a dictionary, but `schema` has none");
  }
  return child;
}

void require_possible(const char* buffer, const Range& range, int64_t bits) {
  const int64_t end = range.first + range.count;  // no overflow: check_level(), range_of_child()
  if (end <= kMostBytes / bits * 8) return;
  fail(DLX_ERROR_INVALID_ARGUMENT,
       "`array` has an impossible length or offset: %s would hold %lld elements of %lld bit%s "
       "(expected at most 2^47 bytes)",
       buffer, static_cast<long long>(end), static_cast<long long>(bits), bits == 1 ? "" : "s");
}

/// The validity bitmaps of an array's levels. They are read when all lengths have been checked.
class Validity {
 public:
  /// `inside`: the range consists of elements of lists.
  void add(const ArrowArray& array, const Range& range, bool readable, bool inside) {
    if (array.null_count == 0 || range.count == 0) return;
    const auto* bitmap = static_cast<const uint8_t*>(array.buffers[0]);
    if (bitmap == nullptr) {
      if (array.null_count == -1) return;
      fail(DLX_ERROR_INVALID_ARGUMENT, "`array` has %lld nulls but no validity bitmap",
           static_cast<long long>(array.null_count));
    }
    if (!readable) {
      fail(DLX_ERROR_UNSUPPORTED,
           "`array` may have nulls, and the CPU cannot access its validity bitmap (null_count "
           "%lld): fill or drop them first",
           static_cast<long long>(array.null_count));
    }
    require_possible("its validity bitmap", range, 1);
    bitmaps_.push_back({bitmap, range, inside});
  }

  void require_no_nulls() const {
    for (const Bitmap& bitmap : bitmaps_) {
      const int64_t nulls = count_zeros(bitmap.bits, bitmap.range.first, bitmap.range.count);
      if (nulls != 0) refuse(nulls, bitmap.inside);
    }
  }

 private:
  struct Bitmap {
    const uint8_t* bits;
    Range range;
    bool inside;
  };

  [[noreturn]] static void refuse(int64_t nulls, bool inside) {
    fail(DLX_ERROR_UNSUPPORTED, "`array` has %lld null%s%s", static_cast<long long>(nulls),
         nulls == 1 ? "" : "s",
         inside ? " inside its lists, and a tensor cannot hold nulls: fill them first (in PyArrow: "
                  "`pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(x).flatten("
                  "recursive=True).fill_null(0), size)`, in Polars: "
                  "`.arr.eval(pl.element().fill_null(0))`)"
                : ", and a tensor cannot hold nulls: fill or drop them first (in PyArrow: "
                  "`.fill_null(value)` or `.drop_null()`, in Polars: `.fill_null(value)` or "
                  "`.drop_nulls()`)");
  }

  std::vector<Bitmap> bitmaps_;
};

/// The range of the child's elements for a range of lists of `size` elements.
Range range_of_child(const ArrowArray& child, const Range& lists, int64_t size) {
  Range range;
  int64_t end;
  if (!checked_mul(lists.count, size, &range.count) ||
      !checked_mul(lists.first, size, &range.first) ||
      !checked_add(range.first, range.count, &end)) {
    fail(DLX_ERROR_INVALID_ARGUMENT, "`array` has more than 2^63-1 elements");
  }
  if (range.count == 0) return {0, 0};
  if (end > child.length) {
    fail(DLX_ERROR_INVALID_ARGUMENT,
         "`array` has a child of %lld elements (expected at least %lld for its lists of %lld)",
         static_cast<long long>(child.length), static_cast<long long>(end),
         static_cast<long long>(size));
  }
  range.first += child.offset;  // no overflow: offset + length was checked
  return range;
}

/// Descends through the lists to the elements. Throws for contradictions; reads no buffer. Works on a
/// copy of each level, because the producer may change its own.
Elements locate(const ArrowArray& array, const TensorType& type, bool readable,
                Validity* validity) {
  ArrowArray level = array;
  const size_t depth = type.levels.size();
  const ArrowArray* child = check_level(level, depth == 0 ? 2 : 1, depth == 0 ? 0 : 1);
  Range range{level.offset, level.length};
  validity->add(level, range, readable, false);
  for (size_t i = 0; i < depth; ++i) {
    level = *child;
    const bool leaf = i + 1 == depth;
    child = check_level(level, leaf ? 2 : 1, leaf ? 0 : 1);
    range = range_of_child(level, range, type.levels[i]);
    validity->add(level, range, readable, true);
  }
  const void* data = level.buffers[1];
  if (range.count > 0 && data == nullptr) {
    fail(DLX_ERROR_INVALID_ARGUMENT, "`array` has no data (got NULL for %lld elements)",
         static_cast<long long>(range.count));
  }
  if (range.count > 0) require_possible("its data", range, type.bits ? 1 : type.dtype.bits);
  return {data, range.count > 0 ? range.first : 0};
}

std::vector<int64_t> whole_shape(int64_t length, const TensorType& type) {
  std::vector<int64_t> shape{length};
  shape.insert(shape.end(), type.shape.begin(), type.shape.end());
  return shape;
}

/// The tensor with its axes in the order of the type.
TensorRef permuted(TensorRef tensor, const TensorType& type) {
  if (type.axes.empty()) return tensor;
  std::vector<int32_t> axes{0};
  for (const int32_t axis : type.axes) axes.push_back(axis + 1);
  return permute(tensor.get(), axes.data());
}

void release_moved(Tensor* root) {
  auto* array = static_cast<ArrowArray*>(root->owner);
  call_with_error_aside(array->release, array);
  std::free(array);
}

/// Releases the caller's array after its elements were copied.
void release_copied(ArrowArray* array) { const Released<ArrowArray> moved(array); }

TensorRef unpack(const Elements& elements, int64_t length, const TensorType& type,
                 const CopyRequest& request) {
  const std::vector<int64_t> shape = whole_shape(length, type);
  Allocation allocation = request.allocation;
  allocation.order = DLX_ORDER_C;
  TensorRef bytes =
      empty(static_cast<int32_t>(shape.size()), shape.data(), type.dtype, kCpu, 0, allocation);
  unpack_bits(static_cast<const uint8_t*>(elements.buffer), elements.start, bytes->size,
              static_cast<uint8_t*>(bytes->dl.data));
  const bool wants_other_order = request.allocation.order != DLX_ORDER_C || !type.axes.empty();
  bytes = permuted(static_cast<TensorRef&&>(bytes), type);
  return wants_other_order ? contiguous(bytes.get(), request) : static_cast<TensorRef&&>(bytes);
}

TensorRef import_bits(ArrowArray* array, int64_t length, const TensorType& type,
                      const Elements& elements, DLDevice device, const CopyRequest& request) {
  if (request.copy == DLX_COPY_NEVER) {
    fail(DLX_ERROR_COPY_REFUSED,
         "a copy is needed (Arrow's booleans are bits, a tensor's are bytes), and `copy` "
         "forbids it");
  }
  require_cpu_reachable(device, "array");
  CopyRequest once = request;
  once.copy = DLX_COPY_IF_NEEDED;
  TensorRef tensor = unpack(elements, length, type, once);
  release_copied(array);
  return tensor;
}

}  // namespace

TensorRef import_array(ArrowArray* array, const TensorType& type, DLDevice device, void* sync_event,
                       const CopyRequest& request, bool* copied) {
  const bool readable = cpu_reachable(type_of(device));
  if (sync_event != nullptr && readable) {  // pinned memory, whose bitmaps are read below
    wait_on_host(sync_event, device);
    sync_event = nullptr;
  }
  const ArrowArray own = *array;
  Validity validity;
  const Elements elements = locate(own, type, readable, &validity);
  validity.require_no_nulls();
  *copied = type.bits || request.copy == DLX_COPY_ALWAYS;
  if (type.bits) return import_bits(array, own.length, type, elements, device, request);

  std::vector<int64_t> shape = whole_shape(own.length, type);
  DLTensor description{};
  description.data = const_cast<void*>(elements.buffer);
  description.device = device;
  description.ndim = static_cast<int32_t>(shape.size());
  description.dtype = type.dtype;
  description.shape = shape.data();
  description.byte_offset = static_cast<uint64_t>(elements.start) * type.dtype.bits / 8;
  TensorRef root = describe(description, DLPACK_FLAG_BITMASK_READ_ONLY, "array");
  if (sync_event != nullptr) follow_event(sync_event, root.get());
  TensorRef tensor = permuted(TensorRef::share(root.get()), type);
  // Allocated before a device begins to read, because nothing may fail after that.
  std::unique_ptr<ArrowArray, void (*)(void*)> moved(
      static_cast<ArrowArray*>(std::malloc(sizeof(ArrowArray))), std::free);
  if (moved == nullptr) throw std::bad_alloc();
  if (*copied) tensor = clone(tensor.get(), request);
  *moved = own;
  array->release = nullptr;
  root->owner = moved.release();
  root->release_memory = release_moved;
  // The last reference to the source of a copy, unless a device is still reading it. Not left to
  // the destructor, because release() may end the thread.
  release(root.detach());
  return tensor;
}

void check_struct(const ArrowArray& array, int64_t children) { check_level(array, 1, children); }

void check_lengths(const ArrowArray& array, const TensorType& type) {
  Validity unread;
  locate(array, type, true, &unread);
}

void check_rows(const ArrowArray& array) {
  Validity validity;
  validity.add(array, {array.offset, array.length}, true, false);
  validity.require_no_nulls();
}

DLDevice read_device(const ArrowDeviceArray& array) {
  const bool cpu = array.device_type == kDLCPU;
  if (array.sync_event != nullptr && cpu) {
    fail(DLX_ERROR_INVALID_ARGUMENT,
         "`array` has a sync_event on the CPU, which has no events (expected NULL)");
  }
  DLDevice device;
  device.device_type = static_cast<DLDeviceType>(array.device_type);
  device.device_id = static_cast<int32_t>(array.device_id);
  // Arrow's id -1 is for device types without ids; their DLPack id is 0.
  if (cpu || (array.device_id == -1 && cpu_reachable(array.device_type))) device.device_id = 0;
  if (!cpu && (array.device_id < -1 || array.device_id > INT32_MAX)) {
    fail(DLX_ERROR_INVALID_ARGUMENT, "`array` has an invalid device (got type %d, id %lld)",
         array.device_type, static_cast<long long>(array.device_id));
  }
  return device;
}

TensorRef import_nothing(const TensorType& type, const CopyRequest& request) {
  const std::vector<int64_t> shape = whole_shape(0, type);
  return permuted(empty(static_cast<int32_t>(shape.size()), shape.data(), type.dtype, kCpu, 0,
                        request.allocation),
                  type);
}

}  // namespace dlx::arrow
