// Tiles of any shape: tiles.cl. strided_copy.h explains the fields that are filled in here.

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "src/gpu/kernels.h"
#include "src/gpu/ways.h"

namespace dlx::gpu {
namespace {

constexpr int64_t kTileBytes = int64_t{DLX_TILE_WORDS} * 4;

/// Items of at least this size need no tiles if they consist of words of 4 bytes or more.
constexpr int64_t kWholeItem = 64;

/// Least bytes of a tile, for words of at least 4 bytes and for smaller ones: a smaller tile costs
/// more than it saves.
constexpr int64_t kLeastTile = 1024;
constexpr int64_t kLeastTileOfBytes = 256;

/// Shorter rows leave many work items idle at their ends.
constexpr int64_t kShortRow = 128;

/// Chooses which axes of a plan form the runs of a tile, and how large the tile is.
class TileChoice {
 public:
  explicit TileChoice(const Facts& facts)
      : plan_(facts.plan),
        dense_(facts.dense),
        granule_(std::min<int64_t>(facts.word, 4)),
        unit_(facts.item),
        word_(facts.word) {}

  /// False if single words are faster.
  bool choose() noexcept;
  bool fill(const Limits& limits, Launch* out) noexcept;

 private:
  /// The axes of one run, the fastest first.
  struct Run {
    int axes[DLX_STRIDED_COPY_AXES];
    int count = 0;
    int64_t units = 1;
    int64_t tile = 1;
    void add(int axis, int64_t extent) noexcept {
      axes[count++] = axis;
      units *= extent;
    }
    bool has(int axis) const noexcept {
      return std::find(axes, axes + count, axis) != axes + count;
    }
  };

  bool choose_window() noexcept;
  bool choose_rows() noexcept;
  bool extend_dst() noexcept;
  bool extend_src() noexcept;
  void balance(Run* run) const noexcept;
  bool will_merge() const noexcept;
  void merge_stored_rows() noexcept;
  int64_t whole_units(int64_t bytes) const noexcept;
  int64_t window_bytes(int64_t units) const noexcept;
  int64_t pitch_words(int64_t units) const noexcept;
  int64_t tile_words(int64_t loads, int64_t load_units) const noexcept;
  bool fits(int64_t dst_units, int64_t src_units) const noexcept;
  int64_t most_dst(int64_t src_units, int64_t most) const noexcept;
  int64_t most_src(int64_t dst_units, int64_t most) const noexcept;
  void fill_axes(dlx_strided_copy* copy) noexcept;
  void fill_local(dlx_strided_copy* copy) const noexcept;

  const CopyAxis& axis(int k) const noexcept { return plan_.axis(k); }

