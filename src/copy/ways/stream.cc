#include "src/copy/ways/stream.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "src/copy/kernels/lines.h"
#include "src/copy/schedule/loops.h"
#include "src/copy/schedule/machine.h"
#include "src/copy/schedule/side.h"
#include "src/copy/ways/backwards.h"
#include "src/copy/ways/boxes.h"
#include "src/copy/ways/buffers.h"
#include "src/copy/ways/item_planes.h"
#include "src/copy/ways/ordered.h"
#include "src/copy/ways/pattern.h"
#include "src/copy/ways/plane.h"
#include "src/copy/ways/regrouped.h"
#include "src/copy/ways/relay.h"
#include "src/copy/ways/repeat.h"
#include "src/copy/ways/spaced.h"
#include "src/copy/ways/strips.h"
#include "src/copy/ways/tile_io.h"
#include "src/copy/ways/tiling.h"
#include "src/copy/ways/turns.h"

namespace dlx {
namespace {

constexpr int64_t kAll = INT64_MAX;

/// The three stages, one tile apart, woven together piece by piece so that memory is always busy.
class Pipeline {
 public:
  Pipeline(const Schedule& s, const Tiling& tiling, const Kernels& kernels,
           const Buffers& buffers) noexcept
      : s_(s),
        tiling_(tiling),
        kernels_(kernels),
        buffers_(buffers),
        fetcher_(s, tiling, kernels, buffers.lists()),
        writer_(s, tiling, kernels, buffers.lists()) {
    if (s.woven || s.folded()) list_offsets();
  }

  void run() noexcept {
    TileWalk walk(s_, tiling_);
    Tile tiles[4] = {};  // the one fetched, arranged, completed by its last block, written
    walk.locate(&tiles[0]);
    for (int64_t t = 0;; ++t) {
      Tile& tile = tiles[t % 4];
      Tile& next = tiles[(t + 1) % 4];
      const bool more = walk.next(&tile, &next);
      if (more) {
        fetcher_.start(next);
      } else {
        fetcher_.stop();
      }
      char* const buffer = buffers_[t % 2];
      if (s_.woven && t > 0) {
        to_start_ = &tiles[(t - 1) % 4];
        to_start_buffer_ = buffers_[(t + 1) % 2];
      }
      arrange(tile, buffer);
      fetcher_.fetch(kAll);
      if (s_.woven && !more) weave({}, nullptr);  // completes its last block
      if (!s_.woven || !more) start_writing(tile, buffer);
      if (!more) break;
    }
    writer_.write(kAll);
    // Fetcher and writer, which point to the tiles, end with this call.
    kernels_.fence();  // NOLINT(clang-analyzer-core.StackAddressEscape)
  }

 private:
  /// Where the rows of a plane begin in src, and its columns in the buffer: the same in each tile.
  void list_offsets() noexcept {
    Side rows(buffers_.offsets()->row, Tiling::kOffsets);
    for (int k = s_.ndim - 1; k >= tiling_.u_first; --k) {
      rows.add({tiling_.extent[k], 0, 0}, s_.axes[k].src);
    }
    const int64_t dv = s_.axes[s_.v].src < 0 ? -tiling_.step[s_.v] : tiling_.step[s_.v];
    Side columns(buffers_.offsets()->column, Tiling::kOffsets);
    columns.add({tiling_.along_v(s_, tiling_.extent), 0, 0}, dv);
  }

  /// Copies a tile into its buffer, plane by plane.
  void arrange(const Tile& tile, char* buffer) noexcept {
    Loops planes;
    for (int k = s_.ndim - 1; k >= 0; --k) {
      if (tiling_.in_plane(s_, k)) continue;
      planes.add({tile.extent[k], tiling_.step[k], s_.axes[k].src});
    }
    planes.each(buffer + Tiling::kFront, tile.src,
                [&](char* dst, const char* src) { arrange_plane(tile, dst, src); });
  }

