#ifndef DLX_SRC_DEVICE_GPU_DRIVER_H_
#define DLX_SRC_DEVICE_GPU_DRIVER_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "src/device/backend.h"
#include "src/gpu/launch.h"

namespace dlx {

/// Where a driver call must be made: a device and, on CUDA, one of its contexts.
struct GpuPlace {
  int32_t id;
  void* context;  ///< NULL on HIP, which has none
  bool primary;   ///< the context is the primary one, which CUDA's runtime API uses and dlx keeps
};

/// The operations that CUDA's driver API and HIP have in common; most are one driver call.
///
/// Unless its comment says otherwise, a function must be called inside a GpuScope, and throws
/// Error(DRIVER) with the driver's function, code and text. `noexcept` functions ignore failures.
/// Any thread may call.
class GpuDriver {
 public:
  // ---- outside any scope ----

  /// Opens and initialises the driver. Returns the number of devices, or 0 and sets `reason`.
  /// Called again after std::bad_alloc.
  virtual int32_t open(std::string* reason) = 0;
  /// False in a child that was forked after the driver was initialised, and after it has shut down.
  virtual bool usable() const noexcept = 0;
  /// Throws Error(DRIVER) with the reason unless usable().
  virtual void require_usable() const = 0;
  /// This and current_device() throw std::bad_alloc if the driver cannot be looked up.
  virtual bool locate(const void* pointer, PointerInfo* out) = 0;
  virtual void describe(int32_t id, dlx_device_properties* out) = 0;
  /// The thread's current device; 0 if it has none or the driver is not initialised.
  virtual int32_t current_device() = 0;
  virtual bool managed_is_concurrent(int32_t id) = 0;

  virtual GpuPlace primary(int32_t id) = 0;
  /// The place of a stream. Streams 0, 1 and 2 are in the primary context of `id`; the place of any
  /// other stream has the id of its own device.
  virtual GpuPlace place_of(int32_t id, StreamHandle stream) = 0;
  /// A place for calls that belong to no particular device. Creates no context if dlx has one.
  virtual GpuPlace any_place() = 0;

  /// The caller's state, which enter() saves and leave() restores.
  struct Saved {
    bool entered;      ///< the place was not current, and was made current
    int previous;      ///< HIP's device
    int capture_mode;  ///< the thread's
    int last_error;    ///< HIP's
  };
  /// Makes the place current, and relaxes the capture mode so that calls break no capture.
  virtual Saved enter(const GpuPlace& place) = 0;
  virtual void leave(const Saved& saved) noexcept = 0;

  // ---- inside a scope: memory ----

  /// NULL if memory is exhausted.
  virtual void* allocate(int32_t device_type, size_t size) = 0;
  virtual void free(int32_t device_type, void* data) noexcept = 0;
  /// Creates a pool for stream-ordered memory, never destroyed; NULL if the device has none.
  virtual void* create_pool(int32_t id) = 0;
  /// NULL if memory is exhausted.
  virtual void* allocate_from_pool(void* pool, StreamHandle stream, size_t size) = 0;
  virtual void free_to_pool(StreamHandle stream, void* data) noexcept = 0;

  // ---- streams and events, as the driver's handles ----

  virtual StreamHandle create_stream() = 0;
  virtual void destroy_stream(StreamHandle stream) noexcept = 0;
  virtual void synchronize_stream(StreamHandle stream) = 0;
  virtual bool is_idle(StreamHandle stream) = 0;
  virtual CaptureInfo capture(StreamHandle stream) = 0;
  /// The event has no timing.
  virtual void* create_event() = 0;
  virtual void destroy_event(void* event) noexcept = 0;
  virtual void record(void* event, StreamHandle stream) = 0;
  virtual void wait(StreamHandle stream, void* event) = 0;
  /// `stream` is the one that the event was recorded on; it may have been destroyed.
  virtual bool is_done(void* event, StreamHandle stream) = 0;
  virtual void synchronize_event(void* event, StreamHandle stream) = 0;

  // ---- copies ----

  virtual void copy_from_host(StreamHandle stream, void* dst, const void* src, size_t size) = 0;
  virtual void copy_to_host(StreamHandle stream, void* dst, const void* src, size_t size) = 0;
  virtual void copy_on_device(StreamHandle stream, void* dst, const void* src, size_t size) = 0;
  /// Between the primary contexts of two devices.
  virtual void copy_peer(StreamHandle stream, const GpuPlace& dst_place, void* dst,
                         const GpuPlace& src_place, const void* src, size_t size) = 0;
  /// Lets the current place access the memory of `peer` directly, if the machine supports it.
  virtual void enable_peer(const GpuPlace& peer) noexcept = 0;

  // ---- kernels ----

  virtual gpu::Limits limits(int32_t id) = 0;
  /// Loads a family of kernels on a device; NULL if it cannot run them, and sets `why_not`.
  virtual void* load_module(int32_t id, int32_t family, std::string* why_not) = 0;
  virtual void unload_module(void* module) noexcept = 0;
  /// NULL as in load_module(): drivers that load modules lazily report the failure here.
  virtual void* find_kernel(void* module, const char* name, std::string* why_not) = 0;
  virtual void launch(void* kernel, const gpu::Launch& launch, StreamHandle stream,
                      void** arguments) = 0;

 protected:
  ~GpuDriver() = default;
};

/// Makes a place current until the end of the scope, then restores the caller's context, device,
/// capture mode and pending last-error.
class GpuScope {
 public:
  GpuScope(GpuDriver& driver, const GpuPlace& place)
      : driver_(driver), saved_(driver.enter(place)) {}
  ~GpuScope() { driver_.leave(saved_); }
  GpuScope(const GpuScope&) = delete;
  GpuScope& operator=(const GpuScope&) = delete;

 private:
  GpuDriver& driver_;
  GpuDriver::Saved saved_;
};

}  // namespace dlx

#endif  // DLX_SRC_DEVICE_GPU_DRIVER_H_
