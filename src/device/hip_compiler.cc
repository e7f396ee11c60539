#include "src/device/hip_compiler.h"

#include "src/driver/hip.h"
#include "src/gpu/launch.h"

namespace dlx {
namespace {

bool find_compiler(const DriverLibrary& hip, int major, hip::CompilerFunctions* compiler) {
  const DriverSymbol symbols[] = {
#define DLX_DRIVER_FUNCTION(name, symbol, need, ...) \
  {#symbol, DriverNeed::need, &compiler->name.call},
#include "src/driver/hiprtc.inc"
#undef DLX_DRIVER_FUNCTION
  };
  constexpr size_t kCount = sizeof symbols / sizeof *symbols;
  std::string reason;
  if (hip.resolve(symbols, kCount, &reason)) return true;
  const std::string name = "libhiprtc.so." + std::to_string(major);
  const char* const names[] = {name.c_str(), nullptr};
  DriverLibrary library({nullptr, "libhiprtc", names});
  return library.open(&reason) && library.resolve(symbols, kCount, &reason);
}

}  // namespace

std::string compile_hip(const DriverLibrary& hip, int major, const std::string& architecture) {
  const gpu::Image source = gpu::hip_source();
  hip::CompilerFunctions compiler;
  if (source.data == nullptr || !find_compiler(hip, major, &compiler)) return {};
  hip::Program program = nullptr;
  if (compiler.create_program(&program, source.data, "dlx.hip", 0, nullptr, nullptr) != 0) {
    return {};
  }
  const std::string target = "--gpu-architecture=" + architecture;
  const char* options[] = {target.c_str(), "-O3"};
  size_t size = 0;
  std::string code;
  const bool compiled =
      compiler.compile_program(program, 2, options) == 0 && compiler.code_size(program, &size) == 0;
  if (compiled) {
    code.resize(size);
    if (compiler.code(program, code.data()) != 0) code.clear();
  }
  compiler.destroy_program(&program);
  return code;
}

}  // namespace dlx
