// Streams, captures, events and kernels: the same calls in both drivers, by their own names.
#include "tests/stubs/either.h"

using namespace fake;

// ---- streams --------------------------------------------------------------------------------------

FAKE_EXPORT cu::Result EITHER(cuStreamCreate, hipStreamCreateWithFlags)(cu::Stream* out,
                                                                        unsigned flags) {
  return in_context(__func__, [&](Context* context) {
    if (flags > cu::kStreamNonBlocking) return static_cast<int>(kInvalidValue);
    Stream* stream = nullptr;
    const int error = stream_create(context, flags == 0, &stream);
    *out = reinterpret_cast<cu::Stream>(stream);
    return error;
  });
}

FAKE_EXPORT cu::Result EITHER(cuStreamDestroy_v2, hipStreamDestroy)(cu::Stream handle) {
  return in_context(__func__, [&](Context*) {
    auto* stream = object<Stream>(handle);
#ifdef FAKE_HIP
    // Waits for its work.
    if (const int error = host_wait({stream->last}); error != kOk) return error;
#endif
    return stream_destroy(stream);
  });
}

FAKE_EXPORT cu::Result EITHER(cuStreamSynchronize, hipStreamSynchronize)(cu::Stream handle) {
  return on_stream(__func__, handle, [](Stream* stream, Context*) -> int {
    // Checked before the general rule, because a captured stream has its own error.
    if (const int error = stream->capture != nullptr ? kOk : unsafe_call(); error != kOk)
      return error;
    return stream_synchronize(stream);
  });
}

FAKE_EXPORT cu::Result EITHER(cuStreamQuery, hipStreamQuery)(cu::Stream handle) {
  return on_stream(__func__, handle, [](Stream* stream, Context*) -> int {
    if (const int error = stream->capture != nullptr ? kOk : unsafe_call(); error != kOk)
      return error;
    return stream_query(stream);
  });
}

FAKE_EXPORT cu::Result EITHER(cuStreamWaitEvent, hipStreamWaitEvent)(cu::Stream handle,
                                                                     cu::Event event, unsigned) {
  return on_stream(__func__, handle, [&](Stream* stream, Context*) {
    return stream_wait(stream, object<Event>(event));
  });
}

FAKE_EXPORT cu::Result EITHER(cuStreamBeginCapture_v2, hipStreamBeginCapture)(cu::Stream handle,
                                                                              int mode) {
  return on_stream(__func__, handle,
                   [&](Stream* stream, Context*) { return capture_begin(stream, mode); });
}

FAKE_EXPORT cu::Result EITHER(cuStreamEndCapture, hipStreamEndCapture)(cu::Stream handle,
                                                                       void** graph) {
  return on_stream(__func__, handle, [&](Stream* stream, Context*) {
    Capture* capture = nullptr;
    const int error = capture_end(stream, &capture);
    *graph = capture;
    return error;
  });
}

FAKE_EXPORT cu::Result EITHER(cuStreamIsCapturing, hipStreamIsCapturing)(cu::Stream handle,
                                                                         int* status) {
  return on_stream(__func__, handle, [&](Stream* stream, Context*) {
    uint64_t id = 0;
    return capture_info(stream, status, &id);
  });
}

FAKE_EXPORT cu::Result EITHER(cuStreamGetCaptureInfo_v2,
                              hipStreamGetCaptureInfo_v2)(cu::Stream handle, int* status,
                                                          uint64_t* id, void** graph,
                                                          const void** dependencies,
                                                          size_t* count) {
#ifdef FAKE_HIP
  const int unanswered = plain(__func__, [&] { return unknown_capture(handle); });
  if (unanswered != kOk) return unanswered;
#endif
  return on_stream(__func__, handle, [&](Stream* stream, Context*) {
    uint64_t unused = 0;
    if (graph != nullptr) *graph = stream->capture;
    if (dependencies != nullptr) *dependencies = nullptr;
    if (count != nullptr) *count = 0;
    return capture_info(stream, status, id == nullptr ? &unused : id);
  });
}

FAKE_EXPORT cu::Result EITHER(cuThreadExchangeStreamCaptureMode,
                              hipThreadExchangeStreamCaptureMode)(int* mode) {
  const auto exchange = [&] {
    if (*mode < 0 || *mode > 2) return kInvalidValue;
    std::swap(*mode, this_thread().capture_mode);
    return kOk;
  };
#ifdef FAKE_HIP
  return plain(__func__, exchange);
#else
  // NVIDIA's documentation lists CUDA_ERROR_INVALID_CONTEXT.
  return plain(__func__, [&] {
    const bool refused = engine().modes_need_context && current_context() == nullptr;
    return refused ? kInvalidContext : exchange();
  });
#endif
}

