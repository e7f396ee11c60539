// Writes an image of the library to stdout: print_image ptx | source | gfx906 …
#include <cstdio>
#include <cstring>

#include "src/gpu/images.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  dlx::gpu::Image image = dlx::gpu::amdgcn_image(argv[1]);
  if (std::strcmp(argv[1], "ptx") == 0) {
    image = dlx::gpu::ptx_image();
    ++image.size;  // including the final zero
  }
  if (std::strcmp(argv[1], "source") == 0) image = dlx::gpu::opencl_source();
  return std::fwrite(image.data, 1, image.size, stdout) == image.size ? 0 : 1;
}
