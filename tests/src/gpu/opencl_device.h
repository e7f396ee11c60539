#ifndef DLX_TESTS_SRC_GPU_OPENCL_DEVICE_H_
#define DLX_TESTS_SRC_GPU_OPENCL_DEVICE_H_

#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

extern "C" {
#include <cmocka.h>
}
#undef fail  // its macro would hide dlx::fail

#include "src/driver/opencl.h"
#include "src/gpu/images.h"
#include "src/gpu/kernels.h"
#include "src/gpu/launch.h"
#include "tests/support/opencl_leaks.h"

namespace dlx_test {

/// The first OpenCL device of this machine, with the strided-copy kernels.
class OpenClDevice {
 public:
  /// The device; without one the case is skipped. skip() jumps: nothing with a destructor may live in
  /// the case yet.
  static OpenClDevice* find_or_skip() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    print_message("skipped: sanitizers do not see what kernels do\n");
    skip();
#endif
    // PoCL's cache of compiled kernels, in a folder that a sandbox allows.
    if (const char* folder = std::getenv("TEST_TMPDIR")) setenv("POCL_CACHE_DIR", folder, 0);
    static OpenClDevice device;
    if (device.reason_.empty()) return &device;
    print_message("skipped: no OpenCL device: %s\n", device.reason_.c_str());
    skip();
    return nullptr;
  }

  /// A buffer over memory of this process, which the kernels of a CPU device use in place.
  dlx::opencl::Memory wrap(void* data, size_t size) {
    dlx::opencl::Result error = 0;
    dlx::opencl::Memory memory = cl_->create_buffer(
        context_, dlx::opencl::kMemReadWrite | dlx::opencl::kMemUseHostPtr, size, data, &error);
    check(error, "clCreateBuffer");
    return memory;
  }

  /// Synchronises wrapped memory and releases it.
  void unwrap(dlx::opencl::Memory memory, void* data, size_t size) {
    check(cl_->enqueue_read(queue_, memory, 1, 0, size, data, 0, nullptr, nullptr),
          "clEnqueueReadBuffer");
    release(memory);
  }

  void release(dlx::opencl::Memory memory) {
    check(cl_->release_memory(memory), "clReleaseMemObject");
  }

  void run(dlx::opencl::Memory dst, dlx::opencl::Memory src, const dlx::gpu::Launch& launch) {
    dlx::opencl::Kernel kernel = kernels_.at(launch.kernel);
    check(cl_->set_kernel_arg(kernel, 0, sizeof(dlx::opencl::Memory), &dst), "clSetKernelArg");
    check(cl_->set_kernel_arg(kernel, 1, sizeof(dlx::opencl::Memory), &src), "clSetKernelArg");
    check(cl_->set_kernel_arg(kernel, 2, sizeof launch.copy, &launch.copy), "clSetKernelArg");
    size_t local[3], global[3];
    for (int k = 0; k < 3; ++k) {
      local[k] = launch.group_size[k];
      global[k] = local[k] * launch.groups[k];
    }
    check(cl_->enqueue_kernel(queue_, kernel, 3, nullptr, global, local, 0, nullptr, nullptr),
          "clEnqueueNDRangeKernel");
    check(cl_->finish(queue_), "clFinish");
    ++launches_[launch.kernel];
  }

  /// How often each kernel ran.
  const std::map<int32_t, int>& launches() const { return launches_; }

 private:
  OpenClDevice() {
    const char* reason = nullptr;
    cl_ = dlx::opencl::functions(&reason);
    if (cl_ == nullptr) {
      reason_ = reason;
      return;
    }
    dlx::opencl::Platform platform = nullptr;
    dlx::opencl::Uint count = 0;
    cl_->platform_ids(1, &platform, &count);
    if (count == 0) {
      reason_ = "no OpenCL platform";
      return;
    }
    dlx::opencl::Device device = nullptr;
    cl_->device_ids(platform, dlx::opencl::kDeviceTypeAll, 1, &device, &count);
    if (count == 0) {
      reason_ = "no OpenCL device";
      return;
    }
    dlx::opencl::Result error = 0;
    context_ = cl_->create_context(nullptr, 1, &device, nullptr, nullptr, &error);
    check(error, "clCreateContext");
    queue_ = cl_->create_queue(context_, device, 0, &error);
    check(error, "clCreateCommandQueue");
    for (int32_t family = 0; family < dlx::gpu::kFamilies; ++family) {
      const char* text = dlx::gpu::kernel_source(family).data;
      dlx::opencl::Program program = cl_->create_program(context_, 1, &text, nullptr, &error);
      check(error, "clCreateProgramWithSource");
      if (cl_->build_program(program, 1, &device, "-Werror", nullptr, nullptr) != 0) {
        std::string log(1 << 16, '\0');
        cl_->build_info(program, device, dlx::opencl::kProgramBuildLog, log.size(), &log[0],
                        nullptr);
        throw std::runtime_error("the kernels do not compile: " + log);
      }
      for (int32_t k = 0; k < dlx::gpu::kernel_count(); ++k) {
        if (dlx::gpu::family_of(k) != family) continue;
        kernels_[k] = cl_->create_kernel(program, dlx::gpu::kernel_name(k), &error);
        check(error, dlx::gpu::kernel_name(k));
      }
    }
  }

  static void check(dlx::opencl::Result error, const char* call) {
    if (error == dlx::opencl::kSuccess) return;
    throw std::runtime_error(std::string(call) + ": " + dlx::opencl::error_name(error));
  }

  const dlx::opencl::Functions* cl_ = nullptr;
  std::string reason_;
  dlx::opencl::Context context_ = nullptr;
  dlx::opencl::Queue queue_ = nullptr;
  std::map<int32_t, dlx::opencl::Kernel> kernels_;
  std::map<int32_t, int> launches_;
};

}  // namespace dlx_test

#endif  // DLX_TESTS_SRC_GPU_OPENCL_DEVICE_H_
