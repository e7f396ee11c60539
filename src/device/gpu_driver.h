#ifndef DLX_SRC_DEVICE_GPU_DRIVER_H_
#define DLX_SRC_DEVICE_GPU_DRIVER_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "src/device/backend.h"
#include "src/gpu/launch.h"

namespace dlx {

/// Where a driver's call has to be made: a device and, on CUDA, one of its contexts.
struct GpuPlace {
  int32_t id;
  void* context;  ///< NULL where there are none (HIP)
  bool primary;   ///< the context that dlx shares with CUDA's runtime API, and keeps
};

/// What CUDA's driver API and HIP both can, one call of theirs each.
///
/// Unless it says something else, a function throws Error(DRIVER) with the driver's call, code and
/// text, and is called inside a GpuScope. `noexcept` ones ignore failures. Any thread may call.
class GpuDriver {
 public:
  // ---- outside any scope ----

  /// Opens and initialises the driver; the number of devices, or 0 and a reason in words. Called
  /// once.
  virtual int32_t open(std::string* reason) = 0;
  /// False after the driver was initialised here and this is a forked child, or it has shut down.
  virtual bool usable() const noexcept = 0;
  /// Throws Error(DRIVER) that says why, unless usable().
  virtual void require_usable() const = 0;
  virtual bool locate(const void* pointer, PointerInfo* out) noexcept = 0;
  virtual void describe(int32_t id, dlx_device_properties* out) = 0;
  /// The thread's current device; 0 if it has none, or nobody has initialised the driver.
  virtual int32_t current_device() noexcept = 0;
  virtual bool managed_is_concurrent(int32_t id) = 0;

  virtual GpuPlace primary(int32_t id) = 0;
  /// Where the stream is; 0, 1 and 2 are in the primary context of `id`. A stream of another device
  /// has that one's id.
  virtual GpuPlace place_of(int32_t id, StreamHandle stream) = 0;
  /// A place for calls that belong to no device, and for memory that stays; makes no context if dlx
  /// has one.
  virtual GpuPlace any_place() = 0;

  /// What enter() found, and leave() restores.
  struct Saved {
    bool entered;      ///< the place was not current
    int previous;      ///< HIP's device
    int capture_mode;  ///< the thread's
    int last_error;    ///< HIP's
  };
  /// Makes the place current, and calls harmless to captures that are going on in any thread.
  virtual Saved enter(const GpuPlace& place) = 0;
  virtual void leave(const Saved& saved) noexcept = 0;

  // ---- inside a scope: memory ----

  /// NULL: no room.
  virtual void* allocate(int32_t device_type, size_t size) = 0;
  virtual void free(int32_t device_type, void* data) noexcept = 0;
  /// A pool for stream-ordered memory, kept for good; NULL if the device has none.
  virtual void* create_pool(int32_t id) = 0;
  /// NULL: no room.
  virtual void* allocate_from_pool(void* pool, StreamHandle stream, size_t size) = 0;
  virtual void free_to_pool(StreamHandle stream, void* data) noexcept = 0;

  // ---- streams and events, by the driver's own handles ----

  virtual StreamHandle create_stream() = 0;
  virtual void destroy_stream(StreamHandle stream) noexcept = 0;
  virtual void synchronize_stream(StreamHandle stream) = 0;
  virtual bool is_idle(StreamHandle stream) = 0;
  virtual CaptureInfo capture(StreamHandle stream) = 0;
  /// Without timing.
  virtual void* create_event() = 0;
  virtual void destroy_event(void* event) noexcept = 0;
  virtual void record(void* event, StreamHandle stream) = 0;
  virtual void wait(StreamHandle stream, void* event) = 0;
  /// `stream` is the one that the event was recorded on; it may be gone.
  virtual bool is_done(void* event, StreamHandle stream) = 0;
  virtual void synchronize_event(void* event, StreamHandle stream) = 0;

  // ---- copies ----

  virtual void copy_from_host(StreamHandle stream, void* dst, const void* src, size_t size) = 0;
  virtual void copy_to_host(StreamHandle stream, void* dst, const void* src, size_t size) = 0;
  virtual void copy_on_device(StreamHandle stream, void* dst, const void* src, size_t size) = 0;
  /// Between the primary contexts of two devices.
  virtual void copy_peer(StreamHandle stream, const GpuPlace& dst_place, void* dst,
                         const GpuPlace& src_place, const void* src, size_t size) = 0;
  /// Lets the scope's place read the other's memory directly, if the machine can and nobody has
  /// done so.
  virtual void enable_peer(const GpuPlace& peer) noexcept = 0;

  // ---- kernels ----

  virtual gpu::Limits limits(int32_t id) = 0;
  /// The strided-copy kernels for a device; NULL: it cannot run them, and `why_not` says why.
  virtual void* load_module(int32_t id, std::string* why_not) = 0;
  virtual void unload_module(void* module) noexcept = 0;
  /// NULL likewise: drivers that load modules lazily tell only now.
  virtual void* find_kernel(void* module, const char* name, std::string* why_not) = 0;
  virtual void launch(void* kernel, const gpu::Launch& launch, StreamHandle stream,
                      void** arguments) = 0;

 protected:
  ~GpuDriver() = default;
};

/// The calls in its lifetime are made at a place; the caller's context, device, capture mode and
/// pending last-error come back.
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
