#include "src/python/indexing.h"

#include "src/base/error.h"
#include "src/device/registry.h"
#include "src/dtype/dtype.h"
#include "src/python/entry.h"
#include "src/python/errors.h"
#include "src/python/gil.h"
#include "src/python/import.h"
#include "src/python/integers.h"
#include "src/python/reference.h"
#include "src/python/sequence.h"
#include "src/python/state.h"
#include "src/python/tensor_type.h"
#include "src/python/type_cache.h"
#include "src/tensor/copies.h"
#include "src/tensor/views.h"

namespace dlx::py {
namespace {

/// Applies index expressions one by one, from the first axis on.
class Indexer {
 public:
  Indexer(Tensor* tensor, int32_t new_ndim) : tensor_(tensor), view_(new_view(tensor, new_ndim)) {}

  void integer(PyObject* key) {
    const int64_t extent = tensor_->dl.shape[from_];
    int64_t index = to_int64(key, "index", api.index_error);
    if (index < -extent || index >= extent) {
      raise(api.index_error, "index %lld is out of range for axis %d with %lld elements",
            static_cast<long long>(index), from_, static_cast<long long>(extent));
    }
    if (index < 0) index += extent;
    if (tensor_->size > 0) offset_ += index * tensor_->dl.strides[from_];
    ++from_;
  }

  void slice(PyObject* key) {
    int64_t start, stop, step;
    if (api.PySlice_Unpack(key, &start, &stop, &step) != 0) throw PythonError();
    // PySlice_Unpack has filled in what was left out. The lowest number means "open" to
    // resolve_slice(); here it lies before the first element, so the slice is empty.
    if ((step < 0 ? start : stop) == DLX_SLICE_OPEN) start = stop = 0;
    const SliceRange range = resolve_slice(tensor_->dl.shape[from_], start, stop, step);
    const int64_t stride = tensor_->dl.strides[from_++];
    if (range.count > 0 && tensor_->size > 0) offset_ += range.start * stride;
    put(range.count, sliced_stride(tensor_->dl.dtype, stride, step));
  }

  void new_axis() { put(1, 0); }

  void keep(int32_t axes) {
    for (; axes > 0; --axes, ++from_) put(tensor_->dl.shape[from_], tensor_->dl.strides[from_]);
  }

  TensorRef finish() {
    keep(tensor_->dl.ndim - from_);
    int64_t size = 1;
    for (int32_t i = 0; i < to_; ++i) size *= view_->dl.shape[i];
    view_->size = size;
    if (size > 0) advance_data(view_.get(), offset_);
    return static_cast<TensorRef&&>(view_);
  }

 private:
  void put(int64_t extent, int64_t stride) {
    view_->dl.shape[to_] = extent;
    view_->dl.strides[to_++] = stride;
  }

  Tensor* tensor_;
  TensorRef view_;
  int32_t from_ = 0;
  int32_t to_ = 0;
  int64_t offset_ = 0;
};

/// Whether the key is an integer or a 0-d array of one. Arrays with axes have __index__, too, but
/// it raises TypeError. Truth values are masks.
bool is_integer(PyObject* key) {
  if (class_of(key) == api.long_type) return true;
  if (class_of(key) == api.bool_type || api.PyIndex_Check(key) == 0) return false;
  if (is_tensor(key) && tensor_of(key)->dl.ndim > 0) return false;
  if ((look_up_type(class_of(key)).flags & kBoolean) != 0) return false;
  const Ref number(api.PyNumber_Index(key));
  if (number) return true;
  if (api.PyErr_ExceptionMatches(api.type_error) == 0) throw PythonError();
  api.PyErr_Clear();
  return false;
}

/// tensor[keys] as a view; none if one of the keys needs a copy (a mask, an index array).
TensorRef index(Tensor* tensor, PyObject* const* keys, int64_t count) {
  int64_t consumed = 0, ellipses = 0, integers = 0, new_axes = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (class_of(keys[i]) == api.slice_type) {
      ++consumed;
    } else if (keys[i] == api.none) {
      ++new_axes;
    } else if (keys[i] == api.ellipsis) {
      ++ellipses;
    } else if (is_integer(keys[i])) {
      ++consumed;
      ++integers;
    } else {
      return TensorRef();
    }
  }
  const int32_t ndim = tensor->dl.ndim;
  if (consumed > ndim) {
    raise(api.index_error, "too many indices (got %lld for a tensor of %d axes)",
          static_cast<long long>(consumed), ndim);
  }
  if (ellipses > 1) {
    raise(api.index_error, "an index may contain only one ... (got %lld)",
          static_cast<long long>(ellipses));
  }
  const int64_t new_ndim = ndim - integers + new_axes;
  if (new_ndim > DLX_MAX_NDIM) {
    raise(api.index_error, "too many new axes (got %lld axes in all, expected at most %d)",
          static_cast<long long>(new_ndim), DLX_MAX_NDIM);
  }
  Indexer indexer(tensor, static_cast<int32_t>(new_ndim));
  for (int64_t i = 0; i < count; ++i) {
    if (class_of(keys[i]) == api.slice_type) {
      indexer.slice(keys[i]);
    } else if (keys[i] == api.none) {
      indexer.new_axis();
    } else if (keys[i] == api.ellipsis) {
      indexer.keep(ndim - static_cast<int32_t>(consumed));
    } else {
      indexer.integer(keys[i]);
    }
  }
  return indexer.finish();
}

TensorRef index_by(Tensor* tensor, PyObject* key) {
  if ((api.PyType_GetFlags(class_of(key)) & kTypeFlagTuple) == 0) return index(tensor, &key, 1);
  constexpr int64_t kMost = 64;  // index expressions in one key
  PyObject* keys[kMost];
  const int64_t count = api.PyTuple_Size(key);
  if (count > kMost) {
    raise(api.index_error, "too many indices (got %lld, expected at most %lld)",
          static_cast<long long>(count), static_cast<long long>(kMost));
  }
  for (int64_t i = 0; i < count; ++i) keys[i] = api.PyTuple_GetItem(key, i);
  return index(tensor, keys, count);
}

/// The address of the element for a key of one int for each axis, in ordinary CPU memory. NULL for
/// other keys, packed dtypes, and indices out of range, for which index_by() raises.
char* element_at(const Tensor* tensor, PyObject* key) {
  const DLTensor& dl = tensor->dl;
  if (dl.device.device_type != kDLCPU || dl.data == nullptr || dl.dtype.bits < 8) return nullptr;
  const bool several = class_of(key) == api.tuple_type;
  if ((several ? api.PyTuple_Size(key) : 1) != dl.ndim) return nullptr;
  int64_t offset = 0;
  for (int32_t i = 0; i < dl.ndim; ++i) {
    PyObject* const number = several ? api.PyTuple_GetItem(key, i) : key;
    if (class_of(number) != api.long_type) return nullptr;
    int64_t index = api.PyLong_AsLongLong(number);
    if (index == -1 && api.PyErr_Occurred() != nullptr) {
      api.PyErr_Clear();
      return nullptr;
    }
    if (index < 0) index += dl.shape[i];
    if (index < 0 || index >= dl.shape[i]) return nullptr;
    offset += index * dl.strides[i];
  }
  return static_cast<char*>(dl.data) + offset * (dl.dtype.bits / 8);
}

/// Drops leading axes of extent 1 that the target lacks, like NumPy.
TensorRef without_leading_ones(TensorRef values, int32_t ndim) {
  while (values->dl.ndim > ndim && values->dl.shape[0] == 1) values = select(values.get(), 0, 0);
  return values;
}

/// Whether NumPy must convert the values to the target's dtype.
bool needs_cast(const Tensor& values, const Tensor& target) {
  return !same_dtype(values.dl.dtype, target.dl.dtype) &&
         cpu_reachable(type_of(values.dl.device)) && cpu_reachable(type_of(target.dl.device));
}

}  // namespace

