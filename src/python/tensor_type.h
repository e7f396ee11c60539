#ifndef DLX_SRC_PYTHON_TENSOR_TYPE_H_
#define DLX_SRC_PYTHON_TENSOR_TYPE_H_

#include <cstdint>

#include "src/python/state.h"
#include "src/tensor/tensor.h"

namespace dlx::py {

/// An instance of dlx.Tensor. It has no garbage-collector head: it refers to no Python object that
/// the collector could see (owners hang on the C++ side, where cycles are the user's matter).
struct TensorObject {
  alignas(PyObject*) char head[kLargestHead];
  PyObject* weak_references;
  Tensor* tensor;
};

inline bool is_tensor(PyObject* object) noexcept { return class_of(object) == state.tensor_type; }
inline Tensor* tensor_of(PyObject* object) noexcept {
  return reinterpret_cast<TensorObject*>(object)->tensor;
}

/// Whether work on these tensors is better done without the GIL: it takes long, or waits for a
/// device, whose streams may wait for a thread that needs it (a function in Python, by
/// cudaLaunchHostFunc).
inline bool may_take_long(const Tensor* tensor) noexcept {
  return tensor->size >= kReleaseGilFrom || tensor->dl.device.device_type != kDLCPU;
}

/// Whether it is of one element, which lies in the CPU's own memory.
inline bool is_one_here(const Tensor* tensor) noexcept {
  const DLTensor& dl = tensor->dl;
  return tensor->size == 1 && dl.device.device_type == kDLCPU && dl.data != nullptr;
}

/// Strides in bytes. Where nothing steps along an axis, and all is compact, they are what they
/// would be if something did, as NumPy has it: some consumers compare them all. `preferred`:
/// DLX_ORDER_C or _F, for what is compact in both orders.
void fill_byte_strides(const DLTensor& dl, int32_t preferred, int64_t itemsize, intptr_t* out);

/// A new dlx.Tensor that holds the reference. Throws PythonError.
PyObject* new_object(TensorRef tensor);

/// Makes the type; a new reference. Throws PythonError.
[[gnu::cold]] PyObject* make_tensor_type();

// The parts that make_tensor_type() puts together, by file.
extern PyGetSetDef tensor_getset[];                                  // attributes.cc
extern PyMethodDef tensor_methods[];                                 // methods.cc
int tensor_getbuffer(PyObject* self, PyBuffer* view, int flags);     // buffer.cc
void tensor_releasebuffer(PyObject* self, PyBuffer* view);           // buffer.cc
intptr_t tensor_length(PyObject* self);                              // indexing.cc
PyObject* tensor_getitem(PyObject* self, PyObject* key);             // indexing.cc
PyObject* tensor_item(PyObject* self, intptr_t index);               // indexing.cc
int tensor_setitem(PyObject* self, PyObject* key, PyObject* value);  // indexing.cc
PyObject* tensor_scalar(PyObject* self, PyObject*);                  // scalar.cc, as are the next
int tensor_bool(PyObject* self);
PyObject* tensor_int(PyObject* self);
PyObject* tensor_float(PyObject* self);
PyObject* tensor_index(PyObject* self);
PyObject* tensor_dlpack(PyObject* self, PyObject* const* args, intptr_t nargs,
                        PyObject* kwnames);                 // export.cc
PyObject* tensor_dlpack_device(PyObject* self, PyObject*);  // export.cc
/// A versioned capsule that shares the tensor as it is; a new reference. Throws PythonError.
PyObject* share_as_capsule(Tensor* tensor);  // export.cc
PyObject* tensor_arrow_c_array(PyObject* self, PyObject* const* args, intptr_t nargs,
                               PyObject* kwnames);  // arrow.cc
PyObject* tensor_arrow_c_device_array(PyObject* self, PyObject* const* args, intptr_t nargs,
                                      PyObject* kwnames);    // arrow.cc
PyObject* tensor_arrow_c_schema(PyObject* self, PyObject*);  // arrow.cc

/// The capsule of the type's DLPackExchangeAPI; a new reference. Throws PythonError.
PyObject* make_exchange_capsule();  // exchange.cc

// Conversions between Python and C++, in convert.cc. All throw PythonError.

/// (extent, …) as a tuple.
PyObject* tuple_of(int32_t count, const int64_t* numbers);
/// An index-like object that is not a plain int, or an int that may not fit.
int64_t to_int64_slow(PyObject* object, const char* name, PyObject* overflow);
/// An index-like object as a number; `name` is the argument. `overflow` is the exception for one
/// that does not fit, InvalidArgumentError if NULL.
inline int64_t to_int64(PyObject* object, const char* name, PyObject* overflow = nullptr) {
  if (class_of(object) == api.long_type) {
    const int64_t value = api.PyLong_AsLongLong(object);
    if (value != -1) return value;
  }
  return to_int64_slow(object, name, overflow);
}
/// A device type: an integer, or the member of an Enum that has one as its value.
int64_t to_device_type(PyObject* object, const char* name);
/// A tuple, list or single number, as numbers.
class Int64List {
 public:
  Int64List(PyObject* object, const char* name);
  ~Int64List();
  Int64List(const Int64List&) = delete;
  Int64List& operator=(const Int64List&) = delete;
  int32_t count() const noexcept { return count_; }
  const int64_t* data() const noexcept { return numbers_; }

