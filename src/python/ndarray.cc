#include "src/python/ndarray.h"

#include <atomic>
#include <cstdint>

#include "src/base/error.h"
#include "src/dtype/dtype.h"
#include "src/python/byte_strides.h"
#include "src/python/calls.h"
#include "src/python/dtype_device.h"
#include "src/python/errors.h"
#include "src/python/integers.h"
#include "src/python/owners.h"
#include "src/python/state.h"
#include "src/python/tensor_type.h"
#include "src/python/type_cache.h"
#include "src/tensor/tensor.h"

namespace dlx::py {
namespace {

/// The fields of numpy.ndarray and numpy.dtype after the object head, which every compiled
/// extension reads directly: part of NumPy's C ABI, the same from 1.7 to 2.x. They are compared
/// with __array_interface__ once before they are trusted.
struct Descr {
  PyObject* type_object;
  char kind;
  char type;
  char byte_order;
  char former_flags;
  int type_number;
};
struct Ndarray {
  char* data;
  int ndim;
  int64_t* dimensions;
  int64_t* strides;  // in bytes
  PyObject* base;
  PyObject* descr;
  int flags;
};
template <typename Fields>
const Fields& fields_of(const PyObject* object) noexcept {
  return *reinterpret_cast<const Fields*>(reinterpret_cast<const char*>(object) + head_bytes);
}
constexpr unsigned kWriteable = 0x400;
constexpr unsigned kWarnOnWrite = 0x80000000;  // not writeable in a future NumPy

/// As in NumPy's buffers and __array_interface__.
bool is_readonly(const Ndarray& array) noexcept {
  return (static_cast<unsigned>(array.flags) & (kWriteable | kWarnOnWrite)) != kWriteable;
}

/// The dtypes of NumPy's type numbers 0 to 23; bits 0: none in DLPack, or known to hooks only.
constexpr uint8_t kLongBits = 8 * sizeof(long);
constexpr DLDataType kTypeNumbers[] = {{kDLBool, 8, 1},
                                       {kDLInt, 8, 1},
                                       {kDLUInt, 8, 1},
                                       {kDLInt, 16, 1},
                                       {kDLUInt, 16, 1},
                                       {kDLInt, 32, 1},
                                       {kDLUInt, 32, 1},
                                       {kDLInt, kLongBits, 1},
                                       {kDLUInt, kLongBits, 1},
                                       {kDLInt, 64, 1},
                                       {kDLUInt, 64, 1},
                                       {kDLFloat, 32, 1},
                                       {kDLFloat, 64, 1},
                                       {0, 0, 0},
                                       {kDLComplex, 64, 1},
                                       {kDLComplex, 128, 1},
                                       {0, 0, 0},
                                       {0, 0, 0},
                                       {0, 0, 0},
                                       {0, 0, 0},
                                       {0, 0, 0},
                                       {0, 0, 0},
                                       {0, 0, 0},
                                       {kDLFloat, 16, 1}};

enum class Trust { kUnknown, kTrusted, kDistrusted };
std::atomic<Trust> fields_trust{Trust::kUnknown};

/// numpy.ndarray, once one was imported; a static type, so its address stays its own.
std::atomic<PyObject*> ndarray_class{nullptr};

/// Whether __array_interface__ agrees with the fields.
bool fields_agree(PyObject* object) {
  const auto& array = fields_of<Ndarray>(object);
  const Ref interface(check(api.PyObject_GetAttr(object, names.__array_interface__)));
  PyObject* data = api.PyDict_GetItemString(interface.get(), "data");
  PyObject* shape = api.PyDict_GetItemString(interface.get(), "shape");
  // not covered: NumPy has both
  if (data == nullptr || shape == nullptr) return false;
  const Ref address(check(api.PySequence_Tuple(data)));
  // not covered: a NumPy of another layout
  if (api.PyLong_AsVoidPtr(api.PyTuple_GetItem(address.get(), 0)) != array.data) return false;
  // not covered: the same
  if (api.PyTuple_Size(shape) != array.ndim) return false;
  for (int i = 0; i < array.ndim; ++i) {
    // not covered: the same
    if (to_int64(api.PyTuple_GetItem(shape, i), "shape") != array.dimensions[i]) return false;
  }
  const bool readonly = api.PyTuple_GetItem(address.get(), 1) == api.true_;
  return readonly == is_readonly(array);
}

bool is_trusted(PyObject* object) {
  if (fields_trust == Trust::kUnknown) {
    // not covered: the same
    fields_trust = fields_agree(object) ? Trust::kTrusted : Trust::kDistrusted;
  }
  return fields_trust == Trust::kTrusted;
}

constexpr char kForeignOrder = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? '>' : '<';

/// The dtype by type number, or bits 0.
DLDataType known_type(const Ndarray& array) noexcept {
  const auto& descr = fields_of<Descr>(array.descr);
  const auto number = static_cast<unsigned>(descr.type_number);
  if (number >= sizeof kTypeNumbers / sizeof *kTypeNumbers) return {0, 0, 0};
  return descr.byte_order == kForeignOrder ? DLDataType{0, 0, 0} : kTypeNumbers[number];
}

/// The dtype. Hooks know those without a type number, and raise if DLPack lacks the dtype.
DLDataType dtype_of(PyObject* object) {
  const auto& array = fields_of<Ndarray>(object);
  const DLDataType known = known_type(array);
  if (known.bits != 0) return known;
  return checked_dtype(array.descr, object);
}

/// Fills shape, strides and size; false if some strides are not whole elements.
bool fill_layout(const Ndarray& array, int64_t item_bytes, Tensor* tensor) noexcept {
  int64_t size = 1;
  for (int i = 0; i < array.ndim; ++i) {
    tensor->dl.shape[i] = array.dimensions[i];
    size *= array.dimensions[i];
  }
  tensor->size = size;
  bool whole = true;
  for (int i = 0; i < array.ndim; ++i) {
    // A shift is faster than a division; most item sizes are powers of two.
    const int64_t bytes = array.strides[i];
    const int64_t stride = (item_bytes & (item_bytes - 1)) == 0
                               ? bytes >> __builtin_ctzll(static_cast<uint64_t>(item_bytes))
                               : bytes / item_bytes;
    tensor->dl.strides[i] = stride;
    whole = whole && (stride * item_bytes == bytes || array.dimensions[i] <= 1);
  }
  return whole || size == 0;
}

/// NumPy's type number of a dtype, or -1.
int type_number_of(DLDataType dtype) noexcept {
  constexpr int kCount = sizeof kTypeNumbers / sizeof *kTypeNumbers;
  for (int i = 0; i < kCount && dtype.lanes == 1; ++i) {
    if (kTypeNumbers[i].code == dtype.code && kTypeNumbers[i].bits == dtype.bits) return i;
  }
  return -1;
}

/// The functions of NumPy's C API that dlx uses, by their indices in its table: the same from 1.7
/// to 2.x.
struct ArrayApi {
  void* const* table;

