// The images of the kernels that the library passes to drivers.
#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "src/gpu/images.h"

extern "C" {
#include <cmocka.h>
}

namespace {

using dlx::gpu::Image;

void assert_has_every_kernel(const Image& image) {
  const std::string text(image.data, image.size);
  for (int32_t k = 0; k < dlx::gpu::kernel_count(); ++k) {
    assert_true(text.find(dlx::gpu::kernel_name(k)) != std::string::npos);
  }
}

void ptx_is_text_for_old_drivers(void**) {
  const Image ptx = dlx::gpu::ptx_image();
  assert_int_equal(ptx.size, std::strlen(ptx.data));
  assert_int_equal(std::strncmp(ptx.data, ".version 5.0\n.target sm_50\n", 27), 0);
  assert_has_every_kernel(ptx);
  // No symbols of other modules, and no stack.
  assert_null(std::strstr(ptx.data, ".extern"));
  assert_null(std::strstr(ptx.data, "__local_depot"));
  assert_ptr_equal(dlx::gpu::ptx_image().data, ptx.data);
}

void amd_architectures_have_code_objects(void**) {
  for (const char* name : {"gfx906", "gfx90a:sramecc+:xnack-", "gfx942", "gfx1030", "gfx1100"}) {
    const Image image = dlx::gpu::amdgcn_image(name);
    assert_non_null(image.data);
    assert_int_equal(std::memcmp(image.data,
                                 "\x7f"
                                 "ELF",
                                 4),
                     0);
    assert_has_every_kernel(image);
  }
  for (const char* name : {"gfx9", "gfx9060", "gfx803", "", ":"}) {
    assert_null(dlx::gpu::amdgcn_image(name).data);
  }
}

void source_is_one_text_for_opencl_and_hip(void**) {
  const Image source = dlx::gpu::opencl_source();
  assert_int_equal(source.size, std::strlen(source.data));
  assert_ptr_equal(dlx::gpu::hip_source().data, source.data);
  assert_null(std::strstr(source.data, "#include \""));
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(ptx_is_text_for_old_drivers),
      cmocka_unit_test(amd_architectures_have_code_objects),
      cmocka_unit_test(source_is_one_text_for_opencl_and_hip),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
