#include "src/device/registered.h"

#include <algorithm>
#include <atomic>
#include <mutex>

#include "src/base/error.h"
#include "src/base/foreign.h"
#include "src/copy/plan/plan.h"
#include "src/device/registry.h"

namespace dlx {
namespace {

/// Implements Backend with a vendor's functions.
class RegisteredBackend final : public Backend {
 public:
  RegisteredBackend(int32_t device_type, const dlx_backend& functions) noexcept
      : type_(device_type), f_(functions) {}

  int32_t type() const noexcept { return type_; }

  int32_t count() override { return std::max(call(f_.device_count), 0); }
  const char* reason() override {
    return count() > 0 ? "" : "the registered backend reports no devices";
  }

  void describe(int32_t id, dlx_device_properties* out) override {
    if (f_.describe != nullptr) check(id, call(f_.describe, id, out), "describe");
  }

  void* allocate(int32_t, int32_t id, size_t size, size_t alignment) override {
    return call(f_.allocate, id, size, alignment);
  }
  void deallocate(int32_t, int32_t id, void* data) noexcept override {
    call(f_.deallocate, id, data);
  }
  void* allocate_temporary(int32_t id, StreamHandle, size_t size) override {
    return call(f_.allocate, id, size, 256);
  }
  void deallocate_temporary(int32_t id, StreamHandle stream, void* data) noexcept override {
    // `deallocate` need not wait for work that still uses the memory.
    if (!has_streams() || call(f_.stream_synchronize, id, stream) == 0) {
      call(f_.deallocate, id, data);
    }
  }

  void synchronize(int32_t id) override { check(id, call(f_.synchronize, id), "synchronize"); }

  bool has_streams() const noexcept override { return f_.stream_create != nullptr; }
  StreamHandle default_stream() const noexcept override { return f_.default_stream; }
  StreamHandle create_stream(int32_t id) override {
    StreamHandle stream = 0;
    check(id, call(f_.stream_create, id, &stream), "stream_create");
    return stream;
  }
  void destroy_stream(int32_t id, StreamHandle stream) noexcept override {
    call(f_.stream_destroy, id, stream);
  }
  void synchronize_stream(int32_t id, StreamHandle stream) override {
    check(id, call(f_.stream_synchronize, id, stream), "stream_synchronize");
  }

  // Without streams, work is done when its function returns.
  EventHandle record(int32_t id, StreamHandle stream) override {
    if (!has_streams()) return this;
    EventHandle event = nullptr;
    check(id, call(f_.event_record, id, stream, &event), "event_record");
    return event;
  }
  void wait(int32_t id, StreamHandle stream, EventHandle event) override {
    if (has_streams()) check(id, call(f_.event_wait, id, stream, event), "event_wait");
  }
  void wait_on_host(int32_t id, EventHandle event) override {
    if (has_streams()) {
      check(id, call(f_.event_wait_on_host, id, event), "event_wait_on_host");
    }
  }
  bool is_done(int32_t id, EventHandle event) override {
    int32_t done = 1;
    if (has_streams()) check(id, call(f_.event_query, id, event, &done), "event_query");
    return done != 0;
  }
  void release_event(int32_t id, EventHandle event) noexcept override {
    if (has_streams()) call(f_.event_release, id, event);
  }

  void copy_from_host(int32_t id, StreamHandle stream, DeviceAddress dst, const void* src,
                      size_t size) override {
    check(id, call(f_.copy_from_host, id, dst.data, dst.offset, src, size, stream),
          "copy_from_host");
  }
  void copy_to_host(int32_t id, StreamHandle stream, void* dst, DeviceAddress src,
                    size_t size) override {
    check(id, call(f_.copy_to_host, id, dst, src.data, src.offset, size, stream), "copy_to_host");
  }
  void copy_on_device(int32_t dst_id, DeviceAddress dst, int32_t src_id, DeviceAddress src,
                      StreamHandle stream, size_t size) override {
    check(dst_id,
          call(f_.copy_on_device, dst_id, dst.data, dst.offset, src_id, src.data, src.offset, size,
               stream),
          "copy_on_device");
  }

  bool copy_strided(int32_t id, StreamHandle stream, DeviceAddress dst, DeviceAddress src,
                    const CopyPlan& plan) override;

 private:
  /// Calls one of the vendor's functions, each of which takes `user_data` last.
  template <typename Result, typename... Parameters, typename... Arguments>
  Result call(Result (*function)(Parameters...), Arguments... arguments) const {
    return call_foreign(function, arguments..., f_.user_data);
  }

  void check(int32_t id, int32_t result, const char* function) const {
    if (result == 0) return;
    const char* text = f_.error_text == nullptr ? nullptr : call(f_.error_text);
    fail(DLX_ERROR_DRIVER, "%s of the backend registered for %s failed: %d%s%s", function,
         device_text(type_, id).text, result, text == nullptr ? "" : ": ",
         text == nullptr ? "" : text);
  }

