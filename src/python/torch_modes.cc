#include "src/python/torch_modes.h"

#include <atomic>

#include "src/python/entry.h"
#include "src/python/errors.h"
#include "src/python/integers.h"
#include "src/python/state.h"
#include "src/python/torch_plain.h"

namespace dlx::py {
namespace {

/// torch's functions for its two stacks of modes: length, pop and push of the one, then of the other.
/// A tuple, never released; NULL until some call needs it.
std::atomic<PyObject*> stack_functions{nullptr};
enum { kLength, kPop, kPush, kPerStack };

/// NULL if there is no torch, but a stand-in for it.
PyObject* find_stack_functions() {
  PyObject* known = stack_functions.load(std::memory_order_acquire);
  if (known != nullptr) return known;
  Ref found(check(call_objects(state.torch_mode_functions)));
  if (found.get() == api.none) return nullptr;
  PyObject* const functions = found.detach();
  stack_functions.store(functions, std::memory_order_release);
  return functions;
}

PyObject* function_of(PyObject* functions, int stack, int which) noexcept {
  return api.PyTuple_GetItem(functions, stack * kPerStack + which);
}

/// Takes all modes of a stack; after an exception, `out` has some of them.
void take(PyObject* functions, int stack, Ref* out) {
  const Ref length(check(call_objects(function_of(functions, stack, kLength))));
  const int64_t count = to_int64(length.get(), "length");
  if (count == 0) return;
  *out = Ref(check(api.PyTuple_New(count)));
  for (int64_t i = 0; i < count; ++i) {
    PyObject* mode = check(call_objects(function_of(functions, stack, kPop)));
    api.PyTuple_SetItem(out->get(), i, mode);
  }
}

}  // namespace

WithoutTorchModes::WithoutTorchModes(bool wanted) {
  if (!wanted) return;
  PyObject* const functions = find_stack_functions();
  if (functions == nullptr) return;
  for (int stack = 0; stack < 2; ++stack) {
    try {
      take(functions, stack, &taken_[stack]);
    } catch (const PythonError&) {
      // In a torch whose functions are other ones, the modes stay.
      // not covered from here: such a torch
      if (is_urgent()) {
        put_back();
        throw;
      }
      api.PyErr_Clear();
      // covered again
    }
  }
}

void WithoutTorchModes::put_back() noexcept {
  if (!taken_[0] && !taken_[1]) return;
  const WithoutPendingError aside;
  PyObject* const functions = stack_functions.load(std::memory_order_acquire);
  for (int stack = 0; stack < 2; ++stack) {
    PyObject* const taken = taken_[stack].get();
    for (int64_t i = taken == nullptr ? 0 : api.PyTuple_Size(taken); i > 0; --i) {
      PyObject* const mode = api.PyTuple_GetItem(taken, i - 1);
      // not covered: such a torch
      if (mode == nullptr) continue;  // it could not be taken
      const Ref done(call_objects(function_of(functions, stack, kPush), mode));
      // not covered: the same
      if (!done) api.PyErr_WriteUnraisable(mode);
    }
  }
}

namespace {

/// c10::impl::TorchDispatchModeTLS::any_modes_set(bool skip_infra_modes); NULL until it is needed.
using AnyModes = bool (*)(bool);
std::atomic<AnyModes> any_modes{nullptr};

}  // namespace

bool has_dispatch_modes() noexcept {
  AnyModes ask = any_modes.load(std::memory_order_relaxed);
  if (ask == nullptr) {
    ask = reinterpret_cast<AnyModes>(
        find_in_c10("_ZN3c104impl20TorchDispatchModeTLS13any_modes_setEb"));
    // not covered: a torch without that function
    if (ask == nullptr) ask = [](bool) { return true; };
    any_modes.store(ask, std::memory_order_relaxed);
  }
  return ask(false);
}

void forget_torch_modes() noexcept {
  stack_functions = nullptr;
  any_modes = nullptr;
}

namespace {

PyObject* without_torch_modes(PyObject*, PyObject* const* args, int64_t nargs, PyObject*) {
  return enter("_without_torch_modes", static_cast<PyObject*>(nullptr), [&] {
    PyObject* call[4] = {};
    if (nargs < 1 || nargs > 4)
      raise(api.type_error, "_without_torch_modes() takes 1 to 4 arguments");
    for (int64_t i = 0; i < nargs; ++i) call[i] = args[i];
    const WithoutTorchModes without;
    return check(call_objects(call[0], call[1], call[2], call[3]));
  });
}

}  // namespace

PyMethodDef torch_functions[] = {fast_entry("_without_torch_modes", without_torch_modes), {}};

}  // namespace dlx::py
