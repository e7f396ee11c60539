#include "src/device/hip_compiler.h"

#include "src/driver/hip.h"
#include "src/driver/names.h"
#include "src/gpu/images.h"

namespace dlx {
namespace {

bool find_compiler(const DriverLibrary& hip, int major, hip::CompilerFunctions* compiler,
                   std::string* reason) {
  // not covered: the fake HIP has its compiler inside
  if (hip.resolve(compiler->symbols(), reason)) return true;
  // not covered from here: the fake HIP has its compiler inside, as some versions of AMD's have
  const std::string name = driver_names::hiprtc(major);
  const char* const names[] = {name.c_str(), nullptr};
  DriverLibrary library({nullptr, "libhiprtc", names});
  return library.open(reason) && library.resolve(compiler->symbols(), reason);
  // covered again
}

}  // namespace

std::string compile_hip(const DriverLibrary& hip, int major, int32_t family,
                        const std::string& architecture, std::string* why_not) {
  hip::CompilerFunctions compiler;
  // not covered: the same
  if (!find_compiler(hip, major, &compiler, why_not)) {
    // not covered from here: the same
    *why_not = "dlx has no kernels for " + architecture + ", and hiprtc is missing: " + *why_not;
    return {};
    // covered again
  }
  const auto refused = [&](const char* symbol, int result) {
    if (result == 0) return false;
    *why_not =
        std::string(symbol) + " failed for " + architecture + " (" + std::to_string(result) + ")";
    return true;
  };
  hip::Program program = nullptr;
  if (refused(compiler.create_program.symbol,
              compiler.create_program(&program, gpu::kernel_source(family).data, "dlx.hip", 0,
                                      nullptr, nullptr))) {
    return {};
  }
  const std::string target = "--gpu-architecture=" + architecture;
  const char* options[] = {target.c_str(), "-O3"};
  size_t size = 0;
  std::string code;
  if (!refused(compiler.compile_program.symbol, compiler.compile_program(program, 2, options)) &&
      !refused(compiler.code_size.symbol, compiler.code_size(program, &size))) {
    code.resize(size);
    if (refused(compiler.code.symbol, compiler.code(program, code.data()))) code.clear();
  }
  compiler.destroy_program(&program);
  return code;
}

}  // namespace dlx