  int32_t type_;
  dlx_backend f_;
};

/// One side of a plan as a tensor of unsigned integers.
struct Described {
  DLTensor tensor{};
  int64_t shape[CopyPlan::kMaxAxes + 1];
  int64_t strides[CopyPlan::kMaxAxes + 1];
};

template <typename Step>
void describe_side(const CopyPlan& plan, int64_t unit, DeviceAddress memory, const void* place,
                   Step&& step, Described* out) noexcept {
  int32_t ndim = 0;
  for (; ndim < plan.ndim(); ++ndim) {
    out->shape[ndim] = plan.axis(ndim).extent;
    out->strides[ndim] = step(plan.axis(ndim)) / unit;
  }
  if (plan.item() != unit) {
    out->shape[ndim] = plan.item() / unit;
    out->strides[ndim++] = 1;
  }
  out->tensor.ndim = ndim;
  out->tensor.shape = out->shape;
  out->tensor.strides = out->strides;
  out->tensor.dtype = {kDLUInt, static_cast<uint8_t>(8 * unit), 1};
  const auto offset = memory.offset + static_cast<uint64_t>(reinterpret_cast<intptr_t>(place));
  if (memory.data == nullptr) {
    out->tensor.data = reinterpret_cast<void*>(offset);
  } else {
    out->tensor.data = memory.data;
    out->tensor.byte_offset = offset;
  }
}

bool RegisteredBackend::copy_strided(int32_t id, StreamHandle stream, DeviceAddress dst,
                                     DeviceAddress src, const CopyPlan& plan) {
  if (f_.copy_strided == nullptr) return false;
  // The largest integer size that divides the item, all steps and all addresses.
  uint64_t all = static_cast<uint64_t>(plan.item()) |
                 (reinterpret_cast<uintptr_t>(plan.dst()) + dst.offset) |
                 (reinterpret_cast<uintptr_t>(plan.src()) + src.offset);
  for (int k = 0; k < plan.ndim(); ++k) {
    all |= static_cast<uint64_t>(plan.axis(k).dst) | static_cast<uint64_t>(plan.axis(k).src);
  }
  const int64_t unit = all % 8 == 0 ? 8 : static_cast<int64_t>(all & (0 - all));
  Described to;
  Described from;
  describe_side(plan, unit, dst, plan.dst(), [](const CopyAxis& a) { return a.dst; }, &to);
  describe_side(plan, unit, src, plan.src(), [](const CopyAxis& a) { return a.src; }, &from);
  to.tensor.device = from.tensor.device = {static_cast<DLDeviceType>(type_), id};
  check(id, call(f_.copy_strided, id, &to.tensor, &from.tensor, stream), "copy_strided");
  return true;
}

constexpr int kMaxRegistered = 32;
std::mutex register_mutex;
std::atomic<RegisteredBackend*> registered[kMaxRegistered];  // filled from the front, never emptied

void check_functions(const dlx_backend& f) {
  const bool required = f.device_count && f.allocate && f.deallocate && f.copy_from_host &&
                        f.copy_to_host && f.copy_on_device && f.synchronize;
  if (!required) {
    fail(DLX_ERROR_INVALID_ARGUMENT,
         "`backend` lacks a function (expected device_count, allocate, deallocate, copy_from_host, "
         "copy_to_host, copy_on_device and synchronize)");
  }
  const bool any = f.stream_create || f.stream_destroy || f.stream_synchronize || f.event_record ||
                   f.event_wait || f.event_wait_on_host || f.event_query || f.event_release;
  const bool all = f.stream_create && f.stream_destroy && f.stream_synchronize && f.event_record &&
                   f.event_wait && f.event_wait_on_host && f.event_query && f.event_release;
  if (any && !all) {
    fail(DLX_ERROR_INVALID_ARGUMENT,
         "`backend` has some functions for streams and events, but not all (expected all or none)");
  }
}

}  // namespace

Backend* find_registered(int32_t device_type) noexcept {
  // not covered: all places are taken
  for (const std::atomic<RegisteredBackend*>& slot : registered) {
    RegisteredBackend* backend = slot.load(std::memory_order_acquire);
    if (backend == nullptr) return nullptr;
    if (backend->type() == device_type) return backend;
  }
  return nullptr;  // not covered: all places are taken
}

int32_t registered_type(int32_t index) noexcept {
  // not covered: the same
  if (index >= kMaxRegistered) return 0;
  const RegisteredBackend* backend = registered[index].load(std::memory_order_acquire);
  return backend == nullptr ? 0 : backend->type();
}

void register_backend(int32_t device_type, const dlx_backend& functions) {
  check_functions(functions);
  if (device_type <= 0) {
    fail(DLX_ERROR_INVALID_ARGUMENT,
         "`device_type` is not a device type (got %d, expected a positive number)", device_type);
  }
  const std::lock_guard<std::mutex> lock(register_mutex);
  if (find_backend(device_type) != nullptr) {
    fail(DLX_ERROR_INVALID_ARGUMENT, "`device_type` %s already has a backend",
         device_text(device_type, 0).text);
  }
  for (std::atomic<RegisteredBackend*>& slot : registered) {
    if (slot.load(std::memory_order_relaxed) != nullptr) continue;
    slot.store(new RegisteredBackend(device_type, functions), std::memory_order_release);
    return;
  }
  fail(DLX_ERROR_UNSUPPORTED,
       "`device_type` %s cannot be added: %d backends are already registered",
       device_text(device_type, 0).text, kMaxRegistered);
}

}  // namespace dlx
