#include "src/python/stack.h"

#include <algorithm>
#include <cstring>

#include "src/base/error.h"
#include "src/dtype/dtype.h"
#include "src/python/errors.h"
#include "src/python/gil.h"
#include "src/python/import.h"
#include "src/python/import_buffer.h"
#include "src/python/lockless.h"
#include "src/python/ndarray.h"
#include "src/python/reference.h"
#include "src/python/state.h"
#include "src/python/tensor_type.h"
#include "src/python/type_cache.h"
#include "src/tensor/copies.h"
#include "src/tensor/layout.h"

namespace dlx::py {
namespace {

/// Runs `import`; nothing if it failed with an error of dlx or, with `any`, with any Exception.
template <typename Import>
auto try_import(bool any, Import&& import) -> decltype(import()) {
  try {
    return import();
  } catch (const Error&) {
    return {};
  } catch (const PythonError&) {
    if (any ? is_urgent() : !is_of_dlx()) throw;
    api.PyErr_Clear();
    return {};
  }
}

TensorRef import_array(PyObject* object) {
  return try_import(false, [&] {
    const Ref tensor(as_tensor(object));
    return TensorRef::share(tensor_of(tensor.get()));
  });
}

/// Arrays of a class with kBuffer.
struct Kind {
  PyObject* type;
  PyObject* dtype;
  PyObject* device;  ///< NULL without kBufferOfDevice
  bool shown;        ///< their buffers are the memory that asarray sees, as the same numbers
};

GrowingList<Kind, 64> kinds;

bool is_shown_by_buffer(PyObject* object, int flags) {
  Ref dtype(check(api.PyObject_GetAttr(object, names.dtype)));
  Ref device;
  if ((flags & kBufferOfDevice) != 0)
    device = Ref(check(api.PyObject_GetAttr(object, names.device)));
  for (const Kind& kind : kinds) {
    if (kind.type != class_of(object) || kind.dtype != dtype.get()) continue;
    const int same = device ? api.PyObject_RichCompareBool(kind.device, device.get(), Py_EQ) : 1;
    if (same < 0) throw PythonError();
    if (same == 1) return kind.shown;
  }
  const TensorRef seen = import_array(object);
  const TensorRef shown = try_import(true, [&] { return import_buffer(object); });
  const bool same = seen.get() != nullptr && shown.get() != nullptr &&
                    seen->dl.data == shown->dl.data && seen->dl.device.device_type == kDLCPU &&
                    same_dtype(seen->dl.dtype, shown->dl.dtype);
  Ref type = Ref::share(class_of(object));
  kinds.add([&](Kind* kind) { *kind = {type.detach(), dtype.detach(), device.detach(), same}; });
  return same;
}

/// None for objects that are no arrays, and for arrays that cannot be imported.
TensorRef array_in_list(PyObject* object) {
  if (is_tensor(object)) return TensorRef::share(tensor_of(object));
  const int flags = look_up_type(class_of(object)).flags;
  if ((flags & (kNdarray | kHasDlpack)) == 0) return TensorRef();
  // `__dlpack__` of classes with kBuffer takes ten times as long.
  TensorRef tensor = try_import(true, [&] {
    const bool shown = (flags & kBuffer) != 0 && is_shown_by_buffer(object, flags);
    return shown ? import_buffer(object) : TensorRef();
  });
  if (tensor.get() == nullptr) tensor = import_array(object);
  if ((flags & kNdarray) != 0) note_ndarray(object);
  return tensor;
}

/// Copies arrays into a tensor, one behind the other.
class Stack {
 public:
  Stack(TensorRef first, TensorRef result) noexcept
      : first_(static_cast<TensorRef&&>(first)), result_(static_cast<TensorRef&&>(result)) {
    place_ = result_->dl;
    place_.ndim = first_->dl.ndim;
    place_.shape += result_->dl.ndim - place_.ndim;
    place_.strides += result_->dl.ndim - place_.ndim;
    bytes_ = nbytes_of(first_.get());
  }