  const CopyPlan& plan_;
  int dense_;  // the axis with the smallest step in src; there is one
  int64_t granule_;
  int64_t unit_;
  uint32_t word_;
  uint32_t mode_ = 0;
  Run dst_, src_;
  int64_t dst_unit_step_ = 0;
  int64_t src_unit_step_ = 0;
  int64_t load_bytes_ = 0;  // of a row
  int64_t pitch_ = 0;       // bytes from one loaded row to the next in local memory
  // Position of a unit of the tile in local memory.
  int64_t block_units_ = 0;
  int64_t row_step_ = 0;
  int64_t block_step_ = 0;
  int64_t unit_step_ = 0;
};

bool TileChoice::choose() noexcept {
  dst_unit_step_ = axis(plan_.ndim() - 1).dst;
  return choose_window() || choose_rows();
}

/// Bytes of src between the ends of `units` of the dst run, together with the src run.
int64_t TileChoice::window_bytes(int64_t units) const noexcept {
  return unit_ + (src_.units - 1) * std::abs(row_step_) + (units - 1) * std::abs(unit_step_);
}

/// A window: the fastest axis in dst has small steps in src, so one contiguous part of src holds
/// all items of a contiguous part of dst, in another order.
bool TileChoice::choose_window() noexcept {
  const int last = plan_.ndim() - 1;
  const int64_t near = std::abs(axis(last).src);
  if (word_ >= 4 || axis(last).dst != unit_) return false;
  const CopyAxis& inner = axis(dense_);
  const int64_t row = inner.extent * std::abs(inner.src);
  // Rows of whole words are faster to load as rows.
  const bool in_words = near % 4 == 0 && row % 4 == 0 && std::abs(inner.src) == unit_;
  if (near > kWholeItem || row > near || near > 2 * inner.extent * unit_ || in_words) return false;
  src_.add(dense_, inner.extent);
  src_.tile = src_.units;
  src_unit_step_ = inner.src;
  row_step_ = inner.src;
  mode_ = DLX_TILES_WINDOW;
  dst_.add(last, axis(last).extent);
  unit_step_ = axis(last).src;
  // As many units as fit. One always does: a row has at most kWholeItem bytes.
  int64_t units = std::min(dst_.units, kTileBytes / unit_);
  while (window_bytes(units) > kTileBytes - 4) units /= 2;
  for (int64_t more = units / 2; more > 0; more /= 2) {
    if (units + more <= dst_.units && window_bytes(units + more) <= kTileBytes - 4) units += more;
  }
  dst_.tile = units;
  balance(&dst_);
  if (dst_.tile * src_.units * unit_ < kLeastTileOfBytes) return false;
  load_bytes_ = window_bytes(dst_.tile);
  merge_stored_rows();
  return true;
}

/// The fastest axes differ: loads rows along src, stores rows along dst.
bool TileChoice::choose_rows() noexcept {
  const int last = plan_.ndim() - 1;
  mode_ = 0;
  dst_ = src_ = Run();
  const int64_t step = std::abs(axis(dense_).src);
  const bool spread = step != unit_ || dst_unit_step_ != unit_;
  if (spread && (granule_ < 4 || step > kSector || dst_unit_step_ > kSector)) return false;
  dst_.add(last, axis(last).extent);
  src_.add(dense_, axis(dense_).extent);
  src_unit_step_ = axis(dense_).src;

  // Bytes of a row: whole or half lines, as long as the tile fits.
  const int64_t src_target = whole_units(granule_ == 1 ? 64 : unit_ >= 8 ? 256 : 128);
  const int64_t dst_target = whole_units(granule_ < 4 ? 128 : unit_ >= 12 ? 512 : 256);
  bool more = true;
  while (more) {
    more = dst_.units < dst_target && extend_dst();
    if (src_.units < src_target && extend_src()) more = true;
  }
  // Tiles of both targets fit.
  src_.tile = std::min(src_.units, src_target);
  dst_.tile = std::min(dst_.units, dst_target);
  if (src_.units <= src_target) dst_.tile = most_dst(src_.tile, dst_.units);
  if (dst_.units <= dst_target) src_.tile = most_src(dst_.tile, src_.units);
  balance(&dst_);
  balance(&src_);
  const int64_t bytes = dst_.tile * src_.tile * unit_;
  if (bytes < (granule_ == 4 ? kLeastTile : kLeastTileOfBytes)) return false;
  unit_step_ = pitch_ = pitch_words(src_.tile) * 4;
  row_step_ = src_unit_step_ < 0 ? -unit_ : unit_;
  load_bytes_ = src_.tile * unit_;
  merge_stored_rows();
  return true;
}

/// The largest power of two of units in at most `bytes`, but at least one.
int64_t TileChoice::whole_units(int64_t bytes) const noexcept {
  int64_t units = 1;
  while (2 * units * unit_ <= bytes) units *= 2;
  return units;
}

/// Makes all tiles of a run about equally large, not larger than the tile given, and whole lines of
/// 128 bytes or whole sectors if rows begin at sectors.
void TileChoice::balance(Run* run) const noexcept {
  if (run->tile >= run->units) return;
  const int64_t line = std::max<int64_t>(128 / (unit_ & -unit_), 1);
  const int64_t sector = std::max<int64_t>(kSector / (unit_ & -unit_), 1);
  if (run->tile >= line) run->tile -= run->tile % line;
  const int64_t tiles = divide_up(run->units, run->tile);
  int64_t tile = divide_up(run->units, tiles);
  if (run->units % sector == 0) tile = divide_up(tile, sector) * sector;
  run->tile = std::min(run->tile, tile);
}

/// Extends the run by an axis that continues where the run ends; false if there is none.
bool TileChoice::extend_dst() noexcept {
  if (dst_unit_step_ != unit_) return false;
  for (int k = plan_.ndim() - 2; k >= 0; --k) {
    if (axis(k).dst != dst_.units * unit_ || src_.has(k)) continue;
    dst_.add(k, axis(k).extent);
    return true;
  }
  return false;
}

bool TileChoice::extend_src() noexcept {
  if (src_unit_step_ != unit_) return false;
  for (int k = plan_.ndim() - 1; k >= 0; --k) {
    if (axis(k).src != src_.units * unit_ || dst_.has(k)) continue;
    src_.add(k, axis(k).extent);
    return true;
  }
  return false;
}

/// Whether short rows that follow each other in dst are stored as one row.
bool TileChoice::will_merge() const noexcept {
  return src_.count == 1 && dst_unit_step_ == unit_ &&
         axis(src_.axes[0]).dst == dst_.units * unit_ && dst_.units * unit_ < kShortRow;
}

void TileChoice::merge_stored_rows() noexcept {
  if (!will_merge() || dst_.tile != dst_.units) return;
  mode_ |= DLX_TILES_MERGED;
  block_units_ = dst_.units;
  block_step_ = row_step_;
  row_step_ = 0;
}

/// Words from one loaded row to the next. Where columns are stored, neighbours in dst must lie in
/// different banks of local memory: 32, each a word wide.
int64_t TileChoice::pitch_words(int64_t units) const noexcept {
  const int64_t words = divide_up(units * unit_, 4);
  int64_t each = unit_ / 4;
  if (will_merge()) {  // a column is dst_.units long, and the next one follows
    each = std::max<int64_t>(each, 1);
    each *= divide_up(32, dst_.units * each);
  } else if (granule_ < 4) {
    return words;  // the skew separates the banks
  }
  const int64_t best = words + ((each - words) % 32 + 32) % 32;
  if (best <= words + words / 4 + 2) return best;
  const int64_t power = each & -each;
  return words + (((power - words) % (2 * power)) + 2 * power) % (2 * power);
}

int64_t TileChoice::tile_words(int64_t loads, int64_t load_units) const noexcept {
  const int64_t skew = granule_ == 4 ? 0 : loads / (granule_ == 1 ? 4 : 2) + 1;
  return loads * pitch_words(load_units) + skew;
}

bool TileChoice::fits(int64_t dst_units, int64_t src_units) const noexcept {
  if (dst_.count > 1 && dst_units > DLX_TILE_ROWS) return false;
  if (src_.count > 1 && src_units > DLX_TILE_ROWS) return false;
  return tile_words(dst_units, src_units) <= DLX_TILE_WORDS;
}

/// The largest number up to `most` that fits; if n fits, so does each smaller number.
template <typename Fits>
int64_t largest(int64_t most, Fits&& fits) noexcept {
  int64_t low = 0;  // fits
  while (low < most) {
    const int64_t middle = low + (most - low + 1) / 2;
    if (fits(middle)) {
      low = middle;
    } else {
      most = middle - 1;
    }
  }
  return low;
}

int64_t TileChoice::most_dst(int64_t src_units, int64_t most) const noexcept {
  return largest(most, [&](int64_t units) { return fits(units, src_units); });
}

int64_t TileChoice::most_src(int64_t dst_units, int64_t most) const noexcept {
  return largest(most, [&](int64_t units) { return fits(dst_units, units); });
}

/// Fills in the axes in the kernel's order.
void TileChoice::fill_axes(dlx_strided_copy* copy) noexcept {
  int place = 0;
  const auto put = [&](int k) { put_axis(axis(k), place++, copy); };
  for (int k = 0; k < plan_.ndim(); ++k) {
    if (!dst_.has(k) && !src_.has(k)) put(k);
  }
  copy->outer_axes = static_cast<uint32_t>(place);
  for (int k = src_.count; k-- > 0;) put(src_.axes[k]);
  for (int k = dst_.count; k-- > 0;) put(dst_.axes[k]);
  copy->src_axes = static_cast<uint32_t>(src_.count);
  copy->dst_axes = static_cast<uint32_t>(dst_.count);
}

void TileChoice::fill_local(dlx_strided_copy* copy) const noexcept {
  const int64_t stored = (mode_ & DLX_TILES_MERGED) != 0 ? dst_.tile * src_.tile : dst_.tile;
  copy->load_words = static_cast<uint32_t>(divide_up(load_bytes_, 4));
  copy->by_load_words = divisor(copy->load_words);
  copy->pitch = static_cast<uint32_t>(pitch_);
  // Only the columns of a tile conflict in a bank; merged rows are few.
  copy->skew = mode_ == 0 && granule_ < 4 ? 4 : 0;
  copy->store_words = static_cast<uint32_t>(divide_up(stored * unit_ + (granule_ < 4 ? 3 : 0), 4));
  copy->by_store_words = divisor(copy->store_words);
  copy->granules = static_cast<uint32_t>(unit_ / granule_);
  copy->by_granules = divisor(copy->granules);
  copy->block_units = static_cast<uint32_t>(block_units_);
  copy->by_block_units = divisor(static_cast<uint32_t>(std::max<int64_t>(block_units_, 1)));
  copy->row_step = static_cast<int>(row_step_);
  copy->block_step = static_cast<int>(block_step_);
  copy->unit_step = static_cast<int>(unit_step_);
}

bool TileChoice::fill(const Limits& limits, Launch* out) noexcept {
  dlx_strided_copy* copy = &out->copy;
  copy->dst = reinterpret_cast<intptr_t>(plan_.dst());
  copy->src = reinterpret_cast<intptr_t>(plan_.src());
  copy->axes = static_cast<uint32_t>(plan_.ndim());
  copy->item = static_cast<uint32_t>(plan_.item());
  out->kernel = granule_ == 1 ? kTiles1 : granule_ == 2 ? kTiles2 : kTiles4;
  fill_axes(copy);
  fill_local(copy);
  copy->mode = mode_;
  copy->unit = static_cast<uint32_t>(unit_);
  copy->src_unit_step = static_cast<int>(src_unit_step_);
  copy->dst_unit_step = static_cast<int>(dst_unit_step_);
  copy->src_run = static_cast<uint32_t>(src_.units);
  copy->src_tile = static_cast<uint32_t>(src_.tile);
  copy->src_tiles = static_cast<uint32_t>(divide_up(src_.units, src_.tile));
  copy->by_src_tiles = divisor(copy->src_tiles);
  copy->dst_run = static_cast<uint32_t>(dst_.units);
  copy->dst_tile = static_cast<uint32_t>(dst_.tile);
  copy->dst_tiles = static_cast<uint32_t>(divide_up(dst_.units, dst_.tile));
  copy->by_dst_tiles = divisor(copy->dst_tiles);
  copy->src_low = copy->src;
  copy->src_high = copy->src + plan_.item();
  int64_t groups = int64_t{copy->src_tiles} * copy->dst_tiles;
  for (int k = 0; k < plan_.ndim(); ++k) {
    const int64_t reach = axis(k).src * (axis(k).extent - 1);
    (reach < 0 ? copy->src_low : copy->src_high) += reach;
    if (!dst_.has(k) && !src_.has(k)) groups *= axis(k).extent;
  }
  return set_groups(groups, limits, out);
}

}  // namespace

bool choose_tiles(const Facts& facts, Launch* out) {
  // Other items are read and written in sectors anyway, or have ways of their own.
  if (facts.dense < 0 || facts.item >= kSector) return false;
  for (int k = 0; k < facts.plan.ndim(); ++k) {
    if (!facts.near(k)) return false;
  }
  TileChoice tiles(facts);
  return tiles.choose() && tiles.fill(facts.limits, out);
}

}  // namespace dlx::gpu
