#include "src/gpu/launch.h"

#include <algorithm>

#include "src/gpu/ways.h"

namespace dlx::gpu {
namespace {

/// Most words of a launch: the kernels' divisions are exact below 2^31, and a work item may count up to
/// a few groups beyond the end.
constexpr int64_t kMostWords = (int64_t{1} << 31) - (int64_t{1} << 12);

/// Most bytes of a launch: HIP counts work items in 32 bits, and most of them copy 16 bytes.
constexpr int64_t kMostBytes = int64_t{1} << 34;

/// Most bytes of an item in a launch.
constexpr int64_t kMostItem = int64_t{1} << 30;

}  // namespace

Launches::Launches(const CopyPlan& plan, uint64_t dst_base, uint64_t src_base, const Limits& limits)
    : plan_(plan), dst_base_(dst_base), src_base_(src_base), limits_(limits) {
  word_ = common_word(plan, dst_base, src_base);
  for (int k = 0; k < plan_.ndim(); ++k) {
    first_[k] = 0;
    chunk_[k] = std::min(plan_.axis(k).extent, kMostWords);
  }
  first_[plan_.ndim()] = 0;
  chunk_[plan_.ndim()] = std::min(plan_.item(), kMostItem);
  int64_t most_words = std::min(kMostWords, kMostBytes / word_);
  if (limits_.max_groups[0] != 0) {  // no kernel has more groups than there are words
    most_words =
        static_cast<int64_t>(std::min(static_cast<uint64_t>(most_words), limits_.max_groups[0]));
  }
  limit_count(most_words);
}

/// The product of the chunks stays below 2^31, so at most 30 axes are left to a kernel, which has
/// DLX_STRIDED_COPY_AXES.
void Launches::limit_count(int64_t most_words) noexcept {
  const int ndim = plan_.ndim();
  // From the inside out: words inside each axis. From the first axis with too many words on, the
  // outer axes are looped over here.
  int64_t inner = (chunk_[ndim] + word_ - 1) / word_;
  if (inner > most_words) {
    chunk_[ndim] = most_words * word_;
    inner = most_words;
  }
  for (int k = ndim - 1; k >= 0; --k) {
    chunk_[k] = std::min(chunk_[k], std::max<int64_t>(most_words / inner, 1));
    inner *= chunk_[k];
  }
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

void Launches::choose(Launch* out) {
  int64_t extents[CopyPlan::kMaxAxes + 1];
  for (int loop = 0; loop <= plan_.ndim(); ++loop) {
    extents[loop] = std::min(chunk_[loop], extent(loop) - chosen_[loop]);
  }
  const int item = plan_.ndim();
  CopyPlan piece = plan_;
  if (extents[item] != plan_.item()) piece = piece.part_of_item(chosen_[item], extents[item]);
  choose_kernel(piece.box(chosen_, extents), dst_base_, src_base_, limits_, out);
}

bool Launches::next(Launch* out) {
  if (done_) return false;
  std::copy(first_, first_ + plan_.ndim() + 1, chosen_);
  done_ = !advance();
  choose(out);
  return true;
}

void Launches::again(const Limits& limits, Launch* out) {
  limits_ = limits;
  choose(out);
}

}  // namespace dlx::gpu
