#ifndef DLX_SRC_GPU_IMAGES_H_
#define DLX_SRC_GPU_IMAGES_H_

#include <cstddef>
#include <cstdint>

namespace dlx::gpu {

/// The embedded kernels: compiled for NVIDIA and some AMD GPUs, and as source.

/// Code for a kind of device; it stays in memory. `data` is NULL if there is none for the device. The library
/// has no images for GPUs whose vendor has no driver on this system (macOS).
/// `size` does not count the final zero of a text. Functions that unpack throw std::bad_alloc.
struct Image {
  const char* data;
  size_t size;
};
/// Each image has the kernels of one family of kernels.h.

/// PTX text, zero-terminated, for every NVIDIA GPU since Maxwell.
Image ptx_image(int32_t family);
/// A code object for an AMD architecture such as "gfx90a"; ignores what follows a ':'.
Image amdgcn_image(int32_t family, const char* architecture);
/// Zero-terminated source: OpenCL C 1.2, and the same text as HIP C++ for hiprtc.
Image kernel_source(int32_t family);

}  // namespace dlx::gpu

#endif  // DLX_SRC_GPU_IMAGES_H_