  void arrange_plane(const Tile& tile, char* dst, const char* src) noexcept {
    const int64_t nu = tiling_.along_u(s_, tile.extent);
    const int64_t nv = tiling_.along_v(s_, tile.extent);
    Plane piece;
    piece.du = s_.item;
    piece.dv = s_.v >= 0 ? tiling_.step[s_.v] : 0;
    piece.su = s_.axes[s_.u].src;
    piece.sv = s_.v >= 0 ? s_.axes[s_.v].src : 0;
    // Slivers below a block are left to the piece before them.
    const int64_t block = s_.woven ? 0 : 16 / s_.item;
    for (int64_t u = 0; u < nu; u += piece.nu) {
      piece.nu = nu - u < tiling_.piece_u + block ? nu - u : tiling_.piece_u;
      for (int64_t v = 0; v < nv; v += piece.nv) {
        piece.nv = nv - v < tiling_.piece_v + block ? nv - v : tiling_.piece_v;
        piece.dst = dst + u * piece.du + v * piece.dv;
        if (s_.woven) {
          piece.src = src + v * piece.sv;
          weave(piece, buffers_.offsets()->row + u);
          continue;
        }
        if (s_.folded()) {
          piece.src = src + v * piece.sv;
          copy_folded(piece, buffers_.offsets()->row + u);
        } else {
          piece.src = src + u * piece.su + v * piece.sv;
          copy_plane(s_, kernels_, piece);
        }
        const int64_t lines = piece.nu * piece.nv * s_.item / kLine + 1;
        writer_.write(lines * kLine);
        fetcher_.fetch(lines + lines / 8);
      }
    }
  }

  void copy_folded(Plane piece, const int64_t* row) noexcept {
    piece = ascending_v(piece);
    kernels_.transpose_folded[s_.log_item](piece.dst, buffers_.offsets()->column, piece.src, row,
                                           piece.nu, piece.nv);
  }

  /// Copies the rows of a piece together and transposes the piece before.
  void weave(Plane piece, const int64_t* row) noexcept {
    piece = ascending_v(piece);
    Block& in = blocks_[turn_];
    Block& out = blocks_[turn_ ^ 1];
    in = {piece.dst, piece.dv, piece.src, row, piece.nu, piece.nv, in.rows};
    kernels_.weave[s_.log_item](in, out, fetcher_, writer_);
    turn_ ^= 1;
    if (to_start_ != nullptr) {  // its last block is there now
      start_writing(*to_start_, to_start_buffer_);
      to_start_ = nullptr;
    }
  }

  void start_writing(const Tile& tile, char* buffer) noexcept {
    writer_.write(kAll);
    writer_.start(tile, buffer, buffer == buffers_[0] ? buffers_[1] : buffers_[0]);
  }

