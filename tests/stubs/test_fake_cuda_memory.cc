// The rules that the fake libcuda models, one by one: memory and its addresses.
#include "tests/stubs/fake_cuda_fixture.h"

namespace {

using namespace dlx_test;

void device_memory_is_closed_to_the_cpu(void**) {
  const auto touch = [](bool write) {
    return run_forked([write] {
      Cuda cuda;
      cuda.start("eager");
      auto* data = reinterpret_cast<volatile char*>(cuda.memory(64));
      if (write) {
        data[3] = 1;
      } else {
        static_cast<void>(data[3]);
      }
    });
  };
  assert_false(touch(true).passed());
  assert_false(touch(false).passed());
}

void memory_has_a_limit_and_is_freed_once(void**) {
  passes([](Cuda& cuda) {
    cuda.start("eager");
    cuda.set_memory(0, 1000);
    const cu::DevicePointer data = cuda.memory(600);
    cu::DevicePointer more = 0;
    CHECK_EQUAL(cuda.allocate(&more, 600), 2);
    size_t free = 0, total = 0;
    CHECK_EQUAL(cuda.memory_info(&free, &total), 0);
    CHECK_EQUAL(free, 400);
    CHECK_EQUAL(cuda.report().allocations, 1);
    CHECK_EQUAL(cuda.free(data), 0);
    CHECK_EQUAL(cuda.free(data), 1);
    CHECK_EQUAL(cuda.report().allocations, 0);
    CHECK_EQUAL(cuda.report().double_frees, 1);
    CHECK_EQUAL(cuda.free(cuda.memory(600)), 0);
  });
}

/// Freeing memory that submitted work uses loses the context, and is counted.
void freed_memory_ends_the_context(void**) {
  passes([](Cuda& cuda) {
    cuda.start("latest");
    const cu::DevicePointer data = cuda.memory(64);
    const cu::Stream stream = cuda.stream();
    cuda.set(data, 7, stream);
    CHECK_EQUAL(cuda.free(data), 0);
    CHECK_EQUAL(cuda.stream_synchronize(stream), 700);
    CHECK_EQUAL(cuda.report().used_when_dead, 1);
    cu::DevicePointer more = 0;
    CHECK_EQUAL(cuda.allocate(&more, 8), 700);  // sticky
  });
}

/// But a free waits for work of the legacy stream.
void frees_wait_for_the_legacy_stream(void**) {
  passes([](Cuda& cuda) {
    cuda.start("latest");
    const cu::DevicePointer data = cuda.memory(64), other = cuda.memory(64);
    cuda.set(other, 7, cuda.stream());
    cuda.set(data, 7, nullptr);
    CHECK_EQUAL(cuda.free(data), 0);
    CHECK_EQUAL(cuda.byte(other), 0xCD);
    CHECK_EQUAL(cuda.report().used_when_dead, 0);
  });
}

void errors_of_work_are_sticky(void**) {
  passes([](Cuda& cuda) {
    cuda.start("latest");
    const cu::DevicePointer data = cuda.memory(64);
    cuda.break_next_work(719);
    cuda.set(data, 7, nullptr);
    CHECK_EQUAL(cuda.stream_synchronize(nullptr), 719);
    CHECK_EQUAL(cuda.set_bytes(data, 7, 1, nullptr), 719);
  });
}

/// Pool memory is valid between its allocation and its free in stream order; its pointers have no
/// context.
void pool_memory_is_ordered(void**) {
  passes([](Cuda& cuda) {
    const cu::Context context = cuda.start("latest");
    const cu::Stream one = cuda.stream(), other = cuda.stream();
    cu::DevicePointer data = 0;
    CHECK_EQUAL(cuda.allocate_async_default(&data, 64, one), 0);
    cu::Context of_pointer = context;
    CHECK_EQUAL(cuda.pointer_attribute(&of_pointer, 1, data), 0);
    CHECK(of_pointer == nullptr);
    CHECK_EQUAL(cuda.pointer_attribute(&of_pointer, 1, cuda.memory(8)), 0);
    CHECK(of_pointer == context);
    cuda.set(data, 7, one);
    CHECK_EQUAL(cuda.free_async(data, one), 0);
    CHECK_EQUAL(cuda.free_async(data, one), 1);
    CHECK_EQUAL(cuda.stream_synchronize(one), 0);
    CHECK_EQUAL(cuda.allocate_async_default(&data, 64, one), 0);
    cuda.set(data, 7, other);  // nothing orders it after the allocation
    CHECK_EQUAL(cuda.stream_synchronize(other), 700);
    CHECK_EQUAL(cuda.report().used_when_dead, 1);
    CHECK_EQUAL(cuda.report().double_frees, 1);
  });
}

void the_default_pool_is_not_ours(void**) {
  aborts("the default pool's attributes are not ours", [](Cuda& cuda) {
    cuda.start("eager");
    cu::Result (*get)(cu::Pool*, int) = nullptr;
    cuda.load("cuDeviceGetDefaultMemPool", &get);
    cu::Pool pool = nullptr;
    CHECK_EQUAL(get(&pool, 0), 0);
    uint64_t all = ~uint64_t{0};
    cuda.pool_set_attribute(pool, cu::kPoolReleaseThreshold, &all);
  });
}

void pointers_tell_what_they_are(void**) {
  passes([](Cuda& cuda) {
    cuda.start("eager", 2);
    cuda.retain(1);
    void* pinned = nullptr;
    CHECK_EQUAL(cuda.allocate_host(&pinned, 64, 0), 0);
    std::memset(pinned, 1, 64);
    cu::DevicePointer managed = 0;
    CHECK_EQUAL(cuda.allocate_managed(&managed, 64, cu::kAttachGlobal), 0);
    std::memset(reinterpret_cast<void*>(managed), 1, 64);
    const auto ask = [&](cu::DevicePointer pointer, unsigned type, unsigned is_managed,
                         int ordinal) {
      unsigned got_type = 9, got_managed = 9;
      int got_ordinal = 9;
      int attributes[] = {2, 8, 9};
      void* values[] = {&got_type, &got_managed, &got_ordinal};
      CHECK_EQUAL(cuda.pointer_attributes(3, attributes, values, pointer), 0);
      CHECK_EQUAL(got_type, type);
      CHECK_EQUAL(got_managed, is_managed);
      CHECK_EQUAL(got_ordinal, ordinal);
    };
    ask(cuda.memory(64) + 63, 2, 0, 1);
    ask(reinterpret_cast<cu::DevicePointer>(pinned) + 5, 1, 0, 1);
    ask(managed + 5, 2, 1, 1);
    ask(reinterpret_cast<cu::DevicePointer>(&cuda), 0, 0, -2);
    unsigned type = 0;
    CHECK_EQUAL(cuda.pointer_attribute(&type, 2, reinterpret_cast<cu::DevicePointer>(&cuda)), 1);
    CHECK_EQUAL(cuda.report().host_allocations, 1);
    CHECK_EQUAL(cuda.free_host(pinned), 0);
    CHECK_EQUAL(cuda.report().host_allocations, 0);
  });
}

/// Without concurrent access, the CPU can access managed memory only while the device is idle.
void managed_memory_may_be_closed(void**) {
  const auto touch = [](bool waits) {
    return run_forked([waits] {
      Cuda cuda;
      cuda.set_attribute(0, cu::kConcurrentManagedAccess, 0);
      cuda.start("eager");
      cu::DevicePointer managed = 0;
      CHECK_EQUAL(cuda.allocate_managed(&managed, 64, cu::kAttachGlobal), 0);
      cuda.set(managed, 7, nullptr);
      if (waits) CHECK_EQUAL(cuda.stream_synchronize(nullptr), 0);
      CHECK_EQUAL(*reinterpret_cast<volatile char*>(managed), 7);
    });
  };
  assert_true(touch(true).passed());
  assert_false(touch(false).passed());
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(device_memory_is_closed_to_the_cpu),
      cmocka_unit_test(memory_has_a_limit_and_is_freed_once),
      cmocka_unit_test(freed_memory_ends_the_context),
      cmocka_unit_test(frees_wait_for_the_legacy_stream),
      cmocka_unit_test(errors_of_work_are_sticky),
      cmocka_unit_test(pool_memory_is_ordered),
      cmocka_unit_test(the_default_pool_is_not_ours),
      cmocka_unit_test(pointers_tell_what_they_are),
      cmocka_unit_test(managed_memory_may_be_closed),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
