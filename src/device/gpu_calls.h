#ifndef DLX_SRC_DEVICE_GPU_CALLS_H_
#define DLX_SRC_DEVICE_GPU_CALLS_H_

#include <atomic>
#include <mutex>
#include <string>

#include "src/base/error.h"
#include "src/device/gpu_driver.h"
#include "src/device/process_state.h"
#include "src/driver/cuda.h"
#include "src/driver/library.h"

namespace dlx {

/// The driver calls that are the same in CUDA and HIP, because HIP copied CUDA's functions and
/// constants. The tables (`Functions`) differ in the type of an address (`Pointer`).
template <typename Functions, typename Pointer>
class GpuCalls : public GpuDriver {
 public:
  bool usable() const noexcept override { return !process_.forked() && !process_.exiting(); }

  void require_usable() const override {
    if (process_.forked()) {
      fail(DLX_ERROR_DRIVER,
           "%s was initialised before this process was forked, and does not work in the child "
           "(start processes with \"spawn\" or \"forkserver\")",
           product_);
    }
    if (process_.exiting()) fail(DLX_ERROR_DRIVER, "%s has shut down: exit() was called", product_);
  }

  void* create_pool(int32_t id) override {
    cuda::PoolProperties properties = {};
    properties.allocation_type = cuda::kAllocationPinned;
    properties.location_type = cuda::kLocationDevice;
    properties.location_id = id;
    cuda::Pool pool = nullptr;
    run(f_.pool_create, &pool, &properties);
    uint64_t kept = kPoolKeeps;
    const cuda::Result result = f_.pool_set_attribute(pool, cuda::kPoolReleaseThreshold, &kept);
    if (result != cuda::kSuccess) {
      f_.pool_destroy(pool);
      fail_call(f_.pool_set_attribute.symbol, result);
    }
    return pool;
  }

  void* allocate_from_pool(void* pool, StreamHandle stream, size_t size) override {
    Pointer data{};
    return room(f_.allocate_async,
                f_.allocate_async(&data, size, static_cast<cuda::Pool>(pool), handle(stream)))
               ? host(data)
               : nullptr;
  }
  void free_to_pool(StreamHandle stream, void* data) noexcept override {
    f_.free_async(device(data), handle(stream));
  }

  StreamHandle create_stream() override {
    cuda::Stream stream = nullptr;
    run(f_.stream_create, &stream, cuda::kStreamNonBlocking);
    return reinterpret_cast<StreamHandle>(stream);
  }
  void destroy_stream(StreamHandle stream) noexcept override { f_.stream_destroy(handle(stream)); }
  void synchronize_stream(StreamHandle stream) override {
    run(f_.stream_synchronize, handle(stream));
  }
  bool is_idle(StreamHandle stream) override {
    return is_ready(f_.stream_query, f_.stream_query(handle(stream)));
  }
  CaptureInfo capture(StreamHandle stream) override {
    int status = cuda::kCaptureNone;
    uint64_t id = 0;
    const cuda::Result result =
        f_.stream_capture_info(handle(stream), &status, &id, nullptr, nullptr, nullptr);
    if (result == cuda::kCaptureImplicit) {
      // Any work on it would break the capture.
      fail(
          DLX_ERROR_UNSUPPORTED,
          "the default stream cannot accept work while a stream that synchronises with it is being "
          "captured: pass another stream, or capture on a non-blocking stream (%s)",
          call_text(f_.stream_capture_info.symbol, result).c_str());
    }
    if (result != cuda::kSuccess) fail_call(f_.stream_capture_info.symbol, result);
    return {status != cuda::kCaptureNone, id};
  }

  void* create_event() override {
    cuda::Event event = nullptr;
    run(f_.event_create, &event, cuda::kEventDisableTiming);
    return event;
  }
  void destroy_event(void* event) noexcept override {
    f_.event_destroy(static_cast<cuda::Event>(event));
  }
  void record(void* event, StreamHandle stream) override {
    run(f_.event_record, static_cast<cuda::Event>(event), handle(stream));
  }
  void wait(StreamHandle stream, void* event) override {
    run(f_.stream_wait_event, handle(stream), static_cast<cuda::Event>(event), 0u);
  }
  bool is_done(void* event, StreamHandle) override {
    return is_ready(f_.event_query, f_.event_query(static_cast<cuda::Event>(event)));
  }
  void synchronize_event(void* event, StreamHandle) override {
    run(f_.event_synchronize, static_cast<cuda::Event>(event));
  }

  void copy_from_host(StreamHandle stream, void* dst, const void* src, size_t size) override {
    run(f_.copy_from_host, device(dst), src, size, handle(stream));
  }
  void copy_to_host(StreamHandle stream, void* dst, const void* src, size_t size) override {
    run(f_.copy_to_host, dst, device(src), size, handle(stream));
  }
  void copy_on_device(StreamHandle stream, void* dst, const void* src, size_t size) override {
    run(f_.copy_on_device, device(dst), device(src), size, handle(stream));
  }

