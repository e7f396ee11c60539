// Fuzzes the backends of CUDA and HIP on the fake drivers, both in one process: programs of transfers, copies,
// views, exports, streams and failing driver calls under any schedule. A status is no bug of dlx; without a
// failed call every element arrives, and nothing is left over; and the fakes see no mistake: no use of memory
// that was freed, no reach beyond an allocation, no double free.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "dlx/dlx.h"
#include "tests/stubs/control.h"
#include "tests/support/fuzz_source.h"

namespace {

using dlx_test::Fake;
using dlx_test::FuzzSource;

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "%s (last error: %s)\n", what, dlx_last_error());
  std::abort();
}

/// The fake lies beside this program's folder, or is a file of the test that runs in this folder.
std::string path_of(const std::string& name) {
  char self[4096];
  const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  require(length > 0, "no /proc/self/exe");
  const std::string program(self, static_cast<size_t>(length));
  const std::string beside = program.substr(0, program.rfind("/tests/")) + "/tests/stubs/" + name;
  return access(beside.c_str(), R_OK) == 0 ? beside : "tests/stubs/" + name;
}

struct Drivers {
  Fake cuda{path_of("fake_libcuda.so")};
  Fake hip{path_of("fake_libamdhip64.so")};

  Drivers() {
    cuda.set_devices(2);
    setenv("DLX_CUDA_PATH", cuda.path().c_str(), 1);
    setenv("DLX_HIP_PATH", hip.path().c_str(), 1);
  }
};

/// What an allocation should hold.
struct Memory {
  const char* base = nullptr;
  std::vector<int32_t> values;
  bool known = true;  ///< false after a copy into it that failed
};

struct Held {
  dlx_tensor* tensor = nullptr;
  std::shared_ptr<Memory> memory;
};

/// The places of a tensor's elements in its allocation, in C order.
std::vector<size_t> places(const Held& held) {
  const DLTensor* dl = dlx_tensor_dltensor(held.tensor);
  const auto* first = static_cast<const char*>(dl->data) + dl->byte_offset;
  std::vector<int64_t> at{(first - held.memory->base) / 4};
  if (dlx_tensor_size(held.tensor) == 0) return {};
  for (int32_t axis = 0; axis < dl->ndim; ++axis) {
    std::vector<int64_t> next;
    for (const int64_t place : at) {
      for (int64_t i = 0; i < dl->shape[axis]; ++i) next.push_back(place + i * dl->strides[axis]);
    }
    at = next;
  }
  return {at.begin(), at.end()};
}

std::vector<int32_t> expected(const Held& held) {
  std::vector<int32_t> out;
  for (const size_t place : places(held)) out.push_back(held.memory->values[place]);
  return out;
}

struct Stream {
  int32_t device, id;
  int64_t number;
};

class Program {
 public:
  Program(Drivers* drivers, const uint8_t* data, size_t size) : drivers_(drivers), in_(data, size) {
    static constexpr const char* kSchedules[] = {"eager", "latest", "random:"};
    std::string schedule = kSchedules[in_.below(3)];
    if (schedule.back() == ':') schedule += std::to_string(in_.byte());
    for (Fake* fake : fakes()) {
      fake->set_schedule(schedule.c_str());
      fake->clear_log();
    }
  }

  void run() {
    const fake_report cuda = drivers_->cuda.report(), hip = drivers_->hip.report();
    while (!in_.done()) step();
    for (const Held& held : held_) dlx_tensor_release(held.tensor);
    for (const Stream& stream : streams_) {
      dlx_stream_reset_current(stream.device, stream.id);
      check(dlx_stream_destroy(stream.device, stream.id, stream.number));
    }
    stop_failing();
    for (const int32_t device : {kDLCUDA, kDLROCM}) {
      for (int32_t id = 0; id < dlx_device_count(device); ++id) {
        check(dlx_device_synchronize(device, id));
      }
    }
    drivers_->cuda.finish();
    drivers_->hip.finish();
    compare(cuda, drivers_->cuda.report());
    compare(hip, drivers_->hip.report());
  }

 private:
  std::vector<Fake*> fakes() { return {&drivers_->cuda, &drivers_->hip}; }

