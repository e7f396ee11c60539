#ifndef DLX_SRC_DEVICE_BACKEND_H_
#define DLX_SRC_DEVICE_BACKEND_H_

#include <cstddef>
#include <cstdint>

#include "dlx/dlx.h"

namespace dlx {

class CopyPlan;

/// A stream by its driver's handle. The numbers of the array API standard are such handles: 1 is
/// CUDA's legacy default stream and 2 its per-thread one, 0 is ROCm's default stream.
using StreamHandle = int64_t;

/// A point in the work of a stream; belongs to the backend that recorded it. Never NULL.
using EventHandle = void*;

/// Memory of a device. Where `data` is a handle (OpenCL) the offset cannot be folded into it; where
/// it is an address the two are simply added.
struct DeviceAddress {
  void* data;
  uint64_t offset;
};

/// What a driver knows about an address.
struct PointerInfo {
  int32_t device_type;  ///< kDLCUDA, kDLCUDAHost, kDLCUDAManaged, kDLROCM, kDLROCMHost
  int32_t device_id;    ///< by DLPack: 0 for pinned and managed memory
  int32_t ordinal;      ///< the device that it really belongs to
};

/// What is being captured into a graph on a stream (CUDA graphs).
struct CaptureInfo {
  bool capturing;
  uint64_t id;  ///< equal for the streams of one capture
};

/// What dlx can do with one kind of device. One object a kind, made on first use, never destroyed:
/// memory is given back to it as long as the process runs.
///
/// Every function may be called from any thread, leaves the caller's current
/// context, device and pending last-error as they were, and throws Error(DRIVER) with the driver's
/// call, code and text where a call fails. `id` exists: the registry has checked it.
///
/// Work given to a stream is asynchronous: memory has to live until it is done.
class Backend {
 public:
  // ---- what there is ----

  /// Devices on this machine; opens the driver on first use. 0 comes with a reason.
  virtual int32_t count() = 0;
  /// Why count() is 0, in words, with every path that was tried; "" otherwise. Static.
  virtual const char* reason() = 0;
  /// Fills what is known; the fields hold 0, "" and -1 (memory) already. Creates no context.
  virtual void describe(int32_t id, dlx_device_properties* out) = 0;
  /// Finds out whether the memory is this driver's. Opens and initialises nothing: false if nobody
  /// in this process has initialised the driver.
  virtual bool locate(const void* pointer, PointerInfo* out) noexcept;
  /// The calling thread's current device: what an id of 255 (torch's "cuda" without an index)
  /// means. 0 where there is no such thing, and if nobody has initialised the driver.
  virtual int32_t current_device() noexcept { return 0; }

  // ---- memory ----

  /// `size` > 0 bytes of memory that a user may export, or NULL if there is no room. `device_type`
  /// is one that the backend serves: kDLCUDA, kDLCUDAHost (pinned), kDLCUDAManaged … `alignment` is
  /// a power of two.
  virtual void* allocate(int32_t device_type, int32_t id, size_t size, size_t alignment) = 0;
  /// After the driver has shut down, and in a forked child, the memory is leaked quietly.
  virtual void deallocate(int32_t device_type, int32_t id, void* data) noexcept = 0;
  /// Device memory for one operation, ordered on `stream`, which is not captured: never handed to
  /// users. NULL: no room.
  virtual void* allocate_temporary(int32_t id, StreamHandle stream, size_t size);
  /// `data` is not NULL.
  virtual void deallocate_temporary(int32_t id, StreamHandle stream, void* data) noexcept;
  /// Host memory that transfers with `id` run fastest from; ordinary memory where there is no
  /// better one.
  virtual void* allocate_pinned(int32_t id, size_t size);
  virtual void deallocate_pinned(void* data) noexcept;
  /// Whether the CPU may read and write managed memory while the device works.
  virtual bool managed_is_concurrent(int32_t id);

  /// Waits until all work that dlx gave to the device is done.
  virtual void synchronize(int32_t id) = 0;

  // ---- streams and events ----

