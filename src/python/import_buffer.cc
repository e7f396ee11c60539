#include "src/python/import_buffer.h"

#include <cstdlib>
#include <new>

#include "src/base/error.h"
#include "src/dtype/dtype.h"
#include "src/python/byte_strides.h"
#include "src/python/errors.h"
#include "src/python/owners.h"
#include "src/tensor/tensor.h"

namespace dlx::py {
namespace {

/// A capsule holds the Py_buffer, so that it is released with the GIL, like any Python owner.
void destroy_buffer_capsule(PyObject* capsule) {
  auto* buffer = static_cast<PyBuffer*>(api.PyCapsule_GetPointer(capsule, "dlx_buffer"));
  const WithoutPendingError aside;
  api.PyBuffer_Release(buffer);
  std::free(buffer);
}

}  // namespace

Ref acquire_buffer(PyObject* object, int flags, PyBuffer** out) {
  auto* buffer = static_cast<PyBuffer*>(std::calloc(1, sizeof(PyBuffer)));
  // not covered: memory has run out
  if (buffer == nullptr) throw std::bad_alloc();
  if (api.PyObject_GetBuffer(object, buffer, flags) != 0) {
    std::free(buffer);
    throw PythonError();
  }
  PyObject* capsule = api.PyCapsule_New(buffer, "dlx_buffer", destroy_buffer_capsule);
  // not covered: the same
  if (capsule == nullptr) {
    // not covered from here: CPython is out of memory
    api.PyBuffer_Release(buffer);
    std::free(buffer);
    throw PythonError();
    // covered again
  }
  *out = buffer;
  return Ref(capsule);
}

namespace {

void require_no_suboffsets(const PyBuffer& buffer) {
  if (buffer.suboffsets == nullptr) return;
  for (int i = 0; i < buffer.ndim; ++i) {
    if (buffer.suboffsets[i] < 0) continue;
    fail(DLX_ERROR_UNSUPPORTED,
         "the buffer has suboffsets (pointers to rows), which strides cannot express: copy "
         "it first");
  }
}

/// The dtype. Refuses a Py_buffer that contradicts itself.
DLDataType read_format(const PyBuffer& buffer) {
  const char* format = buffer.format == nullptr ? "B" : buffer.format;
  const DLDataType dtype = parse_dtype_format(format, DLX_FORMAT_BUFFER);
  if (item_bits(dtype, false) != buffer.itemsize * 8) {
    fail(DLX_ERROR_UNSUPPORTED, "the buffer contradicts itself (format \"%.40s\", itemsize %lld)",
         format, static_cast<long long>(buffer.itemsize));
  }
  if (buffer.ndim < 0 || buffer.ndim > PyBUF_MAX_NDIM) {
    fail(DLX_ERROR_UNSUPPORTED, "the buffer has %d axes (expected 0 to %d)", buffer.ndim,
         PyBUF_MAX_NDIM);
  }
  return dtype;
}

}  // namespace

TensorRef import_buffer(PyObject* object) {
  PyBuffer* buffer;
  Ref holder = acquire_buffer(object, PyBUF_FULL_RO, &buffer);
  require_no_suboffsets(*buffer);
  DLTensor description{};
  description.dtype = read_format(*buffer);
  description.data = buffer->buf;
  description.ndim = buffer->ndim;
  description.device.device_type = kDLCPU;
  static_assert(PyBUF_MAX_NDIM <= OwnAxes::kMost);
  OwnAxes axes;
  axes.describe("the buffer", buffer->shape, buffer->strides, buffer->itemsize, &description);
  const uint64_t flags = buffer->readonly != 0 ? DLPACK_FLAG_BITMASK_READ_ONLY : 0;
  TensorRef tensor = describe(description, flags, "obj");
  set_python_owner(tensor.get(), holder.detach(), nullptr);
  return tensor;
}

}  // namespace dlx::py
