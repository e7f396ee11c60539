#ifndef DLX_SRC_DEVICE_CUDA_DRIVER_H_
#define DLX_SRC_DEVICE_CUDA_DRIVER_H_

#include <memory>

#include "src/device/gpu_calls.h"

namespace dlx {

/// The CUDA driver API, in the primary contexts, which CUDA's runtime API (torch, CuPy, JAX …) also
/// uses. dlx retains each on the first allocation or work on its device and never releases it.
class CudaDriver final : public GpuCalls<cuda::Functions, cuda::DevicePointer> {
 public:
  CudaDriver() noexcept;

  int32_t open(std::string* reason) override;
  bool locate(const void* pointer, PointerInfo* out) override;
  void describe(int32_t id, dlx_device_properties* out) override;
  int32_t current_device() override;
  gpu::Limits limits(int32_t id) override;
  bool managed_is_concurrent(int32_t id) override;

  GpuPlace primary(int32_t id) override;
  GpuPlace place_of(int32_t id, StreamHandle stream) override;
  GpuPlace any_place() override;
  Saved enter(const GpuPlace& place) override;
  void leave(const Saved& saved) noexcept override;

  void* allocate(int32_t device_type, size_t size) override;
  void free(int32_t device_type, void* data) noexcept override;
  void* create_pool(int32_t id) override;
  void copy_peer(StreamHandle stream, const GpuPlace& dst_place, void* dst,
                 const GpuPlace& src_place, const void* src, size_t size) override;
  void enable_peer(const GpuPlace& peer) noexcept override;
  void* load_module(int32_t id, int32_t family, std::string* why_not) override;

 private:
  struct Device {
    std::atomic<cuda::Context> context;  ///< the primary context; NULL until retained
  };

  void error_text(cuda::Result error, const char** name, const char** text) noexcept override;
  bool is_no_code(cuda::Result error) const noexcept override;
  std::string oldest_version() const override;
  void initialise();
  /// The driver's handle of a device. Not cached, so that one broken device does not affect the
  /// others.
  cuda::Device number(int32_t id);
  int attribute(int32_t id, int attribute);
  int64_t free_memory(int32_t id);
  bool pointer_attributes(const void* pointer, unsigned* type, int* managed, int* ordinal) noexcept;

  std::mutex retain_mutex_;
  std::unique_ptr<Device[]> devices_;
  int32_t count_ = 0;
  int version_ = 0;
};

}  // namespace dlx

#endif  // DLX_SRC_DEVICE_CUDA_DRIVER_H_
