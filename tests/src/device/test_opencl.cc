// The OpenCL backend on a real OpenCL (PoCL is enough); skipped with the reason if there is none.
#include <algorithm>
#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "dlx/dlx.h"
#include "src/base/error.h"
#include "src/copy/plan/plan.h"
#include "src/device/backend.h"
#include "src/device/registry.h"
#include "src/device/transfer.h"
#include "src/driver/opencl.h"
#include "tests/src/copy/random_copy.h"
#include "tests/src/device/opencl_fixture.h"
#include "tests/stubs/forked.h"
#include "tests/support/opencl_leaks.h"

namespace {

using dlx::Backend;
using dlx::DeviceAddress;
using dlx_test::backend_or_skip;
using dlx_test::Choices;
using dlx_test::Foreign;
using dlx_test::plan_of;
using dlx_test::RandomCopy;
namespace cl = dlx::opencl;

std::vector<uint8_t> numbered(size_t size) {
  std::vector<uint8_t> bytes(size);
  for (size_t k = 0; k < size; ++k) bytes[k] = static_cast<uint8_t>(k * 7 + k / 256);
  return bytes;
}

/// One operand of a random copy, moved into a buffer of dlx or of another library.
class Moved {
 public:
  Moved(Backend& backend, Foreign* foreign, const DLTensor& tensor, bool padded)
      : backend_(backend), foreign_(foreign), tensor_(tensor) {
    // The bytes that contain the elements, between RandomCopy's canaries.
    int64_t low = 0, high = 1;
    for (int32_t k = 0; k < tensor.ndim; ++k) {
      if (tensor.shape[k] == 0) continue;
      const int64_t reach = (tensor.shape[k] - 1) * tensor.strides[k];
      (reach < 0 ? low : high) += reach;
    }
    const int64_t bits = (padded ? 8 : int64_t{tensor.dtype.bits}) * tensor.dtype.lanes;
    low = low * bits / 8 - 16;
    high = high * bits / 8 + 16;
    host_ = static_cast<uint8_t*>(tensor.data) + tensor.byte_offset + low;
    bytes_.assign(host_, host_ + (high - low));
    if (foreign != nullptr) {
      memory_ = foreign->memory(bytes_);
    } else {
      memory_ = backend.allocate(kDLOpenCL, 0, bytes_.size(), 64);
      backend.copy_from_host(0, 0, {memory_, 0}, bytes_.data(), bytes_.size());
      backend.synchronize(0);  // whatever comes of the copy, `bytes_` may go
    }
    tensor_.data = memory_;
    tensor_.byte_offset = static_cast<uint64_t>(-low);
    tensor_.device = {kDLOpenCL, 0};
  }
  ~Moved() { backend_.deallocate(kDLOpenCL, 0, memory_); }
  Moved(const Moved&) = delete;
  Moved& operator=(const Moved&) = delete;

  const DLTensor& tensor() const { return tensor_; }
  void bring_back() {
    backend_.synchronize(0);
    if (foreign_ != nullptr) {
      bytes_ = foreign_->read(static_cast<cl::Memory>(memory_), bytes_.size());
    } else {
      backend_.copy_to_host(0, 0, bytes_.data(), {memory_, 0}, bytes_.size());
      backend_.synchronize(0);
    }
    std::memcpy(host_, bytes_.data(), bytes_.size());
  }

