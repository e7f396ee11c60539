// The images that make_images.py writes, and their unpacking.
#include "src/gpu/images.h"

#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <numeric>

#include "dlx/dlx.h"
#include "src/base/error.h"
#include "src/base/once.h"
#include "src/driver/names.h"
#include "src/gpu/kernels.h"
#include "src/gpu/lzma.h"
#include "src/system/system.h"

namespace dlx::gpu {
namespace {

// Bundles: the number of images, the size of each, the size of what follows, and all images packed as one.
#include "src/gpu/images_amdgcn.inc"
#include "src/gpu/images_ptx.inc"
#include "src/gpu/images_source.inc"

static_assert(sizeof k_ptx / sizeof *k_ptx == kFamilies, "make_images.py knows other families");

constexpr size_t kArchitectures = sizeof k_architectures / sizeof *k_architectures;

/// An image that was unpacked on first use; it is kept, because drivers may read it late.
class Kept {
 public:
  /// The `which`-th image of a bundle; `what` names the kernels in an error.
  Image get(const uint64_t* bundle, size_t which, const char* what) {
    const uint64_t* const sizes = bundle + 1;
    once_.run([&] {
      const uint64_t* const packed = sizes + bundle[0];
      const size_t before = std::accumulate(sizes, sizes + which, size_t{0});
      const size_t all = std::accumulate(sizes, packed, size_t{0});
      const std::unique_ptr<unsigned char[]> images(new unsigned char[all]);
      // not covered: the file of the library is damaged
      if (!unpack_lzma(reinterpret_cast<const unsigned char*>(packed + 1), *packed, images.get(),
                       all)) {
        // not covered: the file of the library is damaged
        fail(DLX_ERROR_INTERNAL, "the %s kernels in the library are damaged", what);
      }
      // Loaders want alignment; a page suffices.
      void* const memory = sys::allocate_pages(sizes[which]);
      // not covered: no memory for a few pages
      if (memory == nullptr) throw std::bad_alloc();
      data_ = static_cast<const char*>(std::memcpy(memory, &images[before], sizes[which]));
    });
    return {data_, static_cast<size_t>(sizes[which])};
  }

 private:
  const char* data_ = nullptr;
  Once once_;
};

Kept ptx[kFamilies];
Kept objects[kArchitectures][kFamilies];
Kept sources[kFamilies];

}  // namespace

Image ptx_image(int32_t family) {
  if (driver_names::kCuda[0] == nullptr) return {nullptr, 0};
  Image image = ptx[family].get(k_ptx[family], 0, "CUDA");
  --image.size;  // the zero
  return image;
}

Image amdgcn_image(int32_t family, const char* architecture) {
  if (driver_names::kHip[0] == nullptr) return {nullptr, 0};
  const size_t length = std::strcspn(architecture, ":");
  for (size_t k = 0; k < kArchitectures; ++k) {
    const char* const name = k_architectures[k];
    if (std::strlen(name) != length || std::memcmp(name, architecture, length) != 0) continue;
    return objects[k][family].get(k_amdgcn[family], k, name);
  }
  return {nullptr, 0};
}

Image kernel_source(int32_t family) {
  Image image = sources[family].get(k_source[0], static_cast<size_t>(family), "OpenCL");
  --image.size;  // the zero
  return image;
}

}  // namespace dlx::gpu
