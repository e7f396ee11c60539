#ifndef DLX_SRC_COPY_BITS_H_
#define DLX_SRC_COPY_BITS_H_

#include "dlx/dlpack.h"
#include "src/copy/plan/plan.h"

namespace dlx {

// Elements of fewer than 8 bits.

/// Runs a plan that counts bits and whose operands do not overlap. Bits of dst beside its elements
/// keep their values.
void copy_bits(const CopyPlan& plan) noexcept;

/// How one side of a conversion stores a lane of an element.
struct LaneStore {
  int bits;   ///< of the value
  int pitch;  ///< bits from one lane to the next: `bits` if packed, 8 if padded
};

/// How the lanes of a tensor become those of another one that stores them in another way: in a byte
/// each instead of packed, or with more or fewer bits. One side, at least, has fewer than 8 bits.
struct Conversion {
  LaneStore dst;
  LaneStore src;
  bool has_sign;        ///< a wider lane of dst repeats the highest bit of src
  const float* values;  ///< a float32 for each pattern of src; NULL for integers and for copies

  /// The unit of the plan is a bit, and its item counts lanes.
  CopyItem item(int lanes) const noexcept { return {1, dst.pitch, src.pitch, lanes, true}; }
};

/// Finds the conversion; false if there is none, or if elements can be copied as they are. There is
/// one for a dtype that is packed on one side and padded on the other, for integers of at most 8
/// bits, of which one has fewer, and for float4 and float6 into float32.
bool find_conversion(const DLDataType& dst, bool dst_padded, const DLDataType& src, bool src_padded,
                     Conversion* out) noexcept;

/// Runs a plan that was made with item(). The operands may overlap. Throws Error(OUT_OF_MEMORY)
/// before a byte is written.
void convert(const CopyPlan& plan, const Conversion& conversion);

}  // namespace dlx

#endif  // DLX_SRC_COPY_BITS_H_
