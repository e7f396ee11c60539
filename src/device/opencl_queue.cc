#include "src/device/opencl_queue.h"

#include <algorithm>

#include "dlx/dlx.h"
#include "src/base/error.h"
#include "src/gpu/images.h"

namespace dlx {
namespace {

using opencl::Memory;
using opencl::Result;

/// Rows of this many bytes or more are copied by the driver, shorter rows by kernels.
constexpr int64_t kLongRow = 512;

/// Work items of a group, which some families require.
constexpr size_t kGroup = 256;

/// Minimum local memory for kernels, in bytes: the minimum that OpenCL 1.1 requires of GPUs.
constexpr uint64_t kLocalMemory = uint64_t{32} << 10;

Memory as_memory(void* handle) noexcept { return static_cast<Memory>(handle); }

/// Releases a queue or program at the end of the scope; NULL is ignored.
template <typename Object>
class Held {
 public:
  using Release = DriverFunction<Result(Object)>;
  Held(Object object, const Release& release) noexcept : object_(object), release_(release) {}
  ~Held() {
    if (object_ != nullptr) release_(object_);
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  Object get() const noexcept { return object_; }

 private:
  Object object_;
  const Release& release_;
};

}  // namespace

void check_opencl(const char* symbol, Result code) {
  if (code == opencl::kSuccess) return;
  fail(DLX_ERROR_DRIVER, "%s failed: %s (%d)", symbol, opencl::error_name(code),
       static_cast<int>(code));
}

void OpenClQueue::open() {
  opened_.run([this] {
    Result code = 0;
    opencl::Context context = cl_.create_context(nullptr, 1, &device_, nullptr, nullptr, &code);
    check_opencl(cl_.create_context.symbol, code);
    opencl::Queue queue = cl_.create_queue(context, device_, 0, &code);
    if (code != opencl::kSuccess) cl_.release_context(context);
    check_opencl(cl_.create_queue.symbol, code);
    context_ = context;
    queue_ = queue;
  });
}

opencl::Context OpenClQueue::context() {
  open();
  return context_;
}

opencl::Queue OpenClQueue::queue() {
  open();
  return queue_;
}

bool OpenClQueue::is_foreign(void* memory) {
  return ask_opencl<opencl::Context>(cl_.memory_info, opencl::kMemContext, as_memory(memory)) !=
         context();
}

// ---- copies ------------------------------------------------------------------------------------

/// Transfers synchronously, on a queue in the memory's own context. The producer has waited for its
/// own work, because OpenCL tensors are exchanged without a stream.
void OpenClQueue::transfer_foreign(void* memory, size_t offset, void* host, size_t size,
                                   bool to_host) {
  const auto context =
      ask_opencl<opencl::Context>(cl_.memory_info, opencl::kMemContext, as_memory(memory));
  size_t bytes = 0;
  check_opencl(cl_.context_info.symbol,
               cl_.context_info(context, opencl::kContextDevices, 0, nullptr, &bytes));
  std::vector<opencl::Device> devices(bytes / sizeof(opencl::Device));
  check_opencl(cl_.context_info.symbol,
               cl_.context_info(context, opencl::kContextDevices, bytes, devices.data(), nullptr));
  const bool is_there = std::find(devices.begin(), devices.end(), device_) != devices.end();
  Result code = 0;
  const Held<opencl::Queue> own(
      cl_.create_queue(context, is_there ? device_ : devices.at(0), 0, &code), cl_.release_queue);
  check_opencl(cl_.create_queue.symbol, code);
  if (to_host) {
    check_opencl(cl_.enqueue_read.symbol, cl_.enqueue_read(own.get(), as_memory(memory), 1, offset,
                                                           size, host, 0, nullptr, nullptr));
  } else {
    check_opencl(cl_.enqueue_write.symbol,
                 cl_.enqueue_write(own.get(), as_memory(memory), 1, offset, size, host, 0, nullptr,
                                   nullptr));
  }
}

void OpenClQueue::write(DeviceAddress dst, const void* src, size_t size, bool wait) {
  if (is_foreign(dst.data)) {
    check_opencl(cl_.finish.symbol, cl_.finish(queue()));  // queued work may write `src`
    transfer_foreign(dst.data, dst.offset, const_cast<void*>(src), size, false);
    return;
  }
  check_opencl(cl_.enqueue_write.symbol,
               cl_.enqueue_write(queue(), as_memory(dst.data), wait ? 1 : 0, dst.offset, size, src,
                                 0, nullptr, nullptr));
}

void OpenClQueue::read(void* dst, DeviceAddress src, size_t size, bool wait) {
  if (is_foreign(src.data)) {
    check_opencl(cl_.finish.symbol, cl_.finish(queue()));  // queued work may read `dst`
    transfer_foreign(src.data, src.offset, dst, size, true);
    return;
  }
  check_opencl(cl_.enqueue_read.symbol,
               cl_.enqueue_read(queue(), as_memory(src.data), wait ? 1 : 0, src.offset, size, dst,
                                0, nullptr, nullptr));
}

void OpenClQueue::copy(DeviceAddress dst, DeviceAddress src, size_t size) {
  check_opencl(cl_.enqueue_copy.symbol,
               cl_.enqueue_copy(queue(), as_memory(src.data), as_memory(dst.data), src.offset,
                                dst.offset, size, 0, nullptr, nullptr));
}

/// Copies rows and planes whose pitches are positive and large enough that they do not overlap.
/// False: the plan does not qualify.
bool OpenClQueue::copy_rows(DeviceAddress dst, DeviceAddress src, const CopyPlan& plan) {
  if (plan.item() < kLongRow || plan.ndim() < 1 || plan.ndim() > 2) return false;
  if (dst.data == src.data) return false;  // OpenCL requires equal pitches within a buffer
  const CopyAxis& rows = plan.axis(plan.ndim() - 1);
  const CopyAxis planes =
      plan.ndim() == 2 ? plan.axis(0) : CopyAxis{1, rows.extent * rows.dst, rows.extent * rows.src};
  // In dst nothing overlaps: a plan writes no byte twice.
  if (rows.src < plan.item() || planes.src % rows.src != 0 || planes.dst % rows.dst != 0 ||
      planes.src < rows.extent * rows.src) {
    return false;
  }
  const auto size = [](int64_t n) { return static_cast<size_t>(n); };
  const size_t dst_first[] = {dst.offset + reinterpret_cast<uintptr_t>(plan.dst()), 0, 0};
  const size_t src_first[] = {src.offset + reinterpret_cast<uintptr_t>(plan.src()), 0, 0};
  const size_t region[] = {size(plan.item()), size(rows.extent), size(planes.extent)};
  check_opencl(cl_.enqueue_copy_rect.symbol,
               cl_.enqueue_copy_rect(queue(), as_memory(src.data), as_memory(dst.data), src_first,
                                     dst_first, region, size(rows.src), size(planes.src),
                                     size(rows.dst), size(planes.dst), 0, nullptr, nullptr));
  return true;
}

bool OpenClQueue::copy_strided(DeviceAddress dst, DeviceAddress src, const CopyPlan& plan) {
  if (is_foreign(dst.data) || is_foreign(src.data)) return false;
  if (copy_rows(dst, src, plan)) return true;
  std::lock_guard<std::mutex> lock(mutex_);
  // dlx's own memory is aligned for every item size.
  gpu::Launches launches(plan, dst.offset, src.offset, limits_);
  gpu::Launch next;
  while (launches.next(&next)) {
    const Kernels* ready = nullptr;
    while (next.kernel >= 0) {
      ready = kernels(gpu::family_of(next.kernel));
      if (ready != nullptr && next.group_size[0] <= limits_.max_group_size) break;
      launches.again(limits_, &next);
    }
    if (next.kernel < 0) return false;
    next.copy.dst += static_cast<int64_t>(dst.offset);
    next.copy.src += static_cast<int64_t>(src.offset);
    next.copy.src_low += static_cast<int64_t>(src.offset);
    next.copy.src_high += static_cast<int64_t>(src.offset);
    launch(ready->by_number.at(next.kernel), next, dst.data, src.data);
  }
  return true;
}

// ---- kernels -----------------------------------------------------------------------------------

void OpenClQueue::launch(opencl::Kernel kernel, const gpu::Launch& launch, void* dst, void* src) {
  const struct {
    size_t size;
    const void* value;
  } arguments[] = {{sizeof dst, &dst}, {sizeof src, &src}, {sizeof launch.copy, &launch.copy}};
  for (opencl::Uint k = 0; k < 3; ++k) {
    check_opencl(cl_.set_kernel_arg.symbol,
                 cl_.set_kernel_arg(kernel, k, arguments[k].size, arguments[k].value));
  }
  size_t group[3], all[3];
  for (int k = 0; k < 3; ++k) {
    group[k] = launch.group_size[k];
    all[k] = group[k] * launch.groups[k];
  }
  check_opencl(cl_.enqueue_kernel.symbol,
               cl_.enqueue_kernel(queue(), kernel, 3, nullptr, all, group, 0, nullptr, nullptr));
}

/// A family, built on first use. NULL if the device has no compiler or it rejects the source; this is
/// permanent. Any other failure throws, and the next copy tries again.
const OpenClQueue::Kernels* OpenClQueue::kernels(int32_t family) {
  std::unique_ptr<Kernels>& place = kernels_[family];
  if (place != nullptr) return place.get();
  std::string why_not;
  place = build(family, &why_not);
  if (place == nullptr) {
    no_kernels_.add(family, why_not);
    limits_.missing |= 1u << family;
  }
  return place.get();
}

std::string OpenClQueue::no_kernels() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return no_kernels_.text();
}

/// The compiler's messages; "" if the driver has none.
std::string OpenClQueue::build_log(opencl::Program program) noexcept try {
  size_t size = 0;
  check_opencl(cl_.build_info.symbol,
               cl_.build_info(program, device_, opencl::kProgramBuildLog, 0, nullptr, &size));
  std::string log(size, '\0');
  check_opencl(cl_.build_info.symbol,
               cl_.build_info(program, device_, opencl::kProgramBuildLog, size, &log[0], nullptr));
  return log.c_str();
} catch (...) {
  return {};  // not covered: PoCL has its messages
}

/// NULL on failure, and sets `why_not`.
std::unique_ptr<OpenClQueue::Kernels> OpenClQueue::build(int32_t family, std::string* why_not) {
  const auto has_compiler =
      ask_opencl<opencl::Uint>(cl_.device_info, opencl::kDeviceCompilerAvailable, device_);
  const auto local = ask_opencl<uint64_t>(cl_.device_info, opencl::kDeviceLocalMemSize, device_);
  if (has_compiler == 0) {
    *why_not = "the device has no compiler";
    return nullptr;
  }
  if (local < kLocalMemory) {
    *why_not = "the device has " + std::to_string(local) + " bytes of local memory";
    return nullptr;
  }
  Result code = 0;
  const char* text = gpu::kernel_source(family).data;
  const Held<opencl::Program> program(cl_.create_program(context(), 1, &text, nullptr, &code),
                                      cl_.release_program);
  check_opencl(cl_.create_program.symbol, code);
  code = cl_.build_program(program.get(), 1, &device_, "", nullptr, nullptr);
  if (code == opencl::kBuildProgramFailure || code == opencl::kCompilerNotAvailable) {
    *why_not = std::string(cl_.build_program.symbol) + " failed: " + opencl::error_name(code) +
               ": " + build_log(program.get());
    return nullptr;
  }
  check_opencl(cl_.build_program.symbol, code);
  auto built = std::make_unique<Kernels>(cl_);
  size_t most = ask_opencl<size_t>(cl_.device_info, opencl::kDeviceMaxWorkGroupSize, device_);
  for (int32_t k = 0; k < gpu::kernel_count(); ++k) {
    if (gpu::family_of(k) != family) continue;
    opencl::Kernel kernel = cl_.create_kernel(program.get(), gpu::kernel_name(k), &code);
    check_opencl(cl_.create_kernel.symbol, code);
    built->by_number[k] = kernel;
    most = std::min(most, ask_opencl<size_t>(cl_.kernel_group_info, opencl::kKernelWorkGroupSize,
                                             kernel, device_));
  }
  if (most < kGroup && (family == gpu::kTurn || family == gpu::kFew)) {
    *why_not = "its groups have " + std::to_string(most) + " work items at most";
    return nullptr;
  }
  if (limits_.max_group_size == 0 || most < limits_.max_group_size) {
    limits_.max_group_size = static_cast<uint32_t>(most);
  }
  return built;
}

}  // namespace dlx