int64_t tensor_length(PyObject* self) {
  return enter("len", int64_t{-1}, [&] {
    Tensor* tensor = tensor_of(self);
    if (tensor->dl.ndim == 0) raise(api.type_error, "len() of a 0-d Tensor");
    return static_cast<int64_t>(tensor->dl.shape[0]);
  });
}

/// For PySequence_Check, as in ndarray: pandas takes an object with `__float__` that is not a
/// sequence for a number.
PyObject* tensor_item(PyObject* self, int64_t index) {
  if (index < 0) {  // PySequence_GetItem has added the length already
    api.PyErr_SetString(api.index_error, "index out of range");
    return nullptr;
  }
  const Ref key(api.PyLong_FromLongLong(index));
  return key ? tensor_getitem(self, key.get()) : nullptr;
}

PyObject* tensor_getitem(PyObject* self, PyObject* key) {
  return enter("Tensor.__getitem__", static_cast<PyObject*>(nullptr), [&] {
    TensorRef view = index_by(tensor_of(self), key);
    if (view.get() != nullptr) return new_object(static_cast<TensorRef&&>(view));
    return check(call_objects(state.getitem, self, key));
  });
}

int tensor_setitem(PyObject* self, PyObject* key, PyObject* value) {
  return enter("Tensor.__setitem__", -1, [&] {
    if (value == nullptr) raise(api.type_error, "elements of a Tensor cannot be deleted");
    Tensor* tensor = tensor_of(self);
    if (tensor->readonly()) fail(DLX_ERROR_READ_ONLY, "the tensor is read-only");
    char* const element = element_at(tensor, key);
    if (element != nullptr && store_number(value, tensor->dl.dtype, element)) return 0;
    TensorRef target = index_by(tensor, key);
    if (target.get() != nullptr && is_one_here(target.get()) &&
        store_number(value, target->dl.dtype, target->dl.data)) {
      return 0;
    }
    TensorRef numbers = tensor_of_numbers(value, &tensor->dl.dtype);
    Ref source;
    if (numbers.get() == nullptr) source = Ref(as_tensor_like(value, tensor, true));
    Tensor* values = source ? tensor_of(source.get()) : numbers.get();
    const bool is_view = target.get() != nullptr;
    if (!is_view || needs_cast(*values, *tensor)) {
      if (!source) source = Ref(new_object(static_cast<TensorRef&&>(numbers)));
      const Ref whole(is_view ? new_object(static_cast<TensorRef&&>(target)) : nullptr);
      const Ref done(check(call_objects(state.setitem, is_view ? whole.get() : self,
                                        is_view ? api.ellipsis : key, source.get())));
      return 0;
    }
    TensorRef fitting = without_leading_ones(TensorRef::share(values), target->dl.ndim);
    WithoutGil without(may_take_long(target.get()) || may_take_long(values));
    copy_tensor_from(target.get(), fitting.get(), CopyRequest());
    return 0;
  });
}

}  // namespace dlx::py
