#include "src/base/error.h"
#include "src/base/immortal.h"
#include "src/device/cuda_driver.h"
#include "src/device/gpu_backend.h"

namespace dlx {
namespace {

class CudaBackend final : public GpuBackend {
 public:
  explicit CudaBackend(GpuDriver& driver) noexcept : GpuBackend(driver) {}

  StreamHandle default_stream() const noexcept override { return 1; }
  bool is_default(StreamHandle stream) const noexcept override {
    return stream == 1 || stream == 2;
  }

  void check_stream(int64_t number) const override {
    if (number >= 1) return;
    fail(DLX_ERROR_INVALID_ARGUMENT,
         "`stream` is not a CUDA stream (got %lld, expected 1, 2 or a handle; 0 is ambiguous)",
         static_cast<long long>(number));
  }

 protected:
  int32_t host_type() const noexcept override { return kDLCUDAHost; }
  int32_t memory_type() const noexcept override { return kDLCUDA; }
};

}  // namespace

Backend& cuda_backend() noexcept {
  static Immortal<CudaDriver> driver;
  static Immortal<CudaBackend> backend(driver.get());
  return backend.get();
}

}  // namespace dlx
