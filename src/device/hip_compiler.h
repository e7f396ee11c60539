#ifndef DLX_SRC_DEVICE_HIP_COMPILER_H_
#define DLX_SRC_DEVICE_HIP_COMPILER_H_

#include <string>

#include "src/driver/library.h"

namespace dlx {

/// Compiles the kernels by hiprtc, for an architecture that dlx brings no code object for. `hip` is
/// the libamdhip64 in use, of ROCm `major`; `architecture` is as HIP names it ("gfx90a:xnack-").
/// "": there is no hiprtc, or it cannot; `why_not` says which.
std::string compile_hip(const DriverLibrary& hip, int major, const std::string& architecture,
                        std::string* why_not);

}  // namespace dlx

#endif  // DLX_SRC_DEVICE_HIP_COMPILER_H_
