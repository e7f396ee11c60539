// What make_images.py wrote, and how it is found.
#include <cstring>

#include "src/gpu/launch.h"

namespace dlx::gpu {
namespace {

constexpr char kPtx[] =
#include "src/gpu/images_ptx.inc"
    ;

constexpr char kSource[] =
#include "src/gpu/images_source.inc"
    ;

// Loaders want ELF files aligned as their pages are inside, at most.
alignas(64) constexpr uint64_t kGfx906[] = {
#include "src/gpu/images_gfx906.inc"
};
alignas(64) constexpr uint64_t kGfx90a[] = {
#include "src/gpu/images_gfx90a.inc"
};
alignas(64) constexpr uint64_t kGfx942[] = {
#include "src/gpu/images_gfx942.inc"
};
alignas(64) constexpr uint64_t kGfx1030[] = {
#include "src/gpu/images_gfx1030.inc"
};
alignas(64) constexpr uint64_t kGfx1100[] = {
#include "src/gpu/images_gfx1100.inc"
};

struct CodeObject {
  const char* architecture;
  const uint64_t* data;
  size_t size;
};

constexpr CodeObject kCodeObjects[] = {
    {"gfx906", kGfx906, sizeof kGfx906},    {"gfx90a", kGfx90a, sizeof kGfx90a},
    {"gfx942", kGfx942, sizeof kGfx942},    {"gfx1030", kGfx1030, sizeof kGfx1030},
    {"gfx1100", kGfx1100, sizeof kGfx1100},
};

}  // namespace

Image ptx_image() noexcept { return {kPtx, sizeof kPtx - 1}; }

Image amdgcn_image(const char* architecture) noexcept {
  const size_t length = std::strcspn(architecture, ":");
  for (const CodeObject& object : kCodeObjects) {
    if (std::strlen(object.architecture) == length &&
        std::memcmp(object.architecture, architecture, length) == 0) {
      return {reinterpret_cast<const char*>(object.data), object.size};
    }
  }
  return {nullptr, 0};
}

Image opencl_source() noexcept { return {kSource, sizeof kSource - 1}; }

Image hip_source() noexcept { return opencl_source(); }

}  // namespace dlx::gpu
