#include "src/copy/bits.h"

#include <algorithm>
#include <cstring>

#include "src/copy/copy.h"
#include "src/copy/execute.h"
#include "src/copy/in_place.h"
#include "src/copy/kernels/packed.h"
#include "src/copy/plan/overlap.h"
#include "src/copy/schedule/loops.h"
#include "src/copy/threads/threads.h"

namespace dlx {
namespace {

/// Copies whole bytes of dst from a source that starts at bit `shift` > 0: eight bytes at a time,
/// from nine bytes of src.
inline void copy_shifted(unsigned char* dst, const unsigned char* src, int shift,
                         int64_t bytes) noexcept {
  int64_t k = 0;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  for (; k + 8 <= bytes; k += 8) {
    uint64_t word;
    std::memcpy(&word, src + k, 8);
    word = (word >> shift) | (static_cast<uint64_t>(src[k + 8]) << (64 - shift));
    std::memcpy(dst + k, &word, 8);
  }
#endif
  for (; k < bytes; ++k) dst[k] = static_cast<unsigned char>(load_bits(src + k, shift, 8));
}

void copy_run(unsigned char* dst, int dst_shift, const unsigned char* src, int src_shift,
              int64_t count) noexcept {
  while (count > 0 && (dst_shift != 0 || count < 8)) {  // up to a byte boundary, or a short run
    const int room = 8 - dst_shift;
    const int n = count < room ? static_cast<int>(count) : room;
    store_bits(dst, dst_shift, n, load_bits(src, src_shift, n));
    src_shift += n;
    src += src_shift / 8;
    src_shift %= 8;
    dst += (dst_shift + n) / 8;
    dst_shift = (dst_shift + n) % 8;
    count -= n;
  }
  const int64_t bytes = count / 8;
  if (bytes == 0) return;
  if (src_shift == 0) {
    std::memcpy(dst, src, static_cast<size_t>(bytes));
  } else {
    copy_shifted(dst, src, src_shift, bytes);
  }
  const int rest = static_cast<int>(count % 8);
  if (rest != 0) store_bits(dst + bytes, 0, rest, load_bits(src + bytes, src_shift, rest));
}

/// The values of a float format without infinities and NaNs, by pattern.
/// Source: OCP "Microscaling Formats (MX) 1.0".
struct FloatValues {
  constexpr FloatValues(int exponent_bits, int mantissa_bits) : of{} {
    const int sign = 1 << (exponent_bits + mantissa_bits);
    for (int pattern = 0; pattern < sign; ++pattern) {
      const int exponent = pattern >> mantissa_bits;
      const int mantissa = pattern & ((1 << mantissa_bits) - 1);
      const int fraction = exponent == 0 ? mantissa : mantissa | 1 << mantissa_bits;
      // 1 - bias is the exponent of the subnormal numbers.
      int scale = std::max(exponent, 1) - ((1 << (exponent_bits - 1)) - 1) - mantissa_bits;
      float value = static_cast<float>(fraction);
      for (; scale > 0; --scale) value *= 2;
      for (; scale < 0; ++scale) value /= 2;
      of[pattern] = value;
      of[pattern | sign] = -value;
    }
  }
  float of[64];
};

/// The values of two float4 in a byte.
struct PairValues {
  constexpr explicit PairValues(const FloatValues& values) : of{} {
    for (int byte = 0; byte < 256; ++byte) {
      of[byte][0] = values.of[byte & 15];
      of[byte][1] = values.of[byte >> 4];
    }
  }
  float of[256][2];
};

constexpr FloatValues kFloat6e2m3(2, 3);
constexpr FloatValues kFloat6e3m2(3, 2);
constexpr FloatValues kFloat4e2m1(2, 1);
constexpr PairValues kFloat4Pairs(kFloat4e2m1);

const float* values_of(const DLDataType& dtype) noexcept {
  switch (dtype.code) {
    case kDLFloat6_e2m3fn: return kFloat6e2m3.of;
    case kDLFloat6_e3m2fn: return kFloat6e3m2.of;
    case kDLFloat4_e2m1fn: return kFloat4e2m1.of;
  }
  return nullptr;
}

bool is_integer(const DLDataType& dtype) noexcept {
  return (dtype.code == kDLInt || dtype.code == kDLUInt) && dtype.bits <= 8;
}

LaneStore store_of(const DLDataType& dtype, bool padded) noexcept {
  return {dtype.bits, padded && dtype.bits < 8 ? 8 : dtype.bits};
}

/// Where a run of lanes begins, and the bits from lane to lane. The bit may be negative.
template <typename Byte>
struct RunOf {
  Byte* base;
  int64_t bit;
  int64_t step;

