#ifndef DLX_SRC_DEVICE_BACKEND_H_
#define DLX_SRC_DEVICE_BACKEND_H_

#include <cstddef>
#include <cstdint>

#include "dlx/dlx.h"

namespace dlx {

class CopyPlan;

/// A stream, as its driver's handle. The stream numbers of the array API standard are valid
/// handles: 1 is CUDA's legacy default stream, 2 its per-thread default stream, 0 is ROCm's default
/// stream.
using StreamHandle = int64_t;
constexpr StreamHandle kStreamOfThread = 2;

/// A point in the work of a stream; belongs to the backend that recorded it. Never NULL.
using EventHandle = void*;

/// A place in device memory: `data` + `offset` if `data` is an address, the byte `offset` of the
/// buffer if `data` is a handle (OpenCL).
struct DeviceAddress {
  void* data;
  uint64_t offset;
};

/// Where a driver says that an address is.
struct PointerInfo {
  int32_t device_type;  ///< kDLCUDA, kDLCUDAHost, kDLCUDAManaged, kDLROCM, kDLROCMHost
  int32_t device_id;    ///< DLPack's id: 0 for pinned and managed memory
  int32_t ordinal;      ///< the device that owns the memory
};

/// Whether a stream is being captured into a graph (CUDA graphs).
struct CaptureInfo {
  bool capturing;
  uint64_t id;  ///< the same for all streams of one capture
};

/// Everything that dlx does with one kind of device. There is one object for each kind, made on
/// first use without an allocation and never destroyed, because tensors may return memory to it until the process ends.
///
/// Any thread may call any function. A function restores the caller's current context, device and
/// pending last-error. It throws Error(DRIVER) with the driver's function, code and text if a
/// driver call fails. `id` is valid: the registry has checked it.
///
/// Work on a stream is asynchronous: its memory must stay valid until the work is done.
class Backend {
 public:
  // ---- devices ----

  /// Number of devices on this machine; opens the driver on first use. If 0, reason() says why.
  virtual int32_t count() = 0;
  /// Why count() is 0, as text with every path that was tried; "" otherwise. Static.
  virtual const char* reason() = 0;
  /// Fills the known fields; the caller has set all to 0, "" and -1 (memory). Creates no context.
  virtual void describe(int32_t id, dlx_device_properties* out) = 0;
  /// Whether the memory belongs to this driver. Opens and initialises nothing: false if the driver
  /// is not initialised in this process. Throws std::bad_alloc.
  virtual bool locate(const void* pointer, PointerInfo* out);
  /// The calling thread's current device, which id 255 (torch's "cuda" without an index) means. 0
  /// if the driver has no current device or is not initialised. Throws std::bad_alloc.
  virtual int32_t current_device() { return 0; }

  // ---- memory ----

  /// Allocates `size` > 0 bytes for a tensor; NULL if memory is exhausted. `device_type` is one of
  /// the backend's: kDLCUDA, kDLCUDAHost (pinned), kDLCUDAManaged … `alignment` is a power of two.
  virtual void* allocate(int32_t device_type, int32_t id, size_t size, size_t alignment) = 0;
  /// Leaks the memory silently after the driver has shut down, and in a forked child.
  virtual void deallocate(int32_t device_type, int32_t id, void* data) noexcept = 0;
  /// Allocates device memory for one operation in the order of `stream`, which is not captured.
  /// Never given to users. NULL if memory is exhausted.
  virtual void* allocate_temporary(int32_t id, StreamHandle stream, size_t size);
  /// `data` is not NULL.
  virtual void deallocate_temporary(int32_t id, StreamHandle stream, void* data) noexcept;
  /// Allocates the host memory with the fastest transfers to and from `id`; may be ordinary memory.
  virtual void* allocate_pinned(int32_t id, size_t size);
  virtual void deallocate_pinned(void* data) noexcept;
  /// Whether the CPU may access managed memory while the device works.
  virtual bool managed_is_concurrent(int32_t id);

