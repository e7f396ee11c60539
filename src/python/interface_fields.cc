#include "src/python/interface_fields.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "src/base/error.h"
#include "src/dtype/dtype.h"
#include "src/python/byte_strides.h"
#include "src/python/calls.h"
#include "src/python/owners.h"
#include "src/python/state.h"

namespace dlx::py {
namespace {

DLDataType read_typestr(const InterfaceNames& fields, PyObject* typestr) {
  const bool text = (api.PyType_GetFlags(class_of(typestr)) & kTypeFlagUnicode) != 0;
  if (!text) {
    raise(api.type_error, "asarray: `%s` is not a string (got %s)", fields.typestr,
          type_text(class_of(typestr)).text);
  }
  int64_t length = 0;
  const char* format = api.PyUnicode_AsUTF8AndSize(typestr, &length);
  if (format == nullptr) throw PythonError();
  if (std::strlen(format) != static_cast<size_t>(length)) {
    fail(DLX_ERROR_INVALID_ARGUMENT, "'typestr' contains a zero byte (got \"%.40s\\0\" and more)",
         format);
  }
  return parse_dtype_format(format, DLX_FORMAT_TYPESTR);
}

/// Refuses a single number, which Int64List takes: both interfaces say tuple.
PyObject* require_several(PyObject* numbers, const char* name) {
  if ((api.PyType_GetFlags(class_of(numbers)) & kTypeFlagLong) == 0) return numbers;
  raise(api.type_error, "asarray: `%s` is not a tuple of integers (got %s)", name,
        type_text(class_of(numbers)).text);
}

void* read_address(const InterfaceNames& fields, PyObject* address) {
  if (api.PyIndex_Check(address) == 0) {
    raise(api.type_error, "asarray: `%s` is not an address (got %s)", fields.address,
          type_text(class_of(address)).text);
  }
  const Ref index(check(api.PyNumber_Index(address)));
  void* const pointer = api.PyLong_AsVoidPtr(index.get());
  if (pointer == nullptr && api.PyErr_Occurred() != nullptr) {
    if (api.PyErr_ExceptionMatches(api.overflow_error) == 0) throw PythonError();
    api.PyErr_Clear();
    fail(DLX_ERROR_INVALID_ARGUMENT, "'data' is out of range (got an integer beyond 64 bits)");
  }
  return pointer;
}

}  // namespace

void name_class(PyObject* object) noexcept {
  char after[sizeof(TypeText) + 20];
  std::snprintf(after, sizeof after, " in an object of %s", type_text(class_of(object)).text);
  extend_message("", after);
}

void require_plain_dict(const InterfaceNames& fields, PyObject* interface) {
  if ((api.PyType_GetFlags(class_of(interface)) & kTypeFlagDict) == 0) {
    raise(api.type_error, "asarray: %s is not a dict (got %s)", fields.protocol,
          type_text(class_of(interface)).text);
  }
  if (find_field(interface, names.mask)) {
    fail(DLX_ERROR_UNSUPPORTED,
         "it has a mask, which would be lost: fill the masked elements first");
  }
}

Ref find_field(PyObject* interface, PyObject* name) {
  Ref value = find_item(interface, name);
  return value.get() == api.none ? Ref() : static_cast<Ref&&>(value);
}

Ref require_field(PyObject* interface, PyObject* name, const char* text) {
  Ref value = find_field(interface, name);
  if (!value) fail(DLX_ERROR_INVALID_ARGUMENT, "'%s' is missing", text);
  return value;
}

InterfaceLayout::InterfaceLayout(const InterfaceNames& fields, PyObject* interface)
    : shape_(require_several(require_field(interface, names.shape, "shape").get(), fields.shape),
             fields.shape),
      dtype_(read_typestr(fields, require_field(interface, names.typestr, "typestr").get())) {
  const Ref strides = find_field(interface, names.strides);
  if (strides) read_strides(fields.strides, strides.get());
}

DLTensor InterfaceLayout::description() noexcept {
  DLTensor description{};
  description.ndim = shape_.count();
  description.shape = const_cast<int64_t*>(shape_.data());
  description.strides = strided_ ? strides_ : nullptr;
  description.dtype = dtype_;
  description.device.device_type = kDLCPU;
  return description;
}

int64_t InterfaceLayout::itemsize() const noexcept { return item_bits(dtype_, false) / 8; }

bool InterfaceLayout::is_empty() const noexcept {
  const int64_t* const end = shape_.data() + shape_.count();
  return std::find(shape_.data(), end, 0) != end;
}

void InterfaceLayout::read_strides(const char* name, PyObject* object) {
  const Int64List bytes(require_several(object, name), name);
  if (bytes.count() != shape_.count() || bytes.count() > kMaxAxes) {
    fail(DLX_ERROR_INVALID_ARGUMENT,
         "it has %d strides for %d axes (expected one for each axis, at most %d)", bytes.count(),
         shape_.count(), kMaxAxes);
  }
  to_element_strides("it", shape_.count(), shape_.data(), bytes.data(), itemsize(), strides_);
  strided_ = true;
}

InterfaceMemory read_memory(const InterfaceNames& fields, PyObject* data) {
  if (api.PyTuple_Size(data) != 2) {
    fail(DLX_ERROR_INVALID_ARGUMENT,
         "'data' has %lld items (expected the address and whether it is "
         "read-only)",
         static_cast<long long>(api.PyTuple_Size(data)));
  }
  PyObject* address = api.PyTuple_GetItem(data, 0);
  const bool is_null = fields.null_is_none && address == api.none;
  void* const pointer = is_null ? nullptr : read_address(fields, address);
  const int readonly = api.PyObject_IsTrue(api.PyTuple_GetItem(data, 1));
  if (readonly < 0) throw PythonError();
  return {pointer, readonly != 0 ? DLPACK_FLAG_BITMASK_READ_ONLY : 0};
}

void set_owners(Tensor* tensor, PyObject* object, PyObject* kept) {
  set_python_owner(tensor, pair_of(Ref::share(object), Ref::share(kept)).detach(), nullptr);
}

}  // namespace dlx::py