  Byte* byte(int64_t lane) const noexcept { return base + ((bit + lane * step) >> 3); }
  int shift(int64_t lane) const noexcept { return static_cast<int>((bit + lane * step) & 7); }
  RunOf from(int64_t lane) const noexcept { return {base, bit + lane * step, step}; }
};
using DstRun = RunOf<unsigned char>;
using SrcRun = RunOf<const unsigned char>;

constexpr int64_t kBlock = 4096;  ///< lanes of a run that are a byte each on their way at once
constexpr int64_t kTall = 128;    ///< lanes of a tile along src
constexpr int64_t kWide = 128;    ///< lanes of a tile along dst

/// Moves lanes by a conversion. On the way each is a byte, as it would be in a dst of bytes.
class Mover {
 public:
  explicit Mover(const Conversion& conversion) noexcept
      : c_(conversion),
        whole_(c_.dst.pitch == 8 && c_.values == nullptr),
        cut_(std::min(c_.dst.bits, c_.src.bits)),
        cuts_(cut_ < 8 && c_.values == nullptr && (whole_ || c_.dst.bits > c_.src.bits)) {}

  void run(const DstRun& dst, const SrcRun& src, int64_t count) const noexcept {
    if (c_.values == kFloat4e2m1.of && src.step == 4 && dst.step == 32) {
      return run_pairs(dst, src, count);
    }
    const bool writes_bytes = whole_ && dst.step == 8;
    const bool takes_bytes = c_.src.pitch == 8 && src.step == 8 && !cuts_;
    unsigned char block[kBlock];
    for (int64_t first = 0; first < count; first += kBlock) {
      const int64_t n = std::min(kBlock, count - first);
      const DstRun to = dst.from(first);
      const SrcRun from = src.from(first);
      if (takes_bytes) {
        write(to, from.byte(0), n);
        continue;
      }
      unsigned char* const bytes = writes_bytes ? to.byte(0) : block;
      read(bytes, from, n);
      if (!writes_bytes) write(to, bytes, n);
    }
  }

  void read(unsigned char* bytes, const SrcRun& src, int64_t count) const noexcept {
    const bool side_by_side = src.step == c_.src.pitch;
    if (c_.src.pitch < 8) {
      const unsigned sign = c_.has_sign ? 1u << (c_.src.bits - 1) : 0;
      if (side_by_side) {
        unpack(bytes, src.byte(0), src.shift(0), count, c_.src.bits, c_.has_sign);
      } else {
        for (int64_t i = 0; i < count; ++i) {
          const unsigned value = load_bits(src.byte(i), src.shift(i), c_.src.bits);
          bytes[i] = static_cast<unsigned char>((value ^ sign) - sign);
        }
      }
      if (whole_ && c_.dst.bits < c_.src.bits) extend(bytes, bytes, count, cut_, false);
      return;
    }
    const unsigned char* from = src.byte(0);
    if (!side_by_side) {
      for (int64_t i = 0; i < count; ++i) bytes[i] = *src.byte(i);
      from = bytes;
    }
    if (cuts_) {
      extend(bytes, from, count, cut_, c_.has_sign);
    } else if (side_by_side) {
      std::memcpy(bytes, from, static_cast<size_t>(count));
    }
  }

  void write(const DstRun& dst, const unsigned char* bytes, int64_t count) const noexcept {
    if (c_.values != nullptr) {
      write_values(dst.byte(0), dst.step / 8, bytes, count);
    } else if (dst.step == c_.dst.pitch && whole_) {
      std::memcpy(dst.byte(0), bytes, static_cast<size_t>(count));
    } else if (dst.step == c_.dst.pitch) {
      pack(dst.byte(0), dst.shift(0), bytes, count, c_.dst.bits);
    } else if (whole_) {
      for (int64_t i = 0; i < count; ++i) *dst.byte(i) = bytes[i];
    } else {
      for (int64_t i = 0; i < count; ++i) {
        store_bits(dst.byte(i), dst.shift(i), c_.dst.bits, bytes[i]);
      }
    }
  }

