// Every error code of OpenCL has its name.
#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>

extern "C" {
#include <cmocka.h>
}
#undef fail

#include "src/driver/opencl.h"

namespace {

void codes_of_opencl_have_their_names(void**) {
#define DLX_OPENCL_ERROR(name, value) assert_string_equal(dlx::opencl::error_name(value), #name);
#include "src/driver/opencl_errors.inc"
#undef DLX_OPENCL_ERROR
  assert_string_equal(dlx::opencl::error_name(-4711), "unknown");
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {cmocka_unit_test(codes_of_opencl_have_their_names)};
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
