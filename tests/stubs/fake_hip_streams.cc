// The fake libamdhip64.so: streams, captures, events and kernels.
#include "tests/stubs/fake_hip.h"

using namespace fake;

// ---- streams --------------------------------------------------------------------------------------

FAKE_EXPORT hip::Result hipStreamCreateWithFlags(hip::Stream* out, unsigned flags) {
  return in_context(__func__, [&](Context* context) {
    if (flags > hip::kStreamNonBlocking) return static_cast<int>(kInvalidValue);
    Stream* stream = nullptr;
    const int error = stream_create(context, flags == 0, &stream);
    *out = reinterpret_cast<hip::Stream>(stream);
    return error;
  });
}

FAKE_EXPORT hip::Result hipStreamDestroy(hip::Stream stream) {
  return in_context(__func__, [&](Context*) { return stream_destroy(object<Stream>(stream)); });
}

FAKE_EXPORT hip::Result hipStreamSynchronize(hip::Stream handle) {
  return on_stream(__func__, handle, [](Stream* stream, Context*) -> int {
    if (const int error = stream->capture != nullptr ? kOk : unsafe_call(); error != kOk)
      return error;
    return stream_synchronize(stream);
  });
}

FAKE_EXPORT hip::Result hipStreamQuery(hip::Stream handle) {
  return on_stream(__func__, handle, [](Stream* stream, Context*) -> int {
    if (const int error = stream->capture != nullptr ? kOk : unsafe_call(); error != kOk)
      return error;
    return stream_query(stream);
  });
}

FAKE_EXPORT hip::Result hipStreamWaitEvent(hip::Stream handle, hip::Event event, unsigned) {
  return on_stream(__func__, handle, [&](Stream* stream, Context*) {
    return stream_wait(stream, object<Event>(event));
  });
}

FAKE_EXPORT hip::Result hipStreamGetDevice(hip::Stream handle, int* out) {
  return on_stream(__func__, handle, [&](Stream* stream, Context*) {
    *out = stream->context->device->ordinal;
    return kOk;
  });
}

FAKE_EXPORT hip::Result hipStreamBeginCapture(hip::Stream handle, int mode) {
  return on_stream(__func__, handle,
                   [&](Stream* stream, Context*) { return capture_begin(stream, mode); });
}

FAKE_EXPORT hip::Result hipStreamEndCapture(hip::Stream handle, void** graph) {
  return on_stream(__func__, handle, [&](Stream* stream, Context*) {
    Capture* capture = nullptr;
    const int error = capture_end(stream, &capture);
    *graph = capture;
    return error;
  });
}

FAKE_EXPORT hip::Result hipStreamIsCapturing(hip::Stream handle, int* status) {
  return on_stream(__func__, handle, [&](Stream* stream, Context*) {
    uint64_t id = 0;
    return capture_info(stream, status, &id);
  });
}

FAKE_EXPORT hip::Result hipStreamGetCaptureInfo_v2(hip::Stream handle, int* status, uint64_t* id,
                                                   void** graph, const void** dependencies,
                                                   size_t* count) {
  return on_stream(__func__, handle, [&](Stream* stream, Context*) {
    uint64_t unused = 0;
    if (graph != nullptr) *graph = stream->capture;
    if (dependencies != nullptr) *dependencies = nullptr;
    if (count != nullptr) *count = 0;
    return capture_info(stream, status, id == nullptr ? &unused : id);
  });
}

FAKE_EXPORT hip::Result hipStreamGetCaptureInfo(hip::Stream handle, int* status, uint64_t* id) {
  return hipStreamGetCaptureInfo_v2(handle, status, id, nullptr, nullptr, nullptr);
}

FAKE_EXPORT hip::Result hipThreadExchangeStreamCaptureMode(int* mode) {
  return plain(__func__, [&] {
    if (*mode < 0 || *mode > 2) return kInvalidValue;
    std::swap(*mode, this_thread().capture_mode);
    return kOk;
  });
}

FAKE_EXPORT hip::Result hipGraphInstantiate(void** out, void* graph, void*, char*, size_t) {
  return plain(__func__, [&] {
    auto* result = engine().add<GraphExec>();
    result->nodes = object<Capture>(graph)->nodes;
    *out = result;
    return kOk;
  });
}

FAKE_EXPORT hip::Result hipGraphLaunch(void* graph, hip::Stream handle) {
  return on_stream(__func__, handle, [&](Stream* stream, Context*) {
    return graph_launch(object<GraphExec>(graph), stream);
  });
}

FAKE_EXPORT hip::Result hipGraphExecDestroy(void* graph) {
  return plain(__func__, [&] {
    object<GraphExec>(graph)->alive = false;
    return kOk;
  });
}

FAKE_EXPORT hip::Result hipGraphDestroy(void* graph) {
  return plain(__func__, [&] {
    object<Capture>(graph)->alive = false;
    return kOk;
  });
}

// ---- events ---------------------------------------------------------------------------------------

FAKE_EXPORT hip::Result hipEventCreateWithFlags(hip::Event* out, unsigned flags) {
  return in_context(__func__, [&](Context* context) {
    auto* event = engine().add<Event>();
    event->context = context;
    event->flags = flags;
    *out = reinterpret_cast<hip::Event>(event);
    return kOk;
  });
}

FAKE_EXPORT hip::Result hipEventDestroy(hip::Event event) {
  return in_context(__func__, [&](Context*) {
    object<Event>(event)->alive = false;
    return kOk;
  });
}

FAKE_EXPORT hip::Result hipEventRecord(hip::Event event, hip::Stream handle) {
  return on_stream(__func__, handle, [&](Stream* stream, Context*) {
    return event_record(object<Event>(event), stream);
  });
}

FAKE_EXPORT hip::Result hipEventQuery(hip::Event event) {
  return unsafe(__func__, [&](Context*) { return event_query(object<Event>(event)); });
}

FAKE_EXPORT hip::Result hipEventSynchronize(hip::Event event) {
  return unsafe(__func__, [&](Context*) { return event_synchronize(object<Event>(event)); });
}

// ---- kernels --------------------------------------------------------------------------------------

FAKE_EXPORT hip::Result hipModuleLoadData(hip::Module* out, const void* image) {
  return unsafe(__func__, [&](Context* context) {
    Module* module = nullptr;
    const int error = module_load(context, image, &module);
    *out = reinterpret_cast<hip::Module>(module);
    return error;
  });
}

FAKE_EXPORT hip::Result hipModuleUnload(hip::Module module) {
  return unsafe(__func__, [&](Context*) { return module_unload(object<Module>(module)); });
}

FAKE_EXPORT hip::Result hipModuleGetFunction(hip::Function* out, hip::Module module,
                                             const char* name) {
  return in_context(__func__, [&](Context*) {
    Function* function = nullptr;
    const int error = module_function(object<Module>(module), name, &function);
    *out = reinterpret_cast<hip::Function>(function);
    return error;
  });
}

FAKE_EXPORT hip::Result hipModuleLaunchKernel(hip::Function function, unsigned grid_x,
                                              unsigned grid_y, unsigned grid_z, unsigned block_x,
                                              unsigned block_y, unsigned block_z, unsigned,
                                              hip::Stream handle, void** arguments, void** extra) {
  return on_stream(__func__, handle, [&](Stream* stream, Context* context) {
    const unsigned groups[] = {grid_x, grid_y, grid_z};
    const unsigned group_size[] = {block_x, block_y, block_z};
    return launch(object<Function>(function), context, stream, groups, group_size, arguments,
                  extra);
  });
}