  /// Runs of src lie along one axis, runs of dst along another: tiles are transposed as bytes.
  void transpose(const DstRun& dst, int64_t dst_across, const SrcRun& src, int64_t src_across,
                 int64_t rows, int64_t columns) const noexcept {
    unsigned char read_bytes[kWide * kTall];
    unsigned char bytes[kTall * kWide];
    for (int64_t row = 0; row < rows; row += kTall) {
      const int64_t tall = std::min(kTall, rows - row);
      for (int64_t column = 0; column < columns; column += kWide) {
        const int64_t wide = std::min(kWide, columns - column);
        for (int64_t i = 0; i < wide; ++i) {
          const int64_t across = (column + i) * src_across;
          read(read_bytes + i * kTall, SrcRun{src.base, src.bit + across, src.step}.from(row),
               tall);
        }
        const auto to = [&](int64_t i) {
          return DstRun{dst.base, dst.bit + (row + i) * dst_across, dst.step}.from(column);
        };
        // Bytes go to dst at once.
        unsigned char* const target = whole_ ? to(0).byte(0) : bytes;
        const int64_t target_step = whole_ ? dst_across / 8 : kWide;
        const CopyAxis axes[] = {{tall, target_step, 1}, {wide, 1, kTall}};
        execute(CopyPlan(reinterpret_cast<char*>(target), reinterpret_cast<char*>(read_bytes), 1,
                         axes, 2));
        for (int64_t i = 0; !whole_ && i < tall; ++i) write(to(i), bytes + i * kWide, wide);
      }
    }
  }

 private:
  void write_values(unsigned char* dst, int64_t step, const unsigned char* bytes,
                    int64_t count) const noexcept {
    const unsigned mask = (1u << c_.src.bits) - 1;
    const auto value = [&](int64_t i) { return c_.values[bytes[i] & mask]; };
    int64_t i = 0;
    for (; step == sizeof(float) && count - i >= 4; i += 4) {
      const float four[] = {value(i), value(i + 1), value(i + 2), value(i + 3)};
      std::memcpy(dst + 4 * i, four, sizeof four);
    }
    for (; i < count; ++i) {
      const float one = value(i);
      std::memcpy(dst + i * step, &one, sizeof one);
    }
  }

  /// Packed float4 side by side into float32 side by side: a byte of src gives eight of dst.
  void run_pairs(const DstRun& dst, const SrcRun& src, int64_t count) const noexcept {
    const unsigned char* from = src.byte(0);
    unsigned char* to = dst.byte(0);
    if (src.shift(0) != 0) {
      std::memcpy(to, &kFloat4Pairs.of[*from++][1], 4);
      to += 4;
      --count;
    }
    for (; count >= 2; count -= 2, to += 8) std::memcpy(to, kFloat4Pairs.of[*from++], 8);
    if (count > 0) std::memcpy(to, kFloat4Pairs.of[*from], 4);
  }