  const Schedule& s_;
  const Tiling& tiling_;
  const Kernels& kernels_;
  const Buffers& buffers_;
  Fetcher fetcher_;
  Writer writer_;
  const Tile* to_start_ = nullptr;  // to be written when its last block is complete
  char* to_start_buffer_ = nullptr;
  int turn_ = 0;  // which block the next rows are copied to
  Block blocks_[2] = {{nullptr, 0, nullptr, nullptr, 0, 0, buffers_.rows(0)},
                      {nullptr, 0, nullptr, nullptr, 0, 0, buffers_.rows(1)}};
};

/// Whether runs go straight to dst better than as a pattern: long ones, or such that are whole
/// lines. Patterns of long runs that run backwards go down where the bytes of a run go up.
bool runs_stream_alone(const Schedule& s) noexcept {
  constexpr int64_t kLongBackwards = 6 * kLine;
  if (s.kind != PlaneKind::kRows || s.item < kLine) return false;
  if (s.item >= machine().long_run_bytes) return true;
  if (s.ndim > 0 && s.axes[s.u].src < 0 && s.item >= kLongBackwards) return true;
  return s.item % kLine == 0 && s.begins_at_multiples(kLine);
}

/// Whether rows are so far apart in src that to ask for their lines is what counts.
bool has_far_rows(const Schedule& s) noexcept {
  if (s.kind != PlaneKind::kRows || s.ndim == 0 || s.transposes()) return false;
  const int64_t gap = std::llabs(s.axes[s.u].src) - s.item;
  return gap > (s.item < 96 ? kLine : std::max(4 * kLine, s.item / 2));
}

/// Whether planes are small matrices, one after the other, which are arranged in registers, or
/// items that nothing arranges, a few or of sparse lines: the way by a buffer would cost more than
/// it saves. `cached`: splits are better written through the caches.
bool needs_no_buffer(const Schedule& s, bool cached) noexcept {
  constexpr int64_t kNear = 2048;     // bytes
  constexpr int64_t kFew = 32;        // items
  constexpr int64_t kFewStreams = 8;  // that the processor fetches ahead side by side
  const int64_t some_streams = machine().has_1_mib_cache() ? 16 : 64;
  if (s.ndim < 2 || s.folded() || s.item >= kLine) return false;
  const CopyAxis& u = s.axes[s.u];
  const CopyAxis& v = s.axes[s.v];
  const bool near = u.extent <= kFewStreams || u.extent * std::llabs(u.src) <= kNear;
  if (near && v.extent * v.dst <= kNear) return true;
  if (s.item >= 8 && s.kind == PlaneKind::kTranspose) {  // splits and joins of large items
    const int64_t cell = u.extent * s.item;
    if (u.extent == 2 || (cell <= kLine && (cell % 32 == 0 || v.src < 0))) return true;
    const bool splits = v.extent <= 16 && std::llabs(u.src) <= 4 * kLine && cell >= kNear;
    if (cached && splits) return true;
  }
  // Streams that a first-level cache holds: none of their lines is read twice in the order of dst.
  if (s.kind == PlaneKind::kGather && u.extent <= std::min(some_streams, rows_cached(u.src))) {
    return true;
  }
  // Much of a line of src is gaps, and few items of it are read again.
  constexpr int64_t kSparse = 12;  // bytes from item to item
  constexpr int64_t kManyRows = 32;
  const int64_t step = std::llabs(v.src);
  const bool sparse = 3 * step >= kLine || (step >= kSparse && step >= 3 * s.item);
  if (s.kind == PlaneKind::kGather && sparse && rows_cached(u.src) >= kManyRows) return true;
  return s.by_items() && u.extent * v.extent < kFew;
}

/// Runs in the order of their source, upwards, which the processor then fetches ahead by itself.
void stream_runs(const Schedule& s, const Kernels& kernels) noexcept {
  int order[CopyPlan::kMaxAxes];
  order_by_source(s, order);
  char* first_dst = s.dst;
  const char* first_src = s.src;
  const auto upwards = [&](CopyAxis axis) {
    if (axis.src >= 0) return axis;
    first_dst += (axis.extent - 1) * axis.dst;
    first_src += (axis.extent - 1) * axis.src;
    return CopyAxis{axis.extent, -axis.dst, -axis.src};
  };
  const CopyAxis inner = s.ndim > 0 ? upwards(s.axes[order[0]]) : kNoAxis;
  Loops loops;
  for (int i = 1; i < s.ndim; ++i) loops.add(upwards(s.axes[order[i]]));
  loops.each(first_dst, first_src, [&](char* dst, const char* src) {
    kernels.stream_rows(dst, inner.dst, src, inner.src, s.item, inner.extent);
  });
  kernels.fence();
}

/// The ways that write dst from its beginning to its end, or in long runs in the order of src.
const char* stream_along_dst(const Schedule& s, const Kernels& kernels, const Buffers& buffers,
                             bool dry) noexcept {
  constexpr const char* kInOrder = "way ordered: streamed in order";
  if (has_far_rows(s) && run_ordered(s, kernels, buffers, dry)) return kInOrder;
  if (run_regrouped(s, kernels, buffers, dry)) return "way regrouped: rows regrouped and streamed";
  bool are_runs = runs_stream_alone(s);
  if (!are_runs) {
    if (run_spaced(s, kernels, dry)) return "way spaced: lines gathered and streamed";
    if (run_pattern(s, kernels, buffers, dry)) return "way pattern: patterns streamed";
    if (const char* how = run_interleaved(s, kernels, buffers, dry)) return how;
    constexpr int64_t kShort = 4 * kLine;
    are_runs = s.kind == PlaneKind::kRows && s.item >= machine().run_bytes;
    if (!are_runs || s.item < kShort) {
      if (run_turned(s, kernels, buffers, dry))
        return "way backwards: rows streamed from their end";
      if (run_ordered(s, kernels, buffers, dry)) return kInOrder;
    }
  }
  if (!are_runs) return nullptr;
  if (!dry) stream_runs(s, kernels);
  return "way runs: runs streamed";
}

/// The ways that put parts of dst together whose neighbours are far apart in src.
const char* stream_by_boxes(const Schedule& s, const Kernels& kernels, const Buffers& buffers,
                            bool alone, bool dry) noexcept {
  const bool boxes_first = boxes_are_fast(kernels) && suits_boxes(s);
  if (boxes_first && s.kind == PlaneKind::kGather) {
    if (const char* how = run_boxed(s, kernels, buffers, dry)) return how;
  }
  if (is_relayed(s, true) && run_relayed(s, kernels, buffers, true, dry)) {
    return "way relay: by way of a buffer";
  }
  // In the order of dst, the processor reads and writes best without help.
  const bool splits = s.kind == PlaneKind::kSplit;
  const bool cached = alone && !kernels.line_registers();
  const bool in_order = (splits ? cached : !s.transposes()) || needs_no_buffer(s, cached);
  if (!in_order) {
    if (const char* how = run_strips(s, kernels, buffers, dry)) return how;
  }
  const bool few_tiles = boxes_are_fast(kernels);  // what follows was measured there
  if (few_tiles && (is_followed(s) || are_small_matrices(s))) return nullptr;
  if (boxes_first && s.kind != PlaneKind::kGather) {
    if (const char* how = run_boxed(s, kernels, buffers, dry)) return how;
  }
  if (in_order || (few_tiles && s.kind == PlaneKind::kRows)) return nullptr;
  Tiling tiling;
  if (!tiling.build(s)) {
    return !boxes_first && suits_boxes(s) ? run_boxed(s, kernels, buffers, dry) : nullptr;
  }
  if (!dry) Pipeline(s, tiling, kernels, buffers).run();
  return "way tiles: streamed in tiles";
}

}  // namespace

bool run_fills(const Schedule& s, const Kernels& kernels, bool alone, bool dry) noexcept {
  constexpr int64_t kLines = 16 * kLine;
  if (!s.fills() || s.log_item < 0) return false;
  const int64_t row = s.axes[s.u].extent * s.item;
  // Rows that share lines wait for those wherever one ends.
  if (row < (s.begins_at_multiples(kLine, s.u) ? kLines : 2 * kLines)) return false;
  // Registers of a line write it without reading it, and what a third-level cache keeps is as fast.
  const int64_t fewest = machine().stream_bytes * (alone ? 8 : 1);
  if (kernels.line_registers() && s.bytes() < fewest) return false;
  if (dry) return true;
  Loops loops;
  loops.add_others(s, [&](int axis) { return axis == s.u; });
  loops.each(s.dst, s.src,
             [&](char* dst, const char* src) { stream_repeated(kernels, dst, row, src, s.item); });
  kernels.fence();
  return true;
}

const char* run_streamed(const Schedule& s, const Kernels& kernels, bool alone, bool dry) noexcept {
  const bool once = s.kind == PlaneKind::kGather && ItemPlanes::reads_into_streams(plane_of(s));
  if (once && boxes_are_fast(kernels)) return nullptr;  // elsewhere not compared with tiles
  const Buffers buffers;
  if (!buffers.exist()) return nullptr;
  const char* const how = once ? nullptr : stream_along_dst(s, kernels, buffers, dry);
  return how != nullptr ? how : stream_by_boxes(s, kernels, buffers, alone, dry);
}

}  // namespace dlx
