#include "src/python/numpy_numbers.h"

#include <atomic>
#include <cstdint>
#include <cstring>

#include "src/dtype/dtype.h"
#include "src/python/calls.h"
#include "src/python/import_buffer.h"
#include "src/python/lockless.h"
#include "src/python/ndarray.h"
#include "src/python/reference.h"
#include "src/python/state.h"
#include "src/tensor/tensor.h"

namespace dlx::py {
namespace {

/// One of NumPy's number classes. Its objects hold the value at a fixed offset, which is found by
/// the buffer that the first number exports.
struct NumberClass {
  PyObject* type;  ///< owned
  DLDataType dtype;
  /// Of the value in the object; 0: offset and dtype are not known yet, -1: they cannot be known.
  std::atomic<int64_t> offset;
};

GrowingList<NumberClass, 32> classes;

NumberClass* find_class(PyObject* type) noexcept {
  for (NumberClass& known : classes) {
    if (known.type == type) return &known;
  }
  return nullptr;
}

/// The offset of the value in `number`, or -1 if its buffer is not inside the object.
int64_t find_offset(PyObject* number, DLDataType* dtype) {
  constexpr int64_t kLargestNumber = 64;
  const TensorRef value = import_buffer(number);
  *dtype = value->dl.dtype;
  const int64_t offset = static_cast<char*>(value->dl.data) - reinterpret_cast<char*>(number);
  // not covered: a NumPy of another layout
  return value->dl.ndim == 0 && offset >= head_bytes && offset < kLargestNumber ? offset : -1;
}

const char* value_of(PyObject* number, const NumberClass& known) noexcept {
  return reinterpret_cast<char*>(number) + known.offset.load(std::memory_order_relaxed);
}

/// Copies the values of one level in C order; false at the first number of another class.
template <size_t kBytes>
bool copy_values(PyObject* object, const Shape& shape, int32_t axis, const NumberClass& expected,
                 char** out) noexcept {
  if (axis == shape.ndim) {
    if (class_of(object) != expected.type) return false;
    std::memcpy(*out, value_of(object, expected), kBytes);
    *out += kBytes;
    return true;
  }
  if (!has_extent(object, shape, axis)) return false;
  for (int64_t i = 0; i < shape.extents[axis]; ++i) {
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
    default: return false;  // not covered: NumPy has no number of another size
  }
}

/// The numbers seen in a list.
struct Mixture {
  PyObject* last = nullptr;   ///< the last NumPy class, or NULL
  NumberKind python = kNone;  ///< of the first Python number that is not a bool
};

/// Whether the nesting is regular and contains only numbers of Python and NumPy.
bool holds_numbers(PyObject* object, const Shape& shape, int32_t axis, Mixture* mixture) noexcept {
  if (axis == shape.ndim) {
    if (class_of(object) == mixture->last) return true;
    const NumberKind kind = natural_of(object);
    if (kind != kNone) {
      if (mixture->python == kNone && kind != kBools) mixture->python = kind;
      return true;
    }
    if (find_class(class_of(object)) == nullptr) return false;
    mixture->last = class_of(object);
    return true;
  }
  if (!has_extent(object, shape, axis)) return false;
  for (int64_t i = 0; i < shape.extents[axis]; ++i) {
    if (!holds_numbers(item_of(object, i), shape, axis + 1, mixture)) return false;
  }
  return true;
}

/// The class of a NumPy number if its values can be read; else NULL.
const NumberClass* readable_class(PyObject* number) {
  NumberClass* found = find_class(class_of(number));
  if (found == nullptr) return nullptr;
  int64_t offset = found->offset.load(std::memory_order_acquire);
  if (offset == 0) {
    DLDataType dtype;
    offset = find_offset(number, &dtype);
    const WriteLock lock;
    if (found->offset.load(std::memory_order_relaxed) ==
        0) {  // else other threads read the dtype already
      found->dtype = dtype;
      found->offset.store(offset, std::memory_order_release);
    }
  }
  // not covered: the same
  return offset < 0 ? nullptr : found;
}

/// Reads the value, or its i-th part, as a T.
template <typename T, typename Out>
bool load(PyObject* number, const NumberClass& known, Out* out, size_t i = 0) noexcept {
  T value;
  std::memcpy(&value, value_of(number, known) + i * sizeof value, sizeof value);
  *out = static_cast<Out>(+value);  // promotes a byte to a number
  return true;
}

constexpr int key_of(int code, int bits) noexcept { return code << 8 | bits; }
int key_of(const NumberClass& known) noexcept { return key_of(known.dtype.code, known.dtype.bits); }

}  // namespace

TensorRef tensor_of_one_class(PyObject* object, const Shape& shape, PyObject* leaf,
                              const DLDataType* dtype) {
  const NumberClass* found = readable_class(leaf);
  if (found == nullptr || (dtype != nullptr && !same_dtype(found->dtype, *dtype))) {
    return TensorRef();
  }
  TensorRef tensor = new_tensor(shape, found->dtype);
  return copy_values(object, shape, *found, tensor->dl.data) ? static_cast<TensorRef&&>(tensor)
                                                             : TensorRef();
}

TensorRef tensor_by_numpy(PyObject* object, const Shape& shape) {
  Mixture mixture;
  if (!holds_numbers(object, shape, 0, &mixture) || mixture.last == nullptr) return TensorRef();
  TensorRef tensor = natural_tensor(object, shape, mixture.python);
  if (tensor.get() != nullptr) return tensor;
  const Ref array(call(numpy_array.load(std::memory_order_acquire), object));
  if (!has_plain_dtype(array.get()))
    return TensorRef();  // an object array, for an int that is too large
  bool copied;
  return import_ndarray(array.get(), false, &copied);
}

NumberKind wider_of(NumberKind kind, PyObject* number) {
  if (kind == kBools || kind == kBigInts) return kNone;
  const NumberClass* known = readable_class(number);
  // If another int is beyond int64, the result is uint64.
  if (known != nullptr && kind == kInts && key_of(*known) == key_of(kDLUInt, 64)) return kNone;
  double real, imaginary;
  if (read_numpy_number(number, &real)) return kReals;
  return read_numpy_number(number, &real, &imaginary) ? kComplexes : kNone;
}

bool is_numpy_number(PyObject* object) noexcept { return find_class(class_of(object)) != nullptr; }

bool read_numpy_number(PyObject* number, int64_t* out) {
  const NumberClass* known = readable_class(number);
  if (known == nullptr) return false;
  switch (key_of(*known)) {
    case key_of(kDLBool, 8): return load<uint8_t>(number, *known, out);
    case key_of(kDLInt, 8): return load<int8_t>(number, *known, out);
    case key_of(kDLInt, 16): return load<int16_t>(number, *known, out);
    case key_of(kDLInt, 32): return load<int32_t>(number, *known, out);
    case key_of(kDLInt, 64): return load<int64_t>(number, *known, out);
    case key_of(kDLUInt, 8): return load<uint8_t>(number, *known, out);
    case key_of(kDLUInt, 16): return load<uint16_t>(number, *known, out);
    case key_of(kDLUInt, 32): return load<uint32_t>(number, *known, out);
    default: return false;
  }
}

bool read_numpy_number(PyObject* number, double* out) {
  const NumberClass* known = readable_class(number);
  if (known == nullptr) return false;
  switch (key_of(*known)) {
    case key_of(kDLUInt, 64): return load<uint64_t>(number, *known, out);
    case key_of(kDLFloat, 32): return load<float>(number, *known, out);
    case key_of(kDLFloat, 64): return load<double>(number, *known, out);
    default: break;
  }
  int64_t whole;
  if (!read_numpy_number(number, &whole)) return false;
  *out = static_cast<double>(whole);
  return true;
}

bool read_numpy_number(PyObject* number, double* real, double* imaginary) {
  *imaginary = 0;
  if (read_numpy_number(number, real)) return true;
  const NumberClass* known = readable_class(number);
  if (known == nullptr) return false;
  switch (key_of(*known)) {
    case key_of(kDLComplex, 64):
      // not covered: the same
      return load<float>(number, *known, real) && load<float>(number, *known, imaginary, 1);
    case key_of(kDLComplex, 128):
      // not covered: the same
      return load<double>(number, *known, real) && load<double>(number, *known, imaginary, 1);
    default: return false;
  }
}

void note_number_classes(PyObject* types) {
  const int64_t count = api.PyTuple_Size(types);
  for (int64_t i = 0; i < count; ++i) {
    Ref type = Ref::share(api.PyTuple_GetItem(types, i));
    if (find_class(type.get()) != nullptr) continue;
    classes.add([&](NumberClass* added) {
      added->type = type.detach();
      added->offset.store(0, std::memory_order_relaxed);
    });
  }
}

void clear_number_classes() noexcept { classes.clear(); }

}  // namespace dlx::py
