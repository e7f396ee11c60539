#ifndef DLX_SRC_PYTHON_OWNERS_H_
#define DLX_SRC_PYTHON_OWNERS_H_

#include <atomic>

#include "src/python/cpython.h"
#include "src/tensor/tensor.h"

namespace dlx::py {

/// Python objects that own a tensor's memory. The last reference to a tensor may go on any thread,
/// with or without the GIL, during and after finalisation.

/// Makes `root`'s memory belong to `owner`; takes over one reference. `on_release`, if not NULL, is
/// called without arguments when the memory is given back; takes over one reference, too.
void set_python_owner(Tensor* root, PyObject* owner, PyObject* on_release) noexcept;

/// Gives back the owners that threads without the GIL left behind. Every entry point calls it.
extern std::atomic<void*> deferred_head;
void drain_deferred_slow() noexcept;
inline void drain_deferred() noexcept {
  if (deferred_head.load(std::memory_order_relaxed) != nullptr) drain_deferred_slow();
}

/// After stop_deferring(), owners that only a thread without the GIL could give back are leaked:
/// nobody can run their destructors any more.
void stop_deferring() noexcept;
void start_deferring() noexcept;
/// Whether stop_deferring() was called and no interpreter was started since.
bool interpreter_shut_down() noexcept;

}  // namespace dlx::py

#endif  // DLX_SRC_PYTHON_OWNERS_H_
