#include <cstring>

#include "src/dtype/dtype.h"
#include "src/python/protocols.h"
#include "src/python/sequence.h"
#include "src/python/tensor_type.h"

namespace dlx::py {
namespace {

/// One class of NumPy's numbers. Each has its value at a place of its own in its objects, as
/// compiled extensions know; here the buffer that the first number exports tells it.
struct NumberClass {
  PyObject* type;  ///< owned
  DLDataType dtype;
  intptr_t offset;  ///< of the value in the object; 0: not known yet, -1: cannot be known
};

constexpr int kMaxClasses = 32;
NumberClass classes[kMaxClasses];
int class_count = 0;

NumberClass* find_class(PyObject* type) noexcept {
  for (int i = 0; i < class_count; ++i) {
    if (classes[i].type == type) return &classes[i];
  }
  return nullptr;
}

/// Where the value lies in `number`, or -1 if its buffer is not in the object.
intptr_t find_offset(PyObject* number, DLDataType* dtype) {
  constexpr auto kHead = static_cast<intptr_t>(sizeof(PyObject));
  constexpr intptr_t kLargestNumber = 64;
  const TensorRef value = import_buffer(number);
  *dtype = value->dl.dtype;
  const intptr_t offset = static_cast<char*>(value->dl.data) - reinterpret_cast<char*>(number);
  return value->dl.ndim == 0 && offset >= kHead && offset < kLargestNumber ? offset : -1;
}

/// Copies the values of one level in C order; false at the first that is of another class.
template <size_t kBytes>
bool copy_values(PyObject* object, const Shape& shape, int32_t axis, const NumberClass& expected,
                 char** out) noexcept {
  if (axis == shape.ndim) {
    if (object->type != expected.type) return false;
    std::memcpy(*out, reinterpret_cast<char*>(object) + expected.offset, kBytes);
    *out += kBytes;
    return true;
  }
  if (!has_extent(object, shape, axis)) return false;
  for (intptr_t i = 0; i < shape.extents[axis]; ++i) {
    if (!copy_values<kBytes>(item_of(object, i), shape, axis + 1, expected, out)) return false;
  }
  return true;
}

bool copy_values(PyObject* object, const Shape& shape, const NumberClass& expected,
                 void* data) noexcept {
  auto* out = static_cast<char*>(data);
  switch (expected.dtype.bits) {
    case 8: return copy_values<1>(object, shape, 0, expected, &out);
    case 16: return copy_values<2>(object, shape, 0, expected, &out);
    case 32: return copy_values<4>(object, shape, 0, expected, &out);
    case 64: return copy_values<8>(object, shape, 0, expected, &out);
    case 128: return copy_values<16>(object, shape, 0, expected, &out);
    default: return false;
  }
}

/// Whether the nesting is regular, and all that it holds are numbers of Python or of NumPy. `*last`
/// is the class of NumPy's that came last, or NULL.
bool holds_numbers(PyObject* object, const Shape& shape, int32_t axis, PyObject** last) noexcept {
  if (axis == shape.ndim) {
    if (object->type == *last || natural_of(object) != kNone) return true;
    if (find_class(object->type) == nullptr) return false;
    *last = object->type;
    return true;
  }
  if (!has_extent(object, shape, axis)) return false;
  for (intptr_t i = 0; i < shape.extents[axis]; ++i) {
    if (!holds_numbers(item_of(object, i), shape, axis + 1, last)) return false;
  }
  return true;
}

}  // namespace

TensorRef tensor_of_one_class(PyObject* object, const Shape& shape, PyObject* leaf,
                              const DLDataType* dtype) {
  NumberClass* found = find_class(leaf->type);
  if (found == nullptr) return TensorRef();
  if (found->offset == 0) found->offset = find_offset(leaf, &found->dtype);
  const NumberClass expected = *found;
  if (expected.offset < 0 || (dtype != nullptr && !same_dtype(expected.dtype, *dtype))) {
    return TensorRef();
  }
  TensorRef tensor = new_tensor(shape, expected.dtype);
  return copy_values(object, shape, expected, tensor->dl.data) ? static_cast<TensorRef&&>(tensor)
                                                               : TensorRef();
}

TensorRef tensor_by_numpy(PyObject* object, const Shape& shape) {
  PyObject* last = nullptr;
  if (!holds_numbers(object, shape, 0, &last) || last == nullptr) return TensorRef();
  const Ref array(call(state.numpy_array, object));
  if (!has_plain_dtype(array.get())) return TensorRef();  // objects, for an int that is too large
  bool copied;
  return import_ndarray(array.get(), false, &copied);
}

void note_number_classes(PyObject* types) {
  clear_number_classes();
  const intptr_t count = api.PyTuple_Size(types);
  for (intptr_t i = 0; i < count && class_count < kMaxClasses; ++i) {
    classes[class_count++] = {Ref::share(api.PyTuple_GetItem(types, i)).detach(), {}, 0};
  }
}

void clear_number_classes() noexcept { class_count = 0; }

}  // namespace dlx::py
