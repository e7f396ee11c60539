#ifndef DLX_SRC_COPY_PLAN_PLAN_H_
#define DLX_SRC_COPY_PLAN_PLAN_H_

#include <cstdint>

#include "dlx/dlpack.h"

namespace dlx {

/// a / b for positive numbers, rounded up.
inline int64_t divide_up(int64_t a, int64_t b) noexcept { return (a + b - 1) / b; }

/// Largest chunk size <= `wanted` that splits `extent` evenly.
inline int64_t even_part(int64_t extent, int64_t wanted) noexcept {
  return wanted >= extent ? extent : divide_up(extent, divide_up(extent, wanted));
}

/// One loop of a copy: how often it runs, and how far each side moves each time.
struct CopyAxis {
  int64_t extent;
  int64_t dst;
  int64_t src;
};

/// Stands for an axis that does not exist.
inline constexpr CopyAxis kNoAxis = {1, 0, 0};

/// An item, in units: bytes or, if elements do not fill whole bytes, bits.
struct CopyItem {
  int64_t width;      ///< units copied; of a conversion 1, for a lane
  int64_t dst_pitch;  ///< units from one to the next in a compact dst
  int64_t src_pitch;  ///< the same in src; differs if only one side is padded
  int64_t lanes;      ///< lanes per element: more than 1 only if the pitches differ
  bool in_bits;       ///< the unit is a bit
};

/// One loop nest, ready to run: how to copy a strided tensor into another.
///
/// The constructor simplifies the nest for the kernels: it drops axes of extent 1,
/// makes destination steps positive, sorts axes by destination step (the last axis has the
/// smallest), fuses neighbours that step evenly, and takes a compact last axis into the item.
///
/// Invariants unless empty(): every extent is at least 2, every destination step is positive, no
/// two indices share a unit of dst. Steps count units, never elements.
///
/// Cheap to copy, never allocates.
class CopyPlan {
 public:
  /// Extents are at least 2 and their product fits in 63 bits; one more axis for lanes.
  static constexpr int kMaxAxes = 64;

  /// Both sides are checked descriptions (check_description), so that sizes and addresses fit in 63
  /// bits. Throws Error(INVALID_ARGUMENT): shapes differ, dst repeats an element.
  CopyPlan(const DLTensor& dst, const DLTensor& src, const CopyItem& item);

  /// The nest of these axes, in any order, with items of `item` bytes. Items must not overlap in
  /// dst.
  CopyPlan(char* dst, const char* src, int64_t item, const CopyAxis* axes, int ndim) noexcept;

  bool empty() const noexcept { return empty_; }
  int ndim() const noexcept { return ndim_; }
  const CopyAxis& axis(int k) const noexcept { return axes_[k]; }

  /// Units of an item: an element, or a compact run of elements.
  int64_t item() const noexcept { return item_; }

  /// The first element of either side: an address, and a number of bits where the unit is a bit.
  char* dst() const noexcept { return dst_; }
  const char* src() const noexcept { return src_; }
  int64_t dst_bit() const noexcept { return dst_bit_; }
  int64_t src_bit() const noexcept { return src_bit_; }

  /// Whether the unit is a bit.
  bool in_bits() const noexcept { return in_bits_; }

  /// Units written.
  int64_t size() const noexcept;

  /// Turns bits into bytes if every step, the item and the first element are whole bytes. Returns
  /// whether it did.
  bool count_bytes() noexcept;

  /// The part of the nest that takes `extent` >= 1 steps of one axis, from `first` on.
  CopyPlan part(int axis, int64_t first, int64_t extent) const noexcept;

  /// The part of the nest inside a box without empty extents.
  CopyPlan box(const int64_t* first, const int64_t* extent) const noexcept;

  /// The same nest with both sides moved by that many bytes, back or forth.
  CopyPlan moved(int64_t dst_bytes, int64_t src_bytes) const noexcept;

  /// The part of every item that starts at unit `first`.
  CopyPlan part_of_item(int64_t first, int64_t units) const noexcept;

  /// The same nest with one side replaced by compact memory, in the order of the nest. An item takes
  /// `step` units there, as many as it has unless said otherwise.
  CopyPlan to_compact(char* buffer) const noexcept { return to_compact(buffer, item_); }
  CopyPlan from_compact(const char* buffer) const noexcept { return from_compact(buffer, item_); }
  CopyPlan to_compact(char* buffer, int64_t step) const noexcept;
  CopyPlan from_compact(const char* buffer, int64_t step) const noexcept;

 private:
  void add_axis(int64_t extent, int64_t dst_step, int64_t src_step) noexcept;
  void fuse() noexcept;

  int ndim_ = 0;
  bool empty_ = false;
  bool in_bits_ = false;
  int64_t item_ = 0;
  char* dst_ = nullptr;
  const char* src_ = nullptr;
  int64_t dst_bit_ = 0;
  int64_t src_bit_ = 0;
  CopyAxis axes_[kMaxAxes];
};

}  // namespace dlx

#endif  // DLX_SRC_COPY_PLAN_PLAN_H_
