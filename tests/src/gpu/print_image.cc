// Writes an image of the library to stdout: print_image ptx|source|gfx906… FAMILY
#include <cstdio>
#include <cstring>

#include "src/gpu/images.h"
#include "src/gpu/kernels.h"

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  int32_t family = 0;
  while (family < dlx::gpu::kFamilies && std::strcmp(argv[2], dlx::gpu::family_name(family)) != 0) {
    ++family;
  }
  if (family == dlx::gpu::kFamilies) return 2;
  dlx::gpu::Image image = dlx::gpu::amdgcn_image(family, argv[1]);
  const bool source = std::strcmp(argv[1], "source") == 0;
  if (source || std::strcmp(argv[1], "ptx") == 0) {
    image = source ? dlx::gpu::kernel_source(family) : dlx::gpu::ptx_image(family);
    ++image.size;  // including the final zero
  }
  return std::fwrite(image.data, 1, image.size, stdout) == image.size ? 0 : 1;
}
