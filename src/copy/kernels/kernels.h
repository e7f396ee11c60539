#ifndef DLX_SRC_COPY_KERNELS_KERNELS_H_
#define DLX_SRC_COPY_KERNELS_KERNELS_H_

#include <cstdint>

#include "src/copy/kernels/lines.h"
#include "src/copy/plan/plan.h"

namespace dlx {

/// The source byte of each of 16 bytes; listed twice, for registers of 32 bytes.
struct Pick {
  uint8_t from[32];
};

/// A permutation of bytes inside short cells. Cells of dst are compact and have `dst` bytes; cells
/// of src are `src` bytes apart (of any sign). Byte j of a dst cell is the byte at offset `from[j]`
/// of its src cell. Reversals, channel swaps and every second item are such permutations.
struct Cells {
  int32_t dst;       ///< bytes of a dst cell; at most 8
  int32_t src;       ///< bytes from src cell to src cell; at most 16 in either direction
  int32_t at_once;   ///< cells that 16 source bytes hold; at least 2
  int32_t lowest;    ///< lowest offset that `at_once` cells read, relative to the first cell; <= 0
  int32_t edge_src;  ///< further cells that a load of 16 bytes may reach
  int32_t edge_dst;  ///< further cells that a store of 16 bytes may reach
  int8_t from[8];    ///< offset of each byte of a cell
  int8_t every;      ///< 2 or 3 if cells are every second or third item, unpermuted; else 0
  Pick pick;         ///< picks from the 16 bytes at `lowest`, lowest bytes first
  Pick pick_up;      ///< the same, moved up to end with byte 15

  /// Whether the last cell of a row of src and the next row lie on the same page or on neighbouring
  /// pages, so that loads may read the bytes between them.
  bool may_read_on(int64_t sv, int64_t nu) const noexcept {
    constexpr int64_t kPage = 4096;
    return sv > 0 && sv - (nu - 1) * src < kPage;
  }
};

/// Source lines that a kernel prefetches, a few at a time beside its own work. Listed once for all
/// tiles of one shape, because computation between two misses delays the second miss. [note 40]
struct LinesToFetch {
  const char* tile;
  const int64_t* offset;  ///< from the tile to a byte of each line
  const int64_t* end;
  int64_t a_round;  ///< lines to prefetch beside 512 bytes of own work
};

/// Runs of dst that a kernel streams, a few at a time beside its own work. No state is stored
/// between two streamed lines, because the store would wait for them. [note 38]
struct LinesToWrite {
  struct Run {
    int64_t dst;    ///< bytes from the tile's start to the run's
    int32_t from;   ///< bytes from the buffer's start to the run's
    int32_t bytes;  ///< at most kBytes
    int32_t next;   ///< end of this run's partial last line in the next tile's buffer; -1: the run
                    ///< continues in this buffer
    bool first;     ///< not the continuation of a longer run
  };
  static constexpr int64_t kBytes = 512;

  char* tile;  ///< in dst
  char* buffer;
  const Run* run;
  const Run* end;
  int64_t a_round;  ///< runs to write beside 512 bytes of own work
  int64_t to_next;  ///< bytes to the buffer of the next tile, which takes partial lines
  /// Writes the next run. NULL if all runs continue those of the tile before and are continued by
  /// the tile after.
  void (*write_next)(LinesToWrite* self);
};

/// The source bytes of each line of dst, until the pattern repeats further on in src. A block of 16
/// bytes takes bytes from up to four windows of 16 bytes.
struct Pattern {
  static constexpr int kLines = 32;   ///< most lines
  static constexpr int kWindows = 4;  ///< most windows of a block
  static constexpr int kFetches = 8;  ///< most prefetches beside a line

