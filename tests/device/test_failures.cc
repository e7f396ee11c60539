// Each driver call fails in turn: the error names it, nothing leaks, and dlx continues to work.
#include <cstring>
#include <string>

#include "tests/device/suite.h"

using namespace dlx_test;

namespace {

/// Uses every kind of operation; the first error ends it. `right`: the data read back equals the
/// data written.
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
    // Packed on one device and unpacked on the other: the packed data is read after this call
    // returns.
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

/// The calls that query the devices; if one fails there is no device, and the reason says why.
bool is_start(const std::string& call) {
  for (const char* name : {"cuInit", "cuDriverGetVersion", "cuDeviceGetCount", "cuDeviceGet",
                           "hipInit", "hipRuntimeGetVersion", "hipGetDeviceCount"}) {
    if (call == name) return true;
  }
  return false;
}

/// Ends the process with a message.
template <typename... Arguments>
[[noreturn]] void give_up(const char* format, Arguments... arguments) {
  std::fprintf(stderr, format, arguments...);
  _exit(1);
}

/// A call that was made to fail, and what work() returned.
struct Failed {
  long long n;
  std::string call;
  dlx_status status;
  std::string words;
};

void check_words(const World& world, const Failed& failed) {
  const char* name = world.api.is_cuda() ? "CUDA_ERROR_UNKNOWN" : "hipErrorUnknown";
  for (const char* part : {failed.call.c_str(), name, "999", "unknown error"}) {
    if (failed.words.find(part) != std::string::npos) continue;
    give_up("call %lld, %s, failed: no \"%s\" in \"%s\"\n", failed.n, failed.call.c_str(), part,
            failed.words.c_str());
  }
}

/// Only memory that could not be freed remains.
void check_leaks(const World& world, const Failed& failed) {
  const fake_report report = world.fake->report();
  // An unreported failure happened during a release, or for the other device's buffer: that is
  // leaked.
  const int64_t lost = failed.status == DLX_OK ? 1 : 0;
  const int64_t pushed = failed.call == "cuCtxPopCurrent_v2" ? 1 : 0;
  if (report.allocations + report.streams <= lost && report.pushed <= pushed &&
      report.host_allocations <= 3 + lost && report.double_frees + report.used_when_dead <= 0) {
    return;
  }
  const auto number = [](int64_t value) { return static_cast<long long>(value); };
  give_up(
      "after call %lld, %s, had failed (%s): %lld allocations, %lld pinned, %lld streams, "
      "%lld contexts pushed, %lld freed twice, %lld used when dead\n",
      failed.n, failed.call.c_str(), failed.words.c_str(), number(report.allocations),
      number(report.host_allocations), number(report.streams), number(report.pushed),
      number(report.double_frees), number(report.used_when_dead));
}

void fail_one(World& world, int64_t n) {
  bool right = false;
  world.fake->fail_nth_call(n, 999);
  const dlx_status status = work(world, &right);
  const Failed failed{n, world.fake->failed_call(), status,
                      status == DLX_OK ? "" : dlx_last_error()};
  const char* call = failed.call.c_str();
  if (status == DLX_OK) {
    if (!right) give_up("call %lld, %s, failed: no error, but wrong numbers\n", failed.n, call);
  } else {
    check_words(world, failed);
    if (is_start(failed.call)) return;
    CHECK_EQUAL(status, DLX_ERROR_DRIVER);
  }
  // The same operations succeed afterwards.
  const dlx_status again = work(world, &right);
  if (again != DLX_OK && !is_start(failed.call)) {
    give_up("after call %lld, %s, had failed: %s\n", failed.n, call, dlx_last_error());
  }
  world.fake->finish();
  dlx_device_synchronize(world.api.device, 0);
  dlx_device_synchronize(world.api.device, 1);
  Tensor last;
  const DLDataType dtype = world.int32();
  for (int32_t device = 0; device < 2; ++device) {
    if (dlx_tensor_empty(0, nullptr, &dtype, world.api.device, device, nullptr, last.out()) ==
        DLX_OK) {
      continue;
    }
    give_up("after call %lld, %s, had failed (%s): %s\n", failed.n, call, failed.words.c_str(),
            dlx_last_error());
  }
  last.release();
  world.fake->finish();
  check_leaks(world, failed);
}

/// This process never initialises the driver: each attempt runs in its own child.
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

/// An error of earlier work is reported, and releasing everything does not crash.
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

/// A lost buffer of one device does not prevent transfers of the other.
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

/// Packs, transfers to the other device and unpacks, on independent streams. The n-th call fails,
/// and everything is released at once. Ends the process with kNoneFailed if there are fewer calls.
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

/// Whichever call fails, temporaries and operands stay alive until the work that has started is
/// done; the caller may release the operands at once.
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

/// Transfers by two threads, one of whose calls fails: no memory that a transfer still uses is released.
/// Ends the process with kNoneFailed if there are fewer calls.
void cross_by_threads(World& world, bool to_host, int64_t n) {
  std::vector<int32_t> data = numbers(550 * 600);  // three parts, by two threads
  const Tensor host = world.wrap(data, {550, 600});
  Tensor there = world.upload(data, {550, 600});
  CHECK(world.download(transpose(transpose(there))) == data);  // the kernels are loaded
  world.finish();
  Tensor result;
  world.fake->fail_nth_call(n, 999);
  const dlx_status status =
      to_host
          ? dlx_tensor_to_device(transpose(there).get(), kDLCPU, 0, nullptr, result.out())
          : dlx_tensor_to_device(transpose(host).get(), world.api.device, 0, nullptr, result.out());
  const std::string call = world.fake->failed_call();
  const std::string words = status == DLX_OK ? "" : dlx_last_error();
  world.fake->fail_nth_call(0, 0);
  if (status == DLX_OK) {
    CHECK(world.download(transpose(result)) == data);
  } else {
    CHECK_EQUAL(status, DLX_ERROR_DRIVER);
    CHECK(words.find(call) != std::string::npos);
  }
  there.release();
  result.release();
  world.fake->finish();
  const fake_report report = world.fake->report();
  CHECK_EQUAL(report.used_when_dead, 0);
  CHECK_EQUAL(report.double_frees, 0);
  CHECK(report.host_allocations <= 5);  // one that could not be freed
  if (call.empty()) _exit(kNoneFailed);
}

void transfers_by_threads_survive_failures(World& world) {
  for (const bool to_host : {false, true}) {
    for (int64_t n = 1;; ++n) {
      const Outcome outcome = run_forked([&] { cross_by_threads(world, to_host, n); });
      if (outcome.passed()) continue;
      if (WIFEXITED(outcome.status) && WEXITSTATUS(outcome.status) == kNoneFailed) {
        CHECK(n > 20);
        break;
      }
      std::fprintf(stderr, "call %lld: %s", static_cast<long long>(n), outcome.output.c_str());
      CHECK(false);
    }
  }
}

}  // namespace

int main() {
  return run_suite({
      {"every call may fail", every_call_may_fail,
       kNeedsFake | kTwoDevices | kLeavesThings | kOneSchedule},
      {"failed copies keep what they use", failed_copies_keep_what_they_use,
       kNeedsFake | kTwoDevices | kLeavesThings | kOneSchedule},
      {"transfers by threads survive failures", transfers_by_threads_survive_failures,
       kNeedsFake | kLeavesThings | kOneSchedule},
      {"lost contexts are told", lost_contexts_are_told, kNeedsFake | kLeavesThings},
      {"lost contexts spare other devices", lost_contexts_spare_other_devices,
       kNeedsFake | kTwoDevices | kOneSchedule | kLeavesThings},
  });
}
