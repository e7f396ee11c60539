#ifndef DLX_SRC_DEVICE_PROCESS_STATE_H_
#define DLX_SRC_DEVICE_PROCESS_STATE_H_

#include <atomic>

namespace dlx {

/// Records in which process a driver was initialised. A driver does not work after fork() or
/// exit(), but tensors may release its memory even then.
class ProcessState {
 public:
  /// Call this after the driver was initialised. `until_exit`: exit() shuts the driver down.
  void start(bool until_exit) noexcept;
  /// True in a child that was forked after start().
  bool forked() const noexcept;
  bool exiting() const noexcept;

 private:
  std::atomic<int> generation_{-1};  ///< number of forks before start(); -1: not started
  std::atomic<bool> until_exit_{false};
};

}  // namespace dlx

#endif  // DLX_SRC_DEVICE_PROCESS_STATE_H_
