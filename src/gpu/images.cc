// The images that make_images.py writes, and their unpacking.
#include "src/gpu/images.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "src/base/once.h"
#include "src/gpu/kernels.h"
#include "src/system/system.h"

namespace dlx::gpu {
namespace {

// Packed: the size of the unpacked image; the size of a block of LZ4, and the block in Huffman codes.
#include "src/gpu/images_gfx1030.inc"
#include "src/gpu/images_gfx1100.inc"
#include "src/gpu/images_gfx906.inc"
#include "src/gpu/images_gfx90a.inc"
#include "src/gpu/images_gfx942.inc"
#include "src/gpu/images_ptx.inc"
#include "src/gpu/images_source.inc"

static_assert(sizeof k_ptx / sizeof *k_ptx == kFamilies, "make_images.py knows other families");

/// Reads a length, which continues in further bytes if its 4 bits are all set.
size_t read_length(size_t bits, const unsigned char** in) noexcept {
  size_t length = bits;
  if (bits < 15) return length;
  unsigned char next = 255;
  while (next == 255) length += next = *(*in)++;
  return length;
}

/// Canonical Huffman codes, at most 15 bits long.
class Codes {
 public:
  /// `lengths` has half a byte for each value.
  explicit Codes(const unsigned char* lengths) noexcept {
    for (int value = 0; value < 256; ++value) ++count_[length(lengths, value)];
    count_[0] = 0;
    int place = 0;
    for (int bits = 1; bits <= kMost; ++bits) {
      for (int value = 0; value < 256; ++value) {
        if (length(lengths, value) == bits) values_[place++] = static_cast<unsigned char>(value);
      }
    }
  }

  void decode(const unsigned char* in, unsigned char* out, size_t size) const noexcept {
    size_t bit = 0;
    for (size_t k = 0; k < size; ++k) {
      int code = 0, first = 0, place = 0;
      for (int bits = 1;; ++bits, ++bit) {
        code = code << 1 | (in[bit / 8] >> (7 - bit % 8) & 1);
        first <<= 1;
        if (code - first < count_[bits]) {
          ++bit;
          break;
        }
        first += count_[bits];
        place += count_[bits];
      }
      out[k] = values_[place + code - first];
    }
  }

 private:
  static constexpr int kMost = 15;
  static int length(const unsigned char* lengths, int value) noexcept {
    return lengths[value / 2] >> (value % 2 * 4) & 15;
  }
  int count_[kMost + 1] = {};
  unsigned char values_[256] = {};
};

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
      void* const memory = sys::allocate_pages(data[0]);
      if (memory == nullptr) throw std::bad_alloc();
      const auto* const encoded = reinterpret_cast<const unsigned char*>(data + 2);
      const std::unique_ptr<unsigned char[]> block(new unsigned char[data[1]]);
      Codes(encoded).decode(encoded + 128, block.get(), data[1]);
      unpack(block.get(), static_cast<char*>(memory), data[0]);
      unpacked = static_cast<const char*>(memory);
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
