#include "src/python/export_buffer.h"

#include <cstdlib>
#include <new>

#include "src/device/registry.h"
#include "src/dtype/dtype.h"
#include "src/python/byte_strides.h"
#include "src/python/entry.h"
#include "src/python/errors.h"
#include "src/python/gil.h"
#include "src/python/tensor_type.h"
#include "src/tensor/copies.h"
#include "src/tensor/layout.h"
#include "src/tensor/synchronization.h"

namespace dlx::py {
namespace {

bool wants(int flags, int what) noexcept { return (flags & what) == what; }

/// Refuses a request that PEP 3118 does not allow for this tensor. Throws PythonError
/// (BufferError).
void check_request(Tensor* tensor, int flags) {
  const auto type = type_of(tensor->dl.device);
  if (type != kDLCPU && !reads_in_place(tensor)) {
    raise(api.buffer_error,
          "the tensor is on %s, and a buffer needs CPU memory: call .to_device('cpu') or "
          ".numpy(force=True) first",
          device_text(type, tensor->dl.device.device_id).text);
  }
  if (wants(flags, PyBUF_WRITABLE) && tensor->readonly()) {
    raise(api.buffer_error, "the tensor is read-only, and a writable buffer was asked for");
  }
  if (wants(flags, PyBUF_FORMAT) && buffer_format(tensor->dl.dtype) == nullptr) {
    raise(api.buffer_error,
          "the buffer protocol has no format for %s: use DLPack or .tobytes(), or .view() it as "
          "another dtype first",
          dtype_text(tensor->dl.dtype).text);
  }
  const DLTensor& dl = tensor->dl;
  if (wants(flags, PyBUF_ND) && dl.ndim > PyBUF_MAX_NDIM) {
    raise(api.buffer_error,
          "the tensor has %d axes, and a buffer has at most %d: .reshape() it first", dl.ndim,
          PyBUF_MAX_NDIM);
  }
  const bool c = is_compact(dl.ndim, dl.shape, dl.strides, DLX_ORDER_C);
  const bool f = is_compact(dl.ndim, dl.shape, dl.strides, DLX_ORDER_F);
  const bool refused =
      (wants(flags, PyBUF_C_CONTIGUOUS) && !c) || (wants(flags, PyBUF_F_CONTIGUOUS) && !f) ||
      (wants(flags, PyBUF_ANY_CONTIGUOUS) && !c && !f) || (!wants(flags, PyBUF_STRIDES) && !c) ||
      (is_packed_subbyte(dl.dtype, tensor->padded()) && !c);
  if (refused) {
    raise(api.buffer_error,
          "the tensor is not contiguous in the order asked for: call .contiguous() first");
  }
}

}  // namespace

int tensor_getbuffer(PyObject* self, PyBuffer* view, int flags) {
  if (view == nullptr) {
    api.PyErr_SetString(api.buffer_error, "the Py_buffer is NULL");
    return -1;
  }
  view->obj = nullptr;
  return enter("Tensor buffer", -1, [&] {
    Tensor* tensor = tensor_of(self);
    check_request(tensor, flags);
    if (tensor->dl.device.device_type != kDLCPU) {  // pinned or managed memory
      const WithoutGil without(true);
      synchronize(tensor);
    }
    const DLTensor& dl = tensor->dl;
    const bool packed = is_packed_subbyte(dl.dtype, tensor->padded());
    const int64_t itemsize = packed ? 1 : item_bits(dl.dtype, tensor->padded()) / 8;
    *view = PyBuffer{};
    view->buf = dl.data;
    view->len = nbytes_of(tensor);
    view->itemsize = itemsize;
    view->readonly = tensor->readonly() ? 1 : 0;
    // Without a shape the buffer has one axis, as in memoryview: PyBuffer_IsContiguous reads the
    // shape if there are more.
    view->ndim = wants(flags, PyBUF_ND) ? dl.ndim : 1;
    if (wants(flags, PyBUF_FORMAT)) view->format = const_cast<char*>(buffer_format(dl.dtype));
    if (packed) {  // elements share bytes: export plain bytes, like PyBuffer_FillInfo
      view->ndim = 1;
      if (wants(flags, PyBUF_ND)) view->shape = &view->len;
      if (wants(flags, PyBUF_STRIDES)) view->strides = &view->itemsize;
    }
    // PEP 3118: a scalar has neither shape nor strides.
    if (packed || dl.ndim == 0) flags = 0;
    if (wants(flags, PyBUF_ND)) view->shape = dl.shape;
    if (wants(flags, PyBUF_STRIDES)) {
      const size_t size = sizeof(int64_t) * static_cast<size_t>(dl.ndim);
      view->strides = static_cast<int64_t*>(std::malloc(size));
      // not covered: memory has run out
      if (view->strides == nullptr) throw std::bad_alloc();
      view->internal = view->strides;
      fill_byte_strides(dl, wants(flags, PyBUF_F_CONTIGUOUS) ? DLX_ORDER_F : DLX_ORDER_C, itemsize,
                        view->strides);
    }
    api.Py_IncRef(self);
    view->obj = self;
    return 0;
  });
}

void tensor_releasebuffer(PyObject*, PyBuffer* view) { std::free(view->internal); }

}  // namespace dlx::py
