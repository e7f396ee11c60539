// Copies between the CPU and devices, compared with a naive copy. The CPU cannot access the
// devices' memory, their streams run late, and they have kernels or none, addresses or handles.
#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

#include "dlx/dlx.h"
#include "late_device.h"
#include "src/base/error.h"
#include "src/base/shape_text.h"
#include "src/device/current_stream.h"
#include "src/device/registered.h"
#include "src/device/registry.h"
#include "src/tensor/copies.h"
#include "src/tensor/layout.h"
#include "src/tensor/synchronization.h"
#include "src/tensor/views.h"
#include "tests/stubs/forked.h"

extern "C" {
#include <cmocka.h>
}
#undef fail  // its macro would hide dlx::fail

namespace {

using dlx::TensorRef;
using dlx_test::LateDevice;

struct Kind {
  int32_t type;
  LateDevice* device;  // NULL: the CPU
};

LateDevice with_streams(LateDevice::kStreams | LateDevice::kKernels);
LateDevice streams_only(LateDevice::kStreams);
LateDevice kernels_only(LateDevice::kKernels);
LateDevice plain(0);
LateDevice handles(LateDevice::kHandles | LateDevice::kKernels);
LateDevice plain_handles(LateDevice::kHandles);

const Kind kKinds[] = {{kDLCPU, nullptr},         {kDLExtDev, &with_streams},
                       {kDLTrn, &streams_only},   {kDLMAIA, &kernels_only},
                       {kDLHexagon, &plain},      {kDLVulkan, &handles},
                       {kDLMetal, &plain_handles}};

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  int64_t below(int64_t n) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<int64_t>((state_ >> 33) % static_cast<uint64_t>(n));
  }

 private:
  uint64_t state_;
};

/// A tensor of a random layout: a view of a compact one with known bytes.
struct Sample {
  TensorRef whole;
  TensorRef view;
};

char* host_bytes(const Kind& kind, const TensorRef& tensor) {
  const DLTensor& dl = tensor->dl;
  if (kind.device == nullptr) return static_cast<char*>(dl.data);
  return kind.device->look(dl.data, dl.byte_offset);
}

/// Views with that shape: some axes permuted, padded, reversed, and an offset before them.
Sample make(Random& random, const Kind& kind, int32_t id, const std::vector<int64_t>& shape,
            DLDataType dtype) {
  const auto ndim = static_cast<int32_t>(shape.size());
  std::vector<int32_t> order(shape.size());
  for (int32_t k = 0; k < ndim; ++k) order[k] = k;
  if (random.below(2) == 0) {
    for (int32_t k = ndim; k > 1; --k) std::swap(order[k - 1], order[random.below(k)]);
  }
  std::vector<int64_t> extents(shape.size());
  std::vector<int64_t> first(shape.size());
  std::vector<int64_t> step(shape.size());
  for (int32_t k = 0; k < ndim; ++k) {
    const int64_t gap = random.below(4) == 0 ? 2 : 1;
    first[k] = random.below(3) == 0 ? random.below(3) : 0;
    extents[k] = shape[order[k]] * gap + first[k] + (random.below(4) == 0 ? 1 : 0);
    step[k] = random.below(5) == 0 ? -gap : gap;
  }
  DLDevice device{static_cast<DLDeviceType>(kind.type), id};
  Sample out{dlx::empty(ndim, extents.data(), dtype, device, 0, {}), TensorRef()};
  TensorRef view = TensorRef::share(out.whole.get());
  for (int32_t k = 0; k < ndim; ++k) {
    // Positions first, first+gap, … of that axis, from the front or from the back.
    const int64_t n = shape[order[k]];
    const int64_t gap = step[k] < 0 ? -step[k] : step[k];
    const int64_t start = step[k] < 0 ? first[k] + (n - 1) * gap : first[k];
    int64_t stop = step[k] < 0 ? first[k] - 1 : first[k] + (n - 1) * gap + 1;
    if (stop < 0) stop = DLX_SLICE_OPEN;
    if (n == 0) {
      view = dlx::slice(view.get(), k, 0, 0, 1);
      continue;
    }
    view = dlx::slice(view.get(), k, start, stop, step[k]);
  }
  std::vector<int32_t> axes(shape.size());
  for (int32_t k = 0; k < ndim; ++k) axes[order[k]] = k;
  out.view = dlx::permute(view.get(), axes.data());
  return out;
}

