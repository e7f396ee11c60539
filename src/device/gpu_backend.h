#ifndef DLX_SRC_DEVICE_GPU_BACKEND_H_
#define DLX_SRC_DEVICE_GPU_BACKEND_H_

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "src/base/once.h"
#include "src/device/backend.h"
#include "src/device/gpu_driver.h"
#include "src/device/gpu_events.h"
#include "src/device/missing_kernels.h"
#include "src/gpu/kernels.h"

namespace dlx {

/// The backend for a GpuDriver: everything that CUDA and HIP share above the driver calls.
class GpuBackend : public Backend {
 public:
  explicit GpuBackend(GpuDriver& driver) noexcept : driver_(driver) {}

  int32_t count() override;
  const char* reason() override;
  void describe(int32_t id, dlx_device_properties* out) override;
  bool locate(const void* pointer, PointerInfo* out) override;
  int32_t current_device() override;

  void* allocate(int32_t device_type, int32_t id, size_t size, size_t alignment) override;
  void deallocate(int32_t device_type, int32_t id, void* data) noexcept override;
  void* allocate_temporary(int32_t id, StreamHandle stream, size_t size) override;
  void deallocate_temporary(int32_t id, StreamHandle stream, void* data) noexcept override;
  void* allocate_pinned(int32_t id, size_t size) override;
  void deallocate_pinned(void* data) noexcept override;
  bool managed_is_concurrent(int32_t id) override;
  void synchronize(int32_t id) override;

  bool has_streams() const noexcept override { return true; }
  bool is_shared(StreamHandle stream) const noexcept override { return stream != kStreamOfThread; }
  StreamHandle create_stream(int32_t id) override;
  void destroy_stream(int32_t id, StreamHandle stream) noexcept override;
  void synchronize_stream(int32_t id, StreamHandle stream) override;
  bool is_idle(int32_t id, StreamHandle stream) override;
  CaptureInfo capture(int32_t id, StreamHandle stream) override;
  int32_t device_of_stream(int32_t id, StreamHandle stream) override;

  EventHandle record(int32_t id, StreamHandle stream) override;
  void wait(int32_t id, StreamHandle stream, EventHandle event) override;
  void wait_on_host(int32_t id, EventHandle event) override;
  bool is_done(int32_t id, EventHandle event) override;
  void release_event(int32_t id, EventHandle event) noexcept override;
  void* native_event(EventHandle event) noexcept override;
  void wait_native(int32_t id, StreamHandle stream, void* native_event) override;

  void copy_from_host(int32_t id, StreamHandle stream, DeviceAddress dst, const void* src,
                      size_t size) override;
  void copy_to_host(int32_t id, StreamHandle stream, void* dst, DeviceAddress src,
                    size_t size) override;
  void copy_on_device(int32_t dst_id, DeviceAddress dst, int32_t src_id, DeviceAddress src,
                      StreamHandle stream, size_t size) override;
  bool copy_strided(int32_t id, StreamHandle stream, DeviceAddress dst, DeviceAddress src,
                    const CopyPlan& plan) override;

 protected:
  ~GpuBackend() = default;

  /// The device types of pinned and of device memory.
  virtual int32_t host_type() const noexcept = 0;
  virtual int32_t memory_type() const noexcept = 0;

 private:
  /// The kernels in one device's primary context. Families are loaded on first use and kept.
  struct Kernels {
    gpu::Limits limits{};
    std::atomic<uint32_t> missing{0};                   ///< as in gpu::Limits
    std::atomic<void**> families[gpu::kFamilies] = {};  ///< the driver's functions, by gpu::Kernel
  };
  struct Device {
    GpuEvents events;
    std::mutex mutex;  // guards the members below
    bool asked_for_pool = false;
    void* pool = nullptr;
    std::atomic<Kernels*> kernels{nullptr};
    MissingKernels no_kernels;
    std::vector<bool> peers;  ///< devices for which peer access was requested
  };

  void open();
  /// Throws Error(DRIVER) unless the driver is usable.
  Device& device(int32_t id);
  GpuPlace place(int32_t id, StreamHandle stream);
  void* pool(Device& device, int32_t id);
  Kernels& kernels(Device& device, int32_t id);
  void** family(Device& device, int32_t id, StreamHandle stream, int32_t family);
  void** load_family(int32_t id, int32_t family, std::string* why_not);
  void enable_peer(const GpuPlace& place, int32_t peer);
  void* allocate_aligned(int32_t device_type, size_t size, size_t alignment);

  GpuDriver& driver_;
  Once opened_;
  int32_t count_ = 0;
  std::string reason_;
  std::unique_ptr<Device[]> devices_;
  std::mutex shifted_mutex_;
  std::map<void*, void*> shifted_;  ///< aligned address -> the driver's address
};

}  // namespace dlx

#endif  // DLX_SRC_DEVICE_GPU_BACKEND_H_
