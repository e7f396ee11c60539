#ifndef DLX_SRC_DEVICE_OPENCL_QUEUE_H_
#define DLX_SRC_DEVICE_OPENCL_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "src/base/once.h"
#include "src/copy/plan/plan.h"
#include "src/device/backend.h"
#include "src/driver/opencl.h"
#include "src/gpu/launch.h"

namespace dlx {

/// Throws Error(DRIVER), naming the call, if the code is not success.
void check_opencl(const char* symbol, opencl::Result code);

/// A kind of thing that OpenCL tells about one of its objects.
template <typename T, typename Function, typename... Object>
T ask_opencl(const Function& function, opencl::Uint what, Object... object) {
  T value{};
  // NOLINTNEXTLINE(bugprone-sizeof-expression): many of them are handles
  check_opencl(function.symbol, function(object..., what, sizeof value, &value, nullptr));
  return value;
}

/// One OpenCL device: a context of dlx's own with one in-order queue in it, both made on first use
/// and kept; the kernels are compiled when the first strided copy needs them.
///
/// Every function may be called from any thread.
class OpenClQueue {
 public:
  OpenClQueue(const opencl::Functions& cl, opencl::Device device) noexcept
      : cl_(cl), device_(device) {}

  opencl::Device device() const noexcept { return device_; }
  opencl::Context context();
  opencl::Queue queue();

  /// Whether the memory belongs to another context: then only the host can reach both.
  bool is_foreign(void* memory);

  /// Pinned by nothing: both return when the work is queued, or, of foreign memory, done.
  void write(DeviceAddress dst, const void* src, size_t size);
  void read(void* dst, DeviceAddress src, size_t size);
  /// Neither side is foreign.
  void copy(DeviceAddress dst, DeviceAddress src, size_t size);

  /// By a rectangular copy of the driver's, where the plan is one of long rows; else by kernels.
  /// False: a side is foreign, or there are no kernels.
  bool copy_strided(DeviceAddress dst, DeviceAddress src, const CopyPlan& plan);
  /// Why there are no kernels: "" if there are, and before the first strided copy asked for them.
  std::string no_kernels();

 private:
  struct Kernels {
    explicit Kernels(const opencl::Functions& functions) noexcept : cl(functions) {}
    Kernels(const Kernels&) = delete;
    Kernels& operator=(const Kernels&) = delete;
    ~Kernels() {
      for (opencl::Kernel kernel : kernels) cl.release_kernel(kernel);
    }
    const opencl::Functions& cl;
    gpu::Limits limits{};
    std::vector<opencl::Kernel> kernels;
  };

  void open();
  void transfer_foreign(void* memory, size_t offset, void* host, size_t size, bool to_host);
  bool copy_rows(DeviceAddress dst, DeviceAddress src, const CopyPlan& plan);
  const Kernels* kernels();
  [[gnu::cold]] std::unique_ptr<Kernels> build();  // once, and by the compiler of the driver
  std::string build_log(opencl::Program program) noexcept;
  void launch(const gpu::Launch& launch, void* dst, void* src);

  const opencl::Functions& cl_;
  opencl::Device device_;
  Once opened_;
  opencl::Context context_ = nullptr;
  opencl::Queue queue_ = nullptr;
  std::mutex mutex_;  // of the kernels: their arguments are state
  std::unique_ptr<Kernels> kernels_;
  std::string no_kernels_;
};

}  // namespace dlx

#endif  // DLX_SRC_DEVICE_OPENCL_QUEUE_H_
