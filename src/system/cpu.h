// The instruction sets of the processor that kernels are compiled for.
#ifndef DLX_SRC_SYSTEM_CPU_H_
#define DLX_SRC_SYSTEM_CPU_H_

namespace dlx::sys {

struct CpuFeatures {
  bool avx2;
  bool avx512;  ///< F, BW, VL and DQ
};

/// What the processor has, and what the system saves for each thread. Both are false on processors
/// other than x86-64. The processor itself is asked: __builtin_cpu_supports() says no to everything
/// in a library that zig has linked.
CpuFeatures cpu_features() noexcept;

}  // namespace dlx::sys

#endif  // DLX_SRC_SYSTEM_CPU_H_
