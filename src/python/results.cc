#include "src/python/results.h"

#include "src/python/errors.h"
#include "src/python/ndarray.h"
#include "src/python/state.h"
#include "src/python/tensor_type.h"
#include "src/python/torch_fields.h"
#include "src/python/torch_modes.h"
#include "src/python/type_cache.h"
#include "src/tensor/layout.h"
#include "src/tensor/tensor.h"

namespace dlx::py {
namespace {

/// By the exchange table; none if the table has no allocator, or refuses (a dtype, a device).
Ref allocate_by_table(const DLPackExchangeAPI& table, const ArraySpec& spec) {
  if (table.managed_tensor_allocator == nullptr ||
      table.managed_tensor_to_py_object_no_sync == nullptr || spec.order != DLX_ORDER_C) {
    return Ref();
  }
  DLTensor prototype{};
  prototype.device = spec.device;
  prototype.dtype = spec.dtype;
  prototype.ndim = spec.ndim;
  prototype.shape = const_cast<int64_t*>(spec.shape);
  DLManagedTensorVersioned* managed = nullptr;
  void (*const ignore)(void*, const char*, const char*) = [](void*, const char*, const char*) {};
  if (!call_table(table.managed_tensor_allocator, &prototype, &managed, nullptr, ignore) ||
      managed == nullptr) {
    api.PyErr_Clear();
    return Ref();
  }
  return make_by_table(table, managed);
}

}  // namespace

Ref new_result(PyObject* like, const ArraySpec& spec) {
  (void)count_elements(spec.ndim, spec.shape);
  Ref made;
  if (like != nullptr && !is_tensor(like)) {
    const TypeEntry entry = look_up_type(class_of(like));
    if ((entry.flags & kNdarray) != 0 && spec.device.device_type == kDLCPU) {
      made = new_empty_ndarray(spec.dtype, spec.ndim, spec.shape, spec.order);
    } else if (entry.table != nullptr) {
      const bool is_torch = (entry.flags & kTorch) != 0;
      const WithoutTorchModes without(is_torch && has_dispatch_modes());
      if (is_torch) made = new_torch_tensor(spec);
      if (!made) made = allocate_by_table(*entry.table, spec);
    }
  }
  if (made) return made;
  Allocation allocation;
  allocation.order = spec.order;
  return Ref(new_object(empty(spec.ndim, spec.shape, spec.dtype, spec.device, 0, allocation)));
}

Ref make_by_table(const DLPackExchangeAPI& table, DLManagedTensorVersioned* managed) {
  void* made = nullptr;
  if (call_table(table.managed_tensor_to_py_object_no_sync, managed, &made) && made != nullptr) {
    return Ref(static_cast<PyObject*>(made));
  }
  if (api.PyErr_Occurred() != nullptr) throw PythonError();
  raise(api.buffer_error, "the library's exchange table made no array, and no error");
}

Ref finish_result(Ref result, PyObject* like) {
  if (like == nullptr || is_tensor(like) || !is_tensor(result.get())) return result;
  const WithoutTorchModes without((look_up_type(class_of(like)).flags & kTorch) != 0);
  return Ref(check(call_objects(state.convert_result, result.get(), like)));
}

}  // namespace dlx::py
