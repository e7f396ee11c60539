#ifndef DLX_SRC_PYTHON_TORCH_MODES_H_
#define DLX_SRC_PYTHON_TORCH_MODES_H_

#include "src/python/cpython.h"
#include "src/python/reference.h"

namespace dlx::py {

/// While it lives, the thread has no modes of torch: TorchFunctionMode, of which torch.device(…) and
/// torch.set_default_device() are users, and TorchDispatchMode. A mode sees each call of torch that
/// the thread makes and may answer in torch's place; dlx's calls are not its business.
///
/// In native code, because Ctrl-C between two lines of Python would lose the modes.
class WithoutTorchModes {
 public:
  /// Does nothing if not `wanted`. Throws PythonError; the modes are back then.
  explicit WithoutTorchModes(bool wanted = true);
  ~WithoutTorchModes() { put_back(); }
  WithoutTorchModes(const WithoutTorchModes&) = delete;
  WithoutTorchModes& operator=(const WithoutTorchModes&) = delete;

 private:
  void put_back() noexcept;

  Ref taken_[2];  ///< of each stack, a tuple of the modes, the topmost first; or none
};

/// Whether the thread has a TorchDispatchMode, which sees also what torch's C++ functions call; or true
/// where torch cannot be asked. Takes 2 ns.
bool has_dispatch_modes() noexcept;

/// For another interpreter, whose torch is another one.
void forget_torch_modes() noexcept;

/// _without_torch_modes(function, ...): function(...) while the thread has no modes.
extern PyMethodDef torch_functions[];

}  // namespace dlx::py

#endif  // DLX_SRC_PYTHON_TORCH_MODES_H_
