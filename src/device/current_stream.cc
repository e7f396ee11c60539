#include "src/device/current_stream.h"

#include "src/base/error.h"
#include "src/base/foreign.h"

namespace dlx {
namespace {

struct Chosen {
  int32_t device_type;
  int32_t id;
  StreamHandle stream;
};

/// Plain data, so that no destructor runs when a thread ends.
constexpr int kMaxChosen = 64;
thread_local Chosen chosen[kMaxChosen];
thread_local int chosen_count = 0;
thread_local WorkStreamFn followed = nullptr;

Chosen* find(int32_t device_type, int32_t id) noexcept {
  for (int i = 0; i < chosen_count; ++i) {
    if (chosen[i].device_type == device_type && chosen[i].id == id) return &chosen[i];
  }
  return nullptr;
}

}  // namespace

int32_t stream_family(int32_t device_type) noexcept {
  if (device_type == kDLCUDAManaged || device_type == kDLCUDAHost) return kDLCUDA;
  return device_type == kDLROCMHost ? static_cast<int32_t>(kDLROCM) : device_type;
}

StreamHandle current_stream(const Backend& backend, int32_t device_type, int32_t id) noexcept {
  device_type = stream_family(device_type);
  if (chosen_count > 0) {
    if (const Chosen* entry = find(device_type, id)) return entry->stream;
  }
  void* handle = nullptr;
  if (followed != nullptr &&
      call_foreign(followed, static_cast<DLDeviceType>(device_type), id, &handle) == 0) {
    return number_of_handle(backend, handle);
  }
  return backend.default_stream();
}

bool chosen_stream(int32_t device_type, int32_t id, StreamHandle* out) noexcept {
  const Chosen* entry = find(stream_family(device_type), id);
  if (entry == nullptr) return false;
  *out = entry->stream;
  return true;
}

void set_current_stream(int32_t device_type, int32_t id, StreamHandle stream) {
  device_type = stream_family(device_type);
  Chosen* entry = find(device_type, id);
  if (entry == nullptr) {
    if (chosen_count == kMaxChosen) {
      fail(DLX_ERROR_UNSUPPORTED, "this thread has already set the current streams of %d devices",
           kMaxChosen);
    }
    entry = &chosen[chosen_count++];
  }
  *entry = {device_type, id, stream};
}

void reset_current_stream(int32_t device_type, int32_t id) noexcept {
  if (Chosen* entry = find(stream_family(device_type), id)) *entry = chosen[--chosen_count];
}

void follow_work_stream(WorkStreamFn function) noexcept { followed = function; }

}  // namespace dlx