  /// dlx keeps some staging buffers, streams and events for ever.
  void compare(const fake_report& before, const fake_report& after) const {
    require(after.double_frees == 0, "freed twice");
    require(after.used_when_dead == 0, "work used memory that was freed");
    require(after.out_of_bounds == 0, "work reached outside an allocation");
    require(after.pending == 0, "work is left over");
    if (any_failed_) return;  // what a device may still use is not freed
    require(after.allocations <= before.allocations + 8, "allocations are left over");
    require(after.host_allocations <= before.host_allocations + 8, "pinned memory is left over");
    require(after.streams <= before.streams + 8, "streams are left over");
    require(after.events <= before.events + 32, "events are left over");
  }

  dlx_status check(dlx_status status) {
    require(status >= DLX_OK && status <= DLX_ERROR_DEVICE_REFUSED, "an unknown status");
    require(status != DLX_ERROR_INTERNAL, "an internal error");
    require(failing_ || status == DLX_OK, "a call failed, and no call of a driver did");
    return status;
  }

  void step() {
    if (held_.size() > 16) drop();
    failing_ = in_.one_in(6);
    if (failing_) {
      static constexpr int kCodes[] = {1, 2, 3, 201, 500, 801, 999};
      const int code = kCodes[in_.below(7)];
      const int64_t n = 1 + in_.below(24);
      for (Fake* fake : fakes()) fake->fail_nth_call(n, code);
      any_failed_ = true;
    }
    act();
    stop_failing();
  }
  void stop_failing() {
    for (Fake* fake : fakes()) fake->fail_nth_call(0, 0);
    failing_ = false;
  }

  void act() {
    switch (in_.below(16)) {
      case 0:
      case 1:
      case 2: return upload();
      case 3:
      case 4: return move();
      case 5:
      case 6: return view();
      case 7: return copy_into();
      case 8: return make_contiguous();
      case 9: return hand_on();
      case 10: return make_stream();
      case 11: return use_stream();
      case 12: return tell();
      case 13: return ask();
      case 14: return drop();
      default: return read();
    }
  }

  Held* pick() {
    return held_.empty() ? nullptr : &held_[static_cast<size_t>(in_.byte()) % held_.size()];
  }
  void pick_device(int32_t* device, int32_t* id) {
    static constexpr int32_t kDevices[] = {kDLCUDA, kDLCUDA,     kDLROCM,        kDLCUDAHost,
                                           kDLCPU,  kDLROCMHost, kDLCUDAManaged, kDLCUDA};
    const int32_t which = in_.below(8);
    *device = kDevices[which];
    *id = which == 1 ? 1 : 0;
  }
  /// Options for a copy, on one of the streams that the program made on that device.
  const dlx_copy_options* options(int32_t device, int32_t id) {
    options_ = DLX_COPY_OPTIONS_INIT;
    for (const Stream& stream : streams_) {
      if (stream.device != device || stream.id != id || in_.one_in(2)) continue;
      options_.flags = DLX_HAS_STREAM;
      options_.stream = stream.number;
    }
    return &options_;
  }

  void upload() {
    std::vector<int64_t> shape;
    size_t size = 1;
    for (int32_t left = in_.below(4); left > 0; --left) {
      shape.push_back(in_.one_in(16) ? 0 : 1 + in_.below(4));
      size *= static_cast<size_t>(shape.back());
    }
    std::vector<int32_t> values(size);
    for (int32_t& value : values) value = ++last_value_;
    DLTensor dl{};
    dl.data = values.data();
    dl.device.device_type = kDLCPU;
    dl.ndim = static_cast<int32_t>(shape.size());
    dl.dtype = {kDLInt, 32, 1};
    dl.shape = shape.data();
    Held host;
    require(dlx_tensor_wrap(&dl, 0, nullptr, nullptr, &host.tensor) == DLX_OK, "wrap");
    host.memory = std::make_shared<Memory>();
    host.memory->base = reinterpret_cast<const char*>(values.data());
    host.memory->values = values;
    int32_t device, id;
    pick_device(&device, &id);
    dlx_copy_options always = *options(device, id);
    always.copy = DLX_COPY_ALWAYS;
    take_copy(host, device, id, &always);
    dlx_tensor_release(host.tensor);
  }

