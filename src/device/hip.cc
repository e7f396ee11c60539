#include "src/base/error.h"
#include "src/base/immortal.h"
#include "src/device/gpu_backend.h"
#include "src/device/hip_driver.h"

namespace dlx {
namespace {

class HipBackend final : public GpuBackend {
 public:
  explicit HipBackend(GpuDriver& driver) noexcept : GpuBackend(driver) {}

  StreamHandle default_stream() const noexcept override { return 0; }

  void check_stream(int64_t number) const override {
    if (number == 0 || number > 2) return;
    fail(DLX_ERROR_INVALID_ARGUMENT,
         "`stream` is not a ROCm stream (got %lld, expected 0 or a handle)",
         static_cast<long long>(number));
  }

 protected:
  int32_t host_type() const noexcept override { return kDLROCMHost; }
  int32_t memory_type() const noexcept override { return kDLROCM; }
};

}  // namespace

Backend& hip_backend() noexcept {
  static Immortal<HipDriver> driver;
  static Immortal<HipBackend> backend(driver.get());
  return backend.get();
}

}  // namespace dlx