void fill(Random& random, const Kind& kind, const TensorRef& tensor) {
  char* bytes = host_bytes(kind, tensor);
  int64_t count = 0;
  assert_true(tensor->size >= 0);
  count = (tensor->size * tensor->dl.dtype.bits * tensor->dl.dtype.lanes + 7) / 8;
  for (int64_t i = 0; i < count; ++i) bytes[i] = static_cast<char>(random.below(256));
}

/// The elements of a view in C order, read bit by bit.
std::vector<uint8_t> elements(const Kind& kind, const TensorRef& view) {
  const DLTensor& dl = view->dl;
  const int64_t bits = int64_t{dl.dtype.bits} * dl.dtype.lanes;
  // A packed element may start inside a byte: count bits from the first element's byte.
  const char* base = kind.device == nullptr ? static_cast<const char*>(dl.data)
                                            : kind.device->look(dl.data, dl.byte_offset);
  std::vector<uint8_t> out;
  std::vector<int64_t> index(static_cast<size_t>(dl.ndim), 0);
  for (int64_t n = 0; n < view->size; ++n) {
    int64_t at = 0;
    for (int32_t k = 0; k < dl.ndim; ++k) at += index[k] * dl.strides[k];
    for (int64_t b = 0; b < bits; ++b) {
      const int64_t bit = at * bits + b;
      const int64_t byte = bit >= 0 ? bit / 8 : -((-bit + 7) / 8);
      out.push_back((static_cast<uint8_t>(base[byte]) >> (bit - 8 * byte)) & 1);
    }
    for (int32_t k = dl.ndim; k-- > 0;) {
      if (++index[k] < dl.shape[k]) break;
      index[k] = 0;
    }
  }
  return out;
}

std::vector<char> all_bytes(const Kind& kind, const TensorRef& tensor) {
  const int64_t bits = tensor->size * tensor->dl.dtype.bits * tensor->dl.dtype.lanes;
  const char* start = host_bytes(kind, tensor);
  return std::vector<char>(start, start + (bits + 7) / 8);
}

void finish_all() {
  for (const Kind& kind : kKinds) {
    if (kind.device == nullptr) continue;
    kind.device->finish();
    dlx::release_all_held(*dlx::find_backend(kind.type));
    assert_string_equal(kind.device->trouble().c_str(), "");
  }
}

const DLDataType kTypes[] = {{kDLUInt, 8, 1},   {kDLUInt, 16, 1},     {kDLFloat, 32, 1},
                             {kDLFloat, 64, 1}, {kDLComplex, 128, 1}, {kDLUInt, 8, 3},
                             {kDLUInt, 32, 3},  {kDLInt, 4, 1}};

