#include "src/python/tensor_type.h"

#include <cstddef>
#include <new>

#include "src/python/attributes.h"
#include "src/python/errors.h"
#include "src/python/export_buffer.h"
#include "src/python/gil.h"
#include "src/python/indexing.h"
#include "src/python/methods.h"
#include "src/python/reference.h"
#include "src/python/scalar.h"

namespace dlx::py {
namespace {

void (*free_object)(void*) = nullptr;

void tensor_dealloc(PyObject* self) {
  auto* object = reinterpret_cast<TensorObject*>(self);
  // Atomic: another thread may drop the last weak reference at the same time.
  if (__atomic_load_n(&object->weak_references, __ATOMIC_ACQUIRE) != nullptr) {
    api.PyObject_ClearWeakRefs(self);
  }
  {
    const WithoutPendingError aside;
    const WithoutGil without(frees_device_memory(object->tensor));
    release_with_error_aside(object->tensor);
  }
  PyObject* type = class_of(self);
  free_object(self);
  api.Py_DecRef(type);  // instances of heap types hold their type
}

PyObject* tensor_new(PyObject*, PyObject*, PyObject*) {
  api.PyErr_SetString(api.type_error,
                      "dlx.Tensor cannot be called: use dlx.asarray(), dlx.from_dlpack(), "
                      "dlx.from_pointer() or dlx.empty()");
  return nullptr;
}

PyMemberDef tensor_members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(TensorObject, weak_references), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

const char kDoc[] =
    "A tensor: memory that some library owns, described by shape, strides, dtype and device.\n\n"
    "Made by dlx.asarray, dlx.from_dlpack, dlx.from_pointer and dlx.empty, and from other "
    "Tensors:\n"
    "slices and other views share their memory; masks, arrays of indices, and a reshape that\n"
    "strides cannot express, copy. The description never changes; the data is writable unless\n"
    "`readonly` is true. Array libraries take a Tensor by DLPack, the buffer protocol,\n"
    "__array_interface__ or __array__.";

template <typename Function>
void* slot(Function* function) {
  return reinterpret_cast<void*>(function);
}

}  // namespace

PyObject* new_object(TensorRef tensor) {
  auto* object = static_cast<TensorObject*>(api.PyObject_Malloc(sizeof(TensorObject)));
  // not covered: memory has run out
  if (object == nullptr) throw std::bad_alloc();
  object->weak_references = nullptr;
  object->tensor = tensor.detach();
  return api.PyObject_Init(reinterpret_cast<PyObject*>(object), state.tensor_type);
}

PyObject* make_tensor_type() {
  PyTypeSlot slots[] = {{Py_tp_dealloc, slot(tensor_dealloc)},
                        {Py_tp_new, slot(tensor_new)},
                        {Py_tp_doc, const_cast<char*>(kDoc)},
                        {Py_tp_members, tensor_members},
                        {Py_tp_getset, tensor_getset},
                        {Py_tp_methods, tensor_methods},
                        {Py_bf_getbuffer, slot(tensor_getbuffer)},
                        {Py_bf_releasebuffer, slot(tensor_releasebuffer)},
                        {Py_mp_length, slot(tensor_length)},
                        {Py_mp_subscript, slot(tensor_getitem)},
                        {Py_sq_length, slot(tensor_length)},
                        {Py_sq_item, slot(tensor_item)},
                        {Py_mp_ass_subscript, slot(tensor_setitem)},
                        {Py_nb_bool, slot(tensor_bool)},
                        {Py_nb_int, slot(tensor_int)},
                        {Py_nb_float, slot(tensor_float)},
                        {Py_nb_index, slot(tensor_index)},
                        {0, nullptr}};
  // Not a base type: a subclass would add the garbage collector's head and a __dict__.
  PyTypeSpec spec{"dlx.Tensor", sizeof(TensorObject), 0, kTypeFlagDefault, slots};
  Ref type(check(api.PyType_FromSpec(&spec)));
  free_object = reinterpret_cast<void (*)(void*)>(api.PyType_GetSlot(type.get(), Py_tp_free));
  return type.detach();
}

}  // namespace dlx::py
