#ifndef DLX_SRC_COPY_WAYS_BUFFERS_H_
#define DLX_SRC_COPY_WAYS_BUFFERS_H_

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

#include "src/copy/kernels/kernels.h"
#include "src/copy/ways/tile_io.h"
#include "src/copy/ways/tiling.h"

namespace dlx {

/// The scratch memory of one thread. A few are kept for the whole process, because fresh pages
/// would cost more than many copies.
class Buffers {
 public:
  static constexpr int64_t kFirstBytes = 2 * Tiling::kBufferBytes;

  /// Offsets of rows in src, and of columns in dst or in a buffer.
  struct Offsets {
    int64_t row[Tiling::kOffsets];
    int64_t column[Tiling::kOffsets];
  };

  Buffers() noexcept;
  ~Buffers();
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;

  bool exist() const noexcept { return data_ != nullptr; }

  /// Two buffers: one of kFirstBytes and one of Tiling::kBufferBytes.
  char* operator[](int which) const noexcept { return data_ + which * kFirstBytes; }
  /// Two of Block::kBytes.
  char* rows(int which) const noexcept {
    return data_ + kFirstBytes + Tiling::kBufferBytes + which * Block::kBytes;
  }
  /// Shapes::kMax of them.
  TileLists* lists() const noexcept { return reinterpret_cast<TileLists*>(rows(2)); }
  Offsets* offsets() const noexcept { return reinterpret_cast<Offsets*>(lists() + Shapes::kMax); }

  /// The plan that the last suits() made for its run().
  template <class Plan>
  Plan& plan() const noexcept {
    return *std::launder(reinterpret_cast<Plan*>(offsets() + 1));
  }
  template <class Plan, class... Arguments>
  Plan& make_plan(Arguments&&... arguments) const noexcept {
    static_assert(sizeof(Plan) <= kPlanBytes && std::is_trivially_destructible_v<Plan>);
    return *new (offsets() + 1) Plan{std::forward<Arguments>(arguments)...};
  }
  /// Room for a StripPlan.
  void* strip_plan() const noexcept { return reinterpret_cast<char*>(offsets() + 1) + kPlanBytes; }
  static constexpr size_t kPlanBytes = 32 << 10;

 private:
  char* data_ = nullptr;
};

}  // namespace dlx

#endif  // DLX_SRC_COPY_WAYS_BUFFERS_H_
