#include "src/python/state.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace dlx::py {

State state;
std::atomic<PyObject*> numpy_array{nullptr};
Names names;

namespace {

/// Sets the exception. Names of classes, capsules and formats may be cut off in the middle of a
/// character, or be no UTF-8 at all.
void set_message(PyObject* exception, const char* text) noexcept {
  const Ref message(
      api.PyUnicode_DecodeUTF8(text, static_cast<intptr_t>(std::strlen(text)), "replace"));
  if (message) api.PyErr_SetObject(exception, message.get());
}

}  // namespace

void set_error(int32_t status, const char* function, const char* message) noexcept {
  char text[Error::kMessageBytes + 64];
  std::snprintf(text, sizeof text, "%s: %s", function, message);
  PyObject* exception = state.errors[status >= 1 && status <= 8 ? status : 0];
  set_message(exception, text);
}

void raise(PyObject* exception, const char* format, ...) {
  char text[Error::kMessageBytes];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  set_message(exception, text);
  throw PythonError();
}

// ---- owners -------------------------------------------------------------------------------------

std::atomic<void*> deferred_head{nullptr};

namespace {

/// An owner that waits for a thread with the GIL.
struct Deferred {
  Deferred* next;
  PyObject* owner;
  PyObject* on_release;
};

std::atomic<bool> deferring{false};
std::atomic_flag pending_call_scheduled = ATOMIC_FLAG_INIT;

/// True if this thread holds the GIL of the interpreter that is attached. Not PyGILState_Check():
/// that says yes to everybody once a subinterpreter exists, and after finalisation.
bool have_gil() noexcept {
  void* current = api.current_thread_state();
  return current != nullptr && current == api.PyGILState_GetThisThreadState();
}

/// Needs the GIL. A pending exception stays as it is.
void give_back_now(PyObject* owner, PyObject* on_release) noexcept {
  const WithoutPendingError aside;
  if (on_release != nullptr) {
    PyObject* result = call_objects(on_release);
    if (result == nullptr) {
      api.PyErr_WriteUnraisable(on_release);
    } else {
      api.Py_DecRef(result);
    }
    api.Py_DecRef(on_release);
  }
  if (owner != nullptr) api.Py_DecRef(owner);
}

/// How many owners a thread is giving back, each within the one before, and those that wait for the
/// first of them to be done.
struct GivingBack {
  int nested = 0;
  Deferred* waiting = nullptr;
};
thread_local GivingBack giving_back;

/// As give_back_now(), but for a long chain of owners, each on the memory of the next, one after
/// the other: it would end in a stack overflow else.
void give_back(PyObject* owner, PyObject* on_release) noexcept {
  constexpr int kDeepest = 32;
  GivingBack& here = giving_back;
  if (here.nested >= kDeepest) {
    if (auto* node = static_cast<Deferred*>(std::malloc(sizeof(Deferred)))) {
      *node = {here.waiting, owner, on_release};
      here.waiting = node;
      return;
    }
  }
  ++here.nested;
  give_back_now(owner, on_release);
  while (here.nested == 1 && here.waiting != nullptr) {
    const Deferred node = *here.waiting;
    std::free(here.waiting);
    here.waiting = node.next;
    give_back_now(node.owner, node.on_release);
  }
  --here.nested;
}

int run_pending_call(void*) {
  pending_call_scheduled.clear(std::memory_order_release);
  drain_deferred_slow();
  return 0;
}

/// Never waits, never needs the GIL. What it cannot store is leaked.
void defer(PyObject* owner, PyObject* on_release) noexcept {
  if (!deferring.load(std::memory_order_acquire)) return;
  auto* node = static_cast<Deferred*>(std::malloc(sizeof(Deferred)));
  if (node == nullptr) return;
  node->owner = owner;
  node->on_release = on_release;
  void* head = deferred_head.load(std::memory_order_relaxed);
  do {
    node->next = static_cast<Deferred*>(head);
  } while (!deferred_head.compare_exchange_weak(head, node, std::memory_order_release,
                                                std::memory_order_relaxed));
  // If CPython's queue is full, the next entry into native code drains.
  if (!pending_call_scheduled.test_and_set(std::memory_order_acq_rel) &&
      api.Py_AddPendingCall(run_pending_call, nullptr) != 0) {
    pending_call_scheduled.clear(std::memory_order_release);
  }
}

void release_python(Tensor* root) {
  // The owner of an interpreter that is gone is gone with it.
  if (reinterpret_cast<uintptr_t>(root->owner_data) != state.generation) return;
  auto* owner = static_cast<PyObject*>(root->owner);
  auto* on_release = static_cast<PyObject*>(root->owner_function);
  if (have_gil()) {
    give_back(owner, on_release);
  } else {
    defer(owner, on_release);
  }
}

}  // namespace

void drain_deferred_slow() noexcept {
  auto* node = static_cast<Deferred*>(deferred_head.exchange(nullptr, std::memory_order_acquire));
  while (node != nullptr) {
    Deferred* next = node->next;
    give_back(node->owner, node->on_release);
    std::free(node);
    node = next;
  }
}

void end_with_the_gil() noexcept {
  if (!have_gil()) sleep_for_ever();
}

void set_python_owner(Tensor* root, PyObject* owner, PyObject* on_release) noexcept {
  root->owner = owner;
  root->owner_function = on_release;
  root->owner_data = reinterpret_cast<void*>(static_cast<uintptr_t>(state.generation));
  root->release_memory = release_python;
}

void stop_deferring() noexcept { deferring.store(false, std::memory_order_release); }

bool interpreter_shut_down() noexcept { return !deferring.load(std::memory_order_acquire); }

void start_deferring() noexcept {
  // What is left over belongs to an interpreter that is gone.
  deferred_head.store(nullptr, std::memory_order_relaxed);
  pending_call_scheduled.clear(std::memory_order_relaxed);
  deferring.store(true, std::memory_order_release);
}

}  // namespace dlx::py