  /// Waits on the host until all work that dlx submitted to the device is done.
  virtual void synchronize(int32_t id) = 0;

  // ---- streams and events ----

  /// False: dlx has one queue for each device. `stream` is then 0 in all functions below, and the
  /// functions that check, create, destroy and synchronise streams are not called.
  virtual bool has_streams() const noexcept { return false; }
  /// The stream that None means in the array API standard: 1 on CUDA, 0 on ROCm.
  virtual StreamHandle default_stream() const noexcept { return 0; }
  /// True for streams that must not be destroyed: the default stream and CUDA's per-thread one.
  virtual bool is_default(StreamHandle stream) const noexcept { return stream == default_stream(); }
  /// Whether the threads of one transfer may submit to a stream side by side. False for CUDA's per-thread
  /// stream, whose handle means another stream on each thread.
  virtual bool is_shared(StreamHandle) const noexcept { return false; }
  /// Throws Error(INVALID_ARGUMENT) unless the standard allows that number for this kind of device.
  /// Does not call the driver.
  virtual void check_stream(int64_t number) const;
  virtual StreamHandle create_stream(int32_t id);
  virtual void destroy_stream(int32_t id, StreamHandle stream) noexcept;
  /// Waits on the host until all work submitted to `stream` so far is done.
  virtual void synchronize_stream(int32_t id, StreamHandle stream);
  /// Whether a stream has no pending work. Must not be called while the stream is captured.
  virtual bool is_idle(int32_t id, StreamHandle stream);
  virtual CaptureInfo capture(int32_t id, StreamHandle stream);
  /// The device of a stream; `id` for default streams, and if the driver cannot say.
  virtual int32_t device_of_stream(int32_t id, StreamHandle) { return id; }

  /// Records an event after all work submitted to `stream` so far. Must not be called while
  /// `stream` is captured.
  virtual EventHandle record(int32_t id, StreamHandle stream) = 0;
  /// Makes later work on `stream` start after the event.
  virtual void wait(int32_t id, StreamHandle stream, EventHandle event) = 0;
  virtual void wait_on_host(int32_t id, EventHandle event) = 0;
  virtual bool is_done(int32_t id, EventHandle event) = 0;
  virtual void release_event(int32_t id, EventHandle event) noexcept = 0;
  /// The driver's event, for other libraries (Arrow's sync_event points to it); NULL if there is
  /// none.
  virtual void* native_event(EventHandle) noexcept { return nullptr; }
  /// Makes `stream` wait for an event of another library, given as the driver's handle.
  virtual void wait_native(int32_t id, StreamHandle stream, void* native_event);

  // ---- copies, in the order of `stream` ----

  virtual void copy_from_host(int32_t id, StreamHandle stream, DeviceAddress dst, const void* src,
                              size_t size) = 0;
  virtual void copy_to_host(int32_t id, StreamHandle stream, void* dst, DeviceAddress src,
                            size_t size) = 0;
  /// `stream` belongs to `dst_id`.
  virtual void copy_on_device(int32_t dst_id, DeviceAddress dst, int32_t src_id, DeviceAddress src,
                              StreamHandle stream, size_t size) = 0;
  /// Runs a plan of whole bytes with kernels; the plan's addresses are offsets into `dst` and
  /// `src`. False: the device has no kernels, and nothing was copied.
  virtual bool copy_strided(int32_t id, StreamHandle stream, DeviceAddress dst, DeviceAddress src,
                            const CopyPlan& plan);

 protected:
  ~Backend() = default;
};

/// An event after all work submitted to a stream so far; released at the end of the scope.
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
Backend& cpu_backend() noexcept;
/// kDLCUDA, kDLCUDAHost, kDLCUDAManaged by the CUDA driver API.
Backend& cuda_backend() noexcept;
/// kDLROCM, kDLROCMHost by HIP.
Backend& hip_backend() noexcept;
/// kDLOpenCL.
Backend& opencl_backend() noexcept;

}  // namespace dlx

#endif  // DLX_SRC_DEVICE_BACKEND_H_
