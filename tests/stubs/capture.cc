// Stream captures and the graphs that they make.
#include "tests/stubs/engine.h"

namespace fake {

int invalidate(Capture* capture, int code) {
  if (!capture->invalidated) ++engine().mistakes.captures_broken;
  capture->invalidated = true;
  return code;
}

int capture_begin(Stream* stream, int mode) {
  // The legacy stream stands for all blocking ones.
  if (stream == stream->context->legacy) return kCaptureUnsupported;
  if (stream->capture != nullptr) return 401;  // illegal state
  Engine& e = engine();
  auto* capture = e.add<Capture>();
  capture->alive = false;  // no handle before its end
  capture->id = e.next_id++;
  capture->mode = mode;
  capture->origin = stream;
  capture->thread = std::this_thread::get_id();
  stream->capture = capture;
  e.captures.insert(capture);
  return kOk;
}

int capture_end(Stream* stream, Capture** out) {
  *out = nullptr;
  Capture* capture = stream->capture;
  if (capture == nullptr) return 401;
  if (capture->origin != stream) return invalidate(capture, kCaptureUnmatched);
  if (capture->mode != 2 && capture->thread != std::this_thread::get_id())
    return kCaptureWrongThread;

  // All streams that joined the capture must be joined back to its first stream.
  std::set<const Work*> joined;
  std::vector<const Work*> open;
  if (stream->captured != nullptr) open.push_back(stream->captured.get());
  while (!open.empty()) {
    const Work* work = open.back();
    open.pop_back();
    if (!joined.insert(work).second) continue;
    for (const WorkPtr& before : work->after) open.push_back(before.get());
  }
  int error = capture->invalidated ? kCaptureInvalidated : kOk;
  for (const auto& object : engine().objects) {
    auto* other = dynamic_cast<Stream*>(object.get());
    if (other == nullptr || other->capture != capture) continue;
    other->capture = nullptr;
    if (error == kOk && other->captured != nullptr && joined.count(other->captured.get()) == 0) {
      error = kCaptureUnjoined;
    }
    other->captured = nullptr;
  }
  engine().captures.erase(capture);
  capture->active = false;
  if (error != kOk) return error;
  capture->alive = true;
  *out = capture;
  return kOk;
}

int capture_info(Stream* stream, int* status, uint64_t* id) {
  *status = 0;
  *id = 0;
  if (stream == stream->context->legacy) {
    // The query would order it with a captured stream.
    for (const auto& object : engine().objects) {
      auto* other = dynamic_cast<Stream*>(object.get());
      if (other != nullptr && other->capture != nullptr && other->blocking &&
          other->context == stream->context) {
        return kCaptureImplicit;
      }
    }
  }
  if (stream->capture == nullptr) return kOk;
  *status = stream->capture->invalidated ? 2 : 1;
  *id = stream->capture->id;
  return kOk;
}

int graph_launch(GraphExec* graph, Stream* stream) {
  // One piece of work, with its parts in the order of recording.
  return submit(stream, [nodes = graph->nodes] {
    for (const WorkPtr& node : nodes) {
      const int error = node->run ? node->run() : kOk;
      if (error != kOk) return error;
    }
    return static_cast<int>(kOk);
  });
}

}  // namespace fake
