#include "src/python/import_array_interface.h"

#include <cstdio>

#include "src/base/error.h"
#include "src/base/shape_text.h"
#include "src/dtype/dtype.h"
#include "src/python/byte_strides.h"
#include "src/python/calls.h"
#include "src/python/errors.h"
#include "src/python/import_buffer.h"
#include "src/python/integers.h"
#include "src/python/interface_fields.h"
#include "src/python/reference.h"
#include "src/python/state.h"
#include "src/tensor/layout.h"

namespace dlx::py {
namespace {

// ---- __array_interface__ ------------------------------------------------------------------------

constexpr bool kLittleEndian = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;

/// Refuses a layout that reaches beyond the `available` bytes of its buffer.
void require_inside(const Tensor& tensor, int64_t offset, int64_t itemsize, int64_t available) {
  if (tensor.size == 0) return;
  int64_t lowest, highest;
  const bool known =
      offset_range(tensor.dl.ndim, tensor.dl.shape, tensor.dl.strides, &lowest, &highest);
  if (known && offset + lowest * itemsize >= 0 && offset + (highest + 1) * itemsize <= available) {
    return;
  }
  fail(DLX_ERROR_INVALID_ARGUMENT,
       "it reaches beyond its buffer (offset %lld, shape %s, buffer of %lld "
       "bytes)",
       static_cast<long long>(offset), shape_text(tensor.dl.ndim, tensor.dl.shape).text,
       static_cast<long long>(available));
}

/// 'data' as a buffer, or the object's own buffer without 'data'; 'offset' counts from its start.
TensorRef import_interface_buffer(PyObject* object, PyObject* interface, PyObject* data,
                                  InterfaceLayout* layout) {
  PyObject* source = data == nullptr ? object : data;
  if (api.PyObject_CheckBuffer(source) == 0) {
    raise(
        api.type_error,
        "asarray: `__array_interface__['data']` is neither a tuple nor a buffer (got %s)",
        data == nullptr ? "nothing, and the object has no buffer" : type_text(class_of(data)).text);
  }
  PyBuffer* block;
  const Ref holder = acquire_buffer(source, PyBUF_SIMPLE, &block);  // contiguous bytes, or refused
  const int64_t available = block->len;
  const Ref start = find_field(interface, names.offset);
  const int64_t offset = start ? to_int64(start.get(), "__array_interface__['offset']") : 0;
  DLTensor description = layout->description();
  if (offset < 0 || offset > available) {
    fail(DLX_ERROR_INVALID_ARGUMENT,
         "it reaches beyond its buffer (offset %lld, buffer of %lld bytes)",
         static_cast<long long>(offset), static_cast<long long>(available));
  }
  description.data = static_cast<char*>(block->buf) + offset;
  const uint64_t flags = block->readonly != 0 ? DLPACK_FLAG_BITMASK_READ_ONLY : 0;
  TensorRef tensor = describe(description, flags, "description");
  require_inside(*tensor.get(), offset, layout->itemsize(), available);
  set_owners(tensor.get(), object, holder.get());
  return tensor;
}

// ---- __array_struct__ ---------------------------------------------------------------------------

/// PyArrayInterface in NumPy's manual, "The array interface protocol".
struct ArrayStruct {
  int two;  ///< 2, as a check
  int ndim;
  char kind;
  int itemsize;
  int flags;
  int64_t* shape;
  int64_t* strides;  ///< in bytes
  void* data;
  PyObject* description;
};
enum { kNotSwapped = 0x200, kWriteable = 0x400 };

void require_sane(const ArrayStruct& fields) {
  const bool axes = fields.ndim == 0 || (fields.shape != nullptr && fields.ndim > 0);
  if (fields.two == 2 && axes && fields.ndim <= OwnAxes::kMost && fields.itemsize > 0) return;
  fail(DLX_ERROR_INVALID_ARGUMENT,
       "it is malformed (its first field is %d, expected 2; %d axes, shape at %p, "
       "elements of %d bytes)",
       fields.two, fields.ndim, static_cast<void*>(fields.shape), fields.itemsize);
}

}  // namespace

TensorRef import_array_interface(PyObject* object, PyObject* interface) {
  return by_interface(kArrayInterface, object, [&] {
    require_plain_dict(kArrayInterface, interface);
    InterfaceLayout layout(kArrayInterface, interface);
    const Ref data = find_field(interface, names.data);
    if (!data || (api.PyType_GetFlags(class_of(data.get())) & kTypeFlagTuple) == 0) {
      return import_interface_buffer(object, interface, data.get(), &layout);
    }
    const InterfaceMemory memory = read_memory(kArrayInterface, data.get());
    DLTensor description = layout.description();
    description.data = memory.address;
    TensorRef tensor = describe(description, memory.flags, "description");
    set_owners(tensor.get(), object, interface);
    return tensor;
  });
}

TensorRef import_array_struct(PyObject* object, PyObject* capsule) {
  if (class_of(capsule) != api.capsule_type || api.PyCapsule_IsValid(capsule, nullptr) == 0) {
    raise(api.type_error, "asarray: `__array_struct__` of %s is not an unnamed capsule (got %s)",
          type_text(class_of(object)).text, type_text(class_of(capsule)).text);
  }
  // A copy: the producer may change its own.
  const ArrayStruct fields =
      *static_cast<const ArrayStruct*>(api.PyCapsule_GetPointer(capsule, nullptr));
  require_sane(fields);
  // A single byte has no byte order, and some producers omit the flag for it.
  const bool swapped = (fields.flags & kNotSwapped) == 0 && fields.itemsize > 1;
  char typestr[16];
  std::snprintf(typestr, sizeof typestr, "%c%c%d", swapped == kLittleEndian ? '>' : '<',
                fields.kind, fields.itemsize);
  DLTensor description{};
  description.dtype = parse_dtype_format(typestr, DLX_FORMAT_TYPESTR);
  description.device.device_type = kDLCPU;
  description.data = fields.data;
  description.ndim = fields.ndim;
  OwnAxes axes;
  axes.describe("it", fields.shape, fields.strides, fields.itemsize, &description);
  const uint64_t flags = (fields.flags & kWriteable) == 0 ? DLPACK_FLAG_BITMASK_READ_ONLY : 0;
  TensorRef tensor = describe(description, flags, "description");
  set_owners(tensor.get(), object, capsule);
  return tensor;
}

}  // namespace dlx::py
