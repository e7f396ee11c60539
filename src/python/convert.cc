#include "src/python/lockless.h"
#include "src/python/tensor_type.h"
#include "src/python/type_cache.h"

namespace dlx::py {
namespace {

/// convert() for the usual case: a tensor that any library takes as it is, for a library and a
/// dtype that were served before. All else is Python's: bindings/python/dlx/_give/convert.py, by the
/// hook convert_slowly, which also tells here what it has found to be usual.

struct Target {
  PyObject* to;         ///< as callers give it, compared by identity: names in calls are interned
  PyObject* own_types;  ///< dict of class -> whether it is the library's own array; only grows
  std::atomic<PyObject*> foreign;  ///< a class in it that is not, the one that came last; or NULL
  PyObject* function;              ///< the library's own import; never let go
  bool by_capsule;                 ///< the function takes a capsule, else the Tensor
  int64_t alignment;
  GrowingList<uint64_t, 16> dtypes;
};

GrowingList<Target, 32> targets;

Target* find_target(PyObject* to) noexcept {
  for (Target& target : targets) {
    if (target.to == to) return &target;
  }
  return nullptr;
}

bool knows(Target* target, DLDataType dtype) noexcept {
  for (const uint64_t known : target->dtypes) {
    if (known == key_of(dtype)) return true;
  }
  return false;
}

/// Whether no library could object: CPU, writable, compact in C order, no extent of 0, and on axes
/// of length 1, whose strides mean nothing and confuse some, the strides that compact data has.
bool is_simple(const Tensor& tensor, int64_t alignment) noexcept {
  const DLTensor& dl = tensor.dl;
  constexpr uint64_t kOdd =
      DLPACK_FLAG_BITMASK_READ_ONLY | DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED;
  const bool odd = (tensor.flags & kOdd) != 0 || dl.dtype.bits < 8;
  if (dl.device.device_type != kDLCPU || odd || dl.ndim < 1 || dl.ndim > 8) return false;
  int64_t expected = 1;
  for (int32_t i = dl.ndim - 1; i >= 0; --i) {
    if (dl.shape[i] < 1 || dl.strides[i] != expected) return false;
    expected *= dl.shape[i];
  }
  return reinterpret_cast<uintptr_t>(dl.data) % static_cast<uintptr_t>(alignment) == 0;
}

/// What is known of the object's class: True for the library's own, False for others, or NULL.
PyObject* ask_own(Target* target, PyObject* object) {
  if (target->foreign.load(std::memory_order_relaxed) == class_of(object)) return api.false_;
  PyObject* const own = find_item(target->own_types, class_of(object)).get();  // True or False
  if (own == api.false_) target->foreign.store(class_of(object), std::memory_order_relaxed);
  return own;
}

PyObject* hand_over(const Target& target, PyObject* tensor) {
  if (!target.by_capsule) return call(target.function, tensor).detach();
  const Ref capsule(share_as_capsule(tensor_of(tensor)));
  return call(target.function, capsule.get()).detach();
}

PyObject* convert_slowly(PyObject* const* values, PyObject* tensor) {
  auto or_none = [](PyObject* value) { return value == nullptr ? api.none : value; };
  return check(call_objects(state.convert_slowly, values[0], values[1], or_none(values[2]),
                            or_none(values[3]), values[4] == nullptr ? api.false_ : values[4],
                            or_none(tensor)));
}

PyObject* convert(PyObject*, PyObject* const* args, intptr_t nargs, PyObject* kwnames) {
  return enter("convert", static_cast<PyObject*>(nullptr), [&]() -> PyObject* {
    static constexpr Signature kSignature = {
        "convert", 5, 2, 2, 2, {&names.data, &names.to, &names.device, &names.copy, &names.force}};
    PyObject* values[5] = {};
    if (nargs == 2 && kwnames == nullptr) {
      values[0] = args[0];
      values[1] = args[1];
    } else {
      parse_arguments(kSignature, args, nargs, kwnames, values);
      (void)to_copy_mode(values[3]);
      (void)to_force(values[4]);
    }
    Target* target = kwnames == nullptr ? find_target(values[1]) : nullptr;
    PyObject* own = target == nullptr ? nullptr : ask_own(target, values[0]);
    if (own == nullptr) return convert_slowly(values, nullptr);
    if (own == api.true_) return Ref::share(values[0]).detach();
    const Ref made(is_tensor(values[0]) ? nullptr : as_tensor(values[0]));
    PyObject* tensor = made ? made.get() : values[0];
    // Foreign code ran: look again.
    target = find_target(values[1]);
    const Tensor& found = *tensor_of(tensor);
    if (target == nullptr || !knows(target, found.dl.dtype) ||
        !is_simple(found, target->alignment)) {
      return convert_slowly(values, tensor);
    }
    return hand_over(*target, tensor);
  });
}

/// _usual(to, own_types, function, by_capsule, alignment, tensor): convert() may call
/// `function` at once for tensors of this one's dtype.
[[gnu::cold]] PyObject* note_usual(PyObject*, PyObject* const* args, intptr_t nargs, PyObject*) {
  return enter("_usual", static_cast<PyObject*>(nullptr), [&]() -> PyObject* {
    const bool valid = nargs == 6 && is_tensor(args[5]) &&
                       (api.PyType_GetFlags(class_of(args[1])) & kTypeFlagDict) != 0;
    if (!valid) raise(api.type_error, "_usual() takes six arguments, a dict second, a Tensor last");
    const int64_t alignment = to_int64(args[4], "alignment");
    if (alignment < 1) fail(DLX_ERROR_INVALID_ARGUMENT, "`alignment` is not positive");
    Target* target = find_target(args[0]);
    if (target == nullptr) {
      Ref to = Ref::share(args[0]), own_types = Ref::share(args[1]), function = Ref::share(args[2]);
      target = targets.add([&](Target* added) {
        added->to = to.detach();
        added->own_types = own_types.detach();
        added->foreign.store(nullptr, std::memory_order_relaxed);
        added->function = function.detach();
        added->by_capsule = args[3] == api.true_;
        added->alignment = alignment;
        added->dtypes.clear();
      });
    }
    const DLDataType dtype = tensor_of(args[5])->dl.dtype;
    if (target != nullptr && !knows(target, dtype)) {
      target->dtypes.add([&](uint64_t* added) { *added = key_of(dtype); });
    }
    return Ref::share(api.none).detach();
  });
}

}  // namespace

void clear_targets() noexcept { targets.clear(); }

PyMethodDef convert_functions[] = {
    fast_entry(
        "convert", convert,
        "convert(x, to, /, *, device=None, copy=None, force=False)\n--\n\n"
        "`x` as an array of another library, shared wherever that library can take it as it is.\n\n"
        "Args:\n"
        "    x: anything that `dlx.asarray` takes.\n"
        "    to: the library: its name (\"torch\", \"jax\", \"numpy\" …), its module, or its "
        "array's\n"
        "        class. \"dlx\" gives a Tensor. A library that dlx has no profile of gets plain "
        "DLPack\n"
        "        by its `from_dlpack`.\n"
        "    device: where the result shall live; consent to a transfer.\n"
        "    copy: True always copies, False never, None if the library needs it: for alignment "
        "or\n"
        "        strides that it cannot take, or since it would write to read-only data.\n"
        "    force: a transfer to the CPU is allowed where the library cannot use the data's "
        "device.\n\n"
        "Returns:\n"
        "    the library's own array; `x` itself if it is one and neither `device` nor "
        "`copy=True`\n"
        "    asks for another. A copy has one user, so it may be written to.\n\n"
        "Raises:\n"
        "    CopyRefusedError: `copy` is False and only a copy will do; the message has the "
        "reasons.\n"
        "    DeviceRefusedError: the library cannot use the data's device, and no transfer was\n"
        "        allowed.\n"
        "    UnsupportedError: the library has no such dtype, not so many axes, or makes no such\n"
        "        class of the data.\n"
        "    ImportError: the library is not installed.\n"
        "    ValueError: `to` names no library (`InvalidArgumentError`).\n"
        "    TypeError: `to` is no name, module or class."),
    fast_entry("_usual", note_usual),
    {}};

}  // namespace dlx::py
