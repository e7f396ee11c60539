#ifndef DLX_SRC_GPU_LZMA_H_
#define DLX_SRC_GPU_LZMA_H_

#include <cstddef>

namespace dlx::gpu {

/// Unpacks raw LZMA (lc 3, lp 0, pb 2) with an end mark. False if `in` is damaged, or holds more or less
/// than `size` bytes; then `out` has what came before. Throws std::bad_alloc.
bool unpack_lzma(const unsigned char* in, size_t in_size, unsigned char* out, size_t size);

}  // namespace dlx::gpu

#endif  // DLX_SRC_GPU_LZMA_H_
