// The file names of the vendors' libraries on each system, the best first. A list ends with NULL; it
// is empty where the vendor has no driver.
#ifndef DLX_SRC_DRIVER_NAMES_H_
#define DLX_SRC_DRIVER_NAMES_H_

#include <string>

namespace dlx::driver_names {

#if defined(_WIN32)
inline constexpr const char* kCuda[] = {"nvcuda.dll", nullptr};
inline constexpr const char* kHip[] = {"amdhip64_7.dll", "amdhip64_6.dll", "amdhip64.dll", nullptr};
inline constexpr const char* kOpenCl[] = {"OpenCL.dll", nullptr};
#elif defined(__APPLE__)
inline constexpr const char* kCuda[] = {nullptr};
inline constexpr const char* kHip[] = {nullptr};
inline constexpr const char* kOpenCl[] = {"/System/Library/Frameworks/OpenCL.framework/OpenCL",
                                          nullptr};
#else
inline constexpr const char* kCuda[] = {"libcuda.so.1", nullptr};
inline constexpr const char* kHip[] = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5",
                                       nullptr};
inline constexpr const char* kOpenCl[] = {"libOpenCL.so.1", nullptr};
#endif

/// The compiler that belongs to the HIP runtime of a major version: libhiprtc.so.7, hiprtc0700.dll.
inline std::string hiprtc(int major) {  // not covered: the fake HIP has its own
#if defined(_WIN32)
  return "hiprtc0" + std::to_string(major) + "00.dll";
#else
  return "libhiprtc.so." + std::to_string(major);  // not covered: the fake HIP has its own
#endif
}

}  // namespace dlx::driver_names

#endif  // DLX_SRC_DRIVER_NAMES_H_
