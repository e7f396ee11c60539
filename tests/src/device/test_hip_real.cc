// HIP's own library without a device, and its compiler. Skipped, with the reason, if it is not
// installed.
#include <dlfcn.h>

#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>

extern "C" {
#include <cmocka.h>
}
#undef fail

#include "src/device/backend.h"
#include "src/device/hip_compiler.h"
#include "src/gpu/images.h"
#include "src/gpu/kernels.h"
#include "tests/stubs/forked.h"

namespace {

using dlx_test::Outcome;
using dlx_test::run_forked;

constexpr const char* kNames[] = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5",
                                  nullptr};

/// Runs a case in its own process, because the library may start threads.
void with_library(const std::function<void(dlx::DriverLibrary&)>& body) {
  const Outcome outcome = run_forked([&] {
    unsetenv("DLX_HIP_PATH");
    dlx::DriverLibrary library({nullptr, nullptr, kNames});
    std::string reason;
    if (!library.open(&reason)) {
      std::fprintf(stderr, "%s", reason.c_str());
      _exit(77);
    }
    body(library);
  });
  if (WIFEXITED(outcome.status) && WEXITSTATUS(outcome.status) == 77) {
    print_message("skipped (Debian: libamdhip64-5): %s\n", outcome.output.c_str());
    skip();
  }
  if (!outcome.passed()) print_error("%s", outcome.output.c_str());
  assert_true(outcome.passed());
}

// Without a device the count is 0, and the reason has HIP's function, its code and the file. A
// device, if there is one, has a description.
void count_and_reason(void**) {
  with_library([](dlx::DriverLibrary& library) {
    dlx::Backend& hip = dlx::hip_backend();
    const std::string reason = hip.count() == 0 ? hip.reason() : "";
    if (hip.count() == 0) {
      CHECK(reason.find("hip") != std::string::npos);
      CHECK(reason.find(library.path()) != std::string::npos);
      return;
    }
    dlx_device_properties properties = {};
    hip.describe(0, &properties);
    CHECK(properties.name[0] != '\0' && properties.architecture[0] != '\0');
  });
}

// Locating an address does not initialise HIP, even if the library is mapped.
void locating_initialises_nothing(void**) {
  with_library([](dlx::DriverLibrary& library) {
    using SystemInfo = int(int, void*);
    auto* info = reinterpret_cast<SystemInfo*>(
        dlsym(dlopen(library.path().c_str(), RTLD_NOW), "hsa_system_get_info"));
    if (info == nullptr) return;
    constexpr int kNotInitialised = 0x100b;  // HSA_STATUS_ERROR_NOT_INITIALIZED
    uint16_t version = 0;
    int local = 0;
    dlx::PointerInfo found = {};

    CHECK_EQUAL(info(0, &version), kNotInitialised);
    CHECK(!dlx::hip_backend().locate(&local, &found));
    CHECK_EQUAL(dlx::hip_backend().current_device(), 0);

    CHECK_EQUAL(info(0, &version), kNotInitialised);
  });
}

// hiprtc compiles all kernels for an architecture without an embedded code object.
void compiler(void**) {
  with_library([](dlx::DriverLibrary& library) {
    constexpr const char* kArchitecture = "gfx1031";
    CHECK(dlx::gpu::amdgcn_image(dlx::gpu::kTurn, kArchitecture).data == nullptr);
    const std::string path = library.path();
    const size_t so = path.find(".so.");
    const int major = so == std::string::npos ? 0 : std::atoi(path.c_str() + so + 4);
    for (int32_t family = 0; family < dlx::gpu::kFamilies; ++family) {
      std::string why_not;
      const std::string code = dlx::compile_hip(library, major, family, kArchitecture, &why_not);
      if (code.empty() && major > 5) {
        std::fprintf(stderr, "%s", why_not.c_str());
        _exit(77);
      }
      CHECK(code.compare(0, 4, "\177ELF") == 0);
      for (int32_t k = 0; k < dlx::gpu::kernel_count(); ++k) {
        if (dlx::gpu::family_of(k) != family) continue;
        CHECK(code.find(std::string(dlx::gpu::kernel_name(k)) + ".kd") != std::string::npos);
      }
    }
  });
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(count_and_reason),
      cmocka_unit_test(locating_initialises_nothing),
      cmocka_unit_test(compiler),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
