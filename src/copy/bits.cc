#include "src/copy/bits.h"

#include <cstring>

#include "src/copy/kernels/packed.h"

namespace dlx {
namespace {

/// Copies whole bytes of dst from a source that starts at bit `shift` > 0: eight bytes at a time,
/// from nine bytes of src.
inline void copy_shifted(unsigned char* dst, const unsigned char* src, int shift,
                         int64_t bytes) noexcept {
  int64_t k = 0;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  for (; k + 8 <= bytes; k += 8) {
    uint64_t word;
    std::memcpy(&word, src + k, 8);
    word = (word >> shift) | (static_cast<uint64_t>(src[k + 8]) << (64 - shift));
    std::memcpy(dst + k, &word, 8);
  }
#endif
  for (; k < bytes; ++k) dst[k] = static_cast<unsigned char>(load_bits(src + k, shift, 8));
}

void copy_run(unsigned char* dst, int dst_shift, const unsigned char* src, int src_shift,
              int64_t count) noexcept {
  while (count > 0 && (dst_shift != 0 || count < 8)) {  // up to a byte boundary, or a short run
    const int room = 8 - dst_shift;
    const int n = count < room ? static_cast<int>(count) : room;
    store_bits(dst, dst_shift, n, load_bits(src, src_shift, n));
    src_shift += n;
    src += src_shift / 8;
    src_shift %= 8;
    dst += (dst_shift + n) / 8;
    dst_shift = (dst_shift + n) % 8;
    count -= n;
  }
  const int64_t bytes = count / 8;
  if (bytes == 0) return;
  if (src_shift == 0) {
    std::memcpy(dst, src, static_cast<size_t>(bytes));
  } else {
    copy_shifted(dst, src, src_shift, bytes);
  }
  const int rest = static_cast<int>(count % 8);
  if (rest != 0) store_bits(dst + bytes, 0, rest, load_bits(src + bytes, src_shift, rest));
}

}  // namespace

void copy_bits(const CopyPlan& plan) noexcept {
  auto* const dst = reinterpret_cast<unsigned char*>(plan.dst());
  const auto* const src = reinterpret_cast<const unsigned char*>(plan.src());
  int64_t dst_bit = plan.dst_bit();
  int64_t src_bit = plan.src_bit();
  int64_t index[CopyPlan::kMaxAxes] = {};
  for (;;) {
    // Arithmetic shifts: a bit position may be negative where axes run backwards.
    copy_run(dst + (dst_bit >> 3), static_cast<int>(dst_bit & 7), src + (src_bit >> 3),
             static_cast<int>(src_bit & 7), plan.item());
    int k = plan.ndim() - 1;
    for (; k >= 0; --k) {
      dst_bit += plan.axis(k).dst;
      src_bit += plan.axis(k).src;
      if (++index[k] < plan.axis(k).extent) break;
      dst_bit -= plan.axis(k).dst * plan.axis(k).extent;
      src_bit -= plan.axis(k).src * plan.axis(k).extent;
      index[k] = 0;
    }
    if (k < 0) return;
  }
}

}  // namespace dlx