FAKE_EXPORT cu::Result EITHER(cuGraphLaunch, hipGraphLaunch)(void* graph, cu::Stream handle) {
  return on_stream(__func__, handle, [&](Stream* stream, Context*) {
    return graph_launch(object<GraphExec>(graph), stream);
  });
}

FAKE_EXPORT cu::Result EITHER(cuGraphExecDestroy, hipGraphExecDestroy)(void* graph) {
  return plain(__func__, [&] {
    object<GraphExec>(graph)->alive = false;
    return kOk;
  });
}

FAKE_EXPORT cu::Result EITHER(cuGraphDestroy, hipGraphDestroy)(void* graph) {
  return plain(__func__, [&] {
    object<Capture>(graph)->alive = false;
    return kOk;
  });
}

/// Runs in a thread of the driver, as in CUDA: a caller that waits while it holds a lock of the
/// function deadlocks.
FAKE_EXPORT cu::Result EITHER(cuLaunchHostFunc, hipLaunchHostFunc)(cu::Stream handle,
                                                                   void (*function)(void*),
                                                                   void* data) {
  return on_stream(__func__, handle, [&](Stream* stream, Context*) {
    return submit(stream, [function, data] {
      std::thread(function, data).join();
      return static_cast<int>(kOk);
    });
  });
}

// ---- events ---------------------------------------------------------------------------------------

namespace {

/// A query or wait of the host for an event.
template <typename Body>
int ask_event(const char* name, cu::Event handle, Body body) {
  return unsafe(name, [&](Context*) {
    auto* event = object<Event>(handle);
#ifdef FAKE_HIP
    if (const int error = ask_stream(name, event); error != kOk) return error;
#endif
    return body(event);
  });
}

}  // namespace

FAKE_EXPORT cu::Result EITHER(cuEventCreate, hipEventCreateWithFlags)(cu::Event* out,
                                                                      unsigned flags) {
  return in_context(__func__, [&](Context* context) {
    // Valid, but dlx never needs timing, which makes events slower.
    if ((flags & cu::kEventDisableTiming) == 0) die("an event with timing");
    auto* event = engine().add<Event>();
    event->context = context;
    event->flags = flags;
    *out = reinterpret_cast<cu::Event>(event);
    return kOk;
  });
}

FAKE_EXPORT cu::Result EITHER(cuEventDestroy_v2, hipEventDestroy)(cu::Event event) {
  return in_context(__func__, [&](Context*) {
    object<Event>(event)->alive = false;
    return kOk;
  });
}

FAKE_EXPORT cu::Result EITHER(cuEventRecord, hipEventRecord)(cu::Event event, cu::Stream handle) {
  return on_stream(__func__, handle, [&](Stream* stream, Context*) {
    return event_record(object<Event>(event), stream);
  });
}

FAKE_EXPORT cu::Result EITHER(cuEventQuery, hipEventQuery)(cu::Event event) {
  return ask_event(__func__, event, event_query);
}

FAKE_EXPORT cu::Result EITHER(cuEventSynchronize, hipEventSynchronize)(cu::Event event) {
  return ask_event(__func__, event, event_synchronize);
}

// ---- kernels --------------------------------------------------------------------------------------

FAKE_EXPORT cu::Result EITHER(cuModuleLoadData, hipModuleLoadData)(cu::Module* out,
                                                                   const void* image) {
  return unsafe(__func__, [&](Context* context) {
    Module* module = nullptr;
    const int error = module_load(context, image, &module);
    *out = reinterpret_cast<cu::Module>(module);
    return error;
  });
}

FAKE_EXPORT cu::Result EITHER(cuModuleUnload, hipModuleUnload)(cu::Module module) {
  return unsafe(__func__, [&](Context*) { return module_unload(object<Module>(module)); });
}

FAKE_EXPORT cu::Result EITHER(cuModuleGetFunction, hipModuleGetFunction)(cu::Function* out,
                                                                         cu::Module module,
                                                                         const char* name) {
  return in_context(__func__, [&](Context*) {
    Function* function = nullptr;
    const int error = module_function(object<Module>(module), name, &function);
    *out = reinterpret_cast<cu::Function>(function);
    return error;
  });
}

FAKE_EXPORT cu::Result EITHER(cuLaunchKernel,
                              hipModuleLaunchKernel)(cu::Function function, unsigned grid_x,
                                                     unsigned grid_y, unsigned grid_z,
                                                     unsigned block_x, unsigned block_y,
                                                     unsigned block_z, unsigned, cu::Stream handle,
                                                     void** arguments, void** extra) {
  return on_stream(__func__, handle, [&](Stream* stream, Context* context) {
    const unsigned groups[] = {grid_x, grid_y, grid_z};
    const unsigned group_size[] = {block_x, block_y, block_z};
    return launch(object<Function>(function), context, stream, groups, group_size, arguments,
                  extra);
  });
}
