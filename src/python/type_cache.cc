#include "src/python/type_cache.h"

#include <cstdint>
#include <utility>

#include "src/python/calls.h"
#include "src/python/capsule_names.h"
#include "src/python/entry.h"
#include "src/python/errors.h"
#include "src/python/integers.h"
#include "src/python/lockless.h"
#include "src/python/reference.h"
#include "src/python/state.h"

namespace dlx::py {

namespace {

// A place holds two types, the last used one first. Further types of the same place evict them.
using TypePlace = Published<TypeEntry>[2];
TypePlace type_places[128];

TypePlace& place_of(PyObject* type) noexcept {
  return type_places[(reinterpret_cast<uintptr_t>(type) >> 4) * 0x9e3779b97f4a7c15u >> 57];
}

void drop(const TypeEntry& entry) noexcept {
  const Ref weak_reference(entry.weak_reference), descriptor(entry.lazy_bits.requires_grad);
}

/// Removes the entry that the weak reference belongs to.
[[gnu::cold]] TypeEntry take_entry(PyObject* weak_reference) noexcept {
  const WriteLock lock;
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

/// Callback of the weak references: the type is gone, and another type may get its address.
PyObject* forget_type(PyObject*, PyObject* weak_reference) {
  drop(take_entry(weak_reference));
  api.Py_IncRef(api.none);
  return api.none;
}

PyMethodDef forget_type_def = plain_entry("forget_type", forget_type, METH_O);

/// Changes the type's entry, if it still has one.
template <typename Change>
[[gnu::cold]] void change_entry(PyObject* type, Change&& change) noexcept {
  const WriteLock lock;
  // not covered: another thread, at that moment
  for (Published<TypeEntry>& slot : place_of(type)) {
    TypeEntry entry = slot.get();
    // not covered: the same
    if (entry.type != type) continue;
    change(&entry);
    slot.set(entry);
    return;
  }
}

/// Puts an entry first in its place; returns the evicted one.
[[gnu::cold]] TypeEntry put_first(const TypeEntry& entry) noexcept {
  const WriteLock lock;
  TypePlace& place = place_of(entry.type);
  const TypeEntry last = place[1].get();
  place[1].set(place[0].get());
  place[0].set(entry);
  return last;
}

/// A longer chain of tables is a ring.
constexpr int kLongestChain = 64;

/// The newest DLPack 1.x table in the type's chain, or NULL.
const DLPackExchangeAPI* find_table(PyObject* type) {
  const Ref capsule = find_attribute(type, names.__dlpack_c_exchange_api__);
  if (!capsule || api.PyCapsule_IsValid(capsule.get(), kExchangeApi) == 0) return nullptr;
  auto* header =
      static_cast<DLPackExchangeAPIHeader*>(api.PyCapsule_GetPointer(capsule.get(), kExchangeApi));
  for (int left = kLongestChain; left > 0 && header != nullptr && header->version.major != 1;
       --left) {
    header = header->prev_api;
  }
  if (header != nullptr && header->version.major != 1) return nullptr;
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
  // None: Python's way to say that a class lacks what its base has.
  if (dlpack && dlpack.get() != api.none) entry.flags |= kHasDlpack;
  if (type == api.capsule_type) entry.flags |= kHasDlpack;  // what __dlpack__ would return
  if ((entry.flags & kTable) != 0) entry.table = find_table(type);
  const Ref callback(check(api.PyCFunction_NewEx(&forget_type_def, nullptr, nullptr)));
  entry.weak_reference = check(api.PyWeakref_NewRef(type, callback.get()));
  return entry;
}

/// For a type whose entry is not the first of its place; afterwards it is.
[[gnu::cold]] TypeEntry look_further(PyObject* type) {
  TypeEntry entry;
  if (!place_of(type)[1].find(type, &entry)) {
    entry = examine(type);
    drop(put_first(entry));
    return entry;
  }
  const WriteLock lock;
  TypePlace& place = place_of(type);
  const TypeEntry first = place[0].get();
  place[0].set(place[1].get());
  place[1].set(first);
  return entry;
}

}  // namespace

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
  // not covered: a torch of another layout
  if (api.PyCFunction_GetFlags(method.get()) != METH_NOARGS) return nullptr;
  return api.PyCFunction_GetFunction(method.get());
}

/// The type's attribute, if it is written in C (a getset_descriptor, like those of Tensor).
Ref find_descriptor(PyObject* type, PyObject* name) {
  const Ref own(check(api.PyObject_GetAttr(state.tensor_type, names.shape)));
  Ref found(check(api.PyObject_GetAttr(type, name)));
  // not covered: the same
  return class_of(found.get()) == class_of(own.get()) ? static_cast<Ref&&>(found) : Ref();
}

}  // namespace

LazyBitPredicates find_lazy_bits(PyObject* object) {
  LazyBitPredicates found;
  found.is_neg = find_predicate(object, names.is_neg);
  found.is_conj = find_predicate(object, names.is_conj);
  Ref descriptor = find_descriptor(class_of(object), names.requires_grad);
  // not covered: the same
  if (descriptor) {
    void* get = api.PyType_GetSlot(class_of(descriptor.get()), Py_tp_descr_get);
    api.PyErr_Clear();  // CPython 3.9 refuses types that are not on the heap
    found.get = reinterpret_cast<LazyBitPredicates::DescriptorGet>(get);
    found.requires_grad = descriptor.detach();
  }
  // The entry owns the descriptor. Without an entry it is dropped; the type still holds it.
  LazyBitPredicates replaced = found;
  change_entry(class_of(object), [&](TypeEntry* entry) { std::swap(entry->lazy_bits, replaced); });
  const Ref old(replaced.requires_grad);
  return found;
}

void clear_type_cache() noexcept {
  const WriteLock lock;
  for (TypePlace& place : type_places) {
    for (Published<TypeEntry>& slot : place) slot.set(TypeEntry());
  }
}

}  // namespace dlx::py