  void unload_module(void* module) noexcept override {
    f_.module_unload(static_cast<cuda::Module>(module));
  }
  void* find_kernel(void* module, const char* name, std::string* why_not) override {
    cuda::Function function = nullptr;
    const cuda::Result result =
        f_.module_function(&function, static_cast<cuda::Module>(module), name);
    return runs_here(f_.module_function, result, why_not) ? function : nullptr;
  }
  void launch(void* kernel, const gpu::Launch& launch, StreamHandle stream,
              void** arguments) override {
    run(f_.launch, static_cast<cuda::Function>(kernel), launch.groups[0], launch.groups[1],
        launch.groups[2], launch.group_size[0], launch.group_size[1], launch.group_size[2], 0u,
        handle(stream), arguments, nullptr);
  }

 protected:
  /// Free memory, in bytes, that dlx's pool keeps for later temporaries after a synchronisation.
  static constexpr uint64_t kPoolKeeps = uint64_t{32} << 20;

  /// `product` is the name for messages, such as "the CUDA driver".
  GpuCalls(const DriverFiles& files, const char* product) noexcept
      : library_(files), product_(product) {}
  ~GpuCalls() = default;

  virtual void error_text(cuda::Result error, const char** name, const char** text) noexcept = 0;
  /// Whether the error means that this device or installation cannot run the code.
  virtual bool is_no_code(cuda::Result error) const noexcept = 0;
  /// The oldest driver that dlx uses, for messages: "ROCm 5.2".
  virtual std::string oldest_version() const = 0;

  /// Opens the library and looks up its functions, once. False: sets `reason`.
  bool load(std::string* reason) {
    std::lock_guard<std::mutex> lock(load_mutex_);
    if (loaded_.load(std::memory_order_relaxed)) return true;
    if (!library_.open(reason) || !resolve(reason)) return false;
    loaded_.store(true, std::memory_order_release);
    return true;
  }
  /// As load(), but only if the process has mapped the library; loads nothing.
  /// Throws std::bad_alloc; a later call tries again.
  bool load_if_mapped() {
    if (loaded_.load(std::memory_order_acquire)) return true;
    if (useless_.load(std::memory_order_relaxed)) return false;
    std::lock_guard<std::mutex> lock(load_mutex_);
    if (loaded_.load(std::memory_order_relaxed)) return true;
    if (!library_.open_if_mapped()) return false;
    std::string reason;
    const bool found = resolve(&reason);
    (found ? loaded_ : useless_).store(true, std::memory_order_release);
    return found;
  }

  [[noreturn]] void fail_call(const char* symbol, cuda::Result error) {
    fail(DLX_ERROR_DRIVER, "%s", call_text(symbol, error).c_str());
  }
  [[gnu::cold]] std::string call_text(const char* symbol, cuda::Result error) {
    const char* name = nullptr;
    const char* text = nullptr;
    error_text(error, &name, &text);
    return std::string(symbol) + " failed: " + (name == nullptr ? "error" : name) + " (" +
           std::to_string(error) + ")" + (text == nullptr ? "" : std::string(": ") + text);
  }

  template <typename Function, typename... Arguments>
  void run(const Function& function, Arguments... arguments) {
    const cuda::Result result = function(arguments...);
    if (result != cuda::kSuccess) fail_call(function.symbol, result);
  }
  /// Lets this thread allocate, free, load and query while streams are being captured. Returns the
  /// previous mode for restore_captures().
  int relax_captures() {
    int mode = cuda::kCaptureModeRelaxed;
    run(f_.exchange_capture_mode, &mode);
    return mode;
  }
  void restore_captures(int mode) noexcept { f_.exchange_capture_mode(&mode); }

  /// Whether an allocation succeeded; false if memory is exhausted.
  template <typename Function>
  bool room(const Function& function, cuda::Result result) {
    if (result == cuda::kOutOfMemory) return false;
    if (result != cuda::kSuccess) fail_call(function.symbol, result);
    return true;
  }

  /// Whether the driver accepted the code; false if it cannot run here, and sets `why_not`.
  template <typename Function>
  bool runs_here(const Function& function, cuda::Result result, std::string* why_not) {
    if (result == cuda::kSuccess) return true;
    if (!is_no_code(result)) fail_call(function.symbol, result);
    *why_not = call_text(function.symbol, result);
    return false;
  }

  /// The result of a query; false if work is pending.
  template <typename Function>
  bool is_ready(const Function& function, cuda::Result result) {
    if (result != cuda::kSuccess && result != cuda::kNotReady) fail_call(function.symbol, result);
    return result == cuda::kSuccess;
  }

  static cuda::Stream handle(StreamHandle stream) noexcept {
    return reinterpret_cast<cuda::Stream>(stream);
  }
  static Pointer device(const void* data) noexcept {
    return reinterpret_cast<Pointer>(const_cast<void*>(data));
  }
  static void* host(Pointer data) noexcept { return reinterpret_cast<void*>(data); }

  Functions f_;
  DriverLibrary library_;
  ProcessState process_;
  const char* product_;

 private:
  bool resolve(std::string* reason) {
    if (library_.resolve(f_.symbols(), reason)) return true;
    *reason += " (expected " + oldest_version() + " or newer)";
    return false;
  }

  std::mutex load_mutex_;
  std::atomic<bool> loaded_{false};
  std::atomic<bool> useless_{false};  ///< the mapped library lacks a function
};

}  // namespace dlx

#endif  // DLX_SRC_DEVICE_GPU_CALLS_H_
