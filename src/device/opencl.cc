// The OpenCL backend: the data of a tensor is a cl_mem. dlx has one in-order queue for each device
// and no streams. An offset into a buffer is stored in byte_offset; dlx makes no sub-buffers.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "dlx/dlx.h"
#include "src/base/error.h"
#include "src/base/immortal.h"
#include "src/base/once.h"
#include "src/device/backend.h"
#include "src/device/opencl_queue.h"
#include "src/device/process_state.h"

namespace dlx {
namespace {

using opencl::Result;

/// Chunk size of copies between devices that share no context.
constexpr size_t kStagedBytes = size_t{4} << 20;

struct OpenClEvent {
  opencl::Event event;
  int32_t id;
};

OpenClEvent* as_event(EventHandle handle) noexcept { return static_cast<OpenClEvent*>(handle); }

class OpenClBackend final : public Backend {
 public:
  int32_t count() override {
    open();
    return static_cast<int32_t>(queues_.size());
  }
  const char* reason() override {
    open();
    return reason_.c_str();
  }
  void describe(int32_t id, dlx_device_properties* out) override;

  void* allocate(int32_t device_type, int32_t id, size_t size, size_t alignment) override;
  void deallocate(int32_t device_type, int32_t id, void* data) noexcept override;
  void* allocate_temporary(int32_t id, StreamHandle, size_t size) override {
    return allocate(kDLOpenCL, id, size, 1);
  }
  // OpenCL keeps memory until the commands that use it are done.
  void deallocate_temporary(int32_t id, StreamHandle, void* data) noexcept override {
    deallocate(kDLOpenCL, id, data);
  }
  bool is_shared(StreamHandle) const noexcept override { return true; }
  void synchronize(int32_t id) override {
    check_opencl(cl_->finish.symbol, cl_->finish(queue(id).queue()));
  }

  EventHandle record(int32_t id, StreamHandle) override;
  void wait(int32_t id, StreamHandle, EventHandle event) override;
  void wait_on_host(int32_t id, EventHandle event) override;
  bool is_done(int32_t id, EventHandle event) override;
  void release_event(int32_t id, EventHandle event) noexcept override;

  void copy_from_host(int32_t id, StreamHandle, DeviceAddress dst, const void* src,
                      size_t size) override {
    queue(id).write(dst, src, size);
  }
  void copy_to_host(int32_t id, StreamHandle, void* dst, DeviceAddress src, size_t size) override {
    queue(id).read(dst, src, size);
  }
  void copy_on_device(int32_t dst_id, DeviceAddress dst, int32_t src_id, DeviceAddress src,
                      StreamHandle, size_t size) override;
  bool copy_strided(int32_t id, StreamHandle, DeviceAddress dst, DeviceAddress src,
                    const CopyPlan& plan) override {
    return queue(id).copy_strided(dst, src, plan);
  }

 private:
  void open();
  void find_devices();
  void add_devices(opencl::Platform platform, std::string* why_not);
  void add_device(opencl::Device device);
  OpenClQueue& queue(int32_t id);

