// The CPU as a backend, and what a backend does that has no streams, no pinned memory and no kernels.
#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "src/base/error.h"
#include "src/copy/plan/plan.h"
#include "src/device/backend.h"
#include "src/device/registered.h"
#include "src/device/registry.h"

extern "C" {
#include <cmocka.h>
}
#undef fail

namespace {

dlx::Backend& cpu() { return *dlx::find_backend(kDLCPU); }

void copies_move_bytes(void**) {
  char a[] = "abcdefgh", b[] = "........", out[9] = {};
  cpu().copy_from_host(0, 0, {b, 2}, a, 3);
  cpu().copy_on_device(0, {b, 6}, 0, {a, 6}, 0, 2);
  cpu().copy_to_host(0, 0, out, {b, 1}, 7);

  assert_string_equal(b, "..abc.gh");
  assert_string_equal(out, ".abc.gh");
}

void work_is_done_when_it_is_submitted(void**) {
  dlx::Backend& backend = cpu();
  const dlx::EventHandle event = backend.record(0, 0);
  backend.wait(0, 0, event);
  backend.wait_on_host(0, event);
  backend.synchronize(0);
  backend.synchronize_stream(0, 0);

  assert_true(backend.is_done(0, event));
  assert_true(backend.is_idle(0, 0));
  backend.release_event(0, event);
}

void there_is_one_queue(void**) {
  dlx::Backend& backend = cpu();
  backend.check_stream(7);
  const dlx::StreamHandle stream = backend.create_stream(0);
  backend.destroy_stream(0, stream);

  assert_int_equal(stream, 0);
  assert_false(backend.has_streams());
  assert_true(backend.is_default(0));
  assert_false(backend.capture(0, 0).capturing);
  assert_int_equal(backend.device_of_stream(3, 0), 3);
  assert_int_equal(backend.current_device(), 0);
  assert_null(backend.native_event(backend.record(0, 0)));
}

void memory_of_transfers_is_ordinary_memory(void**) {
  dlx::Backend& backend = cpu();
  void* const pinned = backend.allocate_pinned(0, 64);
  assert_non_null(pinned);
  std::memset(pinned, 1, 64);
  backend.deallocate_pinned(pinned);

  assert_null(backend.allocate_temporary(0, 0, 64));
  backend.deallocate_temporary(0, 0, nullptr);
  assert_false(backend.managed_is_concurrent(0));
  dlx::PointerInfo info;
  assert_false(backend.locate(&info, &info));
}

void backends_need_no_kernels(void**) {
  const dlx::CopyAxis axis = {2, 2, 4};
  char dst[3] = {}, src[5] = {};
  const dlx::CopyPlan plan(dst, src, 1, &axis, 1);
  assert_false(cpu().copy_strided(0, 0, {dst, 0}, {src, 0}, plan));
}

void events_of_other_libraries_are_refused(void**) {
  int event = 0;
  try {
    cpu().wait_native(0, 0, &event);
    assert_true(false);
  } catch (const dlx::Error& error) {
    assert_int_equal(error.status(), DLX_ERROR_UNSUPPORTED);
    assert_non_null(std::strstr(error.what(), "cannot wait for events of this kind of device"));
  }
}

// A type that DLPack names is listed once, whether it has a backend or not; others come last.
void device_types_are_listed_once(void**) {
  const int32_t named = dlx::list_device_types(nullptr, 0);
  dlx_backend table = {};
  table.device_count = [](void*) { return 0; };
  table.allocate = [](int32_t, size_t, size_t, void*) -> void* { return nullptr; };
  table.deallocate = [](int32_t, void*, void*) {};
  table.copy_from_host = [](int32_t, void*, uint64_t, const void*, size_t, int64_t, void*) {
    return 1;
  };
  table.copy_to_host = [](int32_t, void*, const void*, uint64_t, size_t, int64_t, void*) {
    return 1;
  };
  table.copy_on_device = [](int32_t, void*, uint64_t, int32_t, const void*, uint64_t, size_t,
                            int64_t, void*) { return 1; };
  table.synchronize = [](int32_t, void*) { return 0; };
  constexpr int32_t kUnnamed = 777;
  dlx::register_backend(kDLWebGPU, table);
  dlx::register_backend(kUnnamed, table);

  int32_t all[64] = {};
  assert_int_equal(dlx::list_device_types(all, 64), named + 1);
  assert_int_equal(all[0], kDLCPU);
  for (int32_t k = 1; k <= named; ++k) assert_true(all[k] > all[k - 1]);
  assert_int_equal(all[named], kUnnamed);

  int32_t few[] = {0, 0, -7};
  assert_int_equal(dlx::list_device_types(few, 2), named + 1);
  assert_int_equal(few[1], all[1]);
  assert_int_equal(few[2], -7);
}

// Only torch's "cuda" has the id 255.
void other_ids_are_what_they_are(void**) {
  const int32_t types[] = {kDLCPU, kDLOpenCL, kDLWebGPU, kDLMetal, kDLCUDAHost};
  for (const int32_t type : types) {
    assert_int_equal(dlx::resolve_device(dlx::make_device(type, 255)).device_id, 255);
  }
  assert_int_equal(dlx::resolve_device(dlx::make_device(kDLCUDA, 254)).device_id, 254);
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(copies_move_bytes),
      cmocka_unit_test(work_is_done_when_it_is_submitted),
      cmocka_unit_test(there_is_one_queue),
      cmocka_unit_test(memory_of_transfers_is_ordinary_memory),
      cmocka_unit_test(backends_need_no_kernels),
      cmocka_unit_test(events_of_other_libraries_are_refused),
      cmocka_unit_test(device_types_are_listed_once),
      cmocka_unit_test(other_ids_are_what_they_are),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
