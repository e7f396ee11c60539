// One OpenCL device with its queue: transfers, copies and kernels.
#ifndef DLX_SRC_DEVICE_OPENCL_QUEUE_H_
#define DLX_SRC_DEVICE_OPENCL_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "src/base/once.h"
#include "src/copy/plan/plan.h"
#include "src/device/backend.h"
#include "src/device/missing_kernels.h"
#include "src/driver/opencl.h"
#include "src/gpu/kernels.h"
#include "src/gpu/launch.h"

namespace dlx {

/// Throws Error(DRIVER) with the name of the function if `code` is not CL_SUCCESS.
void check_opencl(const char* symbol, opencl::Result code);

/// A property of an OpenCL object that has a fixed size.
template <typename T, typename Function, typename... Object>
T ask_opencl(const Function& function, opencl::Uint what, Object... object) {
  T value{};
  // NOLINTNEXTLINE(bugprone-sizeof-expression): many properties are handles
  check_opencl(function.symbol, function(object..., what, sizeof value, &value, nullptr));
  return value;
}

/// One OpenCL device: dlx's own context with one in-order queue, both created on first use and
/// kept. Strided copies compile the families of kernels that
/// they need. Any thread may call any function.
class OpenClQueue {
 public:
  OpenClQueue(const opencl::Functions& cl, opencl::Device device) noexcept
      : cl_(cl), device_(device) {}

  opencl::Device device() const noexcept { return device_; }
  opencl::Context context();
  opencl::Queue queue();

  /// Whether the memory belongs to another context. Copies then go through the host.
  bool is_foreign(void* memory);

  /// Both return when the work is queued; for foreign memory, or with `wait`, when it is done. `src` and
  /// `dst` are not pinned. With `wait` no work uses them after an error either.
  void write(DeviceAddress dst, const void* src, size_t size, bool wait = false);
  void read(void* dst, DeviceAddress src, size_t size, bool wait = false);
  /// Neither operand may be foreign.
  void copy(DeviceAddress dst, DeviceAddress src, size_t size);

  /// Uses the driver's rectangular copy for a plan of long rows, kernels for any other plan. False:
  /// an operand is foreign, or there are no kernels.
  bool copy_strided(DeviceAddress dst, DeviceAddress src, const CopyPlan& plan);
  /// Which kernels the device lacks, and why; "" if none, and before the first strided copy.
  std::string no_kernels();

 private:
  /// A family of kernels.
  struct Kernels {
    explicit Kernels(const opencl::Functions& functions) noexcept : cl(functions) {}
    Kernels(const Kernels&) = delete;
    Kernels& operator=(const Kernels&) = delete;
    ~Kernels() {
      for (const auto& kernel : by_number) cl.release_kernel(kernel.second);
    }
    const opencl::Functions& cl;
    std::map<int32_t, opencl::Kernel> by_number;  ///< of gpu::Kernel
  };

  void open();
  void transfer_foreign(void* memory, size_t offset, void* host, size_t size, bool to_host);
  bool copy_rows(DeviceAddress dst, DeviceAddress src, const CopyPlan& plan);
  const Kernels* kernels(int32_t family);
  [[gnu::cold]] std::unique_ptr<Kernels> build(int32_t family, std::string* why_not);
  std::string build_log(opencl::Program program) noexcept;
  void launch(opencl::Kernel kernel, const gpu::Launch& launch, void* dst, void* src);

  const opencl::Functions& cl_;
  opencl::Device device_;
  Once opened_;
  opencl::Context context_ = nullptr;
  opencl::Queue queue_ = nullptr;
  std::mutex mutex_;  // guards the kernels, because their arguments are part of their state
  std::unique_ptr<Kernels> kernels_[gpu::kFamilies];
  gpu::Limits limits_{};
  MissingKernels no_kernels_;
};

}  // namespace dlx

#endif  // DLX_SRC_DEVICE_OPENCL_QUEUE_H_