  template <typename Function>
  Function* at(int index) const noexcept {
    return reinterpret_cast<Function*>(table[index]);
  }
  unsigned abi_version() const noexcept { return at<unsigned()>(0)(); }
  PyObject* array_type() const noexcept { return static_cast<PyObject*>(table[2]); }
  /// A new array on existing memory. Throws PythonError.
  Ref new_array(int type_number, int ndim, const int64_t* shape, const int64_t* strides, void* data,
                int flags) const {
    using NewFromDescr =
        PyObject*(PyObject*, PyObject*, int, const int64_t*, const int64_t*, void*, int, PyObject*);
    PyObject* descr = check(at<PyObject*(int)>(45)(type_number));  // consumed by the next call
    return Ref(check(
        at<NewFromDescr>(94)(array_type(), descr, ndim, shape, strides, data, flags, nullptr)));
  }
  /// Takes over `base`, even after an error. Throws PythonError.
  void set_base(PyObject* array, PyObject* base) const {
    // not covered: memory has run out
    if (at<int(PyObject*, PyObject*)>(282)(array, base) < 0) throw PythonError();
  }
};
std::atomic<void* const*> array_api{nullptr};

/// The Tensor whose memory the array uses, through .numpy() or any buffer, or NULL. Importing a
/// view of that Tensor keeps the chain of owners short: code that converts back and forth in a loop
/// would otherwise lengthen it each time, and releasing it would overflow the stack.
Tensor* find_origin(PyObject* object) {
  PyObject* base = fields_of<Ndarray>(object).base;
  while (base != nullptr && class_of(base) == class_of(object)) {
    base = fields_of<Ndarray>(base).base;
  }
  if (base == nullptr) return nullptr;
  if (is_tensor(base)) return tensor_of(base);
  if (class_of(base) != api.memoryview_type) return nullptr;
  const Ref exporter(api.PyObject_GetAttr(base, names.obj));
  // not covered: CPython refuses to release a memoryview that is used
  if (!exporter) {
    // not covered from here: a memoryview that was released, which CPython refuses while it is used
    api.PyErr_Clear();
    return nullptr;
    // covered again
  }
  return is_tensor(exporter.get()) ? tensor_of(exporter.get()) : nullptr;
}

}  // namespace

bool has_plain_dtype(PyObject* object) {
  return is_trusted(object) && known_type(fields_of<Ndarray>(object)).bits != 0;
}

bool read_ndarray(const PyObject* object, DLTensor* out, int64_t* room, uint64_t* flags) noexcept {
  if (class_of(object) != ndarray_class.load(std::memory_order_relaxed)) return false;
  const auto& array = fields_of<Ndarray>(object);
  const DLDataType known = known_type(array);
  constexpr int kMostAxes = 8;
  if (known.bits == 0 || array.ndim > kMostAxes) return false;
  const int shift = __builtin_ctz(known.bits) - 3;  // of the bytes, a power of two
  int64_t rests = 0;
  for (int i = 0; i < array.ndim; ++i) {
    const int64_t bytes = array.strides[i];
    room[i] = array.dimensions[i];
    room[kMostAxes + i] = bytes >> shift;
    // An axis of one element has a stride of no meaning.
    rests |= array.dimensions[i] > 1 ? bytes : 0;
  }
  out->data = array.data;
  out->device = {kDLCPU, 0};
  out->ndim = array.ndim;
  out->dtype = known;
  out->shape = room;
  out->strides = room + kMostAxes;
  out->byte_offset = 0;
  *flags = is_readonly(array) ? DLPACK_FLAG_BITMASK_READ_ONLY : 0;
  return (rests & ((int64_t{1} << shift) - 1)) == 0;
}

void note_ndarray(PyObject* object) {
  constexpr unsigned long kOnHeap = 1ul << 9;
  PyObject* const type = class_of(object);
  if (is_trusted(object) && (api.PyType_GetFlags(type) & kOnHeap) == 0) {
    ndarray_class.store(type, std::memory_order_relaxed);
  }
}

TensorRef import_ndarray(PyObject* object, bool may_copy, bool* copied) {
  // not covered: a NumPy of another layout
  if (!is_trusted(object)) return TensorRef();
  const auto& array = fields_of<Ndarray>(object);
  const DLDataType dtype = dtype_of(object);
  Tensor* origin = find_origin(object);
  TensorRef tensor = origin == nullptr ? new_root(array.ndim) : new_view(origin, array.ndim);
  tensor->dl.dtype = dtype;
  tensor->flags = 0;
  // NumPy gives every element whole bytes, also ml_dtypes' int4 and similar types.
  if (dtype.bits < 8) tensor->flags |= DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED;
  if (!fill_layout(array, item_bits(dtype, true) / 8, tensor.get())) {
    if (!may_copy) {
      fail(DLX_ERROR_COPY_REFUSED,
           "a copy is needed (the array's strides are not whole elements), and copy=False");
    }
    const Ref copy = call_method(object, names.copy);
    if ((look_up_type(class_of(copy.get())).flags & kNdarray) ==
        0) {  // another method of that name
      raise(api.type_error, "`copy()` of %s must return a numpy.ndarray (got %s)",
            type_text(class_of(object)).text, type_text(class_of(copy.get())).text);
    }
    *copied = true;
    return import_ndarray(copy.get(), false, copied);
  }
  tensor->dl.data = array.data;
  if (origin == nullptr) tensor->dl.device.device_type = kDLCPU;
  if (is_readonly(array)) tensor->flags |= DLPACK_FLAG_BITMASK_READ_ONLY;
  if (origin == nullptr) {
    api.Py_IncRef(object);
    set_python_owner(tensor.get(), object, nullptr);
  }
  return tensor;
}

Ref new_ndarray(PyObject* owner) {
  constexpr int kMaxNdim = 32;  // of every NumPy
  const ArrayApi numpy_api{array_api.load(std::memory_order_acquire)};
  const Tensor* tensor = tensor_of(owner);
  const DLTensor& dl = tensor->dl;
  const int number = type_number_of(dl.dtype);
  if (numpy_api.table == nullptr || number < 0 || dl.device.device_type != kDLCPU ||
      dl.data == nullptr || dl.ndim > kMaxNdim) {
    return Ref();
  }
  int64_t strides[kMaxNdim];
  fill_byte_strides(dl, DLX_ORDER_C, dl.dtype.bits / 8, strides);
  const int flags = tensor->readonly() ? 0 : static_cast<int>(kWriteable);
  Ref array = numpy_api.new_array(number, dl.ndim, dl.shape, strides, dl.data, flags);
  numpy_api.set_base(array.get(), Ref::share(owner).detach());
  return array;
}

Ref new_empty_ndarray(DLDataType dtype, int32_t ndim, const int64_t* shape, int32_t order) {
  const ArrayApi numpy_api{array_api.load(std::memory_order_acquire)};
  const int number = type_number_of(dtype);
  if (numpy_api.table == nullptr || number < 0) return Ref();
  constexpr int kColumnMajor = 2;
  return numpy_api.new_array(number, ndim, shape, nullptr, nullptr,
                             order == DLX_ORDER_F ? kColumnMajor : 0);
}

void note_array_api(PyObject* capsule) {
  if (class_of(capsule) != api.capsule_type) return;
  const ArrayApi found{static_cast<void* const*>(api.PyCapsule_GetPointer(capsule, nullptr))};
  // not covered: NumPy has its API in a capsule
  if (found.table == nullptr) throw PythonError();
  const unsigned major = found.abi_version() >> 24;
  // not covered: NumPy 1, or a NumPy of another layout
  if (major != 1 && major != 2) return;
  // A trial: the API is not trusted before it works.
  static double data[] = {0, 0, 0};
  const int64_t shape[] = {2}, strides[] = {16};
  const Ref array =
      found.new_array(type_number_of(make_dtype(kDLFloat, 64)), 1, shape, strides, data, 0);
  const auto& fields = fields_of<Ndarray>(array.get());
  // not covered: a NumPy of another layout
  if (!is_trusted(array.get()) || fields.data != reinterpret_cast<char*>(data) ||
      // not covered: the same
      fields.strides[0] != strides[0] || !is_readonly(fields)) {
    return;  // not covered: a NumPy of another layout
  }
  array_api.store(found.table, std::memory_order_release);
}

void reset_ndarray_check() noexcept {
  fields_trust = Trust::kUnknown;
  ndarray_class.store(nullptr, std::memory_order_relaxed);
  array_api.store(nullptr, std::memory_order_release);
}

}  // namespace dlx::py