  /// False for lists of other lengths, and where there is no array, or one of another dtype or shape.
  bool add(PyObject* object, const Shape& outer, int32_t axis) {
    if (axis == outer.ndim) return add_array(object);
    for (int64_t i = 0; i < outer.extents[axis]; ++i) {
      // Imports run foreign code, which may change the list.
      if (!has_extent(object, outer, axis)) return false;
      const Ref item = Ref::share(item_of(object, i));
      if (!add(item.get(), outer, axis + 1)) return false;
    }
    return has_extent(object, outer, axis);
  }

  TensorRef take() noexcept { return static_cast<TensorRef&&>(result_); }

 private:
  bool add_array(PyObject* object) {
    if (first_.get() != nullptr) {
      const TensorRef first = static_cast<TensorRef&&>(first_);
      return copy(first->dl);
    }
    DLTensor array;
    int64_t room[16];
    uint64_t flags_of_array;
    if (read_ndarray(object, &array, room, &flags_of_array)) return copy(array);
    const int flags = is_tensor(object) ? 0 : look_up_type(class_of(object)).flags;
    if ((flags & kBuffer) != 0 && copy_buffer(object, flags)) return true;
    const TensorRef tensor = array_in_list(object);
    return tensor.get() != nullptr && copy(tensor->dl);
  }

  bool fits(const DLDataType& dtype, int32_t ndim, const int64_t* shape) const noexcept {
    return same_dtype(dtype, place_.dtype) && ndim == place_.ndim &&
           std::equal(shape, shape + ndim, place_.shape);
  }

  bool copy(const DLTensor& array) {
    if (array.device.device_type != kDLCPU || !fits(array.dtype, array.ndim, array.shape)) {
      return false;
    }
    if (bytes_ < kReleaseGilFrom &&
        is_compact(array.ndim, array.shape, array.strides, DLX_ORDER_C)) {
      put(array.data);
      return true;
    }
    {
      const WithoutGil without(bytes_ >= kReleaseGilFrom);
      copy_data(place_, array, CopyRequest());
    }
    place_.data = static_cast<char*>(place_.data) + bytes_;
    return true;
  }

  /// False, with no exception set, if the buffer is not what asarray sees.
  bool copy_buffer(PyObject* object, int flags) {
    PyBuffer buffer{};
    const bool same = try_import(true, [&] {
      if (!is_shown_by_buffer(object, flags)) return false;
      // not covered: a buffer that was there a moment ago
      if (api.PyObject_GetBuffer(object, &buffer, PyBUF_ND | PyBUF_FORMAT) != 0)
        throw PythonError();  // not covered: the same
      const char* format = buffer.format == nullptr ? "B" : buffer.format;
      return fits(parse_dtype_format(format, DLX_FORMAT_BUFFER), buffer.ndim, buffer.shape);
    });
    if (same) put(buffer.buf);
    if (buffer.obj != nullptr) api.PyBuffer_Release(&buffer);
    return same;
  }

  void put(const void* from) noexcept {
    if (bytes_ > 0) std::memcpy(place_.data, from, static_cast<size_t>(bytes_));
    place_.data = static_cast<char*>(place_.data) + bytes_;
  }

  TensorRef first_;  ///< until it is copied
  TensorRef result_;
  DLTensor place_;  ///< of the next array
  int64_t bytes_;   ///< of one array
};

}  // namespace

TensorRef stack_arrays(PyObject* object, const Shape& outer, PyObject* leaf,
                       const DLDataType* dtype) {
  const Ref kept = Ref::share(leaf);
  TensorRef first = array_in_list(leaf);
  if (first.get() == nullptr) return TensorRef();
  const DLTensor& array = first->dl;
  if (array.device.device_type != kDLCPU || array.dtype.bits % 8 != 0 ||
      array.ndim > kMaxDepth - outer.ndim ||
      (dtype != nullptr && !same_dtype(array.dtype, *dtype))) {
    return TensorRef();
  }
  Shape shape = outer;
  for (int32_t i = 0; i < array.ndim; ++i) shape.extents[shape.ndim++] = array.shape[i];
  TensorRef result = new_tensor(shape, array.dtype);
  Stack stack(static_cast<TensorRef&&>(first), static_cast<TensorRef&&>(result));
  return stack.add(object, outer, 0) ? stack.take() : TensorRef();
}

void forget_buffers() noexcept { kinds.clear(); }

}  // namespace dlx::py