void one_copy(uint64_t seed) {
  Random random(seed);
  const Kind& to = kKinds[random.below(7)];
  const Kind& from = kKinds[random.below(7)];
  const DLDataType dtype = kTypes[random.below(8)];
  std::vector<int64_t> shape;
  int64_t room = random.below(8) == 0 ? 200000 : 600;
  for (int64_t k = random.below(6); k > 0; --k) {
    const int64_t extent = 1 + random.below(random.below(3) == 0 ? 70 : 9);
    if (extent > room) break;
    room /= extent;
    shape.push_back(random.below(60) == 0 ? 0 : extent);
  }
  const auto id_of = [&](const Kind& kind) {
    return kind.device == nullptr ? 0 : static_cast<int32_t>(random.below(2));
  };
  Sample dst;
  Sample src;
  try {
    dst = make(random, to, id_of(to), shape, dtype);
    src = make(random, from, id_of(from), shape, dtype);
  } catch (const dlx::Error& error) {
    // DLPack cannot express a 4-bit view that starts inside a byte.
    if (error.status() == DLX_ERROR_UNSUPPORTED && dtype.bits < 8) return;
    throw;
  }
  fill(random, to, dst.whole);
  fill(random, from, src.whole);
  const std::vector<uint8_t> wanted = elements(from, src.view);
  const std::vector<char> before = all_bytes(to, dst.whole);
  dlx::copy_tensor_from(dst.view.get(), src.view.get(), {});
  dlx::synchronize(dst.view.get());
  if (elements(to, dst.view) != wanted) {
    std::printf("wrong elements with seed %llu: device types %d from %d, %d bits x %d, shape %s\n",
                static_cast<unsigned long long>(seed), to.type, from.type, dtype.bits, dtype.lanes,
                dlx::shape_text(static_cast<int32_t>(shape.size()), shape.data()).text);
    assert_true(false);
  }
  // Bytes between the elements are unchanged.
  const std::vector<char> after = all_bytes(to, dst.whole);
  size_t changed = 0;
  for (size_t i = 0; i < after.size(); ++i) changed += after[i] != before[i] ? 1 : 0;
  assert_true(changed <= wanted.size() / (dtype.bits < 8 ? dtype.bits : 8));
}

#if defined(__SANITIZE_THREAD__)
constexpr uint64_t kCopies = 80;  // each takes twenty times as long
constexpr int64_t kRows = 600;
#else
constexpr uint64_t kCopies = 2000;
constexpr int64_t kRows = 3000;
#endif

void test_random_copies_between_all_kinds(void**) {
  const char* chosen = std::getenv("DLX_TEST_SEED");
  const uint64_t seed = chosen == nullptr ? static_cast<uint64_t>(std::time(nullptr))
                                          : std::strtoull(chosen, nullptr, 0);
  std::printf("seed %llu (DLX_TEST_SEED)\n", static_cast<unsigned long long>(seed));
  for (uint64_t k = 0; k < kCopies; ++k) {
    one_copy(seed + k);
    if (k % 64 == 63) finish_all();
  }
  finish_all();
}

void test_large_transfers_in_chunks(void**) {
  Random random(7);
  // Larger than the staging buffers; strided on one side, on the other, and on both.
  const std::vector<int64_t> shape = {kRows, 1201};
  for (const Kind& to : kKinds) {
    for (const Kind& from : kKinds) {
      if (to.device == nullptr && from.device == nullptr) continue;
      Sample dst = make(random, to, 0, shape, {kDLFloat, 32, 1});
      Sample src = make(random, from, 0, shape, {kDLFloat, 32, 1});
      fill(random, from, src.whole);
      dlx::copy_tensor_from(dst.view.get(), src.view.get(), {});
      dlx::synchronize(dst.view.get());
      const TensorRef a = dlx::to_device(dst.view.get(), {kDLCPU, 0}, {});
      const TensorRef b = dlx::to_device(src.view.get(), {kDLCPU, 0}, {});
      const TensorRef ca = dlx::contiguous(a.get(), {});
      const TensorRef cb = dlx::contiguous(b.get(), {});
      assert_memory_equal(ca->dl.data, cb->dl.data, static_cast<size_t>(ca->size) * 4);
    }
  }
  finish_all();
}

/// The result is as if the source had been read before anything was written.
void copy_onto_itself(const Kind& kind, const TensorRef& dst, const TensorRef& src) {
  const std::vector<uint8_t> wanted = elements(kind, src);
  dlx::copy_tensor_from(dst.get(), src.get(), {});
  dlx::synchronize(dst.get());
  assert_true(elements(kind, dst) == wanted);
}

void test_copies_onto_the_same_memory(void**) {
  Random random(11);
  for (const Kind& kind : kKinds) {
    const DLDevice device{static_cast<DLDeviceType>(kind.type), 0};
    const int64_t shape[] = {60, 60};
    const TensorRef whole = dlx::empty(2, shape, {kDLUInt, 16, 1}, device, 0, {});
    const TensorRef upper = dlx::slice(whole.get(), 0, 0, 59, 1);
    const TensorRef lower = dlx::slice(whole.get(), 0, 1, 60, 1);
    const TensorRef even = dlx::slice(whole.get(), 1, 0, 60, 2);
    const TensorRef left = dlx::slice(whole.get(), 1, 0, 30, 1);
    fill(random, kind, whole);
    copy_onto_itself(kind, lower, upper);
    copy_onto_itself(kind, upper, lower);
    copy_onto_itself(kind, left, even);
    copy_onto_itself(kind, whole, dlx::permute(whole.get(), nullptr));
  }
  finish_all();
}

