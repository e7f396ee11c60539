#include "src/gpu/launch.h"

#include <algorithm>
#include <cstdint>

#include "src/gpu/ways.h"

namespace dlx::gpu {
namespace {

/// Most that a launch numbers: the kernels' divisions are exact below 2^31, and a work item may count up to
/// a few groups beyond the end.
constexpr int64_t kMostNumbered = (int64_t{1} << 31) - (int64_t{1} << 12);

/// Most bytes of a launch: HIP counts work items in 32 bits, and most of them copy 16 bytes.
constexpr int64_t kMostBytes = int64_t{1} << 34;

int64_t product(const int64_t* numbers, int count) noexcept {
  int64_t all = 1;
  for (int k = 0; k < count; ++k) all *= numbers[k];
  return all;
}

/// Loops that are cut: one that runs outside of the launches, and one in chunks; -1: none.
struct Cut {
  int dropped;
  int loop;
  int64_t chunk;
};

/// The cut after which no more than `most` of `all` are left, with the fewest launches; the longest loop
/// dropped if no such cut is enough.
Cut best_cut(const int64_t* loops, int count, int64_t all, int64_t most) noexcept {
  Cut best = {static_cast<int>(std::max_element(loops, loops + count) - loops), -1, 1};
  int64_t fewest = INT64_MAX;
  for (int dropped = -1; dropped < count; ++dropped) {
    const int64_t outside = dropped < 0 ? 1 : loops[dropped];
    if (dropped >= 0 && outside == 1) continue;
    for (int k = 0; k < count; ++k) {
      if (k == dropped || loops[k] == 1) continue;
      const int64_t most_here = most / (all / outside / loops[k]);
      if (most_here == 0) continue;
      const int64_t launches = divide_up(loops[k], most_here);
      if (launches >= fewest / outside) continue;
      fewest = launches * outside;
      best = {dropped, k, divide_up(loops[k], launches)};
    }
  }
  return best;
}

}  // namespace

Launches::Launches(const CopyPlan& plan, uint64_t dst_base, uint64_t src_base, const Limits& limits)
    : whole_(plan), plan_(plan), dst_base_(dst_base), src_base_(src_base), limits_(limits) {
  word_ = common_word(plan, dst_base, src_base);
  // Ends of long items, which are no whole pieces, come last.
  begin(plan.item() <= kMostRow ? plan.item() : plan.item() - plan.item() % kMostRow, 0);
}

/// Begins with some bytes of each item, from `first` on: at most kMostRow, or whole pieces of kMostRow.
void Launches::begin(int64_t bytes, int64_t first) {
  plan_ = bytes == whole_.item() ? whole_ : whole_.part_of_item(first, bytes);
  item_end_ = first + bytes;
  for (int loop = 0; loop <= plan_.ndim(); ++loop) {
    first_[loop] = 0;
    chunk_[loop] = extent(loop);
  }
  limit_axes();
  limit_count();
}

/// Leaves at most as many axes to the kernel as it has: drops the shortest ones, but never those
/// that are dense in dst or src.
void Launches::limit_axes() noexcept {
  const int ndim = plan_.ndim();
  int used = 0;
  int src_dense = -1;
  for (int k = 0; k < ndim; ++k) {
    if (chunk_[k] == 1) continue;
    ++used;
    const int64_t step = std::abs(plan_.axis(k).src);
    if (step != 0 && (src_dense < 0 || step <= std::abs(plan_.axis(src_dense).src))) src_dense = k;
  }
  for (; used >= DLX_STRIDED_COPY_AXES; --used) {
    int shortest = -1;
    for (int k = 0; k < ndim - 1; ++k) {
      if (chunk_[k] == 1 || k == src_dense) continue;
      if (shortest < 0 || chunk_[k] < chunk_[shortest]) shortest = k;
    }
    chunk_[shortest] = 1;
  }
}

/// Cuts the loops so that no launch has too much of what kernels number. A layout of 2^31 elements of at most
/// 16 bytes takes at most 4 launches.
void Launches::limit_count() noexcept {
  const int item = plan_.ndim();
  const int64_t piece = std::min(plan_.item(), kMostRow);
  const int64_t each = numbered(piece, word_, limits_);
  int64_t most_numbered = kMostNumbered;
  if (limits_.max_groups != 0) {  // no kernel has more groups than it numbers
    most_numbered =
        static_cast<int64_t>(std::min(static_cast<uint64_t>(kMostNumbered), limits_.max_groups));
  }
  if (each > most_numbered) {
    std::fill(chunk_, chunk_ + item, 1);
    chunk_[item] = most_numbered * word_;
    return;
  }
  const int64_t most = std::min(most_numbered / each, kMostBytes / piece);
  chunk_[item] /= piece;
  int64_t all = product(chunk_, item + 1);
  for (; all > most; all = product(chunk_, item + 1)) {
    const Cut cut = best_cut(chunk_, item + 1, all, most);
    if (cut.dropped >= 0) chunk_[cut.dropped] = 1;
    if (cut.loop >= 0) chunk_[cut.loop] = cut.chunk;
  }
  chunk_[item] *= piece;
}

int64_t Launches::extent(int loop) const noexcept {
  return loop == plan_.ndim() ? plan_.item() : plan_.axis(loop).extent;
}

bool Launches::advance() noexcept {
  for (int loop = plan_.ndim(); loop >= 0; --loop) {
    first_[loop] += chunk_[loop];
    if (first_[loop] < extent(loop)) return true;
    first_[loop] = 0;
  }
  return false;
}

void Launches::choose(Launch* out) const {
  int64_t extents[CopyPlan::kMaxAxes + 1];
  for (int loop = 0; loop <= plan_.ndim(); ++loop) {
    extents[loop] = std::min(chunk_[loop], extent(loop) - first_[loop]);
  }
  const int item = plan_.ndim();
  CopyPlan piece = plan_;
  if (extents[item] != plan_.item()) piece = piece.part_of_item(first_[item], extents[item]);
  choose_kernel(piece.box(first_, extents), dst_base_, src_base_, limits_, out);
}

bool Launches::next(Launch* out) {
  if (done_) return false;
  choose(out);
  if (!advance()) {
    done_ = item_end_ == whole_.item();
    if (!done_) begin(whole_.item() - item_end_, item_end_);
  }
  return true;
}

void Launches::again(const Limits& limits, Launch* out) {
  *this = Launches(whole_, dst_base_, src_base_, limits);
  next(out);
}

}  // namespace dlx::gpu
