#ifndef DLX_SRC_DEVICE_BACKEND_H_
#define DLX_SRC_DEVICE_BACKEND_H_

#include <cstddef>
#include <cstdint>

#include "dlx/dlx.h"

namespace dlx {

/// What dlx can do with one type of device. One object a type, made on first use, never destroyed:
/// memory is given back to it as long as the process runs.
class Backend {
 public:
  /// Devices on this machine. 0 comes with a reason.
  virtual int32_t count() = 0;
  /// Why count() is 0; "" otherwise. Static.
  virtual const char* reason() = 0;
  /// Fills name and memory sizes of an existing device.
  virtual void describe(int32_t id, dlx_device_properties* out) = 0;
  /// `size` > 0 bytes, or NULL if there is no room. `alignment` is a power of two.
  virtual void* allocate(int32_t id, size_t size, size_t alignment) = 0;
  virtual void deallocate(int32_t id, void* data) noexcept = 0;
  /// Waits until all work given to dlx for that device is done.
  virtual void synchronize(int32_t id) = 0;

 protected:
  ~Backend() = default;
};

/// The CPU: this process's memory.
Backend& cpu_backend();

}  // namespace dlx

#endif  // DLX_SRC_DEVICE_BACKEND_H_