  void move() {
    Held* from = pick();
    if (from == nullptr) return;
    int32_t device, id;
    pick_device(&device, &id);
    take_copy(*from, device, id, options(device, id));
  }

  void take_copy(const Held& from, int32_t device, int32_t id, const dlx_copy_options* how) {
    dlx_tensor* made = nullptr;
    const dlx_status status = check(dlx_tensor_to_device(from.tensor, device, id, how, &made));
    keep(from, status, made);
  }

  void make_contiguous() {
    Held* from = pick();
    if (from == nullptr) return;
    const DLDevice where = dlx_tensor_dltensor(from->tensor)->device;
    dlx_tensor* made = nullptr;
    const auto* how = options(where.device_type, where.device_id);
    const dlx_status status = check(dlx_tensor_contiguous(from->tensor, how, &made));
    keep(*from, status, made);
  }

  /// A result that may share the memory of `from`, or have memory of its own.
  void keep(const Held& from, dlx_status status, dlx_tensor* made) {
    require((status == DLX_OK) == (made != nullptr), "a handle without success, or none");
    if (made == nullptr) return;
    const DLTensor* dl = dlx_tensor_dltensor(made);
    const char* first = static_cast<const char*>(dl->data) + dl->byte_offset;
    const char* begin = from.memory->base;
    const char* end = begin + 4 * from.memory->values.size();
    if (first >= begin && first < end) {
      held_.push_back({made, from.memory});
      return;
    }
    const std::vector<int32_t> values = expected(from);
    Held held{made, std::make_shared<Memory>()};
    held.memory->base = first;
    held.memory->values.resize(values.size());
    held.memory->known = from.memory->known;
    const std::vector<size_t> where = places(held);
    for (size_t i = 0; i < values.size(); ++i) held.memory->values[where[i]] = values[i];
    held_.push_back(held);
  }

  void view() {
    Held* from = pick();
    if (from == nullptr) return;
    const int32_t ndim = dlx_tensor_ndim(from->tensor);
    dlx_tensor* made = nullptr;
    if (ndim == 0 || in_.one_in(2)) {
      require(dlx_tensor_permute(from->tensor, nullptr, &made) == DLX_OK, "permute");
    } else {
      const int32_t axis = in_.below(ndim);
      const int64_t extent = dlx_tensor_shape(from->tensor)[axis];
      const bool backwards = in_.one_in(3);
      const int64_t step = 1 + in_.below(2), skip = extent > 0 ? in_.below(2) : 0;
      require(dlx_tensor_slice(from->tensor, axis, backwards ? extent - 1 : skip,
                               backwards ? -extent - 1 : extent, backwards ? -step : step,
                               &made) == DLX_OK,
              "slice");
    }
    held_.push_back({made, from->memory});
  }

  void copy_into() {
    Held *to = pick(), *from = pick();
    if (to == nullptr || to->memory == from->memory) return;
    const DLTensor* a = dlx_tensor_dltensor(to->tensor);
    const DLTensor* b = dlx_tensor_dltensor(from->tensor);
    if (a->ndim != b->ndim ||
        std::memcmp(a->shape, b->shape, static_cast<size_t>(a->ndim) * sizeof(int64_t)) != 0) {
      return;
    }
    const std::vector<int32_t> values = expected(*from);
    const std::vector<size_t> where = places(*to);
    const auto* how = options(a->device.device_type, a->device.device_id);
    if (check(dlx_tensor_copy_from(to->tensor, from->tensor, how)) != DLX_OK) {
      to->memory->known = false;
      return;
    }
    for (size_t i = 0; i < values.size(); ++i) to->memory->values[where[i]] = values[i];
    to->memory->known = to->memory->known && from->memory->known;
  }

