#include "src/copy/ways/item_planes.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "src/copy/kernels/lines.h"

namespace dlx {
namespace {

constexpr int64_t kReadAhead = 8192;  // bytes of rows with gaps between them [note 25]
constexpr int64_t kWorthIt = 32;      // items of a loop [note 61]

/// Whether lines of src hold items of several rows.
bool share_lines(const Plane& p) noexcept {
  const int64_t step = std::llabs(p.sv);
  return step != 0 && step < kLine && step < std::llabs(p.su) && p.nv > 1;
}

}  // namespace

bool ItemPlanes::reads_into_streams(const Schedule& s, const Plane& plane) noexcept {
  const int64_t step = std::llabs(plane.su);
  const bool dense = step < 2 * plane.nv * std::llabs(plane.sv);
  const bool few = plane.nv <= std::min(kWorthIt, rows_cached(plane.dv));  // [note 17]
  return share_lines(plane) && dense && few && plane.nu * step >= s.machine().stream_bytes;
}

bool ItemPlanes::asks_for_rows(const Schedule& schedule) noexcept {
  const bool far = schedule.past_caches() && schedule.held() != Held::kSrc;
  return far && schedule.machine().asks_for_rows();
}

bool ItemPlanes::arranges(const Kernels& kernels, int64_t item, const Plane& shape) noexcept {
  constexpr int64_t kFurthest = 7;   // items from column to column [note 83]
  constexpr int64_t kRegister = 16;  // bytes
  constexpr int64_t kShortest = 4;   // bytes: the kernels load no fewer
  // The cost of a block, in bytes of single items.
  constexpr int64_t kWholeBlock = 60;   // [note 63]
  constexpr int64_t kNarrowBlock = 40;  // [note 63]
  const int log_item = log2_of_item(item);
  if (log_item < 0 || log_item > 1 || kernels.transpose_every[log_item] == nullptr) return false;
  const int64_t step = std::llabs(shape.sv);
  if (shape.du != item || shape.nu * item < kRegister || shape.nv < 2) return false;
  if (step == 0 || step % item != 0 || step > kFurthest * item || step >= std::llabs(shape.su)) {
    return false;
  }
  int64_t load = kRegister;
  while (load > (shape.nv - 1) * step + item) load /= 2;
  if (load < kShortest || load <= step) return false;
  const int64_t columns = (load - item) / step + 1;
  const int64_t blocks = divide_up(shape.nv, columns) * divide_up(shape.nu * item, 2 * kRegister);
  const int64_t block = load == kRegister ? kWholeBlock : kNarrowBlock;
  return shape.nu * shape.nv * item > blocks * block;
}

ItemPlanes::ItemPlanes(const Schedule& schedule, const Plane& shape, bool asks) noexcept
    : s_(schedule),
      kernels_(schedule.kernels()),
      item_(schedule.item),
      log_item_(schedule.log_item),
      shape_(shape),
      at_once_(shape.nu) {
  Plane& p = shape_;
  const bool long_rows = log_item_ >= 0 && p.du == item_ && p.nu * item_ >= 16;
  if (long_rows && p.su == 0) {
    loop_ = Loop::kFill;
    return;
  }
  if (arranges(kernels_, item_, p)) {
    loop_ = Loop::kEvery;
    p = ascending_v(p);
    lowest_dst_ = p.dst - shape.dst;
    lowest_src_ = p.src - shape.src;
    every_ = p.sv / item_;
    return;
  }
  if (long_rows && p.su == -item_ && p.nv > 1) {
    loop_ = Loop::kBackwards;
  } else if (log_item_ >= 0 && p.nu >= 2 && p.nu <= kFew && p.nv > 1) {
    loop_ = Loop::kFewAtOnce;
  } else {
    choose_loops();
  }
  // If dst has gaps, the copy waits for lines of dst.
  const bool gaps = p.du != item_;
  if (gaps && loop_ == Loop::kRows && schedule.past_caches()) written_ = rows_of(p.du, p.dv, 0);
  if (!gaps && asks) read_ = rows_of(p.su, p.sv, kReadAhead);
}

/// Chooses loops for runs of about a line or a few that lie side by side in src, if the
/// second-level cache does not hold src: a pass for each row of dst would read shared and
/// prefetched lines again, from further away. False for other planes.
bool ItemPlanes::choose_for_runs() noexcept {
  constexpr int64_t kLongest = 512;  // bytes of a run; side by side they are worth a call [note 83]
  constexpr int64_t kBlock = 64;     // runs [note 83]
  Plane& p = shape_;
  const int64_t sv = std::llabs(p.sv);
  const int64_t su = std::llabs(p.su);
  if (log_item_ >= 0 || item_ < kLine || item_ > kLongest) return false;
  if (p.nv < 2 || sv < item_ || sv > item_ + kLine || su < sv || su >= 2 * p.nv * sv) return false;
  if (p.nu * su < s_.machine().cache_bytes()) return false;
  if (p.nv * item_ >= kLongest && p.nv <= rows_cached(p.dv)) {
    turn();  // src from end to end
    at_once_ = p.nu;
  } else {
    at_once_ = kBlock;
  }
  return true;
}

void ItemPlanes::turn() noexcept {
  std::swap(shape_.nu, shape_.nv);
  std::swap(shape_.du, shape_.dv);
  std::swap(shape_.su, shape_.sv);
}

void ItemPlanes::choose_loops() noexcept {
  if (choose_for_runs()) return;
  constexpr int64_t kBytesAtOnce = 16384;  // of both sides [note 60]
  constexpr int64_t kWorthACall = 96;      // bytes, in runs [note 83]
  Plane& p = shape_;
  const int64_t few = log_item_ < 0 ? 1 + divide_up(kWorthACall, item_)
                                    : std::min<int64_t>(16, (kLine / 2) >> log_item_);
  // Lines of src hold items of several v. They are used either along v at once, or again and again
  // along u, while the first-level cache holds them.
  const int64_t sv = std::llabs(p.sv);
  const bool shared = share_lines(p);
  const int64_t cached = rows_cached(p.su);
  // A line of two or three items can be read again from the next cache at the same cost.
  const int64_t kept = cached * std::max<int64_t>(1, sv / 8);
  const int64_t streams_cached = std::min(kWorthIt, rows_cached(p.dv));
  bool along_v = shared && kept < p.nu && cached < streams_cached;
  const bool streams = reads_into_streams(s_, p);
  if (streams) along_v = true;
  // If rows of dst collide too, a line is written to as many of them at a time as it holds items;
  // not for items of 16 bytes.
  const bool crowded =
      shared && !along_v && cached < kWorthIt && kept < p.nu && 2 * sv <= kLine && item_ < 16;
  const bool in_kernels = log_item_ >= 0 && (crowded || (along_v && p.nv >= 2 && p.nv <= kFew));
  if (in_kernels) {
    along_v = true;
  } else if ((along_v ? p.nv : p.nu) < few) {
    along_v = p.nv > p.nu;
  }
  if (along_v) turn();
  if (in_kernels) {
    loop_ = Loop::kFewAtOnce;
    at_once_ = crowded ? std::min({kLine / sv, kFew, p.nu, streams_cached}) : p.nu;
    return;
  }
  // Parts of as many rows as fit into the cache sets are streams that the processor prefetches. No
  // parts if all ways of the cache together hold the rows: the last part would be short. [note 30]
  // [note 59]
  const bool parts = shared && !along_v && p.nu > 2 * cached;
  at_once_ = parts ? std::max<int64_t>(cached, kFirstLevelWays) : p.nu;
  constexpr int64_t kFollowed = 16;  // streams of src, by the processor itself [note 19]
  const bool many = shared && !along_v && p.nu > kFollowed && p.nu <= at_once_;
  if (many && s_.past_caches() && p.du == item_) rows_of_a_line_ = kLine / sv;
  const bool again = shared && along_v && !streams;  // lines of dst are written several times
  if (again || (p.nv > 1 && p.nv < few)) {
    const int64_t bytes =
        std::min<int64_t>(std::llabs(p.du), kLine) + std::min<int64_t>(std::llabs(p.su), kLine);
    at_once_ = kBytesAtOnce / std::max<int64_t>(bytes, 1);
    if (again) at_once_ = std::min(at_once_, rows_cached(p.du));
  }
}

ItemPlanes::Rows ItemPlanes::rows_of(int64_t along, int64_t across,
                                     int64_t bytes_ahead) const noexcept {
  constexpr int64_t kLongest = 4096;  // bytes [note 25]
  constexpr int64_t kFewest = 4;      // rows [note 25]
  constexpr int64_t kMost = 32;       // [note 25]
  const int64_t bytes = std::min(at_once_, shape_.nu) * std::llabs(along);
  const int64_t least = bytes_ahead > 0 ? 1 : 2;  // items in a line
  const bool together = along != 0 && least * std::llabs(along) < kLine && bytes <= kLongest;
  const int64_t ahead = together ? std::clamp(bytes_ahead / bytes, kFewest, kMost) : 0;
  return {along,
          across,
          bytes,
          std::min(ahead, shape_.nv),
          together && std::llabs(across) > bytes + 2 * kLine,
          together};
}

inline void ItemPlanes::Rows::ask(const char* row) const noexcept {
  fetch_lines(along < 0 ? row - bytes - along : row, bytes);
}

inline void ItemPlanes::Rows::ask_later(const char* row) const noexcept {
  ask(row + ahead * across);
}

void ItemPlanes::ask_for(const char* next_to, const char* to, const char* next_from,
                         const char* from) const noexcept {
  const auto ask = [&](const Rows& rows, const char* next, const char* now)
                       __attribute__((always_inline)) {
                         const int64_t plane = shape_.nv * std::llabs(rows.across) + rows.bytes;
                         if (!rows.together || std::llabs(next - now) <= plane + kLine) return;
                         for (int64_t v = 0; v < rows.ahead; ++v) rows.ask(next + v * rows.across);
                       };
  ask(written_, next_to, to);
  ask(read_, next_from, from);
}

inline void ItemPlanes::ask_streams(const char* src, int64_t n) const noexcept {
  constexpr int64_t kLinesAhead = 8;  // [note 19]
  src += shape_.sv < 0 ? -kLinesAhead * kLine : kLinesAhead * kLine;
  for (int64_t u = 0; u < n; ++u, src += shape_.su) __builtin_prefetch(src, 0, 2);
}

/// Processors with a larger cache copy long rows fastest by a string instruction; the C library
/// knows when to use it.
inline void ItemPlanes::copy_rows(char* dst, const char* src, int64_t n) const noexcept {
  constexpr int64_t kLong = 32 << 10;  // bytes [note 79]
  const Plane& p = shape_;
  if (item_ < kLong || !s_.machine().leaves_long_rows_to_libc()) {
    return kernels_.rows(dst, p.du, src, p.su, item_, n);
  }
  for (int64_t i = 0; i < n; ++i) {
    std::memcpy(dst + i * p.du, src + i * p.su, static_cast<size_t>(item_));
  }
}

const char* ItemPlanes::in_words() const noexcept {
  // not covered: no other loop
  switch (loop_) {
    case Loop::kFill: return "filled";
    case Loop::kEvery: return "columns with gaps in registers";
    case Loop::kBackwards: return "rows turned in registers";
    case Loop::kFewAtOnce: return "few items at once";
    case Loop::kRows: return "in loops";
  }
  return "?";  // not covered: no other loop
}

bool is_arranged(const Schedule& s) noexcept {
  return moves_items(s) && ItemPlanes::arranges(s.kernels(), s.item, plane_of(s));
}

void ItemPlanes::copy(char* to, const char* from) const noexcept {
  const Plane& p = shape_;
  switch (loop_) {
    case Loop::kFill: return kernels_.fill_rows(to, p.dv, from, p.sv, item_, p.nu, p.nv);
    case Loop::kEvery:
      return kernels_.transpose_every[log_item_](to + lowest_dst_, p.dv, from + lowest_src_, p.su,
                                                 every_, p.nu, p.nv);
    case Loop::kBackwards:
    case Loop::kFewAtOnce: return copy_groups(to, from);
    case Loop::kRows: return copy_loops(to, from);
  }
}

void ItemPlanes::copy_groups(char* to, const char* from) const noexcept {
  const Plane& p = shape_;
  const int64_t most = read_.apart ? read_.ahead : p.nv;
  for (int64_t u = 0;; u = std::min(u + at_once_, p.nu - at_once_)) {
    char* const dst = to + u * p.du;
    const char* const src = from + u * p.su;
    for (int64_t v = 0; v < p.nv; v += most) {
      const int64_t rows = std::min(most, p.nv - v);
      for (int64_t i = 0; v + 2 * most <= p.nv && i < rows; ++i) {
        read_.ask_later(src + (v + i) * p.sv);
      }
      char* const first = dst + v * p.dv;
      const char* const first_src = src + v * p.sv;
      if (loop_ == Loop::kBackwards) {
        kernels_.gather[log_item_](first, p.dv, first_src, p.su, p.sv, p.nu, rows);
      } else {
        kernels_.spread_few[log_item_](first, p.du, p.dv, first_src, p.su, p.sv, at_once_, rows);
      }
    }
    if (u + at_once_ >= p.nu) return;
  }
}

void ItemPlanes::copy_loops(char* to, const char* from) const noexcept {
  const Plane& p = shape_;
  const bool in_rows = log_item_ >= 0 && p.du == item_;
  const bool asks_ahead = written_.apart || read_.apart;
  for (int64_t u = 0; u < p.nu; u += at_once_) {
    const int64_t n = std::min(at_once_, p.nu - u);
    char* dst = to + u * p.du;
    const char* src = from + u * p.su;
    const int64_t together = rows_of_a_line_ > 0 ? rows_of_a_line_ : p.nv;
    const int64_t most = asks_ahead || log_item_ < 0 ? 1 : together;  // in one call
    for (int64_t v = 0, rows; v < p.nv; v += rows, dst += rows * p.dv, src += rows * p.sv) {
      rows = std::min(most, p.nv - v);
      if (rows_of_a_line_ > 0) ask_streams(src, n);
      if (written_.apart && v + written_.ahead < p.nv) written_.ask_later(dst);
      if (read_.apart && v + read_.ahead < p.nv) read_.ask_later(src);
      if (log_item_ < 0) {
        copy_rows(dst, src, n);
      } else if (in_rows) {
        kernels_.gather[log_item_](dst, p.dv, src, p.su, p.sv, n, rows);
      } else {
        kernels_.spread[log_item_](dst, p.du, p.dv, src, p.su, p.sv, n, rows);
      }
    }
  }
}

}  // namespace dlx
