#include "src/device/current_stream.h"

#include "src/base/error.h"

namespace dlx {
namespace {

struct Chosen {
  int32_t device_type;
  int32_t id;
  StreamHandle stream;
};

/// Plain data: no destructor runs when a thread ends.
constexpr int kMaxChosen = 64;
thread_local Chosen chosen[kMaxChosen];
thread_local int chosen_count = 0;
thread_local WorkStreamFn followed = nullptr;

/// Managed memory is worked on by the streams of its kind of device.
int32_t family(int32_t device_type) noexcept {
  if (device_type == kDLCUDAManaged || device_type == kDLCUDAHost) return kDLCUDA;
  return device_type == kDLROCMHost ? static_cast<int32_t>(kDLROCM) : device_type;
}

Chosen* find(int32_t device_type, int32_t id) noexcept {
  for (int i = 0; i < chosen_count; ++i) {
    if (chosen[i].device_type == device_type && chosen[i].id == id) return &chosen[i];
  }
  return nullptr;
}

}  // namespace

StreamHandle current_stream(const Backend& backend, int32_t device_type, int32_t id) noexcept {
  device_type = family(device_type);
  if (chosen_count > 0) {
    if (const Chosen* entry = find(device_type, id)) return entry->stream;
  }
  void* handle = nullptr;
  if (followed != nullptr && followed(static_cast<DLDeviceType>(device_type), id, &handle) == 0) {
    return number_of_handle(backend, handle);
  }
  return backend.default_stream();
}

void set_current_stream(int32_t device_type, int32_t id, StreamHandle stream) {
  device_type = family(device_type);
  Chosen* entry = find(device_type, id);
  if (entry == nullptr) {
    if (chosen_count == kMaxChosen) {
      fail(DLX_ERROR_UNSUPPORTED, "this thread has set the current streams of %d devices already",
           kMaxChosen);
    }
    entry = &chosen[chosen_count++];
  }
  *entry = {device_type, id, stream};
}

void reset_current_stream(int32_t device_type, int32_t id) noexcept {
  if (Chosen* entry = find(family(device_type), id)) *entry = chosen[--chosen_count];
}

void follow_work_stream(WorkStreamFn function) noexcept { followed = function; }

}  // namespace dlx
