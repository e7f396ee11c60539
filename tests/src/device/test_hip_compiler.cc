// Compiling for an architecture without an embedded code object, on the fake of ROCm 5, which has its
// compiler inside.
#include "gpu_fixture.h"
#include "src/device/hip_compiler.h"
#include "src/gpu/kernels.h"

namespace {

using namespace dlx_test;

// Whichever call fails, the reason names it, and the program is destroyed.
void each_call_may_be_refused(void**) {
  const char* const calls[] = {nullptr, "hiprtcCreateProgram", "hiprtcCompileProgram",
                               "hiprtcGetCodeSize", "hiprtcGetCode"};
  for (const char* refused : calls) {
    const Outcome outcome = run_forked([refused] {
      const Fake fake("tests/stubs/fake_libamdhip64_5.so");
      const std::string path = fake.path();
      const char* const names[] = {path.c_str(), nullptr};
      dlx::DriverLibrary library({nullptr, nullptr, names});
      std::string reason, why_not;
      CHECK(library.open(&reason));
      fake.fail_calls_of(refused, 6);
      const std::string code = dlx::compile_hip(library, 5, dlx::gpu::kTurn, "gfx1031", &why_not);
      std::fprintf(stderr, "%s\n", why_not.c_str());
      if (refused == nullptr) {
        CHECK(code == "\177ELF --gpu-architecture=gfx1031 -O3");
      } else {
        CHECK(code.empty());
        CHECK(why_not == std::string(refused) + " failed for gfx1031 (6)");
      }
      const bool made = refused == nullptr || !contains(refused, "Create");
      CHECK_EQUAL(fake.calls("hiprtcDestroyProgram"), made ? 1 : 0);
    });
    if (!outcome.passed()) print_error("%s", outcome.output.c_str());
    assert_true(outcome.passed());
  }
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {cmocka_unit_test(each_call_may_be_refused)};
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