  /// Export, and import of the export.
  void hand_on() {
    Held* from = pick();
    if (from == nullptr) return;
    const DLDevice where = dlx_tensor_dltensor(from->tensor)->device;
    dlx_export_options how = DLX_EXPORT_OPTIONS_INIT;
    how.negative_strides = DLX_NEGATIVE_STRIDES_SHARE;
    const dlx_copy_options* copy = options(where.device_type, where.device_id);
    how.flags = copy->flags;
    how.stream = copy->stream;
    DLManagedTensorVersioned* managed = nullptr;
    if (check(dlx_tensor_to_dlpack_versioned(from->tensor, &how, &managed)) != DLX_OK) return;
    dlx_tensor* made = nullptr;
    const dlx_status status = check(dlx_tensor_from_dlpack_versioned(managed, nullptr, &made));
    if (status == DLX_OK) {
      held_.push_back({made, from->memory});
    } else {
      managed->deleter(managed);
    }
  }

  void make_stream() {
    if (streams_.size() > 4) return;
    Stream stream{in_.one_in(2) ? kDLCUDA : kDLROCM, 0, 0};
    stream.id = stream.device == kDLCUDA ? in_.below(2) : 0;
    if (check(dlx_stream_create(stream.device, stream.id, &stream.number)) == DLX_OK) {
      streams_.push_back(stream);
    }
  }

  void use_stream() {
    if (streams_.empty()) return;
    const Stream stream = streams_[static_cast<size_t>(in_.byte()) % streams_.size()];
    switch (in_.below(4)) {
      case 0: check(dlx_stream_synchronize(stream.device, stream.id, stream.number)); return;
      case 1: check(dlx_stream_set_current(stream.device, stream.id, stream.number)); return;
      case 2: check(dlx_stream_reset_current(stream.device, stream.id)); return;
      default:
        for (const Stream& other : streams_) {
          if (other.device != stream.device || other.id != stream.id) continue;
          check(dlx_stream_wait(stream.device, stream.id, stream.number, other.number));
        }
    }
  }

  /// Says that a stream wrote to a tensor, or that one will read it.
  void tell() {
    Held* held = pick();
    if (held == nullptr) return;
    const DLDevice where = dlx_tensor_dltensor(held->tensor)->device;
    for (const Stream& stream : streams_) {
      if (stream.device != where.device_type || stream.id != where.device_id) continue;
      check(in_.one_in(2) ? dlx_tensor_written_on_stream(held->tensor, stream.number)
                          : dlx_tensor_wait_on_stream(held->tensor, stream.number));
    }
  }

  void ask() {
    Held* held = pick();
    int32_t device, id;
    pick_device(&device, &id);
    dlx_device_properties properties{};
    properties.struct_size = sizeof properties;
    if (device == kDLCUDA || device == kDLROCM) check(dlx_device_info(device, id, &properties));
    if (held == nullptr || dlx_tensor_size(held->tensor) == 0) return;
    const DLTensor* dl = dlx_tensor_dltensor(held->tensor);
    const void* data = static_cast<const char*>(dl->data) + dl->byte_offset;
    if (check(dlx_device_of_pointer(data, &device, &id)) != DLX_OK || failing_) return;
    require(device == static_cast<int32_t>(dl->device.device_type), "memory of another device");
  }

  void drop() {
    if (held_.empty()) return;
    Held* held = pick();
    dlx_tensor_release(held->tensor);
    *held = held_.back();
    held_.pop_back();
  }

  void read() {
    Held* held = pick();
    if (held == nullptr) return;
    dlx_tensor *there = nullptr, *here = nullptr;
    if (check(dlx_tensor_to_device(held->tensor, kDLCPU, 0, nullptr, &there)) != DLX_OK) return;
    if (check(dlx_tensor_contiguous(there, nullptr, &here)) == DLX_OK) {
      const std::vector<int32_t> values = expected(*held);
      require(!held->memory->known || values.empty() ||
                  std::memcmp(dlx_tensor_data(here), values.data(), 4 * values.size()) == 0,
              "other elements arrived");
    }
    dlx_tensor_release(here);
    dlx_tensor_release(there);
  }

  Drivers* drivers_;
  FuzzSource in_;
  std::vector<Held> held_;
  std::vector<Stream> streams_;
  dlx_copy_options options_{};
  int32_t last_value_ = 0;
  bool failing_ = false;
  bool any_failed_ = false;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static Drivers drivers;
  Program(&drivers, data, size).run();
  return 0;
}
