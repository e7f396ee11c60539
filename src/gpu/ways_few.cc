// Few items against long rows, and small matrices: few.cl.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <numeric>

#include "src/gpu/kernels.h"
#include "src/gpu/ways.h"

namespace dlx::gpu {
namespace {

/// Bytes of local memory that few.cl fills (BLOCK_WORDS), and that a group stores.
constexpr int64_t kBlock = 2080 * 4;
constexpr int64_t kStored = 8192;
/// What a group stores at a time, in words.
constexpr int64_t kPass = 1024;

/// "Few" items, and most bytes of them.
constexpr int64_t kFew = 16;
constexpr int64_t kFewBytes = 64;
/// Shorter rows leave most of a group idle.
constexpr int64_t kShortRow = 256;

/// n items of few.cl's comment against C, "in" or "out".
struct Matrix {
  int n_axis, c_axis;
  int64_t n, c;
  bool in;
};

/// Work items that a row of so many words takes: a power of two, as few as do it at a time.
uint32_t work_items_of_row(int64_t words) noexcept {
  uint32_t items = 256;
  while (items / 2 >= words) items /= 2;
  return items;
}

bool is_few(int64_t c, int64_t item) noexcept { return c <= kFew && c * item <= kFewBytes; }

bool find_matrix(const Facts& facts, Matrix* out) noexcept {
  if (!facts.is_word() || facts.word > 8 || facts.dense < 0) return false;
  const CopyAxis& dst = facts.axis(facts.last);
  const CopyAxis& src = facts.axis(facts.dense);
  const int64_t item = facts.item;
  if (dst.dst != item || src.src != item || !facts.near(facts.last) || !facts.near(facts.dense)) {
    return false;
  }
  *out = {facts.last, facts.dense, dst.extent, src.extent, false};
  if (is_few(src.extent, item) && dst.src == src.extent * item) {
    // As below.
  } else if (is_few(dst.extent, item) && src.dst == dst.extent * item) {
    *out = {facts.dense, facts.last, src.extent, dst.extent, true};
  } else {
    return false;
  }
  return out->n * out->c * item < INT32_MAX / 2;
}

}  // namespace

bool choose_planes(const Facts& facts, Launch* out) {
  Matrix matrix;
  if (facts.item != 1 || !find_matrix(facts, &matrix) || (matrix.c != 3 && matrix.c != 4))
    return false;
  Axes axes(facts);
  axes.to_dst(facts.last);
  axes.to_src(facts.dense);
  // Planes begin at words, and pixels linearly.
  if (!axes.dst_is_aligned(facts, 4, matrix.in) || !axes.src_is_aligned(facts, 4, !matrix.in))
    return false;
  dlx_strided_copy& copy = out->copy;
  out->kernel =
      matrix.in ? (matrix.c == 3 ? kPixels3 : kPixels4) : (matrix.c == 3 ? kPlanes3 : kPlanes4);
  axes.fill(1, &copy);
  copy.dst_run = static_cast<uint32_t>(matrix.n);
  copy.dst_tiles = static_cast<uint32_t>(divide_up(matrix.n, 4));
  copy.by_dst_tiles = divisor(copy.dst_tiles);
  return set_count(copy.dst_tiles * axes.outer_count(), 1, facts.limits, out);
}

bool choose_few(const Facts& facts, Launch* out) {
  Matrix matrix;
  if (!facts.whole_groups || !find_matrix(facts, &matrix)) return false;
  const int64_t item = facts.item, c = matrix.c, row = matrix.n * item;
  if (row < kShortRow) return false;
  Axes axes(facts);
  axes.to_dst(facts.last);
  axes.to_src(facts.dense);
  dlx_strided_copy& copy = out->copy;
  axes.fill(facts.word, &copy);
  copy.src_run = static_cast<uint32_t>(c);
  copy.dst_run = static_cast<uint32_t>(matrix.n);
  int64_t tiles = 0;
  if (matrix.in) {
    out->kernel = kFewIn1 + log2_of(facts.word);
    // Rows of `words` hold the items of the tile and, as it may begin and end within one, two more.
    int64_t tile = kStored, words = 0, pitch = 0;
    for (;; tile -= kSector) {
      words = divide_up((tile / (c * item) + 2) * item, 4);
      // The words of neighbours in dst lie in different banks of local memory, of which there are 32.
      pitch = words + (divide_up(32, c) - words % 32 + 32) % 32;
      if (pitch * c * 4 <= kBlock) break;
    }
    copy.load_words = static_cast<uint32_t>(words);
    copy.src_tile = work_items_of_row(words);
    copy.pitch = static_cast<uint32_t>(pitch * 4);
    copy.dst_tile = static_cast<uint32_t>(tile);
    copy.by_src_tiles = divisor(copy.src_run);
    copy.by_unit = divisor(static_cast<uint32_t>(c * item));
    tiles = divide_up(row * c + kSector - 1, tile);
  } else {
    out->kernel = kFewOut1 + log2_of(facts.word);
    int64_t stored = std::min(kStored / c, (kBlock - 4) / c - kSector);
    stored = std::min(stored - stored % kSector, divide_up(row, kSector) * kSector);
    if (stored > kPass) stored -= stored % kPass;
    copy.dst_tile = static_cast<uint32_t>(stored / item);
    copy.store_words = static_cast<uint32_t>(stored / 4);
    copy.src_tile = work_items_of_row(stored / 4);
    tiles = divide_up(row + (axes.dst_is_aligned(facts, kSector) ? 0 : kSector - 1), stored);
  }
  copy.dst_tiles = static_cast<uint32_t>(tiles);
  copy.by_dst_tiles = divisor(copy.dst_tiles);
  return set_groups(tiles * axes.outer_count(), facts.limits, out);
}

bool choose_small(const Facts& facts, Launch* out) {
  if (!facts.is_word() || facts.word > 8 || facts.dense < 0 || !facts.whole_groups ||
      facts.plan.ndim() > 3) {
    return false;
  }
  const CopyAxis& dst = facts.axis(facts.last);
  const CopyAxis& src = facts.axis(facts.dense);
  const int64_t item = facts.item, bytes = dst.extent * src.extent * item;
  if (dst.dst != item || src.src != item || dst.src != src.extent * item ||
      src.dst != dst.extent * item || bytes > kStored / 2) {
    return false;
  }
  Axes axes(facts);
  axes.to_dst(facts.last);
  axes.to_src(facts.dense);
  int64_t matrices = 1;
  for (int k = 0; k < facts.last; ++k) {
    if (k == facts.dense) continue;
    if (facts.axis(k).dst != bytes || facts.axis(k).src != bytes) return false;
    matrices = facts.axis(k).extent;
  }
  // As many as fit, so that groups write whole sectors if the first one begins at one.
  int64_t each = kStored / bytes;
  const int64_t whole = kSector / std::gcd(bytes, kSector);
  if (each >= whole) each -= each % whole;
  dlx_strided_copy& copy = out->copy;
  out->kernel = kSmall1 + log2_of(facts.word);
  axes.fill(facts.word, &copy);
  copy.src_run = static_cast<uint32_t>(matrices);
  copy.src_tile = static_cast<uint32_t>(each);
  copy.by_unit = divisor(static_cast<uint32_t>(dst.extent * src.extent));
  return set_groups(divide_up(matrices, each), facts.limits, out);
}

}  // namespace dlx::gpu
