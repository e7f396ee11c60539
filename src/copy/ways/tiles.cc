#include "src/copy/ways/tiling.h"

#include "src/copy/kernels/lines.h"
#include "src/copy/schedule/loops.h"
#include "src/copy/ways/planes.h"
#include "src/copy/ways/tile_io.h"
#include "src/copy/ways/way.h"

namespace dlx {
namespace {

constexpr int64_t kAll = INT64_MAX;

/// Fetches a tile, arranges the tile before, and writes the tile before that, alternating every few
/// lines to keep memory busy.
class Pipeline {
 public:
  Pipeline(const Schedule& s, const Tiling& tiling, const Buffers& buffers) noexcept
      : s_(s),
        tiling_(tiling),
        kernels_(s.kernels()),
        buffers_(buffers),
        fetcher_(s, tiling, buffers.lists()),
        writer_(s, tiling, buffers.lists()) {
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
    // Fetcher and writer do not outlive the tiles that they point to.
    kernels_.fence();  // NOLINT(clang-analyzer-core.StackAddressEscape)
  }

 private:
  /// Lists the offsets of rows in src and of columns in the buffer: the same in each tile.
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
    // A remainder smaller than a block is added to the part before it.
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
          copy_plane(s_, piece);
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

  /// Copies the rows of one block together, and transposes the block before.
  void weave(Plane piece, const int64_t* row) noexcept {
    piece = ascending_v(piece);
    Block& in = blocks_[turn_];
    Block& out = blocks_[turn_ ^ 1];
    in = {piece.dst, piece.dv, piece.src, row, piece.nu, piece.nv, in.rows};
    kernels_.weave[s_.log_item](in, out, fetcher_, writer_);
    turn_ ^= 1;
    if (to_start_ != nullptr) {  // its last block is complete now
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
  const Tile* to_start_ = nullptr;  // the tile to write when its last block is complete
  char* to_start_buffer_ = nullptr;
  int turn_ = 0;  // the block that the next rows are copied to
  Block blocks_[2] = {{nullptr, 0, nullptr, nullptr, 0, 0, buffers_.rows(0)},
                      {nullptr, 0, nullptr, nullptr, 0, 0, buffers_.rows(1)}};
};

}  // namespace

bool suits_tiles(const Job& job) noexcept { return job.buffers().make_plan<Tiling>().build(job.s); }

void run_tiles(const Job& job) noexcept {
  Pipeline(job.s, job.buffers().plan<Tiling>(), job.buffers()).run();
}

}  // namespace dlx
