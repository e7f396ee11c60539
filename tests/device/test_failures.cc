// Each call of the driver fails in turn: the error tells which, nothing leaks, and dlx goes on.
#include <cstring>
#include <string>

#include "tests/device/suite.h"

using namespace dlx_test;

namespace {

/// A bit of everything; the first error ends it. `right`: what was read back was what was written.
dlx_status work(World& world, bool* right) {
  const int32_t type = world.api.device;
  std::vector<int32_t> data = numbers(12);
  Tensor device, view, compact, host, other, wide, every_other;
  int64_t stream = 0;
  *right = false;
  const Tensor source = world.wrap(data, {3, 4});
  dlx_status status = dlx_tensor_to_device(source.get(), type, 0, nullptr, device.out());
  if (status != DLX_OK) return status;
  view = transpose(device);
  status = dlx_stream_create(type, 0, &stream);
  if (status != DLX_OK) return status;
  const auto copies = [&] {
    const dlx_copy_options options = on(stream);
    dlx_status result = dlx_tensor_contiguous(view.get(), &options, compact.out());
    if (result != DLX_OK) return result;
    result = dlx_tensor_to_device(view.get(), kDLCPU, 0, nullptr, host.out());
    if (result != DLX_OK) return result;
    *right = static_cast<int32_t*>(host.data())[1] == 4;
    result = dlx_tensor_to_device(compact.get(), kDLCPU, 0, nullptr, host.out());
    if (result != DLX_OK) return result;
    *right = *right && static_cast<int32_t*>(host.data())[1] == 4;
    result = dlx_tensor_to_device(compact.get(), type, 1, nullptr, other.out());
    if (result != DLX_OK) return result;
    result = dlx_tensor_synchronize(other.get());
    if (result != DLX_OK) return result;
    // Packed here and unpacked there, in order: what was packed is read when nobody waits any more.
    const int64_t shape[] = {3, 8};
    const DLDataType dtype = world.int32();
    result = dlx_tensor_empty(2, shape, &dtype, type, 1, nullptr, wide.out());
    if (result != DLX_OK) return result;
    result = dlx_tensor_slice(wide.get(), 1, 0, 8, 2, every_other.out());
    if (result != DLX_OK) return result;
    result = dlx_tensor_copy_from(every_other.get(), transpose(compact).get(), nullptr);
    if (result != DLX_OK) return result;
    result = dlx_tensor_to_device(every_other.get(), kDLCPU, 0, nullptr, host.out());
    if (result != DLX_OK) return result;
    *right = *right && static_cast<int32_t*>(host.data())[1] == 1;
    dlx_device_properties properties{};
    properties.struct_size = sizeof properties;
    return dlx_device_info(type, 0, &properties);
  };
  status = copies();
  const std::string words = status == DLX_OK ? "" : dlx_last_error();
  dlx_stream_destroy(type, 0, stream);
  if (status != DLX_OK) check_fails(__FILE__, __LINE__, status, status, words.c_str());
  return status;
}

/// The calls that ask what there is; where they fail there is no device, for a reason.
bool is_start(const std::string& call) {
  for (const char* name : {"cuInit", "cuDriverGetVersion", "cuDeviceGetCount", "cuDeviceGet",
                           "hipInit", "hipRuntimeGetVersion", "hipGetDeviceCount"}) {
    if (call == name) return true;
  }
  return false;
}

void fail_one(World& world, int64_t n) {
  bool right = false;
  world.fake->fail_nth_call(n, 999);
  const dlx_status status = work(world, &right);
  const std::string call = world.fake->failed_call();
  const std::string words = status == DLX_OK ? "" : dlx_last_error();
  const char* name = world.api.is_cuda() ? "CUDA_ERROR_UNKNOWN" : "hipErrorUnknown";
  if (status == DLX_OK) {
    if (!right) {
      std::fprintf(stderr, "call %lld, %s, failed: no error, but wrong numbers\n",
                   static_cast<long long>(n), call.c_str());
      _exit(1);
    }
  } else {
    for (const char* part : {call.c_str(), name, "999", "unknown error"}) {
      if (words.find(part) != std::string::npos) continue;
      std::fprintf(stderr, "call %lld, %s, failed: no \"%s\" in \"%s\"\n",
                   static_cast<long long>(n), call.c_str(), part, words.c_str());
      _exit(1);
    }
    if (is_start(call)) return;
    CHECK_EQUAL(status, DLX_ERROR_DRIVER);
  }
  // The same goes well afterwards, and what is left is no more than what could not be given back.
  const dlx_status again = work(world, &right);
  if (again != DLX_OK && !is_start(call)) {
    std::fprintf(stderr, "after call %lld, %s, had failed: %s\n", static_cast<long long>(n),
                 call.c_str(), dlx_last_error());
    _exit(1);
  }
  world.fake->finish();
  dlx_device_synchronize(world.api.device, 0);
  dlx_device_synchronize(world.api.device, 1);
  Tensor last;
  const DLDataType dtype = world.int32();
  for (int32_t device = 0; device < 2; ++device) {
    if (dlx_tensor_empty(0, nullptr, &dtype, world.api.device, device, nullptr, last.out()) ==
        DLX_OK)
      continue;
    std::fprintf(stderr, "after call %lld, %s, had failed (%s): %s\n", static_cast<long long>(n),
                 call.c_str(), words.c_str(), dlx_last_error());
    _exit(1);
  }
  last.release();
  world.fake->finish();
  const fake_report report = world.fake->report();
  // A failure that nobody was told happened while something was given back, or to the other
  // device's buffer: that is lost.
  const int64_t lost = status == DLX_OK ? 1 : 0;
  const int64_t pushed = call == "cuCtxPopCurrent_v2" ? 1 : 0;
  if (report.allocations + report.streams > lost || report.pushed > pushed ||
      report.host_allocations > 3 + lost || report.double_frees + report.used_when_dead > 0) {
    std::fprintf(
        stderr,
        "after call %lld, %s, had failed (%s): %lld allocations, %lld pinned, %lld streams, "
        "%lld contexts pushed, %lld freed twice, %lld used when dead\n",
        static_cast<long long>(n), call.c_str(), words.c_str(),
        static_cast<long long>(report.allocations), static_cast<long long>(report.host_allocations),
        static_cast<long long>(report.streams), static_cast<long long>(report.pushed),
        static_cast<long long>(report.double_frees), static_cast<long long>(report.used_when_dead));
    _exit(1);
  }
}

/// This process never initialises the driver: each attempt is a child of its own.
void every_call_may_fail(World& world) {
  const Outcome counted = run_forked([&] {
    bool right = false;
    OK(work(world, &right));
    CHECK(right);
    std::fprintf(stderr, "calls=%lld", static_cast<long long>(world.fake->all_calls()));
  });
  if (!counted.passed()) std::fprintf(stderr, "%s", counted.output.c_str());
  CHECK(counted.passed());
  const long long calls = std::atoll(counted.output.c_str() + counted.output.find("calls=") + 6);
  CHECK(calls > 50);
  std::string trouble;
  for (long long n = 1; n <= calls; ++n) {
    const Outcome outcome = run_forked([&] { fail_one(world, n); });
    if (!outcome.passed()) trouble += std::to_string(n) + ": " + outcome.output;
  }
  if (!trouble.empty()) std::fprintf(stderr, "%s", trouble.c_str());
  CHECK(trouble.empty());
}

/// An error of work that was submitted long ago: told, and no crash when everything is released.
void lost_contexts_are_told(World& world) {
  std::vector<int32_t> data = numbers(12);
  const Tensor device = world.upload(data, {12});
  CHECK(world.download(device) == data);
  Tensor host;
  world.fake->break_next_work(719);
  FAILS(dlx_tensor_to_device(device.get(), kDLCPU, 0, nullptr, host.out()), DLX_ERROR_DRIVER,
        "719");
  FAILS(dlx_tensor_to_device(device.get(), kDLCPU, 0, nullptr, host.out()), DLX_ERROR_DRIVER,
        "719");
}

/// What one device has lost is not in the way of the other's transfers.
void lost_contexts_spare_other_devices(World& world) {
  std::vector<int32_t> data = numbers(12);
  const Tensor good = world.upload(data, {12}, 1);
  world.finish();
  const Tensor lost = world.upload(data, {12}, 0), also = world.upload(data, {12}, 0);
  world.fake->break_next_work(719);
  FAILS(dlx_tensor_synchronize(lost.get()), DLX_ERROR_DRIVER, "719");
  for (int32_t k = 0; k < 8; ++k) {
    CHECK(world.download(good) == data);
    CHECK(world.download(world.upload(data, {12}, 1)) == data);
  }
}

constexpr int kNoneFailed = 77;

/// Packs, crosses to the other device and unpacks, on streams that wait for nobody else; the n-th
/// call fails, and everything is released at once. Ends the process with kNoneFailed if there is no
/// such call.
void exchange(World& world, int64_t n) {
  std::vector<int32_t> data = numbers(12);
  Tensor source = world.upload(data, {4, 3}, 1), target = world.empty({6, 4}), every_other;
  compact(transpose(source));
  compact(transpose(target));  // the kernels are loaded
  OK(dlx_tensor_slice(transpose(target).get(), 1, 0, 6, 2, every_other.out()));
  for (int32_t device : {0, 1}) {
    OK(dlx_device_synchronize(world.api.device, device));  // nothing else holds the operands
    OK(dlx_stream_set_current(world.api.device, device, world.stream(device)));
  }
  world.fake->fail_nth_call(n, 999);
  dlx_tensor_copy_from(every_other.get(), source.get(), nullptr);
  const bool none = *world.fake->failed_call() == '\0';
  world.fake->fail_nth_call(0, 0);
  for (Tensor* each : {&source, &target, &every_other}) each->release();
  world.fake->finish();
  CHECK_EQUAL(world.fake->report().used_when_dead, 0);
  if (none) _exit(kNoneFailed);
}

/// Whichever call fails, nothing that the copy uses goes before the work that has begun: not the
/// temporaries, and not the operands, which the caller may release at once.
void failed_copies_keep_what_they_use(World& world) {
  for (int64_t n = 1;; ++n) {
    const Outcome outcome = run_forked([&] { exchange(world, n); });
    if (outcome.passed()) continue;
    if (WIFEXITED(outcome.status) && WEXITSTATUS(outcome.status) == kNoneFailed) {
      CHECK(n > 50);
      return;
    }
    std::fprintf(stderr, "call %lld: %s", static_cast<long long>(n), outcome.output.c_str());
    CHECK(false);
  }
}

}  // namespace

int main() {
  return run_suite({
      {"every call may fail", every_call_may_fail,
       kNeedsFake | kTwoDevices | kLeavesThings | kOneSchedule},
      {"failed copies keep what they use", failed_copies_keep_what_they_use,
       kNeedsFake | kTwoDevices | kLeavesThings | kOneSchedule},
      {"lost contexts are told", lost_contexts_are_told, kNeedsFake | kLeavesThings},
      {"lost contexts spare other devices", lost_contexts_spare_other_devices,
       kNeedsFake | kTwoDevices | kOneSchedule | kLeavesThings},
  });
}
