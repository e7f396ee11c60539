// The images of the kernels that the library passes to drivers.
#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "src/gpu/images.h"
#include "src/gpu/kernels.h"

extern "C" {
#include <cmocka.h>
}

namespace {

using dlx::gpu::Image;

void assert_has_every_kernel(const Image& image, int32_t family) {
  const std::string text(image.data, image.size);
  for (int32_t k = 0; k < dlx::gpu::kernel_count(); ++k) {
    if (dlx::gpu::family_of(k) != family) continue;
    assert_true(text.find(dlx::gpu::kernel_name(k)) != std::string::npos);
  }
}

void ptx_is_text_for_old_drivers(void**) {
  for (int32_t family = 0; family < dlx::gpu::kFamilies; ++family) {
    const Image ptx = dlx::gpu::ptx_image(family);
    assert_int_equal(ptx.size, std::strlen(ptx.data));
    assert_int_equal(std::strncmp(ptx.data, ".version 5.0\n.target sm_50\n", 27), 0);
    assert_has_every_kernel(ptx, family);
    // No symbols of other modules, and no stack.
    assert_null(std::strstr(ptx.data, ".extern"));
    assert_null(std::strstr(ptx.data, "__local_depot"));
    assert_ptr_equal(dlx::gpu::ptx_image(family).data, ptx.data);
  }
}

void amd_architectures_have_code_objects(void**) {
  for (const char* name : {"gfx906", "gfx90a:sramecc+:xnack-", "gfx942", "gfx1030", "gfx1100"}) {
    for (int32_t family = 0; family < dlx::gpu::kFamilies; ++family) {
      const Image image = dlx::gpu::amdgcn_image(family, name);
      assert_non_null(image.data);
      assert_int_equal(std::memcmp(image.data, "\177ELF", 4), 0);
      assert_has_every_kernel(image, family);
    }
  }
  for (const char* name : {"gfx9", "gfx9060", "gfx803", "", ":"}) {
    assert_null(dlx::gpu::amdgcn_image(0, name).data);
  }
}

void source_is_one_text_for_opencl_and_hip(void**) {
  for (int32_t family = 0; family < dlx::gpu::kFamilies; ++family) {
    const Image source = dlx::gpu::kernel_source(family);
    assert_int_equal(source.size, std::strlen(source.data));
    assert_null(std::strstr(source.data, "#include \""));
  }
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