  const Conversion& c_;
  bool whole_;  ///< a lane of dst is a byte
  int cut_;     ///< bits that a lane keeps
  bool cuts_;   ///< the bits above those have to be filled
};

/// The axis, other than the last, along which the lanes of src lie side by side; -1: none that
/// makes tiles worth their while.
int axis_of_runs(const CopyPlan& plan, const Conversion& c) noexcept {
  constexpr int64_t kShortest = 16;
  const int last = plan.ndim() - 1;
  if (last < 1 || plan.axis(last).src == c.src.pitch || plan.axis(last).dst != c.dst.pitch ||
      plan.axis(last).extent < kShortest) {
    return -1;
  }
  for (int k = last - 1; k >= 0; --k) {
    if (plan.axis(k).src == c.src.pitch && plan.axis(k).extent >= kShortest) return k;
  }
  return -1;
}

void run_part(const CopyPlan& plan, const Conversion& c) noexcept {
  const Mover mover(c);
  auto* const dst = reinterpret_cast<unsigned char*>(plan.dst());
  const auto* const src = reinterpret_cast<const unsigned char*>(plan.src());
  const int across = plan.item() == 1 ? axis_of_runs(plan, c) : -1;
  const bool in_item = plan.item() > 1 || plan.ndim() == 0;
  const int last = plan.ndim() - 1;
  const CopyAxis run = in_item ? CopyAxis{plan.item(), c.dst.pitch, c.src.pitch} : plan.axis(last);
  Loops places;
  for (int k = in_item ? last : last - 1; k >= 0; --k) {
    if (k != across) places.add(plan.axis(k));
  }
  places.each(plan.dst_bit(), plan.src_bit(), [&](int64_t to_bit, int64_t from_bit) {
    const DstRun to{dst, to_bit, run.dst};
    if (across < 0) return mover.run(to, {src, from_bit, run.src}, run.extent);
    const CopyAxis& other = plan.axis(across);
    mover.transpose(to, other.dst, {src, from_bit, other.src}, run.src, other.extent, run.extent);
  });
}

/// Parts of a plan along its first axis, which threads convert side by side.
struct Parts {
  const CopyPlan& plan;
  const Conversion& conversion;
  int64_t extent;  ///< of a part
};

void run_one_part(void* data, int64_t index) noexcept {
  const Parts& parts = *static_cast<const Parts*>(data);
  const int64_t first = index * parts.extent;
  run_part(parts.plan.part(0, first, std::min(parts.extent, parts.plan.axis(0).extent - first)),
           parts.conversion);
}

/// Whether the plan can be cut after every eighth step of its first axis: then two parts never write
/// to the same byte.
bool can_be_cut(const CopyPlan& plan, const Conversion& c) noexcept {
  if (plan.ndim() == 0 || plan.item() > 1) return false;
  int64_t reach = c.dst.pitch;
  for (int k = 1; k < plan.ndim(); ++k) reach += (plan.axis(k).extent - 1) * plan.axis(k).dst;
  return c.dst.pitch >= 8 || (plan.dst_bit() % 8 == 0 && reach <= plan.axis(0).dst);
}

void run_all(const CopyPlan& plan, const Conversion& c) noexcept {
  const int64_t bytes = plan.size() / 8 * std::max(c.dst.pitch, c.src.pitch);
  const int64_t threads = can_be_cut(plan, c) ? threads_of(bytes, machine()) : 0;
  // A byte of lanes of both operands would be written while another thread reads it.
  if (threads == 0 || operands_overlap(plan, c.dst.pitch + 7, c.src.pitch + 7)) {
    return run_part(plan, c);
  }
  const int64_t wanted = divide_up(plan.axis(0).extent, kPiecesPerThread * threads);
  Parts parts = {plan, c, divide_up(wanted, 8) * 8};
  parallel_for(divide_up(plan.axis(0).extent, parts.extent), run_one_part, &parts, threads);
}

}  // namespace

void copy_bits(const CopyPlan& plan) noexcept {
  auto* const dst = reinterpret_cast<unsigned char*>(plan.dst());
  const auto* const src = reinterpret_cast<const unsigned char*>(plan.src());
  Loops places;
  for (int k = plan.ndim() - 1; k >= 0; --k) places.add(plan.axis(k));
  places.each(plan.dst_bit(), plan.src_bit(), [&](int64_t to, int64_t from) {
    // Arithmetic shifts: a bit position may be negative where axes run backwards.
    copy_run(dst + (to >> 3), static_cast<int>(to & 7), src + (from >> 3),
             static_cast<int>(from & 7), plan.item());
  });
}

bool find_conversion(const DLDataType& dst, bool dst_padded, const DLDataType& src, bool src_padded,
                     Conversion* out) noexcept {
  if (src.bits >= 8 ? dst.bits >= 8 : src.bits == 0) return false;
  if (dst.bits == 0 || dst.lanes != src.lanes) return false;
  *out = {store_of(dst, dst_padded), store_of(src, src_padded), false, nullptr};
  if (dst.code == src.code && dst.bits == src.bits) return out->dst.pitch != out->src.pitch;
  if (is_integer(dst) && is_integer(src)) {
    out->has_sign = src.code == kDLInt && dst.bits > src.bits;
    return true;
  }
  out->values = dst.code == kDLFloat && dst.bits == 32 ? values_of(src) : nullptr;
  return out->values != nullptr;
}

void convert(const CopyPlan& plan, const Conversion& conversion) {
  const Conversion& c = conversion;
  if (!operands_overlap(plan, plan.item() * c.dst.pitch, plan.item() * c.src.pitch)) {
    return run_all(plan, c);
  }
  const Temporary buffer = allocate_temporary(plan.size());
  const LaneStore between{c.src.bits, 8};
  run_all(plan.to_compact(buffer.get(), 8 * plan.item()), {between, c.src, false, nullptr});
  run_all(plan.from_compact(buffer.get(), 8 * plan.item()), {c.dst, between, c.has_sign, c.values});
}

}  // namespace dlx
