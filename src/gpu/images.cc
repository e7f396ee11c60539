// The images that make_images.py writes, and their unpacking.
#include "src/gpu/images.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

#include "src/base/once.h"
#include "src/gpu/kernel_choice.h"
#include "src/system/system.h"

namespace dlx::gpu {
namespace {

constexpr char kSource[] =
#include "src/gpu/images_source.inc"
    ;

// The other images are packed: the size of the unpacked image, then a block of LZ4.
constexpr uint64_t kPtx[] = {
#include "src/gpu/images_ptx.inc"
};
constexpr uint64_t kGfx906[] = {
#include "src/gpu/images_gfx906.inc"
};
constexpr uint64_t kGfx90a[] = {
#include "src/gpu/images_gfx90a.inc"
};
constexpr uint64_t kGfx942[] = {
#include "src/gpu/images_gfx942.inc"
};
constexpr uint64_t kGfx1030[] = {
#include "src/gpu/images_gfx1030.inc"
};
constexpr uint64_t kGfx1100[] = {
#include "src/gpu/images_gfx1100.inc"
};

/// Reads a length, which continues in further bytes if its 4 bits are all set.
size_t read_length(size_t bits, const unsigned char** in) noexcept {
  size_t length = bits;
  if (bits < 15) return length;
  unsigned char next = 255;
  while (next == 255) length += next = *(*in)++;
  return length;
}

/// Unpacks a block of LZ4. It ends with the last byte of `out`, so no other limit is needed.
void unpack(const unsigned char* in, char* out, size_t size) noexcept {
  char* const end = out + size;
  for (;;) {
    const size_t token = *in++;
    const size_t literals = read_length(token >> 4, &in);
    std::memcpy(out, in, literals);
    out += literals;
    in += literals;
    if (out == end) return;
    const size_t distance = in[0] | static_cast<size_t>(in[1]) << 8;
    in += 2;
    const size_t length = read_length(token & 15, &in) + 4;
    for (size_t k = 0; k < length; ++k, ++out) *out = *(out - distance);
  }
}

/// A packed image. Unpacked on first use and kept, because drivers may read it late.
class Packed {
 public:
  constexpr Packed(const char* name, const uint64_t* data) noexcept : name(name), data_(data) {}

  Image image() {
    once_.run([this] {
      // Loaders want alignment; a page suffices.
      void* const memory = sys::allocate_pages(data_[0]);
      if (memory == nullptr) throw std::bad_alloc();
      unpack(reinterpret_cast<const unsigned char*>(data_ + 1), static_cast<char*>(memory),
             data_[0]);
      unpacked_ = static_cast<const char*>(memory);
    });
    return {unpacked_, static_cast<size_t>(data_[0])};
  }

  const char* const name;

 private:
  const uint64_t* data_;
  const char* unpacked_ = nullptr;
  Once once_;
};

constexpr const char* kNames[kKernels] = {"dlx_elements_1", "dlx_elements_2",  "dlx_elements_4",
                                          "dlx_elements_8", "dlx_elements_16", "dlx_tiles_1",
                                          "dlx_tiles_2",    "dlx_tiles_4"};

Packed packed_ptx("ptx", kPtx);
Packed packed_objects[] = {
    {"gfx906", kGfx906},   {"gfx90a", kGfx90a},   {"gfx942", kGfx942},
    {"gfx1030", kGfx1030}, {"gfx1100", kGfx1100},
};

}  // namespace

int32_t kernel_count() noexcept { return kKernels; }

const char* kernel_name(int32_t kernel) noexcept { return kNames[kernel]; }

Image ptx_image() {
  Image image = packed_ptx.image();
  --image.size;  // the zero
  return image;
}

Image amdgcn_image(const char* architecture) {
  const size_t length = std::strcspn(architecture, ":");
  for (Packed& object : packed_objects) {
    if (std::strlen(object.name) == length && std::memcmp(object.name, architecture, length) == 0) {
      return object.image();
    }
  }
  return {nullptr, 0};
}

Image opencl_source() noexcept { return {kSource, sizeof kSource - 1}; }

Image hip_source() noexcept { return opencl_source(); }

}  // namespace dlx::gpu
