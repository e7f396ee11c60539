// A thread's current streams.
#include "src/device/current_stream.h"

#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstring>

extern "C" {
#include <cmocka.h>
}
#undef fail

#include "src/base/error.h"
#include "src/device/backend.h"

namespace {

using dlx::set_current_stream;

int64_t current(int32_t type, int32_t id) {
  return dlx::current_stream(dlx::cuda_backend(), type, id);
}

// Streams of the device work on its pinned and managed memory.
void kinds_of_memory_have_the_streams_of_their_devices(void**) {
  const int32_t families[][3] = {{kDLCUDA, kDLCUDAHost, kDLCUDAManaged},
                                 {kDLROCM, kDLROCMHost, kDLROCMHost}};
  for (const auto& family : families) {
    for (const int32_t said : family) {
      set_current_stream(said, 0, 5 + said);
      for (const int32_t asked : family) assert_int_equal(current(asked, 0), 5 + said);
      dlx::reset_current_stream(family[2], 0);
      assert_int_equal(current(said, 0), 1);  // CUDA's default
    }
  }
}

// The number of devices with a current stream is limited. A reset makes room and keeps the others.
void devices_are_told_apart(void**) {
  constexpr int32_t kMost = 64;
  for (int32_t id = 0; id < kMost; ++id) set_current_stream(kDLCUDA, id, 100 + id);
  const char* words = "";
  try {
    set_current_stream(kDLCUDA, kMost, 7);
  } catch (const dlx::Error& error) {
    assert_int_equal(error.status(), DLX_ERROR_UNSUPPORTED);
    words = "told";
  }
  assert_string_equal(words, "told");
  assert_int_equal(current(kDLCUDA, kMost), 1);
  set_current_stream(kDLCUDA, 9, 7);  // which has its place
  dlx::reset_current_stream(kDLCUDA, 5);
  dlx::reset_current_stream(kDLCUDA, 5);
  set_current_stream(kDLCUDA, kMost, 8);
  for (int32_t id = 0; id <= kMost; ++id) {
    const int64_t expected = id == 5 ? 1 : id == 9 ? 7 : id == kMost ? 8 : 100 + id;
    assert_int_equal(current(kDLCUDA, id), expected);
  }
  for (int32_t id = 0; id <= kMost; ++id) dlx::reset_current_stream(kDLCUDA, id);
}

// A function that knows the streams of other libraries may know none of a device.
void a_function_without_an_answer_is_not_followed(void**) {
  dlx::follow_work_stream([](DLDeviceType, int32_t id, void** stream) {
    *stream = reinterpret_cast<void*>(intptr_t{70});
    return id == 0 ? 0 : 1;
  });
  assert_int_equal(current(kDLCUDA, 0), 70);
  assert_int_equal(current(kDLCUDA, 1), 1);
  dlx::follow_work_stream(nullptr);
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(kinds_of_memory_have_the_streams_of_their_devices),
      cmocka_unit_test(devices_are_told_apart),
      cmocka_unit_test(a_function_without_an_answer_is_not_followed),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
