#ifndef DLX_SRC_COPY_TILE_IO_H_
#define DLX_SRC_COPY_TILE_IO_H_

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "src/copy/kernels.h"
#include "src/copy/schedule.h"
#include "src/copy/tiles.h"

namespace dlx {

constexpr int64_t kLineBytes = 64;

/// One box of the nest.
struct Tile {
  char* dst;
  const char* src;
  int64_t run_bytes;
  bool goes_on;    // its runs continue those of the tile before
  bool continued;  // the tile after continues its runs
  int64_t extent[CopyPlan::kMaxAxes];
};

/// Asks for the source lines of a tile, a few at a time.
class Fetcher {
 public:
  Fetcher(const Schedule& s, const Tiling& tiling) noexcept : s_(s), tiling_(tiling) {
    int64_t stretch = s.item;
    for (int i = 0; i < s.ndim; ++i) {
      const CopyAxis& axis = s.axes[tiling.by_source[i]];
      if (std::llabs(axis.src) > stretch + kLineBytes) break;
      stretch += (axis.extent - 1) * std::llabs(axis.src);
    }
    // The processor finds long stretches by itself, and better, if tiles follow them.
    const CopyAxis& u = s.axes[s.u];
    const bool turns = u.src < 0 && -u.src * u.extent < kLongStretch * 4;
    sequential_ = stretch >= kLongStretch && !s.transposes() && !turns;
  }

  void start(const Tile& tile) noexcept {
    tile_ = &tile;
    span_ = s_.item;
    const char* lowest = tile.src;
    loops_ = 0;
    for (int i = 0; i < s_.ndim; ++i) {  // steps that leave no line out make one stretch
      const int k = tiling_.by_source[i];
      const int64_t step = s_.axes[k].src;
      if (step == 0 || tile.extent[k] == 1) continue;
      const int64_t reach = (tile.extent[k] - 1) * step;
      if (loops_ == 0 && std::llabs(step) <= span_ + kLineBytes) {
        span_ += std::llabs(reach);
        if (reach < 0) lowest += reach;
      } else {
        loop_[loops_] = k;
        index_[loops_++] = 0;
      }
    }
    row_ = lowest;
    start_row();
    done_ = sequential_;
  }

  void stop() noexcept { done_ = true; }

  void fetch(int64_t lines) noexcept {
    while (!done_ && lines > 0) {
      for (; lines > 0 && line_ < end_; --lines, line_ += kLineBytes)
        __builtin_prefetch(line_, 0, 2);
      if (line_ >= end_) next_row();
    }
  }

 private:
  void start_row() noexcept {
    line_ = reinterpret_cast<const char*>(reinterpret_cast<uintptr_t>(row_) & ~uintptr_t{63});
    end_ = row_ + span_;
  }

  void next_row() noexcept {
    for (int i = 0; i < loops_; ++i) {
      const int k = loop_[i];
      row_ += s_.axes[k].src;
      if (++index_[i] < tile_->extent[k]) return start_row();
      row_ -= s_.axes[k].src * tile_->extent[k];
      index_[i] = 0;
    }
    done_ = true;
  }

  static constexpr int64_t kLongStretch = 16 << 10;

  const Schedule& s_;
  const Tiling& tiling_;
  const Tile* tile_ = nullptr;
  bool sequential_ = false;
  bool done_ = true;
  int64_t span_ = 0;
  const char* row_ = nullptr;
  const char* line_ = nullptr;
  const char* end_ = nullptr;
  int loops_ = 0;
  int loop_[CopyPlan::kMaxAxes];
  int64_t index_[CopyPlan::kMaxAxes] = {};
};

/// Writes the runs of a tile out of its buffer, a few lines at a time.
class Writer {
 public:
  Writer(const Schedule& s, const Tiling& tiling, const Kernels& kernels) noexcept
      : s_(s), tiling_(tiling), kernels_(kernels) {}

  /// `next` is the buffer that the tile after this one uses.
  void start(const Tile& tile, char* buffer, char* next) noexcept {
    tile_ = &tile;
    for (int k = 0; k < tiling_.run_axis; ++k) index_[k] = 0;
    dst_ = tile.dst;
    run_ = buffer + Tiling::kFront;
    to_next_ = next - buffer;
    done_ = false;
    start_run();
  }

  void write(int64_t lines) noexcept {
    while (!done_ && lines > 0) {
      const int64_t n = lines < lines_ ? lines : lines_;
      kernels_.stream(to_, from_, n);
      to_ += n * kLineBytes;
      from_ += n * kLineBytes;
      lines_ -= n;
      lines -= n;
      if (lines_ == 0) {
        end_run();
        next_run();
      }
    }
  }

 private:
  void start_run() noexcept {
    to_ = dst_;
    from_ = run_;
    int64_t bytes = tile_->run_bytes;
    const int64_t inside = static_cast<int64_t>(reinterpret_cast<uintptr_t>(dst_) % kLineBytes);
    if (inside != 0 && (!tile_->goes_on)) {
      const int64_t room = kLineBytes - inside;
      const int64_t head = room < bytes ? room : bytes;
      std::memcpy(to_, from_, static_cast<size_t>(head));
      to_ += head;
      from_ += head;
      bytes -= head;
    } else {  // the line that the tile before began
      to_ -= inside;
      from_ -= inside;
      bytes += inside;
    }
    lines_ = bytes / kLineBytes;
    tail_ = bytes % kLineBytes;
  }

  void end_run() noexcept {
    if (tail_ == 0) return;
    if (!tile_->continued) {
      std::memcpy(to_, from_, static_cast<size_t>(tail_));
    } else {
      std::memmove(run_ + to_next_ - tail_, from_, static_cast<size_t>(tail_));
    }
  }

  void next_run() noexcept {
    for (int k = tiling_.run_axis - 1; k >= 0; --k) {
      dst_ += s_.axes[k].dst;
      run_ += tiling_.step[k];
      if (++index_[k] < tile_->extent[k]) return start_run();
      dst_ -= s_.axes[k].dst * tile_->extent[k];
      run_ -= tiling_.step[k] * tile_->extent[k];
      index_[k] = 0;
    }
    done_ = true;
  }

  const Schedule& s_;
  const Tiling& tiling_;
  const Kernels& kernels_;
  const Tile* tile_ = nullptr;
  bool done_ = true;
  char* dst_ = nullptr;  // start of the run, in dst and in the buffer
  char* run_ = nullptr;
  int64_t to_next_ = 0;
  char* to_ = nullptr;  // next line
  const char* from_ = nullptr;
  int64_t lines_ = 0;
  int64_t tail_ = 0;
  int64_t index_[CopyPlan::kMaxAxes] = {};
};

}  // namespace dlx

#endif  // DLX_SRC_COPY_TILE_IO_H_