 private:
  static constexpr int32_t kInline = 8;

  Int64List() noexcept = default;
  void add(int64_t number, const char* name);

  int32_t count_ = 0;
  int64_t* numbers_ = inline_;
  int64_t inline_[kInline];
};
/// One number for one dtype.
inline uint64_t key_of(DLDataType dtype) noexcept {
  return uint64_t{dtype.code} << 32 | uint64_t{dtype.bits} << 16 | dtype.lanes;
}
/// Code, bits and lanes, each of which has to fit its field.
DLDataType dtype_of_numbers(const int64_t* numbers);
/// Any dtype-like object, by the dtype_code hook unless it is a name that dlx knows.
DLDataType to_dtype(PyObject* object);
/// The dtype object of an array, which the check_dtype hook may refuse in words of its own.
DLDataType checked_dtype(PyObject* object);
/// Any device-like object: "cpu", or by the device_code hook.
DLDevice to_device(PyObject* object);
/// An integer, or a stream object of dlx or another library, as the number of a stream of `device`,
/// by the stream_number hook for objects. The number itself is not checked here.
int64_t to_stream(PyObject* object, DLDevice device);
/// None, True or False as DLX_COPY_*.
int32_t to_copy_mode(PyObject* object);
int32_t to_order(PyObject* object);
/// `force`: NULL is False. Throws PythonError.
bool to_force(PyObject* object);
/// The public dtype and device objects; new references.
PyObject* dtype_object(DLDataType dtype);
PyObject* device_object(DLDevice device);
/// Forgets the objects that the two functions above keep.
void clear_object_caches() noexcept;

/// Sorts the arguments of a METH_FASTCALL|METH_KEYWORDS call into `values` (borrowed, NULL where
/// left out): `positional` of the `count` names may be given by position, the first
/// `positional_only` only so; the first `required` must be there.
struct Signature {
  const char* function;
  int count;
  int positional;
  int positional_only;
  int required;
  PyObject* const* names[6];
};
void parse_arguments(const Signature& signature, PyObject* const* args, intptr_t nargs,
                     PyObject* kwnames, PyObject** values);

/// Throws PythonError unless an internal function got as many arguments as it takes.
void require_count(const char* function, intptr_t nargs, intptr_t count);
/// Entry of an internal function of exactly `count` positional arguments.
template <typename Body>
PyObject* positional(const char* function, intptr_t nargs, intptr_t count, Body&& body) {
  return enter(function, static_cast<PyObject*>(nullptr), [&]() -> PyObject* {
    require_count(function, nargs, count);
    return body();
  });
}

/// The tensor of a dlx.Tensor, which the argument `name` has to be. Throws PythonError.
Tensor* require_tensor(PyObject* object, const char* name);

/// function(argument), by the cheapest call that this CPython has.
Ref call(PyObject* function, PyObject* argument);

/// dlx.asarray(object); a new reference.
PyObject* as_tensor(PyObject* object);
/// dlx.asarray(object, copy=False), for a destination; a new reference.
PyObject* as_shared_tensor(PyObject* object);
/// dlx.asarray(object, dtype=…) for `tensor[key] = object`; a new reference.
PyObject* as_tensor_like(PyObject* object, Tensor* like);

/// Import by Arrow's methods; `*copied` if the memory is the result's alone. In arrow.cc.
TensorRef import_by_arrow(PyObject* object, int32_t copy, bool* copied);
TensorRef import_by_arrow_stream(PyObject* object, int32_t copy, bool* copied);

/// A new tensor of Python numbers: one of them, or lists and tuples of them, of `dtype`, or of the
/// one that they have by themselves if it is NULL. None for whatever else, and for what does not
/// fit.
TensorRef tensor_of_numbers(PyObject* object, const DLDataType* dtype);  // sequence.cc
/// Writes a number of Python's as an element; false, and nothing is written, for whatever else, for
/// what does not fit, and for a dtype whose elements are no whole bytes.
bool store_number(PyObject* number, DLDataType dtype, void* to);  // sequence.cc

/// Entries of the tables below: of functions that take keywords, and of those with the arguments
/// that `flags` say.
constexpr PyMethodDef fast_entry(const char* name, PyFastFunction function,
                                 const char* doc = nullptr) noexcept {
  return {name, function, METH_FASTCALL | METH_KEYWORDS, doc};
}
constexpr PyMethodDef plain_entry(const char* name, PyCFunction function, int flags,
                                  const char* doc = nullptr) noexcept {
  return {name, function, flags, doc};
}

/// Functions of the module, each a PyCFunction; ends with a NULL name.
extern PyMethodDef import_functions[];    // import.cc
extern PyMethodDef native_functions[];    // functions.cc
extern PyMethodDef arrow_functions[];     // arrow.cc
extern PyMethodDef convert_functions[];   // handover.cc
extern PyMethodDef operator_functions[];  // operators.cc
extern PyMethodDef stream_functions[];    // streams.cc
/// Forgets what handover.cc keeps about the libraries that convert() serves.
void clear_targets() noexcept;
/// Forgets what import.cc keeps about types.
void clear_type_cache() noexcept;

}  // namespace dlx::py

#endif  // DLX_SRC_PYTHON_TENSOR_TYPE_H_
