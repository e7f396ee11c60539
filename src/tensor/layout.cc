#include "src/tensor/layout.h"

#include "dlx/dlx.h"
#include "src/base/checked.h"
#include "src/base/error.h"
#include "src/base/shape_text.h"
#include "src/device/registry.h"
#include "src/dtype/dtype.h"
#include "src/system/system.h"

namespace dlx {

void require_ndim(int32_t ndim, const char* argument, const char* owner) {
  if (ndim >= 0 && ndim <= DLX_MAX_NDIM) return;
  fail(DLX_ERROR_INVALID_ARGUMENT, "`%s`%s is out of range (got %d, expected 0 to %d)", argument,
       OwnerText(owner).text, ndim, DLX_MAX_NDIM);
}

int32_t require_axis(int32_t axis, int32_t ndim, const char* argument) {
  if (axis >= -ndim && axis < ndim) return axis < 0 ? axis + ndim : axis;
  fail(DLX_ERROR_INVALID_ARGUMENT, "`%s` is out of range (got %d, expected an axis of %d)",
       argument, axis, ndim);
}

int64_t count_elements(int32_t ndim, const int64_t* shape, const char* owner) {
  int64_t count = 1;
  bool empty = false;
  for (int32_t axis = 0; axis < ndim; ++axis) {
    if (shape[axis] < 0) {
      fail(DLX_ERROR_INVALID_ARGUMENT,
           "`shape`%s has a negative extent (got %lld on axis %d, expected at least 0)",
           OwnerText(owner).text, static_cast<long long>(shape[axis]), axis);
    }
    if (shape[axis] == 0) {
      empty = true;
    } else if (!checked_mul(count, shape[axis], &count)) {
      fail(DLX_ERROR_INVALID_ARGUMENT, "`shape`%s has more than 2^63-1 elements (got %s)",
           OwnerText(owner).text, shape_text(ndim, shape).text);
    }
  }
  return empty ? 0 : count;
}

void fill_compact_strides(int32_t ndim, const int64_t* shape, int32_t order,
                          int64_t* strides) noexcept {
  int64_t stride = 1;
  for (int32_t i = 0; i < ndim; ++i) {
    const int32_t axis = order == DLX_ORDER_F ? i : ndim - 1 - i;
    strides[axis] = stride;
    if (shape[axis] > 1) stride *= shape[axis];
  }
}

bool is_compact(int32_t ndim, const int64_t* shape, const int64_t* strides,
                int32_t order) noexcept {
  bool compact = true;
  int64_t expected = 1;
  for (int32_t i = 0; i < ndim; ++i) {
    const int32_t axis = order == DLX_ORDER_F ? i : ndim - 1 - i;
    if (shape[axis] == 0) return true;
    if (shape[axis] == 1) continue;
    if (strides[axis] != expected) compact = false;
    expected *= shape[axis];
  }
  return compact;
}

bool offset_range(int32_t ndim, const int64_t* shape, const int64_t* strides, int64_t* lowest,
                  int64_t* highest) noexcept {
  int64_t low = 0, high = 0;
  for (int32_t axis = 0; axis < ndim; ++axis) {
    int64_t reach;
    if (!checked_mul(shape[axis] - 1, strides[axis], &reach)) return false;
    int64_t* end = reach < 0 ? &low : &high;
    if (!checked_add(*end, reach, end)) return false;
  }
  *lowest = low;
  *highest = high;
  return true;
}

bool reshape_strides(int32_t ndim, const int64_t* shape, const int64_t* strides, int32_t new_ndim,
                     const int64_t* new_shape, int64_t* new_strides) noexcept {
  for (int32_t axis = 0; axis < new_ndim; ++axis) {
    if (new_shape[axis] == 0) {
      fill_compact_strides(new_ndim, new_shape, DLX_ORDER_C, new_strides);
      return true;
    }
  }
  // From the last axis on, match runs of old axes that step evenly with new axes of as many
  // elements. A new axis must not span two runs.
  int32_t old_axis = ndim - 1;
  int64_t run = 1, run_stride = 1;  // elements left in the current run, and its step
  for (int32_t axis = new_ndim - 1; axis >= 0; --axis) {
    if (new_shape[axis] == 1) {
      new_strides[axis] = run_stride;
      continue;
    }
    if (run == 1) {
      while (old_axis >= 0 && shape[old_axis] == 1) --old_axis;
      run = shape[old_axis];
      run_stride = strides[old_axis];
      int64_t expected;
      for (--old_axis; old_axis >= 0; --old_axis) {
        if (shape[old_axis] == 1) continue;
        if (!checked_mul(run, run_stride, &expected) || strides[old_axis] != expected) break;
        run *= shape[old_axis];
      }
    }
    if (run % new_shape[axis] != 0) return false;
    new_strides[axis] = run_stride;
    run /= new_shape[axis];
    // An overflow is harmless: the run is used up then, and no axis takes this stride.
    int64_t stepped;
    if (checked_mul(run_stride, new_shape[axis], &stepped)) run_stride = stepped;
  }
  return true;
}

bool broadcasts_to(int32_t ndim, const int64_t* shape, int32_t target_ndim,
                   const int64_t* target) noexcept {
  const int32_t shift = target_ndim - ndim;
  if (shift < 0) return false;
  for (int32_t axis = 0; axis < ndim; ++axis) {
    if (shape[axis] != 1 && shape[axis] != target[shift + axis]) return false;
  }
  return true;
}

namespace {

#if defined(__x86_64__)
constexpr int kAddressBits = 47;
constexpr uint64_t kTagBits = 0;
#elif defined(__aarch64__)
constexpr int kAddressBits = 48;
constexpr uint64_t kTagBits = uint64_t{0xff} << 56;  // the processor ignores them
#else
constexpr int kAddressBits = 48;
constexpr uint64_t kTagBits = 0;
#endif
/// Memory of a process ends here, unless it asked its system for more (docs/decisions.md, 38).
constexpr uint64_t kEndOfAddresses = uint64_t{1} << kAddressBits;
/// Offsets into a handle's buffer and addresses of devices only have to be numbers below this one.
constexpr uint64_t kEndOfNumbers = uint64_t{1} << 63;

/// Whether the bytes from `first` up to `end`, which lies beyond kEndOfAddresses, can exist. `base` has
/// the tag.
[[gnu::cold]] bool may_lie_beyond(int32_t device_type, uint64_t base, uint64_t first,
                                  uint64_t end) noexcept {
  if (!cpu_reachable(device_type)) return end <= kEndOfNumbers;
  const uint64_t tag = base & kTagBits;
  return end - tag <= kEndOfAddresses ||
         (sys::is_mapped(first - tag) && sys::is_mapped(end - tag - 1));
}

/// Whether a stride is a negative number of bytes that was divided as an unsigned one: 2^61 - 1 for -8 and
/// items of 8 bytes. CuPy 14 exports those.
bool has_unsigned_stride(const DLTensor& description) noexcept {
  const int32_t type = description.device.device_type;
  if (type != kDLCUDA && type != kDLCUDAManaged) return false;
  constexpr int64_t kFarthest = int64_t{1} << 48;
  const uint64_t bytes = static_cast<uint64_t>(item_bits(description.dtype, false)) / 8;
  for (int32_t axis = 0; axis < description.ndim; ++axis) {
    const auto step =
        static_cast<int64_t>(static_cast<uint64_t>(description.strides[axis]) * bytes);
    if (description.strides[axis] > 0 && step < 0 && step >= -kFarthest) return true;
  }
  return false;
}

/// Throws unless the addresses of all `count` > 0 elements exist: no wrap-around on either side of
/// `data`, no byte where the device has none, and nothing before the beginning of a handle's buffer.
void check_addresses(const DLTensor& description, bool padded, int64_t count,
                     const char* argument) {
  int64_t lowest = 0, highest = count - 1, bits_low, bits_high;
  const int64_t bits = item_bits(description.dtype, padded);
  const bool fits =
      (description.strides == nullptr ||
       offset_range(description.ndim, description.shape, description.strides, &lowest, &highest)) &&
      checked_mul(lowest, bits, &bits_low) && checked_add(highest, 1, &highest) &&
      checked_mul(highest, bits, &bits_high);
  if (!fits && description.strides == nullptr) {
    fail(DLX_ERROR_INVALID_ARGUMENT, "`%s` is larger than 2^63 bits (got shape %s of %s)", argument,
         shape_text(description.ndim, description.shape).text, dtype_text(description.dtype).text);
  }
  if (!fits && has_unsigned_stride(description)) {
    fail(DLX_ERROR_UNSUPPORTED,
         "`%s` has negative strides that its library exported as unsigned numbers (got %s with "
         "shape %s): dlx.asarray reads them from __cuda_array_interface__, if the object has it",
         argument, shape_text(description.ndim, description.strides).text,
         shape_text(description.ndim, description.shape).text);
  }
  if (!fits) {
    fail(DLX_ERROR_INVALID_ARGUMENT, "`%s` has strides that overflow (got %s with shape %s)",
         argument, shape_text(description.ndim, description.strides).text,
         shape_text(description.ndim, description.shape).text);
  }
  const bool is_address = data_is_address(description.device.device_type);
  const uintptr_t base = is_address ? reinterpret_cast<uintptr_t>(description.data) : 0;
  const uintptr_t before = (uintptr_t{0} - static_cast<uintptr_t>(bits_low) + 7) / 8;
  const auto offset = static_cast<unsigned long long>(description.byte_offset);
  const uint64_t after = static_cast<uint64_t>(bits_high) / 8 + (bits_high % 8 != 0 ? 1 : 0);
  uint64_t first, end;
  if (__builtin_add_overflow(base, description.byte_offset, &first) ||
      __builtin_add_overflow(first, after, &end) ||
      (end > kEndOfAddresses && !may_lie_beyond(type_of(description.device), base, first, end)) ||
      (is_address && first < before)) {
    fail(DLX_ERROR_INVALID_ARGUMENT, "`%s` reaches beyond the address space (byte_offset %llu)",
         argument, offset);
  }
  if (first < before) {
    fail(DLX_ERROR_INVALID_ARGUMENT,
         "`%s` reaches before the beginning of its buffer (byte_offset %llu, %llu bytes before it)",
         argument, offset, static_cast<unsigned long long>(before));
  }
}

}  // namespace

void require_axes(const DLTensor& description, const char* argument) {
  require_ndim(description.ndim, "ndim", argument);
  if (description.ndim > 0 && description.shape == nullptr) {
    fail(DLX_ERROR_INVALID_ARGUMENT, "`%s` has no shape (got NULL with ndim %d)", argument,
         description.ndim);
  }
}

int64_t check_description(const DLTensor& description, bool padded, const char* argument) {
  require_axes(description, argument);
  require_known_dtype(description.dtype, "dtype", argument);
  if (description.device.device_type <= 0 || description.device.device_id < 0) {
    fail(DLX_ERROR_INVALID_ARGUMENT, "`%s` has an invalid device (got type %d, id %d)", argument,
         static_cast<int>(description.device.device_type), description.device.device_id);
  }
  const int64_t count = count_elements(description.ndim, description.shape, argument);
  int64_t bytes;
  if (!compact_bytes(description.dtype, padded, count, &bytes)) {
    fail(DLX_ERROR_INVALID_ARGUMENT, "`shape`%s has more than 2^63-1 bytes (got %s of %s)",
         OwnerText(argument).text, shape_text(description.ndim, description.shape).text,
         dtype_text(description.dtype).text);
  }
  if (count == 0) return 0;
  if (description.data == nullptr) {
    fail(DLX_ERROR_INVALID_ARGUMENT,
         "`%s` has no data (got NULL with shape %s): its producer has no memory to share", argument,
         shape_text(description.ndim, description.shape).text);
  }
  check_addresses(description, padded, count, argument);
  return count;
}

}  // namespace dlx
