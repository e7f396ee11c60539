#ifndef DLX_SRC_DEVICE_HIP_DRIVER_H_
#define DLX_SRC_DEVICE_HIP_DRIVER_H_

#include "src/device/gpu_calls.h"
#include "src/driver/hip.h"

namespace dlx {

/// HIP. It is a runtime API: each thread has a current device and a pending last error. dlx clears
/// the errors of its own calls. An earlier pending error is lost if a HIP call overwrites it (ROCm
/// 5 and 6 do so even on success).
class HipDriver final : public GpuCalls<hip::Functions, hip::DevicePointer> {
 public:
  HipDriver() noexcept;

  int32_t open(std::string* reason) override;
  bool locate(const void* pointer, PointerInfo* out) override;
  void describe(int32_t id, dlx_device_properties* out) override;
  int32_t current_device() override;
  gpu::Limits limits(int32_t id) override;
  // not covered from here: DLPack has no type for it
  bool managed_is_concurrent(int32_t) override { return false; }
  // covered again

  GpuPlace primary(int32_t id) override { return {id, nullptr, true}; }
  GpuPlace place_of(int32_t id, StreamHandle stream) override;
  GpuPlace any_place() override;
  Saved enter(const GpuPlace& place) override;
  void leave(const Saved& saved) noexcept override;

  void* allocate(int32_t device_type, size_t size) override;
  void free(int32_t device_type, void* data) noexcept override;
  CaptureInfo capture(StreamHandle stream) override;
  bool is_done(void* event, StreamHandle stream) override;
  void synchronize_event(void* event, StreamHandle stream) override;
  void* create_pool(int32_t id) override;
  void copy_peer(StreamHandle stream, const GpuPlace& dst_place, void* dst,
                 const GpuPlace& src_place, const void* src, size_t size) override;
  void enable_peer(const GpuPlace& peer) noexcept override;
  void* load_module(int32_t id, int32_t family, std::string* why_not) override;

 private:
  void error_text(cuda::Result error, const char** name, const char** text) noexcept override;
  bool is_no_code(cuda::Result error) const noexcept override;
  std::string oldest_version() const override;
  int32_t initialise();
  int attribute(int32_t id, int attribute);
  bool initialised() const noexcept;
  int version() noexcept;
  void clear_last_error(int before) noexcept;
  void describe_inside(int32_t id, dlx_device_properties* out);
  std::string architecture(int32_t id);
  enum class StreamState { kOrdinary, kCaptured, kDestroyed };
  StreamState state_of(StreamHandle stream);

  std::atomic<bool> opened_{false};
  std::atomic<int> version_{0};
};

}  // namespace dlx

#endif  // DLX_SRC_DEVICE_HIP_DRIVER_H_