  /// The windows of a line, kWindows for each block, two blocks interleaved: the first window of
  /// one, the first of the other, the second of one ... All in lines of its own. [note 67]
  struct Line {
    static constexpr int kMost = kLine / 16 * kWindows;
    /// The byte of a window that each byte of its block takes; 128: none.
    alignas(kLine) uint8_t pick[16 * kMost];
    int64_t offset[kMost];    ///< where windows begin
    int64_t fetch[kFetches];  ///< lines of src to prefetch
  };

  int64_t lines;  ///< lines until the pattern repeats
  int64_t src;    ///< bytes of src until the pattern repeats
  int windows;    ///< windows of each block
  int fetches;    ///< prefetches beside each line
  Line line[kLines];
};

/// A part of a transposition whose rows are copied together first: each source line is read once
/// and whole, even if rows share cache sets.
struct Block {
  static constexpr int64_t kMaxRows = 64;
  static constexpr int64_t kRowBytes = 64;  ///< most bytes of a row
  static constexpr int64_t kBytes = kMaxRows * kRowBytes;

  char* dst;
  int64_t dv;
  const char* src;
  const int64_t* row;  ///< offset of each row in src
  int64_t nu;          ///< 0: nothing to do
  int64_t nv;
  char* rows;  ///< kBytes of room for the rows, aligned to a line
};

/// One line of each of many rows of src.
struct StripSource {
  const char* src;    ///< the first column; NULL: no strip
  int64_t last_byte;  ///< offset of the last byte of a row
  bool both;          ///< the strip before has not prefetched the lines in which rows begin
};

/// The lines of a strip, to be transposed into columns.
struct Strip {
  static constexpr int64_t kFront = 64;  ///< bytes of room before a column in the buffer
  static constexpr int64_t kBuffer = 64 * 400;

  /// Rows of items of 8 and 16 bytes that are read side by side [note 12]. Rows of a chunk of a
  /// wide strip, and up to kTogether more in the last chunk. Pitch of its columns in the buffer.
  static constexpr int kTogether = 16;
  static constexpr int64_t wide_rows(int64_t item) { return 512 / item; }
  static constexpr int64_t wide_pitch(int64_t item) {
    return kFront + (wide_rows(item) + kTogether) * item;
  }

  char* dst;              ///< the first row
  const int64_t* column;  ///< offset of each of nv columns in dst
  const int64_t* row;     ///< offset of each of nu rows in src
  char* room;             ///< room for the lines of 64 rows
  char* buffer;           ///< room for the columns of a chunk: kBuffer bytes, or nv * wide_pitch()
  int64_t item;           ///< bytes
  int64_t nu;             ///< at least 64 / item
  int64_t nv;             ///< 16 / W to 64 / item; also more if `even`, and in wide strips
  int64_t ahead;          ///< rows from a row to the one prefetched; at most nu, whole lines of dst
  bool staged;            ///< rows collide in the cache: copy the rows of a dst line together first
  bool even;              ///< columns all begin at the same offset in a line, a multiple of an item
  bool cached;            ///< dst stays in the caches: only for transpose_thirds_strip
  StripSource source;
  StripSource next;  ///< the strip to prefetch beside this one
};

/// A part of the columns of a strip in the buffer, and their places in dst.
struct Chunk {
  char* dst;
  const int64_t* column;
  int64_t nv;
  int64_t bytes;       ///< bytes of a column
  int64_t pitch;       ///< bytes from column to column in the buffer
  const char* buffer;  ///< before each column are kFront bytes for its partial line
  char* kept;          ///< takes the last, partial line of each column for the next chunk
  int64_t kept_pitch;
  bool begins;          ///< the first chunk of the columns
  bool ends;            ///< the last chunk
  bool cached = false;  ///< dst stays in the caches: nothing is kept
};

/// The inner loops for one instruction set, by item size: index k is for items of 2^k bytes.
///
/// Steps count bytes and may be negative unless stated otherwise. A kernel writes only the bytes of
/// its items. It reads at most 16 bytes from the start of an item of src, and only pages that hold
/// an item of src. [note 1]
struct Kernels {
  typedef void Transpose(char* dst, int64_t dv, const char* src, int64_t su, int64_t nu,
                         int64_t nv);
  typedef void TransposeFolded(char* dst, const int64_t* column, const char* src,
                               const int64_t* row, int64_t nu, int64_t nv);
  typedef void Regroup(char* dst, int64_t dv, const char* src, int64_t su, int64_t nu, int64_t nv,
                       const Pick& pick);

