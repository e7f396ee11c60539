#include "src/python/sequence.h"

#include <cmath>
#include <cstring>
#include <type_traits>

#include "src/device/registry.h"
#include "src/dtype/dtype.h"
#include "src/python/errors.h"
#include "src/python/numpy_numbers.h"
#include "src/python/reference.h"
#include "src/python/stack.h"
#include "src/tensor/tensor.h"

namespace dlx::py {
namespace {

/// Numbers are read only from objects that are exactly of Python's own classes, because that runs no
/// foreign code. Arrays in lists are left to stack.h, other classes and all errors to the hook
/// asarray_fallback.

// ---- one number --------------------------------------------------------------------------------

/// A Python int as a number of C, or false if it does not fit.
bool read_int(PyObject* value, int64_t* out) {
  *out = api.PyLong_AsLongLong(value);
  if (*out != -1 || api.PyErr_Occurred() == nullptr) return true;
  api.PyErr_Clear();
  return false;
}

bool read_int(PyObject* value, uint64_t* out) {
  *out = api.PyLong_AsUnsignedLongLong(value);
  if (*out != ~uint64_t{0} || api.PyErr_Occurred() == nullptr) return true;
  api.PyErr_Clear();
  return false;
}

/// A real number, also of NumPy, as a double; false for other objects and for an int beyond double.
bool read_real(PyObject* value, double* out) {
  if (class_of(value) == api.float_type) {
    *out = api.PyFloat_AsDouble(value);
    return true;
  }
  if (class_of(value) == api.bool_type) {
    *out = value == api.true_ ? 1 : 0;
    return true;
  }
  if (class_of(value) != api.long_type) return read_numpy_number(value, out);
  *out = api.PyLong_AsDouble(value);
  if (*out != -1 || api.PyErr_Occurred() == nullptr) return true;
  api.PyErr_Clear();
  return false;
}

/// A float without a fraction as an int; false for other floats and beyond 2^63.
template <typename Wide>
bool whole_of(double real, Wide* out) noexcept {
  constexpr double kLimit = 9223372036854775808.0;
  if (!(real >= -kLimit && real < kLimit) || std::trunc(real) != real) return false;
  if constexpr (std::is_unsigned<Wide>::value) {
    if (real < 0) return false;
  }
  *out = static_cast<Wide>(real);
  return true;
}

// 16-bit floats: rounded to nearest, ties to even.

struct Half {
  explicit Half(double real) noexcept {
    uint64_t from;
    std::memcpy(&from, &real, sizeof from);
    const auto sign = static_cast<uint16_t>(from >> 48 & 0x8000);
    const int exponent = static_cast<int>(from >> 52 & 0x7ff) - 1023;
    const uint64_t mantissa = from & ((uint64_t{1} << 52) - 1);
    if (exponent > 15) {
      const bool nan = exponent == 1024 && mantissa != 0;
      pattern = static_cast<uint16_t>(sign | (nan ? 0x7e00 : 0x7c00));
      return;
    }
    if (exponent < -25) {
      pattern = sign;
      return;
    }
    // Below 2^-14 the number is subnormal: each power of two less costs one bit of the mantissa.
    const int shift = exponent >= -14 ? 42 : 28 - exponent;
    const uint64_t significand = mantissa | uint64_t{1} << 52;
    const uint64_t whole = significand >> shift;
    const uint64_t rest = significand - (whole << shift), tie = uint64_t{1} << (shift - 1);
    const uint64_t up = rest > tie || (rest == tie && whole % 2 == 1) ? 1 : 0;
    const uint64_t base = exponent >= -14 ? static_cast<uint64_t>(exponent + 14) << 10 : 0;
    pattern = static_cast<uint16_t>(sign | (base + whole + up));  // a carry raises the exponent
  }
  uint16_t pattern;
};

/// Rounded to float32 first, like NumPy's conversion of Python floats.
struct BFloat16 {
  explicit BFloat16(double real) noexcept {
    const auto single = static_cast<float>(real);
    uint32_t from;
    std::memcpy(&from, &single, sizeof from);
    const uint32_t rounded = (from + 0x7fff + (from >> 16 & 1)) >> 16;
    pattern = static_cast<uint16_t>(std::isnan(single) ? 0x7fc0 : rounded);
  }
  uint16_t pattern;
};

// How a number becomes an element: one class for each kind of dtype. `kStrict`: takes only numbers
// of its own kind; next to ints beyond int64 it takes no NumPy numbers, because NumPy promotes
// those by rules of its own.

/// A NumPy integer as a number of C, or false if it does not fit.
template <typename Wide>
bool read_numpy_int(PyObject* value, Wide* out) {
  int64_t number;
  if (!read_numpy_number(value, &number)) return false;
  if constexpr (std::is_unsigned<Wide>::value) {
    if (number < 0) return false;
  }
  *out = static_cast<Wide>(number);  // not covered: the counters see the end of the block here
  return true;
}

template <typename T, bool kStrict>
struct Integers {
  using Element = T;
  using Wide = std::conditional_t<std::is_unsigned<T>::value, uint64_t, int64_t>;
  static bool store(PyObject* value, T* out) {
    Wide wide;
    if (class_of(value) == api.long_type) {
      if (!read_int(value, &wide)) return false;
    } else if (class_of(value) == api.bool_type) {
      wide = value == api.true_ ? 1 : 0;
    } else if (!read_other(value, &wide)) {
      return false;
    }
    *out = static_cast<T>(wide);
    return static_cast<Wide>(*out) == wide;
  }
  static bool read_other(PyObject* value, Wide* out) {
    const bool real = class_of(value) == api.float_type;
    if constexpr (!kStrict) {
      return real ? whole_of(api.PyFloat_AsDouble(value), out) : read_numpy_int(value, out);
    } else if constexpr (std::is_signed<T>::value) {
      return !real && read_numpy_int(value, out);
    } else {
      return false;
    }
  }
};

template <typename T>
struct Reals {
  using Element = T;
  static bool store(PyObject* value, T* out) {
    double real;
    if (!read_real(value, &real)) return false;
    *out = static_cast<T>(real);
    return true;
  }
};

template <typename T>
struct Complexes {
  struct Element {
    T real, imaginary;
  };
  static bool store(PyObject* value, Element* out) {
    double real, imaginary = 0;
    if (class_of(value) == api.complex_type) {
      real = api.PyComplex_RealAsDouble(value);
      imaginary = api.PyComplex_ImagAsDouble(value);
    } else if (!read_real(value, &real) && !read_numpy_number(value, &real, &imaginary)) {
      return false;
    }
    *out = {static_cast<T>(real), static_cast<T>(imaginary)};
    return true;
  }
};

template <bool kStrict>
struct Bools {
  using Element = unsigned char;
  static bool store(PyObject* value, Element* out) {
    if (class_of(value) == api.bool_type) {
      *out = value == api.true_ ? 1 : 0;
      return true;
    }
    if constexpr (kStrict) {
      return false;
    } else {
      const bool number = class_of(value) == api.long_type || class_of(value) == api.float_type ||
                          class_of(value) == api.complex_type;
      if (number) *out = api.PyObject_IsTrue(value) == 1 ? 1 : 0;
      return number;
    }
  }
};

// ---- lists and tuples --------------------------------------------------------------------------

// not covered from here: free-threaded CPython

/// Nested tuples of the same numbers; none beyond kMaxDepth. Without a GIL another thread may
/// change a list while it is read here, and free its items.
Ref frozen(PyObject* object, int32_t depth) {
  if (!is_list_or_tuple(object)) return Ref::share(object);
  if (depth == kMaxDepth) return Ref();
  Ref items(check(api.PySequence_Tuple(object)));
  const int64_t count = api.PyTuple_Size(items.get());
  if (count == 0 || !is_list_or_tuple(api.PyTuple_GetItem(items.get(), 0))) return items;
  Ref nested(check(api.PyTuple_New(count)));
  for (int64_t i = 0; i < count; ++i) {
    Ref item = frozen(api.PyTuple_GetItem(items.get(), i), depth + 1);
    if (!item) return Ref();
    api.PyTuple_SetItem(nested.get(), i, item.detach());
  }
  return nested;
}

// covered again

/// The shape by the first item of each level, and the first number in `*leaf` (NULL if there is
/// none). False beyond kMaxDepth, which also ends a list that contains itself.
bool outer_shape(PyObject* object, Shape* shape, PyObject** leaf) {
  *leaf = nullptr;
  while (is_list_or_tuple(object)) {
    if (shape->ndim == kMaxDepth) return false;
    const int64_t length = length_of(object);
    shape->extents[shape->ndim++] = length;
    if (length == 0) return true;
    object = item_of(object, 0);
  }
  *leaf = object;
  return true;
}

/// Writes the numbers of one level in C order. Checks lengths and classes again: an allocator
/// written in Python may have changed the lists. Returns NULL, or the first object that does not
/// fit.
template <typename Kind>
PyObject* fill(PyObject* object, const Shape& shape, int32_t axis, typename Kind::Element** out) {
  if (axis == shape.ndim) return Kind::store(object, (*out)++) ? nullptr : object;
  if (!has_extent(object, shape, axis)) return api.none;
  for (int64_t i = 0; i < shape.extents[axis]; ++i) {
    PyObject* item = item_of(object, i);
    PyObject* bad = axis + 1 == shape.ndim ? (Kind::store(item, (*out)++) ? nullptr : item)
                                           : fill<Kind>(item, shape, axis + 1, out);
    if (bad != nullptr) return bad;
  }
  return nullptr;
}

template <typename Kind>
PyObject* fill(PyObject* object, const Shape& shape, void* data) {
  auto* out = static_cast<typename Kind::Element*>(data);
  return fill<Kind>(object, shape, 0, &out);
}

using Fill = PyObject* (*)(PyObject*, const Shape&, void*);

/// Writes numbers as elements of the dtype that the caller asked for; NULL if none does.
Fill find_fill(DLDataType dtype) noexcept {
  switch (dtype.lanes == 1 ? dtype.code << 16 | dtype.bits : 0) {
    case kDLBool << 16 | 8: return fill<Bools<false>>;
    case kDLInt << 16 | 8: return fill<Integers<int8_t, false>>;
    case kDLInt << 16 | 16: return fill<Integers<int16_t, false>>;
    case kDLInt << 16 | 32: return fill<Integers<int32_t, false>>;
    case kDLInt << 16 | 64: return fill<Integers<int64_t, false>>;
    case kDLUInt << 16 | 8: return fill<Integers<uint8_t, false>>;
    case kDLUInt << 16 | 16: return fill<Integers<uint16_t, false>>;
    case kDLUInt << 16 | 32: return fill<Integers<uint32_t, false>>;
    case kDLUInt << 16 | 64: return fill<Integers<uint64_t, false>>;
    case kDLFloat << 16 | 16: return fill<Reals<Half>>;
    case kDLBfloat << 16 | 16: return fill<Reals<BFloat16>>;
    case kDLFloat << 16 | 32: return fill<Reals<float>>;
    case kDLFloat << 16 | 64: return fill<Reals<double>>;
    case kDLComplex << 16 | 32: return fill<Complexes<Half>>;
    case kDLComplex << 16 | 64: return fill<Complexes<float>>;
    case kDLComplex << 16 | 128: return fill<Complexes<double>>;
    default: return nullptr;
  }
}

// ---- the numbers' own dtype ---------------------------------------------------------------------

struct Natural {
  DLDataType dtype;
  Fill fill;
};
/// In the order of NumberKind.
const Natural kNatural[] = {{{kDLBool, 8, 1}, fill<Bools<true>>},
                            {{kDLInt, 64, 1}, fill<Integers<int64_t, true>>},
                            {{kDLUInt, 64, 1}, fill<Integers<uint64_t, true>>},
                            {{kDLFloat, 64, 1}, fill<Reals<double>>},
                            {{kDLComplex, 128, 1}, fill<Complexes<double>>}};

}  // namespace

TensorRef natural_tensor(PyObject* object, const Shape& shape, NumberKind kind) {
  while (kind < kNone) {
    TensorRef tensor = new_tensor(shape, kNatural[kind].dtype);
    PyObject* misfit = kNatural[kind].fill(object, shape, tensor->dl.data);
    if (misfit == nullptr) return tensor;
    NumberKind wanted = natural_of(misfit);
    if (wanted == kNone) wanted = wider_of(kind, misfit);
    if (wanted == kInts && kind == kInts) {
      kind = kBigInts;
    } else if (wanted > kind) {
      kind = wanted;
    } else {
      break;  // not a number, ragged, or too large
    }
  }
  return TensorRef();
}

TensorRef new_tensor(const Shape& shape, DLDataType dtype) {
  return empty(shape.ndim, shape.extents, dtype, kCpu, 0, Allocation());
}

TensorRef tensor_of_numbers(PyObject* object, const DLDataType* dtype) {
  Ref items;
  if (class_of(object) == api.range_type) {
    items = Ref(check(api.PySequence_Tuple(object)));
    // not covered: free-threaded CPython
  } else if (is_free_threaded()) {
    items = frozen(object, 0);       // not covered: free-threaded CPython
    if (!items) return TensorRef();  // not covered: free-threaded CPython
  }
  if (items) object = items.get();
  Shape shape;
  PyObject* leaf;
  if (!outer_shape(object, &shape, &leaf)) return TensorRef();
  if (leaf != nullptr && natural_of(leaf) == kNone) {
    TensorRef tensor = tensor_of_one_class(object, shape, leaf, dtype);
    if (tensor.get() == nullptr && shape.ndim > 0)
      tensor = stack_arrays(object, shape, leaf, dtype);
    if (tensor.get() != nullptr || dtype != nullptr) return tensor;
    return tensor_by_numpy(object, shape);
  }
  if (dtype == nullptr) {
    TensorRef tensor = natural_tensor(object, shape, leaf == nullptr ? kReals : natural_of(leaf));
    return tensor.get() == nullptr ? tensor_by_numpy(object, shape)
                                   : static_cast<TensorRef&&>(tensor);
  }
  const Fill fill = find_fill(*dtype);
  if (fill == nullptr) return TensorRef();
  TensorRef tensor = new_tensor(shape, *dtype);
  return fill(object, shape, tensor->dl.data) == nullptr ? static_cast<TensorRef&&>(tensor)
                                                         : TensorRef();
}

bool store_number(PyObject* number, DLDataType dtype, void* to) {
  if (natural_of(number) == kNone) return false;
  const Fill fill = find_fill(dtype);
  alignas(16) char element[16];
  if (fill == nullptr || fill(number, Shape(), element) != nullptr) return false;
  std::memcpy(to, element, static_cast<size_t>(dtype.bits) / 8);  // may be unaligned
  return true;
}

}  // namespace dlx::py
