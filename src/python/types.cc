#include "src/python/types.h"

#include <cstdio>
#include <cstring>

#include "src/python/protocols.h"
#include "src/python/tensor_type.h"

namespace dlx::py {

TypeEntry type_entries[128][2];

namespace {

void clear(TypeEntry* entry) noexcept {
  const Ref weak_reference(entry->weak_reference), descriptor(entry->lazy_bits.requires_grad);
  *entry = TypeEntry();
}

/// Callback of the weak references: the type is gone, and its address may be another's soon.
PyObject* forget_type(PyObject*, PyObject* weak_reference) {
  for (auto& place : type_entries) {
    for (TypeEntry& entry : place) {
      if (entry.weak_reference == weak_reference) clear(&entry);
    }
  }
  api.Py_IncRef(api.none);
  return api.none;
}

PyMethodDef forget_type_def = plain_entry("forget_type", forget_type, METH_O);

TypeEntry* find_entry(PyObject* type) noexcept {
  TypeEntry* place = place_of(type);
  if (place[0].type == type) return &place[0];
  return place[1].type == type ? &place[1] : nullptr;
}

/// The newest table of DLPack 1.x in the type's chain, or NULL.
const DLPackExchangeAPI* find_table(PyObject* type) {
  const Ref capsule = find_attribute(type, names.__dlpack_c_exchange_api__);
  if (!capsule || api.PyCapsule_IsValid(capsule.get(), kExchangeApi) == 0) return nullptr;
  auto* header =
      static_cast<DLPackExchangeAPIHeader*>(api.PyCapsule_GetPointer(capsule.get(), kExchangeApi));
  while (header != nullptr && header->version.major != 1) header = header->prev_api;
  auto* table = reinterpret_cast<const DLPackExchangeAPI*>(header);
  const bool usable = table != nullptr && table->managed_tensor_from_py_object_no_sync != nullptr;
  return usable ? table : nullptr;
}

TypeEntry examine(PyObject* type) {
  TypeEntry entry;
  entry.type = type;
  const Ref flags(check(call_objects(state.classify, type)));
  entry.flags = static_cast<int>(to_int64(flags.get(), "classify"));
  const Ref dlpack = find_attribute(type, names.__dlpack__);
  // None: Python's way of saying that a class has not what its base has.
  if (dlpack && dlpack.get() != api.none) entry.flags |= kHasDlpack;
  if (type == api.capsule_type) entry.flags |= kHasDlpack;  // what __dlpack__ would return
  if ((entry.flags & kTable) != 0) entry.table = find_table(type);
  const Ref callback(check(api.PyCFunction_NewEx(&forget_type_def, nullptr, nullptr)));
  entry.weak_reference = check(api.PyWeakref_NewRef(type, callback.get()));
  return entry;
}

}  // namespace

Ref find_attribute(PyObject* object, PyObject* name) {
  PyObject* value = nullptr;
  if (api.lookup_attribute(object, name, &value) < 0) throw PythonError();
  return Ref(value);
}

TypeText type_text(PyObject* type) noexcept {
  TypeText out;
  const WithoutPendingError aside;
  auto text_of = [type](PyObject* attribute, Ref* value) {
    *value = Ref(api.PyObject_GetAttr(type, attribute));
    const bool text = *value && (api.PyType_GetFlags(value->get()->type) & kTypeFlagUnicode) != 0;
    const char* result = text ? api.PyUnicode_AsUTF8AndSize(value->get(), nullptr) : nullptr;
    api.PyErr_Clear();
    return result == nullptr ? "?" : result;
  };
  Ref module_value, name_value;
  const char* module = text_of(names.__module__, &module_value);
  const char* name = text_of(names.__qualname__, &name_value);
  if (std::strcmp(module, "builtins") == 0) {
    std::snprintf(out.text, sizeof out.text, "%s", name);
  } else {
    std::snprintf(out.text, sizeof out.text, "%s.%s", module, name);
  }
  return out;
}

void fail_by(const char* protocol, PyObject* object, const Error& error) {
  fail(error.status(), "%s of %s: %s", protocol, type_text(object->type).text, error.what());
}

TypeEntry look_up_new_type(PyObject* type) {
  TypeEntry* place = place_of(type);
  TypeEntry entry = place[1];
  if (entry.type != type) {
    entry = examine(type);
    clear(&place[1]);
  }
  place[1] = place[0];
  place[0] = entry;
  return entry;
}

void note_legacy_signature(PyObject* type) noexcept {
  if (TypeEntry* known = find_entry(type)) known->legacy_signature = true;
}

namespace {

PyCFunction find_predicate(PyObject* object, PyObject* name) {
  const Ref method(check(api.PyObject_GetAttr(object, name)));
  if (method.get()->type != api.function_type) return nullptr;
  if (api.PyCFunction_GetFlags(method.get()) != METH_NOARGS) return nullptr;
  return api.PyCFunction_GetFunction(method.get());
}

/// The type's attribute, if it is one in C (getset_descriptor, as Tensor's own are).
Ref find_descriptor(PyObject* type, PyObject* name) {
  const Ref own(check(api.PyObject_GetAttr(state.tensor_type, names.shape)));
  Ref found(check(api.PyObject_GetAttr(type, name)));
  return found.get()->type == own.get()->type ? static_cast<Ref&&>(found) : Ref();
}

}  // namespace

LazyBitPredicates find_lazy_bits(PyObject* object) {
  LazyBitPredicates found;
  found.is_neg = find_predicate(object, names.is_neg);
  found.is_conj = find_predicate(object, names.is_conj);
  Ref descriptor = find_descriptor(object->type, names.requires_grad);
  TypeEntry* known = find_entry(object->type);
  if (known == nullptr) return found;
  if (descriptor) {
    void* get = api.PyType_GetSlot(descriptor.get()->type, Py_tp_descr_get);
    api.PyErr_Clear();  // CPython 3.9 refuses to look into types that are not on the heap
    found.get = reinterpret_cast<LazyBitPredicates::DescriptorGet>(get);
    found.requires_grad = descriptor.detach();
  }
  const Ref old(known->lazy_bits.requires_grad);
  known->lazy_bits = found;
  return found;
}

void clear_type_cache() noexcept {
  for (auto& place : type_entries) place[0] = place[1] = TypeEntry();
  reset_ndarray_check();
  forget_dtypes();
}

}  // namespace dlx::py
