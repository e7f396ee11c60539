#include "tests/device/world.h"

#include <cstdlib>
#include <cstring>
#include <numeric>

namespace dlx_test {

void check_fails(const char* file, int line, dlx_status status, dlx_status expected,
                 const char* words) {
  const char* said = status == DLX_OK ? "no error" : dlx_last_error();
  if (status == expected && std::strstr(said, words) != nullptr) return;
  std::fprintf(stderr, "%s:%d: %s: %s\nexpected %s with \"%s\"\n", file, line,
               dlx_status_name(status), said, dlx_status_name(expected), words);
  std::fflush(nullptr);
  _exit(1);
}

std::vector<int32_t> numbers(size_t count, int32_t first) {
  std::vector<int32_t> result(count);
  std::iota(result.begin(), result.end(), first);
  return result;
}

dlx_copy_options on(int64_t stream) {
  dlx_copy_options options = DLX_COPY_OPTIONS_INIT;
  options.flags = DLX_HAS_STREAM;
  options.stream = stream;
  return options;
}

dlx_export_options export_on(int64_t stream) {
  dlx_export_options options = DLX_EXPORT_OPTIONS_INIT;
  options.flags = DLX_HAS_STREAM;
  options.stream = stream;
  return options;
}

Written fill_elsewhere(World& world, int value, int32_t device, int32_t type) {
  Written written{world.empty({256}, device, type), nullptr};
  world.foreign(device, [&] {
    written.stream = world.foreign_stream();
    world.foreign_set(written.tensor.data(), value, 1024, written.stream);
  });
  OK(dlx_tensor_written_on_stream(written.tensor.get(), number(written.stream)));
  return written;
}

void end(World& world, const Written& written, int32_t device) {
  world.foreign(device, [&] { world.foreign_destroy(written.stream); });
}

Tensor transpose(const Tensor& tensor) {
  Tensor result;
  OK(dlx_tensor_permute(tensor.get(), nullptr, result.out()));
  return result;
}

Tensor compact(const Tensor& tensor) {
  Tensor result;
  OK(dlx_tensor_contiguous(tensor.get(), nullptr, result.out()));
  return result;
}

void* World::find(const char* symbol) const {
  void* result = dlsym(handle_, symbol);
  if (result != nullptr) return result;
  std::fprintf(stderr, "the driver has no %s\n", symbol);
  std::abort();
}

World::World(const Api& api_in, const std::string& schedule, int devices_in)
    : api(api_in), devices(devices_in) {
  if (api.fake != nullptr) {
    fake = std::make_unique<Fake>(api.fake);
    fake->set_schedule(schedule.c_str());
    fake->set_devices(devices);
    OK(dlx_set_num_threads(2));
    setenv(api.variable, fake->path().c_str(), 1);
    // Hide the other kind of driver, even if the machine has it.
    setenv(api.is_cuda() ? "DLX_HIP_PATH" : "DLX_CUDA_PATH", "/nonexistent", 1);
    handle_ = dlopen(fake->path().c_str(), RTLD_NOW);
  } else {
    const char* chosen = std::getenv(api.variable);
    for (const char* name : {chosen, "libcuda.so.1", "libamdhip64.so.7", "libamdhip64.so.6"}) {
      if (handle_ == nullptr && name != nullptr &&
          (std::strstr(name, "cuda") != nullptr) == api.is_cuda()) {
        handle_ = dlopen(name, RTLD_NOW);
      }
    }
  }
  CHECK(handle_ != nullptr);
  load("cuInit", "hipInit", &init_);
  load("cuStreamCreate", "hipStreamCreateWithFlags", &stream_create_);
  load("cuStreamDestroy_v2", "hipStreamDestroy", &stream_destroy_);
  load("cuStreamSynchronize", "hipStreamSynchronize", &stream_synchronize_);
  load("cuMemAlloc_v2", "hipMalloc", &allocate_);
  load("cuMemFree_v2", "hipFree", &free_);
  load("cuMemsetD8Async", "hipMemsetD8Async", &set_);
  load("cuStreamBeginCapture_v2", "hipStreamBeginCapture", &begin_capture_);
  load("cuStreamEndCapture", "hipStreamEndCapture", &end_capture_);
  load("cuGraphInstantiateWithFlags", "hipGraphInstantiate", &instantiate_);
  load("cuGraphLaunch", "hipGraphLaunch", &launch_);
  if (api.is_cuda()) {
    load("cuDevicePrimaryCtxRetain", "", &retain_);
    load("cuCtxPushCurrent_v2", "", &push_);
    load("cuCtxPopCurrent_v2", "", &pop_);
    load("cuCtxGetCurrent", "", &current_);
  } else {
    load("", "hipSetDevice", &set_device_);
    load("", "hipGetDevice", &get_device_);
  }
}

// ---- dlx ---------------------------------------------------------------------------------------

Tensor World::empty(const std::vector<int64_t>& shape, int32_t device, int32_t type) {
  Tensor result;
  const DLDataType dtype = int32();
  OK(dlx_tensor_empty(static_cast<int32_t>(shape.size()), shape.data(), &dtype,
                      type == 0 ? api.device : type, device, nullptr, result.out()));
  return result;
}

Tensor World::wrap(std::vector<int32_t>& data, const std::vector<int64_t>& shape) {
  DLTensor description{};
  description.data = data.data();
  description.device.device_type = kDLCPU;
  description.ndim = static_cast<int32_t>(shape.size());
  description.dtype = int32();
  description.shape = const_cast<int64_t*>(shape.data());
  Tensor result;
  OK(dlx_tensor_wrap(&description, 0, nullptr, nullptr, result.out()));
  return result;
}

Tensor World::upload(std::vector<int32_t>& data, const std::vector<int64_t>& shape,
                     int32_t device) {
  const Tensor host = wrap(data, shape);
  Tensor result;
  OK(dlx_tensor_to_device(host.get(), api.device, device, nullptr, result.out()));
  return result;
}

std::vector<int32_t> World::download(const Tensor& tensor) {
  Tensor host;
  OK(dlx_tensor_to_device(tensor.get(), kDLCPU, 0, nullptr, host.out()));
  host = compact(host);
  const auto* first = static_cast<const int32_t*>(host.data());
  return {first, first + dlx_tensor_size(host.get())};
}

void World::finish() {
  if (fake == nullptr) return;
  fake->finish();
  fake->count_waits(0);
}

int64_t World::stream(int32_t device) {
  int64_t result = 0;
  OK(dlx_stream_create(api.device, device, &result));
  return result;
}

void World::destroy(int64_t stream, int32_t device) {
  OK(dlx_stream_destroy(api.device, device, stream));
}

// ---- another library ---------------------------------------------------------------------------

void World::foreign(int32_t device, const std::function<void()>& body) {
  CHECK_EQUAL(init_(0), 0);
  if (!api.is_cuda()) {
    int before = 0;
    CHECK_EQUAL(get_device_(&before), 0);
    CHECK_EQUAL(set_device_(device), 0);
    body();
    CHECK_EQUAL(set_device_(before), 0);
    return;
  }
  contexts_.resize(static_cast<size_t>(devices));
  void*& context = contexts_[static_cast<size_t>(device)];
  if (context == nullptr) CHECK_EQUAL(retain_(&context, device), 0);
  CHECK_EQUAL(push_(context), 0);
  body();
  void* popped = nullptr;
  CHECK_EQUAL(pop_(&popped), 0);
  CHECK(popped == context);
}

void* World::foreign_stream(bool blocking) {
  void* result = nullptr;
  CHECK_EQUAL(stream_create_(&result, blocking ? 0 : 1), 0);
  return result;
}

void World::foreign_destroy(void* stream) { CHECK_EQUAL(stream_destroy_(stream), 0); }

void* World::foreign_memory(size_t size) {
  void* result = nullptr;
  CHECK_EQUAL(allocate_(&result, size), 0);
  return result;
}

void World::foreign_free(void* data) { CHECK_EQUAL(free_(data), 0); }

void World::foreign_set(void* data, int value, size_t size, void* stream) {
  CHECK_EQUAL(set_(data, static_cast<unsigned char>(value), size, stream), 0);
}

int World::foreign_begin_capture(void* stream, int mode) { return begin_capture_(stream, mode); }
int World::foreign_end_capture(void* stream, void** graph) { return end_capture_(stream, graph); }

void World::foreign_launch(void* graph, void* stream) {
  void* executable = nullptr;
  CHECK_EQUAL(instantiate_(&executable, graph, 0, 0, 0), 0);
  CHECK_EQUAL(launch_(executable, stream), 0);
}

void World::foreign_wait(void* stream) {
  if (fake != nullptr) fake->count_waits(0);  // no wait of dlx
  CHECK_EQUAL(stream_synchronize_(stream), 0);
  if (fake != nullptr) fake->count_waits(1);
}

intptr_t World::foreign_current() {
  CHECK_EQUAL(init_(0), 0);
  if (api.is_cuda()) {
    void* context = nullptr;
    CHECK_EQUAL(current_(&context), 0);
    return reinterpret_cast<intptr_t>(context);
  }
  int device = 0;
  CHECK_EQUAL(get_device_(&device), 0);
  return device;
}

void World::check_clean(int64_t streams) {
  if (fake == nullptr) return;
  fake->finish();
  OK(dlx_device_synchronize(api.device, 0));
  const fake_report report = fake->report();
  CHECK_EQUAL(report.pending, 0);
  CHECK_EQUAL(report.allocations, 0);
  CHECK_EQUAL(report.streams, streams);
  CHECK_EQUAL(report.contexts, 0);
  CHECK_EQUAL(report.pushed, 0);
  CHECK_EQUAL(report.double_frees, 0);
  CHECK_EQUAL(report.used_when_dead, 0);
  CHECK_EQUAL(report.out_of_bounds, 0);
  CHECK_EQUAL(report.waited_for_blocked, 0);
  CHECK_EQUAL(report.captures_broken, 0);
  CHECK(report.host_allocations <= 4);  // what transfers by two threads keep
  CHECK_EQUAL(fake->calls("cuCtxSynchronize"), 0);
  CHECK_EQUAL(fake->calls("hipDeviceSynchronize"), 0);
}

}  // namespace dlx_test