 private:
  Backend& backend_;
  Foreign* foreign_;
  DLTensor tensor_;
  std::vector<uint8_t> bytes_;
  uint8_t* host_;
  void* memory_;
};

void random_copies(bool dst_moves, bool src_moves, Foreign* dst_foreign, Foreign* src_foreign,
                   int count) {
  Backend& backend = backend_or_skip();
  for (uint64_t seed = 1; seed <= static_cast<uint64_t>(count); ++seed) {
    Choices choices(seed);
    RandomCopy copy(choices, 1500);
    const std::string trouble =
        copy.run([&](const DLTensor& dst, bool dst_padded, const DLTensor& src, bool src_padded) {
          Moved to(backend, dst_foreign, dst, dst_padded);
          Moved from(backend, src_foreign, src, src_padded);
          const dlx::Operand dst_operand{dst_moves ? &to.tensor() : &dst, dst_padded, nullptr};
          const dlx::Operand src_operand{src_moves ? &from.tensor() : &src, src_padded, nullptr};
          dlx::transfer(dst_operand, src_operand, nullptr);
          if (dst_moves) to.bring_back();
        });
    if (!trouble.empty()) {
      print_error("seed %llu: %s\n%s\n", static_cast<unsigned long long>(seed), trouble.c_str(),
                  copy.describe().c_str());
    }
    assert_string_equal(trouble.c_str(), "");
  }
}

void copies_on_the_device_are_right(void**) { random_copies(true, true, nullptr, nullptr, 800); }
void copies_to_the_device_are_right(void**) { random_copies(true, false, nullptr, nullptr, 400); }
void copies_from_the_device_are_right(void**) { random_copies(false, true, nullptr, nullptr, 400); }

bool used_on_device = false;
cl::Result use_on_device(cl::Kernel, cl::Uint, size_t, const void*) {
  used_on_device = true;
  return -34;  // CL_INVALID_CONTEXT, which PoCL does not notice
}

void memory_of_other_contexts_goes_through_the_host(void**) {
  backend_or_skip();
  auto& set_kernel_arg = const_cast<cl::Functions&>(*cl::functions(nullptr)).set_kernel_arg.call;
  const auto real = set_kernel_arg;
  set_kernel_arg = use_on_device;
  Foreign one, other;
  random_copies(true, true, nullptr, &one, 100);
  random_copies(true, true, &one, nullptr, 100);
  random_copies(true, true, &one, &other, 100);
  random_copies(false, true, nullptr, &one, 100);
  random_copies(true, false, &one, nullptr, 100);
  set_kernel_arg = real;
  assert_false(used_on_device);
}

// A buffer of another context cannot use the device's queue: pending work of the queue on the host
// memory runs first.
void foreign_copies_come_in_order(void**) {
  Backend& backend = backend_or_skip();
  constexpr size_t kSize = size_t{64} << 20;
  const std::vector<uint8_t> ones(kSize, 1), twos(kSize, 2);
  std::vector<uint8_t> host(kSize);
  Foreign foreign;
  void* own = backend.allocate(kDLOpenCL, 0, kSize, 64);
  const cl::Memory theirs = foreign.memory(twos);
  backend.copy_from_host(0, 0, {own, 0}, ones.data(), kSize);
  backend.copy_to_host(0, 0, host.data(), {own, 0}, kSize);
  backend.copy_from_host(0, 0, {theirs, 0}, host.data(), kSize);
  assert_true(foreign.read(theirs, kSize) == ones);

  host = twos;
  backend.copy_from_host(0, 0, {own, 0}, host.data(), kSize);
  backend.copy_to_host(0, 0, host.data(), {theirs, 0}, kSize);
  assert_true(host == ones);
  backend.copy_to_host(0, 0, host.data(), {own, 0}, kSize);
  backend.synchronize(0);
  assert_true(host == twos);
  foreign.release(theirs);
  backend.deallocate(kDLOpenCL, 0, own);
}

void devices_are_described(void**) {
  Backend& backend = backend_or_skip();
  assert_string_equal(backend.reason(), "");
  dlx_device_properties properties{};
  backend.describe(0, &properties);
  assert_true(std::strlen(properties.name) > 0);
  assert_true(properties.memory_total > 0);
  assert_int_equal(std::strncmp(properties.architecture, "OpenCL ", 7), 0);
  assert_true(std::strlen(properties.driver_version) > 0);
  cl::Platform platform = nullptr;
  cl::Device device = nullptr;
  uint64_t memory = 0;
  const cl::Functions& functions = *cl::functions(nullptr);
  functions.platform_ids(1, &platform, nullptr);
  functions.device_ids(platform, cl::kDeviceTypeAll, 1, &device, nullptr);
  functions.device_info(device, cl::kDeviceGlobalMemSize, sizeof memory, &memory, nullptr);
  assert_int_equal(properties.memory_total, memory);
  assert_false(backend.has_streams());
  assert_ptr_equal(dlx::find_backend(kDLOpenCL), &backend);
}

void there_is_no_room_for_everything(void**) {
  Backend& backend = backend_or_skip();
  assert_null(backend.allocate(kDLOpenCL, 0, size_t{1} << 60, 64));
  void* memory = backend.allocate(kDLOpenCL, 0, 1, 64);
  assert_non_null(memory);
  backend.deallocate(kDLOpenCL, 0, memory);
}

/// Runs a plan with these offsets, and compares all of dst.
void check_strided_at(Backend& backend, const dlx::CopyPlan& plan, uint64_t dst_offset,
                      uint64_t src_offset) {
  int64_t dst_size = plan.item(), src_size = plan.item();
  for (int k = 0; k < plan.ndim(); ++k) {
    dst_size += plan.axis(k).dst * (plan.axis(k).extent - 1);
    src_size += plan.axis(k).src * (plan.axis(k).extent - 1);
  }
  const std::vector<uint8_t> source = numbered(static_cast<size_t>(src_size) + src_offset);
  std::vector<uint8_t> expected(static_cast<size_t>(dst_size) + 80, 0xee);
  std::vector<uint8_t> result = expected;
  void* dst = backend.allocate(kDLOpenCL, 0, result.size(), 64);
  void* src = backend.allocate(kDLOpenCL, 0, source.size(), 64);
  backend.copy_from_host(0, 0, {dst, 0}, result.data(), result.size());
  backend.copy_from_host(0, 0, {src, 0}, source.data(), source.size());
  assert_true(backend.copy_strided(0, 0, {dst, dst_offset}, {src, src_offset}, plan));
  backend.copy_to_host(0, 0, result.data(), {dst, 0}, result.size());
  backend.synchronize(0);
  std::vector<int64_t> index(static_cast<size_t>(plan.ndim()));
  for (;;) {
    auto to = static_cast<int64_t>(dst_offset), from = static_cast<int64_t>(src_offset);
    for (int k = 0; k < plan.ndim(); ++k) {
      to += index[static_cast<size_t>(k)] * plan.axis(k).dst;
      from += index[static_cast<size_t>(k)] * plan.axis(k).src;
    }
    std::memcpy(&expected[static_cast<size_t>(to)], &source[static_cast<size_t>(from)],
                static_cast<size_t>(plan.item()));
    int k = plan.ndim() - 1;
    for (; k >= 0 && ++index[static_cast<size_t>(k)] == plan.axis(k).extent; --k) {
      index[static_cast<size_t>(k)] = 0;
    }
    if (k < 0) break;
  }
  assert_memory_equal(result.data(), expected.data(), expected.size());
  backend.deallocate(kDLOpenCL, 0, dst);
  backend.deallocate(kDLOpenCL, 0, src);
}

void check_strided(Backend& backend, const dlx::CopyPlan& plan) {
  check_strided_at(backend, plan, 48, 16);
  check_strided_at(backend, plan, 13, 7);
}

void offsets_stay_beside_the_handle(void**) {
  Backend& backend = backend_or_skip();
  check_strided(backend, plan_of({60, 70}, {70, 1}, {1, 60}, 1));  // tiles
  check_strided(backend, plan_of({60, 70}, {70, 1}, {1, 60}, 16));
  check_strided(backend, plan_of({60, 70}, {70, 1}, {1, 60}, 12));  // tiles of any items
  check_strided(backend, plan_of({40, 50}, {51, 1}, {100, 2}, 4));  // words
}

void long_rows_are_left_to_the_driver(void**) {
  Backend& backend = backend_or_skip();
  check_strided(backend, plan_of({20, 600}, {600, 1}, {700, 1}, 1));
  check_strided(backend, plan_of({20, 600}, {700, 1}, {600, 1}, 1));
  check_strided(backend, plan_of({5, 6, 600}, {4000, 600, 1}, {7000, 1000, 1}, 1));
  // But not planes whose pitch is not a multiple of the row pitch, or rows in another order.
  check_strided(backend, plan_of({5, 6, 600}, {4001, 600, 1}, {7000, 1000, 1}, 1));
  check_strided(backend, plan_of({5, 6, 600}, {3600, 600, 1}, {7001, 1000, 1}, 1));
  check_strided(backend, plan_of({5, 6, 600}, {3600, 600, 1}, {600, 3000, 1}, 1));
  check_strided(backend, plan_of({5, 600}, {700, 1}, {0, 1}, 1));
  // Or stacks of planes.
  check_strided(backend, plan_of({3, 5, 6, 600}, {40000, 6000, 700, 1}, {50000, 8000, 1000, 1}, 1));
}

// Within one buffer OpenCL requires equal row pitches.
void rows_move_within_one_buffer(void**) {
  Backend& backend = backend_or_skip();
  std::vector<uint8_t> expected = numbered(20 * 700 + 20 * 600), result(expected.size());
  void* memory = backend.allocate(kDLOpenCL, 0, expected.size(), 64);
  backend.copy_from_host(0, 0, {memory, 0}, expected.data(), expected.size());
  backend.synchronize(0);
  const dlx::CopyPlan plan = plan_of({20, 600}, {600, 1}, {700, 1}, 1);
  assert_true(backend.copy_strided(0, 0, {memory, 20 * 700}, {memory, 0}, plan));
  backend.copy_to_host(0, 0, result.data(), {memory, 0}, result.size());
  backend.synchronize(0);
  for (size_t k = 0; k < 20; ++k) {
    std::memcpy(&expected[20 * 700 + k * 600], &expected[k * 700], 600);
  }
  assert_memory_equal(result.data(), expected.data(), expected.size());
  backend.deallocate(kDLOpenCL, 0, memory);
}

void events_tell_when_work_is_done(void**) {
  Backend& backend = backend_or_skip();
  const std::vector<uint8_t> source = numbered(1 << 20);
  std::vector<uint8_t> result(source.size());
  void* memory = backend.allocate(kDLOpenCL, 0, source.size(), 64);
  backend.copy_from_host(0, 0, {memory, 0}, source.data(), source.size());
  backend.copy_to_host(0, 0, result.data(), {memory, 0}, source.size());
  dlx::EventHandle event = backend.record(0, 0);
  backend.wait(0, 0, event);
  backend.wait_on_host(0, event);
  assert_true(backend.is_done(0, event));
  assert_memory_equal(result.data(), source.data(), source.size());
  dlx::EventHandle polled = backend.record(0, 0);
  while (!backend.is_done(0, polled)) {
  }
  backend.release_event(0, polled);
  backend.release_event(0, event);
  backend.deallocate(kDLOpenCL, 0, memory);
}

void errors_name_call_and_code(void**) {
  Backend& backend = backend_or_skip();
  void* memory = backend.allocate(kDLOpenCL, 0, 16, 64);
  std::string message;
  try {
    uint8_t bytes[64] = {};
    backend.copy_from_host(0, 0, {memory, 8}, bytes, sizeof bytes);
  } catch (const dlx::Error& error) {
    message = error.what();
    assert_int_equal(error.status(), DLX_ERROR_DRIVER);
  }
  assert_string_equal(message.c_str(), "clEnqueueWriteBuffer failed: CL_INVALID_VALUE (-30)");
  backend.deallocate(kDLOpenCL, 0, memory);
}

void a_forked_child_is_told(void**) {
  Backend& backend = backend_or_skip();
  void* memory = backend.allocate(kDLOpenCL, 0, 16, 64);
  const auto outcome = dlx_test::run_forked([&] {
    backend.deallocate(kDLOpenCL, 0, memory);  // leaks, quietly
    try {
      backend.allocate(kDLOpenCL, 0, 16, 64);
    } catch (const dlx::Error& error) {
      std::fprintf(stderr, "%s", error.what());
    }
  });
  assert_non_null(std::strstr(outcome.output.c_str(), "before this process was forked"));
  backend.deallocate(kDLOpenCL, 0, memory);
}

// Runs first, because OpenCL must not be loaded yet.
void a_missing_driver_is_a_fact_with_a_reason(void**) {
  const auto outcome = dlx_test::run_forked([] {
    setenv("DLX_OPENCL_PATH", "/nowhere/libOpenCL.so", 1);
    CHECK_EQUAL(dlx::opencl_backend().count(), 0);
    std::fprintf(stderr, "%s", dlx::opencl_backend().reason());
  });
  assert_true(outcome.passed());
  assert_non_null(std::strstr(outcome.output.c_str(), "DLX_OPENCL_PATH: /nowhere/libOpenCL.so"));
  const auto other = dlx_test::run_forked([] {
    setenv("DLX_OPENCL_PATH", "libm.so.6", 1);
    CHECK_EQUAL(dlx::opencl_backend().count(), 0);
    std::fprintf(stderr, "%s", dlx::opencl_backend().reason());
  });
  assert_non_null(std::strstr(other.output.c_str(), "lacks clGetPlatformIDs"));
}

void a_platform_without_devices_is_a_fact_too(void**) {
  if (dlx::opencl::functions(nullptr) == nullptr) {
    print_message("skipped: there is no libOpenCL.so.1\n");
    skip();
  }
  const auto outcome = dlx_test::run_forked([] {
    setenv("OCL_ICD_VENDORS", "/nowhere", 1);
    CHECK_EQUAL(dlx::opencl_backend().count(), 0);
    std::fprintf(stderr, "%s", dlx::opencl_backend().reason());
  });
  assert_true(outcome.passed());
  assert_non_null(std::strstr(outcome.output.c_str(), "clGetPlatformIDs failed"));
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(a_missing_driver_is_a_fact_with_a_reason),
      cmocka_unit_test(a_platform_without_devices_is_a_fact_too),
      cmocka_unit_test(devices_are_described),
      cmocka_unit_test(there_is_no_room_for_everything),
      cmocka_unit_test(offsets_stay_beside_the_handle),
      cmocka_unit_test(long_rows_are_left_to_the_driver),
      cmocka_unit_test(copies_on_the_device_are_right),
      cmocka_unit_test(copies_to_the_device_are_right),
      cmocka_unit_test(copies_from_the_device_are_right),
      cmocka_unit_test(memory_of_other_contexts_goes_through_the_host),
      cmocka_unit_test(foreign_copies_come_in_order),
      cmocka_unit_test(rows_move_within_one_buffer),
      cmocka_unit_test(events_tell_when_work_is_done),
      cmocka_unit_test(errors_name_call_and_code),
      cmocka_unit_test(a_forked_child_is_told),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
