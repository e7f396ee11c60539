#include "src/copy/ways/transposed.h"

#include <algorithm>
#include <cassert>

#include "src/copy/kernels/lines.h"
#include "src/copy/schedule/loops.h"

namespace dlx {
namespace {

/// Whether columns of dst collide in the first-level cache, so that a line shared by two bands is
/// lost before the next band.
bool columns_collide(const Plane& p, int64_t item) noexcept {
  constexpr int64_t kLong = 8 * kLine;  // bytes of a column [note 50]
  constexpr int64_t kMost = 32;         // [note 50]
  const int64_t cached = rows_cached(p.dv);
  return p.nv >= 2 * cached && p.nu * item >= kLong && cached < std::min(kLine / item, kMost);
}

/// Transposes block after block. `staged`: rows are copied together first. `apart`: columns are
/// arranged in a buffer, and written from there in long runs.
void transpose_blocks(const Schedule& s, const Plane& p, bool staged, bool apart) noexcept {
  const Kernels& kernels = s.kernels();
  const int log_item = s.log_item;
  constexpr int64_t kColumns = 16 << 10;  // bytes [note 50]
  constexpr int64_t kMostColumns = 64;    // [note 57]
  constexpr int64_t kRow = 2 * kLine;     // [note 85]
  constexpr int64_t kRowPitch = kRow + kLine;
  alignas(64) char columns[kColumns + kMostColumns * kLine];
  alignas(64) char rows[kLine * kRowPitch];
  const int64_t item = int64_t{1} << log_item;
  const int64_t least = 16 >> log_item;
  const int64_t together = item < 4 ? kMostColumns : kMostColumns / 2;
  const int64_t column = kColumns / together;
  const int64_t column_pitch = column + kLine;
  // Columns that go straight to dst leave a partial line each for the next band.
  const int64_t in_lines = p.nv <= kFirstLevelLines ? p.nv : kFirstLevelLines / 2;
  const int64_t width = apart ? together : in_lines;
  const int64_t height = apart ? column >> log_item : p.nu;
  const auto transpose_block = [&](char* dst, int64_t dv, const char* src, int64_t nu, int64_t nv) {
    if (!staged) {
      return transposition(s, dv, p.su, nu, nv)(dst, dv, src, p.su, nu, nv);
    }
    const int64_t back = dv % kLine == 0 ? inside_line(dst) >> log_item : 0;
    each_part(nu, kLine >> log_item, back, least, [&](int64_t u, int64_t n) {
      each_part(nv, kRow >> log_item, 0, least, [&](int64_t v, int64_t m) {
        kernels.rows(rows, kRowPitch, src + u * p.su + v * item, p.su, m * item, n);
        kernels.transpose[log_item](dst + u * item + v * dv, dv, rows, kRowPitch, n, m);
      });
    });
  };
  const int64_t src_back = staged ? inside_line(p.src) >> log_item : 0;
  const int64_t dst_back = apart ? inside_line(p.dst) >> log_item : 0;
  each_part(p.nv, width, src_back, least, [&](int64_t v, int64_t nv) {
    each_part(p.nu, height, dst_back, least, [&](int64_t u, int64_t nu) {
      char* const dst = p.dst + u * item + v * p.dv;
      const char* const src = p.src + u * p.su + v * item;
      if (!apart) return transpose_block(dst, p.dv, src, nu, nv);
      transpose_block(columns, column_pitch, src, nu, nv);
      kernels.rows(dst, p.dv, columns, column_pitch, nu * item, nv);
    });
  });
}

/// Whether a consecutive dst comes from few rows of src: best read side by side, a few lines at a
/// time, so that dst is written in order.
bool goes_in_order(const Plane& p, int64_t item) noexcept {
  constexpr int64_t kMostRows = 16;  // [note 31]
  constexpr int64_t kLeast = 8192;   // bytes [note 31]
  const int64_t bytes = p.nu * item;
  return p.nu <= kMostRows && bytes >= kLine && p.dv == bytes && p.nv * bytes >= kLeast;
}

}  // namespace

Kernels::Transpose* transposition(const Schedule& s, int64_t dv, int64_t su, int64_t nu,
                                  int64_t nv) noexcept {
  const Kernels& kernels = s.kernels();
  const int log_item = s.log_item;
  constexpr int64_t kRowsCached = 128;  // [note 76]
  constexpr int64_t kColumn =
      4 * kLine;  // bytes: with shorter columns, too few misses overlap [note 76]
  constexpr int64_t kRow =
      3 * kLine;  // bytes: shorter rows are best read one after the other [note 76]
  constexpr int64_t kLongRow = 8 * kLine;  // [note 76]
  Kernels::Transpose* const in_columns = kernels.transpose_columns[log_item];
  const bool uneven = dv % (kLine / 2) != 0;
  const int64_t row = nv << log_item;
  const bool suits = log_item == 4 || (uneven && row >= kRow) || (log_item < 2 && row >= kLongRow);
  if (in_columns != nullptr && s.machine().writes_columns_apart() && suits &&
      nu << log_item >= kColumn && rows_cached(su) >= kRowsCached) {
    return in_columns;
  }
  return kernels.transpose[log_item];
}

bool is_transposed_directly(const Schedule& s, const Plane& shape) noexcept {
  return !s.staged && !columns_collide(shape, s.item) && !goes_in_order(shape, s.item);
}

const char* transposition_in_words(const Schedule& s, const Plane& shape) noexcept {
  if (columns_collide(shape, s.item))
    return s.staged ? "rows and columns put together" : "columns put together";
  if (s.staged) return "rows put together";
  return goes_in_order(shape, s.item) ? "rows side by side" : "in registers";
}

void transpose_plane(const Schedule& s, const Plane& p) noexcept {
  assert(s.kind == PlaneKind::kTranspose && p.sv == s.item && p.du == s.item);
  assert(p.nu >= 16 >> s.log_item && p.nv >= 16 >> s.log_item);
  constexpr int64_t kAtOnce = 4 * kLine;  // bytes of a row of src [note 31]
  const bool apart = columns_collide(p, s.item);
  if (s.staged || apart) return transpose_blocks(s, p, s.staged, apart);
  const auto transpose = transposition(s, p.dv, p.su, p.nu, p.nv);
  const int64_t part = goes_in_order(p, s.item) ? kAtOnce >> s.log_item : p.nv;
  each_part(p.nv, part, 0, 16 >> s.log_item, [&](int64_t v, int64_t nv) {
    transpose(p.dst + v * p.dv, p.dv, p.src + v * s.item, p.su, p.nu, nv);
  });
}

}  // namespace dlx
