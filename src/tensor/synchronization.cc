#include "src/tensor/synchronization.h"

#include "src/base/error.h"
#include "src/device/current_stream.h"
#include "src/device/registry.h"

namespace dlx {
namespace {

void require_driver(const Tensor* tensor, const Worker& worker, StreamHandle stream) {
  if (worker.id < worker.backend->count()) return;
  fail(DLX_ERROR_UNSUPPORTED, "`stream` %lld cannot wait for the data: %s",
       static_cast<long long>(stream), absence_reason(type_of(tensor->dl.device)));
}

/// The device of a stream: the tensor's own, except for memory that every device can access.
int32_t device_of(const Tensor* tensor, const Worker& worker, StreamHandle stream) {
  if (!id_is_zero(type_of(tensor->dl.device))) return worker.id;
  return worker.backend->device_of_stream(worker.id, stream);
}

}  // namespace

void make_ready(Tensor* tensor, const int64_t* stream) {
  if (stream != nullptr) check_stream(type_of(tensor->dl.device), *stream);
  const Worker worker = find_worker(tensor->dl);
  if (worker.backend == nullptr || (stream != nullptr && *stream == -1)) return;
  const StreamHandle target = stream == nullptr ? worker.backend->default_stream() : *stream;
  Readiness& readiness = tensor->root->readiness;
  if (readiness.is_behind_default() && target == worker.backend->default_stream()) return;
  require_driver(tensor, worker, target);
  readiness.begin_use(*worker.backend, worker.id, device_of(tensor, worker, target), target);
}

StreamHandle make_ready_on_current(Tensor* tensor) {
  if (tensor->dl.device.device_type == kDLCPU) return 0;
  const Worker worker = find_worker(tensor->dl);
  if (worker.backend == nullptr) return current_stream_of(tensor->dl.device);
  // The id of the worker, not of the DLDevice: managed memory has the id 0.
  const StreamHandle stream =
      current_stream(*worker.backend, type_of(tensor->dl.device), worker.id);
  make_ready(tensor, &stream);
  return stream;
}

void note_written(Tensor* tensor, StreamHandle stream) {
  const Worker worker = find_worker(tensor->dl);
  if (worker.backend == nullptr) return;
  Readiness& readiness = tensor->root->readiness;
  if (stream == worker.backend->default_stream() && readiness.is_behind_default()) return;
  require_driver(tensor, worker, stream);
  const int32_t id = device_of(tensor, worker, stream);
  // Keep what the data waited for before.
  const Readiness::Note seen = readiness.is_behind_default()
                                   ? 0
                                   : readiness.begin_use(*worker.backend, worker.id, id, stream);
  readiness.end_use(*worker.backend, worker.id, id, stream, seen);
}

void synchronize(Tensor* tensor) {
  const Worker worker = find_worker(tensor->dl);
  if (worker.backend == nullptr || worker.id >= worker.backend->count()) return;
  tensor->root->readiness.wait_on_host(*worker.backend, worker.id);
}

StreamHandle current_stream_of(const DLDevice& device) noexcept {
  const auto type = type_of(device);
  const Backend* backend = find_backend(type);
  return backend == nullptr ? 0 : current_stream(*backend, type, device.device_id);
}

}  // namespace dlx
