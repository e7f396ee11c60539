#include "src/python/type_cache.h"

#include <sched.h>

#include <cstdio>
#include <cstring>
#include <utility>

#include "src/python/import_plain.h"
#include "src/python/lockless.h"
#include "src/python/tensor_type.h"

namespace dlx::py {

namespace {

std::atomic_flag changing = ATOMIC_FLAG_INIT;

}  // namespace

Changing::Changing() noexcept {
  while (changing.test_and_set(std::memory_order_acquire)) sched_yield();
}

Changing::~Changing() { changing.clear(std::memory_order_release); }

namespace {

// Two types fit in a place, the last used one first; three only cost each other time.
using TypePlace = Published<TypeEntry>[2];
TypePlace type_places[128];

TypePlace& place_of(PyObject* type) noexcept {
  return type_places[(reinterpret_cast<uintptr_t>(type) >> 4) * 0x9e3779b97f4a7c15u >> 57];
}

void let_go(const TypeEntry& entry) noexcept {
  const Ref weak_reference(entry.weak_reference), descriptor(entry.lazy_bits.requires_grad);
}

/// Takes out the entry that the weak reference belongs to.
[[gnu::cold]] TypeEntry take_entry(PyObject* weak_reference) noexcept {
  const Changing changing;
  for (TypePlace& place : type_places) {
    for (Published<TypeEntry>& slot : place) {
      const TypeEntry entry = slot.get();
      if (entry.weak_reference != weak_reference) continue;
      slot.set(TypeEntry());
      return entry;
    }
  }
  return TypeEntry();
}

/// Callback of the weak references: the type is gone, and its address may be another's soon.
PyObject* forget_type(PyObject*, PyObject* weak_reference) {
  let_go(take_entry(weak_reference));
  api.Py_IncRef(api.none);
  return api.none;
}

PyMethodDef forget_type_def = plain_entry("forget_type", forget_type, METH_O);

/// Nothing happens if the type has no entry any more.
template <typename Change>
[[gnu::cold]] void change_entry(PyObject* type, Change&& change) noexcept {
  const Changing changing;
  for (Published<TypeEntry>& slot : place_of(type)) {
    TypeEntry entry = slot.get();
    if (entry.type != type) continue;
    change(&entry);
    slot.set(entry);
    return;
  }
}

/// Puts an entry first in its place; returns the one that had to go.
[[gnu::cold]] TypeEntry put_first(const TypeEntry& entry) noexcept {
  const Changing changing;
  TypePlace& place = place_of(entry.type);
  const TypeEntry last = place[1].get();
  place[1].set(place[0].get());
  place[0].set(entry);
  return last;
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

/// A type whose entry is not the first of its place; it will be.
[[gnu::cold]] TypeEntry look_further(PyObject* type) {
  TypeEntry entry;
  if (!place_of(type)[1].find(type, &entry)) {
    entry = examine(type);
    let_go(put_first(entry));
    return entry;
  }
  const Changing changing;
  TypePlace& place = place_of(type);
  const TypeEntry first = place[0].get();
  place[0].set(place[1].get());
  place[1].set(first);
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
    const bool text =
        *value && (api.PyType_GetFlags(class_of(value->get())) & kTypeFlagUnicode) != 0;
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
  fail(error.status(), "%s of %s: %s", protocol, type_text(class_of(object)).text, error.what());
}

Ref find_item(PyObject* dict, PyObject* key) {
  PyObject* value = nullptr;
  if (api.PyDict_GetItemRef != nullptr) {
    if (api.PyDict_GetItemRef(dict, key, &value) < 0) throw PythonError();
    return Ref(value);
  }
  value = api.PyDict_GetItemWithError(dict, key);
  if (value == nullptr && api.PyErr_Occurred() != nullptr) throw PythonError();
  return value == nullptr ? Ref() : Ref::share(value);
}

TypeEntry look_up_type(PyObject* type) {
  TypeEntry entry;
  if (!place_of(type)[0].find(type, &entry)) entry = look_further(type);
  return entry;
}

void note_legacy_signature(PyObject* type) noexcept {
  change_entry(type, [](TypeEntry* entry) { entry->legacy_signature = true; });
}

namespace {

PyCFunction find_predicate(PyObject* object, PyObject* name) {
  const Ref method(check(api.PyObject_GetAttr(object, name)));
  if (class_of(method.get()) != api.function_type) return nullptr;
  if (api.PyCFunction_GetFlags(method.get()) != METH_NOARGS) return nullptr;
  return api.PyCFunction_GetFunction(method.get());
}

/// The type's attribute, if it is one in C (getset_descriptor, as Tensor's own are).
Ref find_descriptor(PyObject* type, PyObject* name) {
  const Ref own(check(api.PyObject_GetAttr(state.tensor_type, names.shape)));
  Ref found(check(api.PyObject_GetAttr(type, name)));
  return class_of(found.get()) == class_of(own.get()) ? static_cast<Ref&&>(found) : Ref();
}

}  // namespace

LazyBitPredicates find_lazy_bits(PyObject* object) {
  LazyBitPredicates found;
  found.is_neg = find_predicate(object, names.is_neg);
  found.is_conj = find_predicate(object, names.is_conj);
  Ref descriptor = find_descriptor(class_of(object), names.requires_grad);
  if (descriptor) {
    void* get = api.PyType_GetSlot(class_of(descriptor.get()), Py_tp_descr_get);
    api.PyErr_Clear();  // CPython 3.9 refuses to look into types that are not on the heap
    found.get = reinterpret_cast<LazyBitPredicates::DescriptorGet>(get);
    found.requires_grad = descriptor.detach();
  }
  // The entry owns the descriptor; without one it is let go, and the type still has it.
  LazyBitPredicates replaced = found;
  change_entry(class_of(object), [&](TypeEntry* entry) { std::swap(entry->lazy_bits, replaced); });
  const Ref old(replaced.requires_grad);
  return found;
}

void clear_type_cache() noexcept {
  const Changing changing;
  for (TypePlace& place : type_places) {
    for (Published<TypeEntry>& slot : place) slot.set(TypeEntry());
  }
  reset_ndarray_check();
  forget_dtypes();
}

}  // namespace dlx::py
