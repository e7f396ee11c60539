#ifndef DLX_SRC_DEVICE_PROCESS_STATE_H_
#define DLX_SRC_DEVICE_PROCESS_STATE_H_

#include <atomic>

namespace dlx {

/// Remembers in which process a driver was initialised: drivers survive neither fork() nor the end
/// of the process, while memory of theirs is still being given back.
class ProcessState {
 public:
  /// Called when the driver has been initialised. `until_exit`: it is gone once exit() runs.
  void start(bool until_exit) noexcept;
  /// This process was forked from the one that started.
  bool forked() const noexcept;
  bool exiting() const noexcept;

 private:
  std::atomic<int> generation_{-1};  ///< number of forks before start(); -1: not started
  std::atomic<bool> until_exit_{false};
};

}  // namespace dlx

#endif  // DLX_SRC_DEVICE_PROCESS_STATE_H_
