#include "src/python/convert.h"

#include <atomic>
#include <cstdint>

#include "src/base/error.h"
#include "src/device/current_stream.h"
#include "src/device/registry.h"
#include "src/python/arguments.h"
#include "src/python/calls.h"
#include "src/python/dtype_device.h"
#include "src/python/entry.h"
#include "src/python/errors.h"
#include "src/python/export_dlpack.h"
#include "src/python/import.h"
#include "src/python/integers.h"
#include "src/python/lockless.h"
#include "src/python/reference.h"
#include "src/python/results.h"
#include "src/python/state.h"
#include "src/python/tensor_type.h"
#include "src/python/type_cache.h"
#include "src/tensor/dlpack.h"
#include "src/tensor/tensor.h"

namespace dlx::py {
namespace {

/// The fast path of convert(): a tensor that every library takes as it is, to a library and a dtype
/// that were converted before. The hook convert_slowly does everything else, and tells this file by
/// _usual() what it did.

/// A library that convert() has served.
struct Target {
  PyObject* to;         ///< as callers pass it, compared by identity: names in calls are interned
  PyObject* own_types;  ///< dict: class -> whether it is the library's own array; only grows
  std::atomic<PyObject*> foreign;  ///< the last class seen that is not the library's own; or NULL
  PyObject* function;              ///< the library's import function; never released
  bool by_capsule;                 ///< the function takes a capsule; else it takes the Tensor
  std::atomic<const DLPackExchangeAPI*> table;  ///< makes the library's arrays; or NULL
  int64_t alignment;
  GrowingList<uint64_t, 16> kinds;  ///< of tensors that were converted: see kind_of()
};

GrowingList<Target, 32> targets;

Target* find_target(PyObject* to) noexcept {
  for (Target& target : targets) {
    if (target.to == to) return &target;
  }
  return nullptr;
}

/// The dtype and the type of the device.
uint64_t kind_of(const DLTensor& dl) noexcept {
  return key_of(dl.dtype) | static_cast<uint64_t>(dl.device.device_type) << 40;
}

bool has_kind(Target* target, const DLTensor& dl) noexcept {
  for (const uint64_t known : target->kinds) {
    if (known == kind_of(dl)) return true;
  }
  return false;
}

/// Whether every library takes the tensor as it is: writable, compact in C order, no extent of 0.
/// Axes of extent 1 must have the compact stride too, because others confuse some libraries.
bool is_simple(const Tensor& tensor, int64_t alignment) noexcept {
  const DLTensor& dl = tensor.dl;
  constexpr uint64_t kOdd =
      DLPACK_FLAG_BITMASK_READ_ONLY | DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED;
  const bool odd = (tensor.flags & kOdd) != 0 || dl.dtype.bits < 8;
  if (odd || dl.ndim < 1 || dl.ndim > 8) return false;
  int64_t expected = 1;
  for (int32_t i = dl.ndim - 1; i >= 0; --i) {
    if (dl.shape[i] < 1 || dl.strides[i] != expected) return false;
    expected *= dl.shape[i];
  }
  return reinterpret_cast<uintptr_t>(dl.data) % static_cast<uintptr_t>(alignment) == 0;
}

/// True if the object is the library's own array, False if not, NULL if its class is new.
PyObject* is_own(Target* target, PyObject* object) {
  if (target->foreign.load(std::memory_order_relaxed) == class_of(object)) return api.false_;
  PyObject* const own = find_item(target->own_types, class_of(object)).get();  // True or False
  if (own == api.false_) target->foreign.store(class_of(object), std::memory_order_relaxed);
  return own;
}

/// Shares the tensor with the table's library, which works on a device on its current stream. NULL if the
/// library has no current stream there, or dlx does not order the device's work by streams.
DLManagedTensorVersioned* share_on_stream(const DLPackExchangeAPI& table, Tensor* tensor) {
  const Worker worker = find_worker(tensor->dl);
  if (worker.backend == nullptr || !worker.backend->has_streams()) return nullptr;
  const int32_t type = stream_family(type_of(tensor->dl.device));
  void* stream = nullptr;
  if (!call_table(table.current_work_stream, static_cast<DLDeviceType>(type), worker.id, &stream)) {
    api.PyErr_Clear();
    return nullptr;
  }
  ExportRequest request;
  request.has_stream = true;
  request.stream = number_of_handle(*worker.backend, stream);
  return export_versioned(tensor, request);
}

/// NULL without an exception: by the hook.
PyObject* convert_fast(const Target& target, PyObject* tensor) {
  Tensor* const found = tensor_of(tensor);
  const bool on_cpu = found->dl.device.device_type == kDLCPU;
  const DLPackExchangeAPI* const table = target.table.load(std::memory_order_acquire);
  if (table != nullptr) {
    DLManagedTensorVersioned* const managed =
        on_cpu ? export_shared(found) : share_on_stream(*table, found);
    if (managed == nullptr) return nullptr;
    return make_by_table(*table, managed).detach();
  }
  if (!on_cpu) return nullptr;
  if (!target.by_capsule) return call(target.function, tensor).detach();
  const Ref capsule(share_as_capsule(found));
  return call(target.function, capsule.get()).detach();
}

/// The table of the class of an array, if it makes arrays and says on which stream the library works.
const DLPackExchangeAPI* table_of(PyObject* array) {
  const DLPackExchangeAPI* const table = look_up_type(class_of(array)).table;
  const bool serves = table != nullptr && table->managed_tensor_to_py_object_no_sync != nullptr &&
                      table->current_work_stream != nullptr;
  return serves ? table : nullptr;
}

/// By the hook. `tensor` is asarray(x) or NULL; `options` a tuple of the keywords' values, or NULL.
PyObject* convert_slowly(PyObject* x, PyObject* to, PyObject* tensor, PyObject* options) {
  auto or_none = [](PyObject* value) { return value == nullptr ? api.none : value; };
  return check(
      call_objects(state.convert_slowly, x, or_none(to), or_none(tensor), or_none(options)));
}

[[gnu::cold]] PyObject* convert_with_options(PyObject* const* args, int64_t nargs,
                                             PyObject* kwnames) {
  static constexpr Signature kSignature = {
      "convert",
      8,
      2,
      2,
      1,
      {&names.data, &names.to, &names.device, &names.copy, &names.force, &names.like, &names.dtype,
       &names.readonly}};
  PyObject* values[kSignature.count];
  parse_arguments(kSignature, args, nargs, kwnames, values);
  (void)to_copy_mode(values[3]);
  if (!to_force(values[4])) values[4] = api.false_;
  const Ref options(check(api.PyTuple_New(kSignature.count - 2)));
  for (int i = 2; i < kSignature.count; ++i) {
    PyObject* value = values[i] == nullptr ? api.none : values[i];
    api.PyTuple_SetItem(options.get(), i - 2, Ref::share(value).detach());
  }
  return convert_slowly(values[0], values[1], nullptr, options.get());
}

PyObject* convert(PyObject*, PyObject* const* args, int64_t nargs, PyObject* kwnames) {
  return enter("convert", static_cast<PyObject*>(nullptr), [&]() -> PyObject* {
    if (nargs != 2 || kwnames != nullptr) return convert_with_options(args, nargs, kwnames);
    PyObject *const x = args[0], *const to = args[1];
    Target* target = find_target(to);
    PyObject* own = target == nullptr ? nullptr : is_own(target, x);
    if (own == nullptr) return convert_slowly(x, to, nullptr, nullptr);
    if (own == api.true_) return Ref::share(x).detach();
    const Ref made(is_tensor(x) ? nullptr : as_tensor(x));
    PyObject* tensor = made ? made.get() : x;
    // Foreign code ran and may have changed the list.
    target = find_target(to);
    const Tensor& found = *tensor_of(tensor);
    if (target != nullptr && has_kind(target, found.dl) && is_simple(found, target->alignment)) {
      if (PyObject* const result = convert_fast(*target, tensor)) return result;
    }
    return convert_slowly(x, to, tensor, nullptr);
  });
}

/// _usual(to, own_types, function, by_capsule, alignment, tensor, array): from now on convert() calls
/// `function`, or for capsules the exchange table of the array that it made of the tensor, at once for
/// simple tensors of this dtype on this type of device.
[[gnu::cold]] PyObject* note_usual(PyObject*, PyObject* const* args, int64_t nargs, PyObject*) {
  return enter("_usual", static_cast<PyObject*>(nullptr), [&]() -> PyObject* {
    const bool valid = nargs == 7 && is_tensor(args[5]) &&
                       (api.PyType_GetFlags(class_of(args[1])) & kTypeFlagDict) != 0;
    if (!valid)
      raise(api.type_error,
            "_usual() takes seven arguments: the second is a dict, the last but one a Tensor");
    const int64_t alignment = to_int64(args[4], "alignment");
    if (alignment < 1)
      fail(DLX_ERROR_INVALID_ARGUMENT, "`alignment` must be positive (got %lld)",
           static_cast<long long>(alignment));
    const bool by_capsule = args[3] == api.true_;
    const DLPackExchangeAPI* const table = by_capsule ? table_of(args[6]) : nullptr;
    Target* target = find_target(args[0]);
    if (target == nullptr) {
      Ref to = Ref::share(args[0]), own_types = Ref::share(args[1]), function = Ref::share(args[2]);
      target = targets.add([&](Target* added) {
        added->to = to.detach();
        added->own_types = own_types.detach();
        added->foreign.store(nullptr, std::memory_order_relaxed);
        added->function = function.detach();
        added->table.store(table, std::memory_order_relaxed);
        added->by_capsule = by_capsule;
        added->alignment = alignment;
        added->kinds.clear();
      });
    }
    const DLTensor& dl = tensor_of(args[5])->dl;
    if (target != nullptr && !has_kind(target, dl)) {
      target->kinds.add([&](uint64_t* added) { *added = kind_of(dl); });
    }
    return none();
  });
}

}  // namespace

void clear_targets() noexcept { targets.clear(); }

PyMethodDef convert_functions[] = {
    fast_entry(
        "convert", convert,
        "convert(x, to=None, /, *, device=None, copy=None, force=False, like=None, dtype=None, "
        "readonly=None)\n--\n\n"
        "`x` as an array of another library, shared if that library can take it as it is.\n\n"
        "Args:\n"
        "    x: anything that `dlx.asarray` takes.\n"
        "    to: the library: its name (\"torch\", \"jax\", \"numpy\" …), its module, or its "
        "array's\n"
        "        class. \"dlx\" gives a Tensor. A library that dlx has no profile of imports "
        "plain\n"
        "        DLPack by its `from_dlpack`. An array stands for its library and its device.\n"
        "    device: where the result will be; allows a transfer.\n"
        "    copy: True always copies, False never does, None copies if the library needs it: for "
        "an\n"
        "        alignment or strides that it cannot take, or because it would write to read-only\n"
        "        data.\n"
        "    force: allow a transfer to the CPU if the library cannot use the data's device, or "
        "for\n"
        "        `dtype`.\n"
        "    like: an array, in place of `to`; allows a transfer to its device.\n"
        "    dtype: the dtype of the result; None keeps that of `x`.\n"
        "    readonly: \"share\" shares read-only data also with a library that does not mark it.\n"
        "        The caller answers for the writes: to read-only pages they end the process, and\n"
        "        elsewhere they change what others take for constant.\n\n"
        "Returns:\n"
        "    the library's own array; `x` itself if it is one and neither `device`, `dtype` nor\n"
        "    `copy=True` requires another. Nobody else uses a copy, so it is writable.\n\n"
        "Raises:\n"
        "    CopyRefusedError: `copy` is False and a copy is needed; the message has the reasons.\n"
        "    DeviceRefusedError: the library cannot use the data's device, and no transfer was\n"
        "        allowed.\n"
        "    UnsupportedError: the library lacks the dtype, allows fewer axes, or cannot make "
        "that\n"
        "        class of the data.\n"
        "    ImportError: the library is not installed.\n"
        "    ValueError: `to` is not the name of a library (`InvalidArgumentError`).\n"
        "    TypeError: `to` is not a name, module, class or array."),
    fast_entry("_usual", note_usual),
    {}};

}  // namespace dlx::py