void test_everything_is_given_back(void**) {
  finish_all();
  for (const Kind& kind : kKinds) {
    if (kind.device == nullptr) continue;
    assert_int_equal(kind.device->live_memory(), 0);
    // Events of idle staging buffers remain.
    assert_true(kind.device->live_events() <= 6);
  }
}

/// A chain of copies over several streams: once with all waits, and once without each of them,
/// which must give a wrong result if the wait was needed.
std::vector<uint8_t> chain(int64_t* first, int64_t* second) {
  const DLDevice device{kDLExtDev, 0};
  const int64_t shape[] = {64, 64};
  const DLDataType f32{kDLFloat, 32, 1};
  TensorRef host = dlx::empty(2, shape, f32, {kDLCPU, 0}, 0, {});
  for (int i = 0; i < 4096; ++i) static_cast<float*>(host->dl.data)[i] = static_cast<float>(i);
  dlx::Backend& backend = *dlx::find_backend(kDLExtDev);
  *first = backend.create_stream(0);
  *second = backend.create_stream(0);
  const TensorRef a = dlx::empty(2, shape, f32, device, 0, {});
  const TensorRef b = dlx::empty(2, shape, f32, device, 0, {});
  std::memset(with_streams.look(a->dl.data, 0), 0, 4096 * 4);
  std::memset(with_streams.look(b->dl.data, 0), 0, 4096 * 4);
  dlx::CopyRequest on_first;
  on_first.has_stream = true;
  on_first.stream = *first;
  dlx::CopyRequest on_second = on_first;
  on_second.stream = *second;
  dlx::copy_tensor_from(a.get(), host.get(), on_first);
  const TensorRef turned = dlx::permute(a.get(), nullptr);
  dlx::copy_tensor_from(b.get(), turned.get(), on_second);         // waits for `first`
  const TensorRef out = dlx::to_device(b.get(), {kDLCPU, 0}, {});  // on the default stream
  return elements(kKinds[0], out);
}

void test_leaving_out_any_wait_is_seen(void**) {
  int64_t first = 0;
  int64_t second = 0;
  const int before = with_streams.waits();
  with_streams.ignore_wait(0);
  const std::vector<uint8_t> right = chain(&first, &second);
  const int waits = with_streams.waits() - before;
  finish_all();
  assert_true(waits >= 2);
  int seen = 0;
  for (int n = 1; n <= waits; ++n) {
    with_streams.ignore_wait(with_streams.waits() + n);
    seen += chain(&first, &second) != right ? 1 : 0;
    with_streams.ignore_wait(0);
    finish_all();
  }
  // Waits for the idle default stream are not needed.
  assert_int_equal(seen, 2);
}

void test_exports_order_the_consumers_stream(void**) {
  dlx::Backend& backend = *dlx::find_backend(kDLExtDev);
  const int64_t producer = backend.create_stream(0);
  const int64_t consumer = backend.create_stream(0);
  const int64_t shape[] = {16};
  const TensorRef t = dlx::empty(1, shape, {kDLUInt, 8, 1}, {kDLExtDev, 0}, 0, {});
  TensorRef ones = dlx::empty(1, shape, {kDLUInt, 8, 1}, {kDLCPU, 0}, 0, {});
  std::memset(ones->dl.data, 1, 16);
  std::memset(with_streams.look(t->dl.data, 0), 0, 16);
  // A foreign kernel writes on `producer`, and dlx is told.
  backend.copy_from_host(0, producer, {t->dl.data, 0}, ones->dl.data, 16);
  dlx::note_written(t.get(), producer);
  int64_t none = -1;
  dlx::make_ready(t.get(), &none);
  backend.synchronize_stream(0, consumer);
  assert_int_equal(with_streams.look(t->dl.data, 0)[3], 0);  // -1 waits for nothing
  // A view made before is a view of the same storage.
  const TensorRef view = dlx::slice(t.get(), 0, 2, 8, 1);
  dlx::make_ready(view.get(), &consumer);
  backend.synchronize_stream(0, consumer);
  assert_int_equal(with_streams.look(t->dl.data, 0)[3], 1);
  finish_all();
}

