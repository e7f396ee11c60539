// The images that make_images.py writes, and their unpacking.
#include "src/gpu/images.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "dlx/dlx.h"
#include "src/base/error.h"
#include "src/base/once.h"
#include "src/gpu/kernels.h"
#include "src/gpu/lzma.h"
#include "src/system/system.h"

namespace dlx::gpu {
namespace {

// Packed: the size of the unpacked image, the size of the packed one, and this.
#include "src/gpu/images_gfx1030.inc"
#include "src/gpu/images_gfx1100.inc"
#include "src/gpu/images_gfx906.inc"
#include "src/gpu/images_gfx90a.inc"
#include "src/gpu/images_gfx942.inc"
#include "src/gpu/images_ptx.inc"
#include "src/gpu/images_source.inc"

static_assert(sizeof k_ptx / sizeof *k_ptx == kFamilies, "make_images.py knows other families");

/// The packed images of an architecture. Unpacked on first use and kept, because drivers may read them
/// late.
class Packed {
 public:
  constexpr Packed(const char* name, const uint64_t* const* data) noexcept
      : name(name), data_(data) {}

  Image image(int32_t family) {
    const uint64_t* data = data_[family];
    const char*& unpacked = unpacked_[family];
    once_[family].run([&] {
      // Loaders want alignment; a page suffices.
      std::unique_ptr<void, void (*)(void*)> memory(sys::allocate_pages(data[0]), sys::free_pages);
      if (memory == nullptr) throw std::bad_alloc();
      if (!unpack_lzma(reinterpret_cast<const unsigned char*>(data + 2), data[1],
                       static_cast<unsigned char*>(memory.get()), data[0])) {
        // not covered: the file of the library is damaged
        fail(DLX_ERROR_INTERNAL, "the %s kernels in the library are damaged", name);
      }
      unpacked = static_cast<const char*>(memory.release());
    });
    return {unpacked, static_cast<size_t>(data[0])};
  }

  const char* const name;

 private:
  const uint64_t* const* data_;
  const char* unpacked_[kFamilies] = {};
  Once once_[kFamilies];
};

Packed packed_ptx("ptx", k_ptx);
Packed packed_source("source", k_source);
Packed packed_objects[] = {
    {"gfx906", k_gfx906},   {"gfx90a", k_gfx90a},   {"gfx942", k_gfx942},
    {"gfx1030", k_gfx1030}, {"gfx1100", k_gfx1100},
};

}  // namespace

Image ptx_image(int32_t family) {
  Image image = packed_ptx.image(family);
  --image.size;  // the zero
  return image;
}

Image amdgcn_image(int32_t family, const char* architecture) {
  const size_t length = std::strcspn(architecture, ":");
  for (Packed& object : packed_objects) {
    if (std::strlen(object.name) == length && std::memcmp(object.name, architecture, length) == 0) {
      return object.image(family);
    }
  }
  return {nullptr, 0};
}

Image kernel_source(int32_t family) {
  Image image = packed_source.image(family);
  --image.size;  // the zero
  return image;
}

}  // namespace dlx::gpu
