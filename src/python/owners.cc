#include "src/python/owners.h"

#include <cstdint>
#include <cstdlib>

#include "src/python/errors.h"
#include "src/python/gil.h"
#include "src/python/state.h"

namespace dlx::py {

std::atomic<void*> deferred_head{nullptr};

namespace {

/// A node of the list of owners that wait for a thread with the GIL.
struct Deferred {
  Deferred* next;
  PyObject* owner;
  PyObject* on_release;
};

std::atomic<bool> deferring{false};
std::atomic_flag pending_call_scheduled = ATOMIC_FLAG_INIT;

/// Needs the GIL. Keeps a pending exception.
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

/// The owners that a thread is giving back: how many, each from within the one before, and those
/// that wait until the first is done.
struct GivingBack {
  int nested = 0;
  Deferred* waiting = nullptr;
};
thread_local GivingBack giving_back;

/// As give_back_now(), but a long chain of owners, each on the memory of the next, is worked off in
/// a loop: nested calls would overflow the stack.
void give_back(PyObject* owner, PyObject* on_release) noexcept {
  constexpr int kDeepest = 32;
  GivingBack& here = giving_back;
  if (here.nested >= kDeepest) {
    // not covered: memory has run out
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

/// Never waits and needs no GIL. Leaks an owner that it has no memory to store.
void defer(PyObject* owner, PyObject* on_release) noexcept {
  if (!deferring.load(std::memory_order_acquire)) return;
  auto* node = static_cast<Deferred*>(std::malloc(sizeof(Deferred)));
  // not covered: the same
  if (node == nullptr) return;
  node->owner = owner;
  node->on_release = on_release;
  void* head = deferred_head.load(std::memory_order_relaxed);
  do {
    node->next = static_cast<Deferred*>(head);
    // not covered: another thread, at that moment
  } while (!deferred_head.compare_exchange_weak(head, node, std::memory_order_release,
                                                std::memory_order_relaxed));
  // If CPython's queue is full, the next entry point drains the list.
  if (!pending_call_scheduled.test_and_set(std::memory_order_acq_rel) &&
      // not covered: the queue is full
      api.Py_AddPendingCall(run_pending_call, nullptr) != 0) {
    pending_call_scheduled.clear(std::memory_order_release);  // not covered: the queue is full
  }
}

void release_python(Tensor* root) {
  // An owner of a former interpreter is gone with that interpreter.
  // not covered: an interpreter that has ended
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

void set_python_owner(Tensor* root, PyObject* owner, PyObject* on_release) noexcept {
  root->owner = owner;
  root->owner_function = on_release;
  root->owner_data = reinterpret_cast<void*>(static_cast<uintptr_t>(state.generation));
  root->release_memory = release_python;
}

void stop_deferring() noexcept { deferring.store(false, std::memory_order_release); }

bool interpreter_shut_down() noexcept { return !deferring.load(std::memory_order_acquire); }

void start_deferring() noexcept {
  // Nodes left in the list belong to a former interpreter.
  deferred_head.store(nullptr, std::memory_order_relaxed);
  pending_call_scheduled.clear(std::memory_order_relaxed);
  deferring.store(true, std::memory_order_release);
}

}  // namespace dlx::py
