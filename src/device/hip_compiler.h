#ifndef DLX_SRC_DEVICE_HIP_COMPILER_H_
#define DLX_SRC_DEVICE_HIP_COMPILER_H_

#include <cstdint>
#include <string>

#include "src/driver/library.h"

namespace dlx {

/// Compiles a family of kernels with hiprtc for an architecture without an embedded code object. `hip` is
/// the loaded libamdhip64 of ROCm `major`; `architecture` is HIP's name ("gfx90a:xnack-"). Returns
/// the code object; "" if hiprtc is missing or fails, and sets `why_not`.
std::string compile_hip(const DriverLibrary& hip, int major, int32_t family,
                        const std::string& architecture, std::string* why_not);

}  // namespace dlx

#endif  // DLX_SRC_DEVICE_HIP_COMPILER_H_