/// An older write of another stream does not overtake data from the host.
void test_uploads_come_after_pending_writes(void**) {
  dlx::Backend& backend = *dlx::find_backend(kDLExtDev);
  const int64_t writer = backend.create_stream(0);
  const int64_t shape[] = {16};
  const TensorRef t = dlx::empty(1, shape, {kDLUInt, 8, 1}, {kDLExtDev, 0}, 0, {});
  const TensorRef old = dlx::empty(1, shape, {kDLUInt, 8, 1}, {kDLCPU, 0}, 0, {});
  const TensorRef fresh = dlx::empty(1, shape, {kDLUInt, 8, 1}, {kDLCPU, 0}, 0, {});
  std::memset(old->dl.data, 1, 16);
  std::memset(fresh->dl.data, 2, 16);
  backend.copy_from_host(0, writer, {t->dl.data, 0}, old->dl.data, 16);
  dlx::note_written(t.get(), writer);
  dlx::copy_tensor_from(t.get(), fresh.get(), {});
  finish_all();
  assert_int_equal(with_streams.look(t->dl.data, 0)[3], 2);
}

/// 4-bit elements of tensors that are described without strides.
void test_packed_elements_without_strides(void**) {
  Random random(13);
  int64_t shape[] = {7, 3, 5};
  for (const Kind& to : kKinds) {
    for (const Kind& from : kKinds) {
      const auto make_one = [&](const Kind& kind) {
        const DLDevice device{static_cast<DLDeviceType>(kind.type), 0};
        const int64_t count[] = {106};  // one more, so that rows can begin inside a byte
        TensorRef whole = dlx::empty(1, count, {kDLInt, 4, 1}, device, 0, {});
        fill(random, kind, whole);
        return whole;
      };
      const TensorRef dst = make_one(to);
      const TensorRef src = make_one(from);
      const std::vector<uint8_t> wanted = elements(from, src);
      const std::vector<uint8_t> before = elements(to, dst);
      DLTensor dst_part = dst->dl;
      DLTensor src_part = src->dl;
      dst_part.ndim = src_part.ndim = 3;
      dst_part.shape = src_part.shape = shape;
      dst_part.strides = src_part.strides = nullptr;
      dlx::copy_data(dst_part, src_part, {});
      finish_all();
      const std::vector<uint8_t> after = elements(to, dst);
      for (size_t bit = 0; bit < after.size(); ++bit) {
        assert_int_equal(after[bit], bit < 105 * 4 ? wanted[bit] : before[bit]);
      }
    }
  }
}

void test_sources_live_until_the_copy_is_done(void**) {
  dlx::Backend& backend = *dlx::find_backend(kDLExtDev);
  const int64_t stream = backend.create_stream(0);
  const int64_t shape[] = {256};
  const TensorRef dst = dlx::empty(1, shape, {kDLUInt, 8, 1}, {kDLExtDev, 0}, 0, {});
  const size_t live = with_streams.live_memory();
  {
    const TensorRef src = dlx::empty(1, shape, {kDLUInt, 8, 1}, {kDLExtDev, 0}, 0, {});
    dlx::CopyRequest request;
    request.has_stream = true;
    request.stream = stream;
    dlx::copy_tensor_from(dst.get(), src.get(), request);
  }
  assert_int_equal(with_streams.live_memory(), live + 1);
  backend.synchronize_stream(0, stream);
  assert_int_equal(with_streams.live_memory(), live + 1);
  {
    const TensorRef host = dlx::empty(1, shape, {kDLUInt, 8, 1}, {kDLCPU, 0}, 0, {});
    std::memset(host->dl.data, 0, 256);
    dlx::copy_tensor_from(dst.get(), host.get(), {});  // the next work releases it
  }
  assert_int_equal(with_streams.live_memory(), live);
  finish_all();
}