  const char* name;
  int64_t widest;  ///< bytes of a register

  /// dst[v * dv + u * W] = src[row[u] + v * W] in two steps, for two blocks at once: copies the
  /// rows of `in` together, and transposes the rows of `out`, which the call before copied.
  /// Prefetches and writes as many lines beside that, so that memory is used evenly. NULL for items
  /// that do not gain.
  void (*weave[5])(const Block& in, const Block& out, LinesToFetch& fetch, LinesToWrite& write);

  /// dst[v * dv + u * W] = src[u * su + v * W], for nu and nv of at least 16 / W.
  Transpose* transpose[5];
  /// The same in the order of dst, in stores of 16 bytes. NULL if registers have 16 bytes.
  Transpose* transpose_columns[5];
  /// dst[column[v] + u * W] = src[row[u] + v * W], for any nu and nv.
  TransposeFolded* transpose_folded[5];
  /// The same in the order of dst, in stores of 16 bytes. NULL if registers have 16 bytes.
  TransposeFolded* transpose_columns_folded[5];

  /// As transpose, for nv * W < 16: takes 2^g cells of nv items at a time: [k][g]. `su` is positive
  /// and at most 4096; 2^g cells lie within 16 bytes. `pick` sorts their items into units of 2^g
  /// items, one unit for each v. NULL for single bytes with g = 0 if there is transpose_every.
  Regroup* split[3][4];

  /// As transpose, for nu * W < 16, if 2^g cells of `dv` bytes lie within 16 bytes. Overwrites the
  /// bytes of dst between cells. `pick` sorts units of 2^g items, one unit for each u, into 2^g
  /// cells.
  Regroup* join[3][4];

  /// Transposes a strip. NULL for items that do not gain.
  void (*transpose_strip[5])(const Strip& strip);
  /// The same for items of three quarters of 2^k bytes, and any nv; loads reach up to 16 bytes
  /// beyond rows. NULL if the instruction set cannot permute bytes.
  void (*transpose_thirds_strip[5])(const Strip& strip);
  void (*write_columns)(const Chunk& chunk);
  /// Copies `bytes` of each of n rows, from src[row[i]] to dst[i * pitch].
  void (*gather_rows)(char* dst, int64_t pitch, const char* src, const int64_t* row, int64_t n,
                      int64_t bytes);

  /// dst[u * W + v * dv] = src[u * su + v * sv], row after row. Rows that run backwards (`su` = -W)
  /// are reversed in registers.
  void (*gather[5])(char* dst, int64_t dv, const char* src, int64_t su, int64_t sv, int64_t nu,
                    int64_t nv);
  /// dst[v * dv + u * W] = src[u * su + v * every * W], for nu of at least 16 / W, and rows of at
  /// least 4 bytes. NULL if the instruction set cannot permute bytes.
  void (*transpose_every[2])(char* dst, int64_t dv, const char* src, int64_t su, int64_t every,
                             int64_t nu, int64_t nv);
  /// dst[u * item + v * dv] = src[v * sv], for items of 1, 2, 4, 8 or 16 bytes.
  void (*fill_rows)(char* dst, int64_t dv, const char* src, int64_t sv, int64_t item, int64_t nu,
                    int64_t nv);
  /// dst[u * du + v * dv] = src[u * su + v * sv], row after row.
  void (*spread[5])(char* dst, int64_t du, int64_t dv, const char* src, int64_t su, int64_t sv,
                    int64_t nu, int64_t nv);