  const opencl::Functions* cl_ = nullptr;
  Once opened_;
  std::string reason_;
  std::vector<std::unique_ptr<OpenClQueue>> queues_;
  ProcessState process_;
};

// ---- devices --------------------------------------------------------------------------------

/// A property of an OpenCL object that is a string.
template <typename Function, typename Object>
std::string text_of(const Function& function, Object object, opencl::Uint what) {
  size_t size = 0;
  check_opencl(function.symbol, function(object, what, 0, nullptr, &size));
  std::string text(size, '\0');
  check_opencl(function.symbol, function(object, what, size, &text[0], nullptr));
  return text.c_str();
}

/// "OpenCL 1.2 …" or newer.
bool is_new_enough(const std::string& version) noexcept {
  int major = 0, minor = 0;
  if (std::sscanf(version.c_str(), "OpenCL %d.%d", &major, &minor) != 2) return false;
  return major > 1 || (major == 1 && minor >= 2);
}

void OpenClBackend::open() {
  opened_.run([this] {
    const char* reason = "";
    cl_ = opencl::functions(&reason);
    reason_ = reason;
    if (cl_ == nullptr) return;
    process_.start(true);
    try {
      find_devices();
    } catch (const Error& error) {
      reason_ = error.what();
    }
  });
}

void OpenClBackend::find_devices() {
  queues_.clear();  // an earlier call may have run out of memory
  opencl::Uint count = 0;
  check_opencl(cl_->platform_ids.symbol, cl_->platform_ids(0, nullptr, &count));
  std::vector<opencl::Platform> platforms(count);
  if (count > 0) {
    check_opencl(cl_->platform_ids.symbol, cl_->platform_ids(count, platforms.data(), nullptr));
  }
  std::string why_not;
  for (opencl::Platform platform : platforms) add_devices(platform, &why_not);
  if (!queues_.empty()) return;
  reason_ = why_not.empty() ? "no OpenCL platform is installed" : "no OpenCL device: " + why_not;
}

/// Adds the usable devices of one platform. A failed query affects only that platform or device;
/// its message is added to `why_not`.
void OpenClBackend::add_devices(opencl::Platform platform, std::string* why_not) {
  std::string name = "a platform without a name";
  const auto attempt = [&](auto&& body) {
    try {
      body();
    } catch (const Error& error) {
      *why_not += (why_not->empty() ? "" : "; ") + name + ": " + error.what();
    }
  };
  std::vector<opencl::Device> devices;
  attempt([&] { name = text_of(cl_->platform_info, platform, opencl::kPlatformName); });
  attempt([&] {
    opencl::Uint count = 0;
    check_opencl(cl_->device_ids.symbol,
                 cl_->device_ids(platform, opencl::kDeviceTypeAll, 0, nullptr, &count));
    if (count == 0) fail(DLX_ERROR_UNAVAILABLE, "no devices");
    devices.resize(count);
    check_opencl(cl_->device_ids.symbol,
                 cl_->device_ids(platform, opencl::kDeviceTypeAll, count, devices.data(), nullptr));
  });
  for (opencl::Device device : devices) {
    attempt([&] { add_device(device); });
  }
}

/// Throws Error if dlx cannot use the device.
void OpenClBackend::add_device(opencl::Device device) {
  const auto is = [&](opencl::Uint what) {
    return ask_opencl<opencl::Uint>(cl_->device_info, what, device) != 0;
  };
  const std::string version = text_of(cl_->device_info, device, opencl::kDeviceVersion);
  if (!is_new_enough(version)) {
    fail(DLX_ERROR_UNAVAILABLE, "a device of \"%s\", which is older than OpenCL 1.2",
         version.c_str());
  }
  if (!is(opencl::kDeviceAvailable)) {
    fail(DLX_ERROR_UNAVAILABLE, "a device that is not available");
  }
  if (!is(opencl::kDeviceEndianLittle)) fail(DLX_ERROR_UNAVAILABLE, "a big-endian device");
  queues_.push_back(std::make_unique<OpenClQueue>(*cl_, device));
}

OpenClQueue& OpenClBackend::queue(int32_t id) {
  open();
  if (process_.forked()) {
    fail(DLX_ERROR_DRIVER,
         "OpenCL was initialised before this process was forked, and does not work in the child "
         "(start processes with \"spawn\" or \"forkserver\")");
  }
  return *queues_[static_cast<size_t>(id)];
}

void OpenClBackend::describe(int32_t id, dlx_device_properties* out) {
  opencl::Device device = queue(id).device();
  const auto put = [&](char* to, size_t capacity, opencl::Uint what) {
    std::snprintf(to, capacity, "%s", text_of(cl_->device_info, device, what).c_str());
  };
  put(out->name, sizeof out->name, opencl::kDeviceName);
  put(out->architecture, sizeof out->architecture, opencl::kDeviceVersion);
  put(out->driver_version, sizeof out->driver_version, opencl::kDriverVersion);
  out->memory_total = static_cast<int64_t>(
      ask_opencl<uint64_t>(cl_->device_info, opencl::kDeviceGlobalMemSize, device));
  std::snprintf(out->no_kernels, sizeof out->no_kernels, "%s", queue(id).no_kernels().c_str());
}

// ---- memory -------------------------------------------------------------------------------------

void* OpenClBackend::allocate(int32_t, int32_t id, size_t size, size_t) {
  Result code = 0;
  opencl::Memory memory =
      cl_->create_buffer(queue(id).context(), opencl::kMemReadWrite, size, nullptr, &code);
  switch (code) {
    case opencl::kMemObjectAllocationFailure:
    case opencl::kOutOfResources:
    case opencl::kOutOfHostMemory:
    case opencl::kInvalidBufferSize: return nullptr;  // the last: larger than any buffer
    default: check_opencl(cl_->create_buffer.symbol, code); return memory;
  }
}

void OpenClBackend::deallocate(int32_t, int32_t, void* data) noexcept {
  if (data == nullptr || process_.forked() || process_.exiting()) return;
  cl_->release_memory(static_cast<opencl::Memory>(data));
}

// ---- events -------------------------------------------------------------------------------------

EventHandle OpenClBackend::record(int32_t id, StreamHandle) {
  auto event = std::make_unique<OpenClEvent>(OpenClEvent{nullptr, id});
  opencl::Queue commands = queue(id).queue();
  check_opencl(cl_->enqueue_marker.symbol,
               cl_->enqueue_marker(commands, 0, nullptr, &event->event));
  // A command that was not flushed may never start, and is_done() would never be true.
  const Result code = cl_->flush(commands);
  if (code != opencl::kSuccess) cl_->release_event(event->event);
  check_opencl(cl_->flush.symbol, code);
  return event.release();
}

void OpenClBackend::wait(int32_t id, StreamHandle, EventHandle event) {
  if (as_event(event)->id == id) return;  // the queue is in order
  wait_on_host(id, event);                // contexts share no events
}

void OpenClBackend::wait_on_host(int32_t, EventHandle event) {
  queue(as_event(event)->id);
  check_opencl(cl_->wait_for_events.symbol, cl_->wait_for_events(1, &as_event(event)->event));
}

bool OpenClBackend::is_done(int32_t, EventHandle event) {
  queue(as_event(event)->id);
  const auto status =
      ask_opencl<Result>(cl_->event_info, opencl::kEventExecutionStatus, as_event(event)->event);
  if (status < 0) check_opencl("a command", status);
  return status == opencl::kComplete;
}

void OpenClBackend::release_event(int32_t, EventHandle event) noexcept {
  const std::unique_ptr<OpenClEvent> own(as_event(event));
  if (!process_.forked() && !process_.exiting()) cl_->release_event(own->event);
}

// ---- copies -------------------------------------------------------------------------------------

void OpenClBackend::copy_on_device(int32_t dst_id, DeviceAddress dst, int32_t src_id,
                                   DeviceAddress src, StreamHandle, size_t size) {
  OpenClQueue& to = queue(dst_id);
  OpenClQueue& from = queue(src_id);
  // Another device's memory is of another context.
  if (!to.is_foreign(dst.data) && !to.is_foreign(src.data)) {
    to.copy(dst, src, size);
    return;
  }
  std::vector<char> staged(std::min(size, kStagedBytes));
  for (size_t at = 0; at < size; at += staged.size()) {
    const size_t bytes = std::min(staged.size(), size - at);
    from.read(staged.data(), {src.data, src.offset + at}, bytes, true);
    to.write({dst.data, dst.offset + at}, staged.data(), bytes, true);
  }
}

}  // namespace

Backend& opencl_backend() noexcept {
  static Immortal<OpenClBackend> backend;
  return backend.get();
}

}  // namespace dlx