void test_current_streams(void**) {
  dlx::Backend& backend = *dlx::find_backend(kDLExtDev);
  assert_int_equal(dlx::current_stream(backend, kDLExtDev, 0), 1);
  dlx::follow_work_stream([](DLDeviceType, int32_t, void** out) {
    *out = reinterpret_cast<void*>(0x77);
    return 0;
  });
  assert_int_equal(dlx::current_stream(backend, kDLExtDev, 0), 0x77);
  dlx::set_current_stream(kDLExtDev, 0, 5);
  assert_int_equal(dlx::current_stream(backend, kDLExtDev, 0), 5);
  assert_int_equal(dlx::current_stream(backend, kDLExtDev, 1), 0x77);
  dlx::reset_current_stream(kDLExtDev, 0);
  assert_int_equal(dlx::current_stream(backend, kDLExtDev, 0), 0x77);
  dlx::follow_work_stream(nullptr);
  assert_int_equal(dlx::current_stream(backend, kDLExtDev, 0), 1);
}

dlx_backend late_functions;
bool refuses_waits = false;
int32_t wait_or_refuse(int32_t id, int64_t stream, void* user_data) {
  return refuses_waits ? 7 : late_functions.stream_synchronize(id, stream, user_data);
}

/// Where the wait fails, work that was submitted writes to no memory that is free.
void test_a_refused_wait_leaves_the_bytes_alone(void**) {
  const auto outcome = dlx_test::run_forked([] {
    static LateDevice device(LateDevice::kStreams);
    late_functions = device.functions();
    dlx_backend functions = late_functions;
    functions.stream_synchronize = wait_or_refuse;
    dlx::register_backend(kDLWebGPU, functions);
    const int64_t many[] = {4000}, half[] = {2000};
    const DLDataType int4{kDLInt, 4, 1};
    const TensorRef there = dlx::empty(1, many, int4, {kDLWebGPU, 0}, 0, {});
    const TensorRef here = dlx::empty(1, half, int4, {kDLCPU, 0}, 0, {});
    std::memset(device.look(there->dl.data, 0), 0x77, 2000);
    refuses_waits = true;
    bool refused = false;
    try {
      dlx::copy_tensor_from(here.get(), dlx::slice(there.get(), 0, 0, 4000, 2).get(), {});
    } catch (const dlx::Error& error) {
      refused = std::strstr(error.what(), "stream_synchronize") != nullptr;
    }
    CHECK(refused);
    std::vector<std::string> others(20, std::string(1998, 'o'));  // take what is free
    refuses_waits = false;
    device.finish();
    for (const std::string& other : others) CHECK(other == std::string(1998, 'o'));
    CHECK_EQUAL(device.trouble().size(), 0);
  });
  if (!outcome.passed()) print_error("%s", outcome.output.c_str());
  assert_true(outcome.passed());
}

int register_all(void**) {
  for (const Kind& kind : kKinds) {
    if (kind.device != nullptr) dlx::register_backend(kind.type, kind.device->functions());
  }
  return 0;
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(test_random_copies_between_all_kinds),
      cmocka_unit_test(test_large_transfers_in_chunks),
      cmocka_unit_test(test_copies_onto_the_same_memory),
      cmocka_unit_test(test_leaving_out_any_wait_is_seen),
      cmocka_unit_test(test_exports_order_the_consumers_stream),
      cmocka_unit_test(test_uploads_come_after_pending_writes),
      cmocka_unit_test(test_packed_elements_without_strides),
      cmocka_unit_test(test_sources_live_until_the_copy_is_done),
      cmocka_unit_test(test_current_streams),
      cmocka_unit_test(test_everything_is_given_back),
      cmocka_unit_test(test_a_refused_wait_leaves_the_bytes_alone),
  };
  return cmocka_run_group_tests(tests, register_all, nullptr);
}