  /// The same for `nu` from 2 to 8.
  void (*spread_few[5])(char* dst, int64_t du, int64_t dv, const char* src, int64_t su, int64_t sv,
                        int64_t nu, int64_t nv);

  /// Rows of `nu` cells, `dv` and `sv` bytes from row to row. NULL if the instruction set cannot
  /// permute bytes; g is 0 in `split` and `join` then.
  void (*cells)(char* dst, int64_t dv, const char* src, int64_t sv, int64_t nu, int64_t nv,
                const Cells& cells);
  /// One row, from the last cell to the first; `cells.src` is negative.
  void (*cells_backwards)(char* dst, const char* src, int64_t n, const Cells& cells);
  /// The same with cells `step` bytes apart in dst, cells.dst < step <= 8. NULL if the instruction
  /// set cannot store single bytes of a register.
  void (*cells_apart)(char* dst, int64_t step, const char* src, int64_t n, const Cells& cells);
  /// Rows of any number of bytes.
  void (*rows)(char* dst, int64_t dr, const char* src, int64_t sr, int64_t bytes, int64_t n);
  /// The same; whole lines of dst are streamed.
  void (*stream_rows)(char* dst, int64_t dr, const char* src, int64_t sr, int64_t bytes, int64_t n);

  /// Streams lines, beginning with `line` of the pattern. [n - 1][0] is for n windows; [n - 1][1]
  /// writes from the last line down, and prefetches nothing. `src` is the beginning of the whole
  /// pattern; dst is aligned to a line. Reads only windows. Adds `fetch_on` bytes to the addresses
  /// that the pattern prefetches. NULL if the instruction set cannot permute bytes.
  void (*stream_pattern[Pattern::kWindows][2])(char* dst, const char* src, const Pattern& pattern,
                                               int64_t line, int64_t lines, int64_t fetch_on);

  /// Streams lines of items: dst[u * W] = src[u * su]; dst is aligned to a line. NULL for items of
  /// less than 4 bytes, and if the instruction set cannot permute bytes.
  void (*stream_gathered[5])(char* dst, const char* src, int64_t su, int64_t lines);

  /// Packed elements of `bits` < 8 bits, side by side from a byte boundary on, to a byte each; [1]
  /// fills the bits above with the highest one. Takes the first elements, as many as registers can
  /// hold at once, and returns how many: a multiple of 8.
  int64_t (*unpack[2])(unsigned char* dst, const unsigned char* src, int64_t count, int bits);
  /// The reverse: the `bits` lowest bits of bytes.
  int64_t (*pack)(unsigned char* dst, const unsigned char* src, int64_t count, int bits);

  /// Streams consecutive lines; dst is aligned to a line.
  void (*stream)(char* dst, const char* src, int64_t lines);
  /// Orders streamed lines before all later stores of the thread.
  void (*fence)();
};

/// Kernels::spread for items of 1, 2, 4 and 8 bytes, and Kernels::spread_few. The same for all
/// instruction sets, because wide registers gain nothing.
template <int W>
void spread_items(char* dst, int64_t du, int64_t dv, const char* src, int64_t su, int64_t sv,
                  int64_t nu, int64_t nv);
template <int W>
void spread_few(char* dst, int64_t du, int64_t dv, const char* src, int64_t su, int64_t sv,
                int64_t nu, int64_t nv);

/// The best kernels for this machine, or those that DLX_ISA names (sse2, avx2, avx512, neon).
const Kernels& kernels() noexcept;

/// The kernels of that name; NULL if this build or this machine has none.
const Kernels* kernels_named(const char* name) noexcept;

extern const Kernels kKernelsBase;
#if defined(__x86_64__)
extern const Kernels kKernelsAvx2;
extern const Kernels kKernelsAvx512;
#endif

}  // namespace dlx

#endif  // DLX_SRC_COPY_KERNELS_KERNELS_H_
