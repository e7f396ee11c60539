#ifndef DLX_SRC_PYTHON_GIL_H_
#define DLX_SRC_PYTHON_GIL_H_

#include <cstdint>
#include <optional>

#include "src/python/cpython.h"
#include "src/python/errors.h"
#include "src/tensor/tensor.h"

namespace dlx::py {

/// Whether this thread holds the GIL of the attached interpreter. PyGILState_Check() would not do:
/// it says yes to every thread once a subinterpreter exists, and after finalisation.
inline bool have_gil() noexcept {
  void* current = api.current_thread_state();
  return current != nullptr && current == api.PyGILState_GetThisThreadState();
}

/// For a thread that is being ended and unwinds: returns only if it holds the GIL, as a cancelled
/// thread does. Otherwise CPython ended the thread, which sleeps for ever instead.
[[gnu::cold]] void end_with_the_gil() noexcept;

/// Releases the GIL while it lives, if `worthwhile`. Foreign functions that take it meanwhile leave no
/// exception.
class WithoutGil {
 public:
  explicit WithoutGil(bool worthwhile) noexcept {
    if (!worthwhile) return;
    aside_.emplace();
    thread_state_ = api.PyEval_SaveThread();
  }
  ~WithoutGil() {
    if (thread_state_ != nullptr) api.PyEval_RestoreThread(thread_state_);
  }
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  std::optional<WithoutPendingError> aside_;
  void* thread_state_ = nullptr;
};

/// Copies of this many bytes take longer than releasing and taking the GIL.
constexpr int64_t kReleaseGilFrom = 32 * 1024;

/// Whether work on the tensor should run without the GIL: it takes long, or waits for a device. A
/// device's stream may wait for a thread that needs the GIL (cudaLaunchHostFunc on a function in
/// Python).
inline bool may_take_long(const Tensor* tensor) noexcept {
  return tensor->size >= kReleaseGilFrom || tensor->dl.device.device_type != kDLCPU;
}

}  // namespace dlx::py

#endif  // DLX_SRC_PYTHON_GIL_H_