  /// False: one queue a device, of dlx's own; `stream` is then 0 everywhere below, and nobody calls
  /// the functions that check, create, destroy and synchronise streams.
  virtual bool has_streams() const noexcept { return false; }
  /// The stream that the standard takes None for: 1 on CUDA, 0 on ROCm.
  virtual StreamHandle default_stream() const noexcept { return 0; }
  /// Whether nobody may destroy the stream: the default one, and CUDA's per-thread one.
  virtual bool is_default(StreamHandle stream) const noexcept { return stream == default_stream(); }
  /// Throws Error(INVALID_ARGUMENT) unless the standard allows that number for this kind of device.
  /// Asks no driver.
  virtual void check_stream(int64_t number) const;
  virtual StreamHandle create_stream(int32_t id);
  virtual void destroy_stream(int32_t id, StreamHandle stream) noexcept;
  /// Waits on the host for the work that `stream` has now.
  virtual void synchronize_stream(int32_t id, StreamHandle stream);
  /// Whether a stream has no work to do. Not while it is captured.
  virtual bool is_idle(int32_t id, StreamHandle stream);
  virtual CaptureInfo capture(int32_t id, StreamHandle stream);
  /// The device that a stream belongs to: `id` of the default ones, and where nobody can tell.
  virtual int32_t device_of_stream(int32_t id, StreamHandle) { return id; }

  /// An event behind the work that `stream` has now. Not while `stream` is captured.
  virtual EventHandle record(int32_t id, StreamHandle stream) = 0;
  /// Work given to `stream` from now on starts after the event.
  virtual void wait(int32_t id, StreamHandle stream, EventHandle event) = 0;
  virtual void wait_on_host(int32_t id, EventHandle event) = 0;
  virtual bool is_done(int32_t id, EventHandle event) = 0;
  virtual void release_event(int32_t id, EventHandle event) noexcept = 0;
  /// A driver's event as others see it (a pointer to it is Arrow's sync_event); NULL: it has none.
  virtual void* native_event(EventHandle) noexcept { return nullptr; }
  /// `stream` waits for an event of another library, by the driver's own handle.
  virtual void wait_native(int32_t id, StreamHandle stream, void* native_event);

  // ---- copies, all in the order of `stream` ----

  virtual void copy_from_host(int32_t id, StreamHandle stream, DeviceAddress dst, const void* src,
                              size_t size) = 0;
  virtual void copy_to_host(int32_t id, StreamHandle stream, void* dst, DeviceAddress src,
                            size_t size) = 0;
  /// `stream` belongs to `dst_id`.
  virtual void copy_on_device(int32_t dst_id, DeviceAddress dst, int32_t src_id, DeviceAddress src,
                              StreamHandle stream, size_t size) = 0;
  /// Runs a plan that counts bytes by kernels; its addresses are offsets into `dst` and `src`.
  /// False: this device has no kernels; nothing was done.
  virtual bool copy_strided(int32_t id, StreamHandle stream, DeviceAddress dst, DeviceAddress src,
                            const CopyPlan& plan);

 protected:
  ~Backend() = default;
};

/// An event behind the work that a stream has now, for as long as a block lasts.
class ScopedEvent {
 public:
  ScopedEvent(Backend& backend, int32_t id, StreamHandle stream)
      : backend_(backend), id_(id), event_(backend.record(id, stream)) {}
  ~ScopedEvent() { backend_.release_event(id_, event_); }
  ScopedEvent(const ScopedEvent&) = delete;
  ScopedEvent& operator=(const ScopedEvent&) = delete;
  EventHandle get() const noexcept { return event_; }

 private:
  Backend& backend_;
  int32_t id_;
  EventHandle event_;
};

/// The CPU: this process's memory.
Backend& cpu_backend();
/// kDLCUDA, kDLCUDAHost, kDLCUDAManaged by the CUDA driver API.
Backend& cuda_backend();
/// kDLROCM, kDLROCMHost by HIP.
Backend& hip_backend();
/// kDLOpenCL.
Backend& opencl_backend();

}  // namespace dlx

#endif  // DLX_SRC_DEVICE_BACKEND_H_
