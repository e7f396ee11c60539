#include "src/arrow/event.h"

#include "src/base/error.h"
#include "src/device/current_stream.h"
#include "src/device/registry.h"
#include "src/tensor/synchronization.h"

namespace dlx::arrow {
namespace {

/// The current stream of the device, whose later work waits for the event.
struct Waiting {
  Backend* backend;
  int32_t id;
  StreamHandle stream;
};

Waiting make_wait(void* sync_event, const DLDevice& device) {
  const auto type = type_of(device);
  Backend* backend = find_backend(type);
  const bool usable = backend != nullptr && backend->has_streams() && device.device_id >= 0 &&
                      device.device_id < backend->count();
  if (!usable) {
    fail(DLX_ERROR_UNSUPPORTED,
         "`array` has a sync_event on %s, and dlx cannot wait for it%s%s: synchronise with the "
         "library that made it, and pass NULL",
         device_text(type, device.device_id).text, backend_reason(type)[0] == '\0' ? "" : ": ",
         backend_reason(type));
  }
  const int32_t id = device.device_id;
  const StreamHandle stream = current_stream(*backend, type, id);
  if (backend->capture(id, stream).capturing) {
    fail(DLX_ERROR_UNSUPPORTED,
         "`array` has a sync_event, and the current stream of %s is being captured into a graph: "
         "import before the capture begins",
         device_text(type, id).text);
  }
  backend->wait_native(id, stream, *static_cast<void**>(sync_event));
  return {backend, id, stream};
}

}  // namespace

SyncEvent::~SyncEvent() {
  if (event_ != nullptr) backend_->release_event(id_, event_);
}

void SyncEvent::record(Tensor* tensor) {
  const Worker worker = find_worker(tensor->dl);
  const bool ready = tensor->size == 0 || worker.backend == nullptr ||
                     !worker.backend->has_streams() || worker.id >= worker.backend->count();
  if (ready) return;
  const StreamHandle stream = make_ready_on_current(tensor);
  if (worker.backend->capture(worker.id, stream).capturing) {
    fail(DLX_ERROR_UNSUPPORTED,
         "the current stream is being captured into a graph, and cannot record an event for the "
         "consumer: export before the capture begins");
  }
  backend_ = worker.backend;
  id_ = worker.id;
  event_ = backend_->record(id_, stream);
  native_ = backend_->native_event(event_);
  if (native_ == nullptr) backend_->wait_on_host(id_, event_);
}

void wait_on_host(void* sync_event, const DLDevice& device) {
  const Waiting waiting = make_wait(sync_event, device);
  Readiness readiness;
  readiness.end_use(*waiting.backend, waiting.id, waiting.id, waiting.stream, 0);
  readiness.wait_on_host(*waiting.backend, waiting.id);
}

void follow_event(void* sync_event, Tensor* tensor) {
  const Waiting waiting = make_wait(sync_event, tensor->dl.device);
  tensor->root->readiness.end_use(*waiting.backend, waiting.id, waiting.id, waiting.stream, 0);
}

}  // namespace dlx::arrow
