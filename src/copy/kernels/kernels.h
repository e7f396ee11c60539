#ifndef DLX_SRC_COPY_KERNELS_KERNELS_H_
#define DLX_SRC_COPY_KERNELS_KERNELS_H_

#include <cstdint>

#include "src/copy/kernels/lines.h"
#include "src/copy/plan/plan.h"

namespace dlx {

/// The source byte of each of 16 bytes; twice, for registers of 32 bytes.
struct Pick {
  uint8_t from[32];
};

/// A permutation of bytes inside short cells: dst cell i, `dst` bytes long and right behind its
/// neighbour, takes its byte j from source cell i, `src` bytes (of any sign) after its neighbour,
/// at offset `from[j]`. Reversals, channel swaps, every second item: all are cells.
struct Cells {
  int32_t dst;       ///< bytes of one cell; at most 8
  int32_t src;       ///< at most 16, either way
  int32_t at_once;   ///< cells that 16 source bytes hold; at least 2
  int32_t lowest;    ///< lowest offset that so many cells read, relative to the first one; <= 0
  int32_t edge_src;  ///< cells that such 16 bytes may reach beyond those
  int32_t edge_dst;  ///< the same for 16 bytes written
  int8_t from[8];    ///< offset of each byte of a cell
  int8_t every;      ///< they are every second or third item, as it is; 0: neither
  Pick pick;         ///< picks from the 16 bytes at `lowest`, lowest bytes first
  Pick pick_up;      ///< the same, moved up to end with byte 15

  /// Whether the last cell of such a row of src and the next row lie on the same or neighbouring
  /// pages, so that loads may read what lies between them.
  bool may_read_on(int64_t sv, int64_t nu) const noexcept {
    constexpr int64_t kPage = 4096;
    return sv > 0 && sv - (nu - 1) * src < kPage;
  }
};

/// Source lines that a kernel prefetches, a few at a time beside its own work. They are listed once
/// for all tiles of one shape, because computing between two misses keeps the processor from
/// reaching the second.
struct LinesToFetch {
  const char* tile;
  const int64_t* offset;  ///< from the tile, of a byte in each line
  const int64_t* end;
  int64_t a_round;  ///< how many to take beside 512 bytes of own work
};

/// Runs of dst that a kernel streams, a few at a time beside its own work. No state is stored
/// between two streamed lines, because the store would wait for them.
struct LinesToWrite {
  struct Run {
    int64_t dst;    ///< bytes from the tile's start to the run's
    int32_t from;   ///< the same in the buffer
    int32_t bytes;  ///< at most kBytes
    int32_t next;   ///< where the next tile's buffer has the end of what this run leaves of a line;
                    ///< -1: the run goes on here
    bool first;     ///< no part of a longer run is before it
  };
  static constexpr int64_t kBytes = 512;

  char* tile;  ///< in dst
  char* buffer;
  const Run* run;
  const Run* end;
  int64_t a_round;  ///< how many to take beside 512 bytes of own work
  int64_t to_next;  ///< to the buffer of the next tile, which takes what lines leave over
  /// Writes the next run, if runs do not continue those of the tile before, or are not continued
  /// themselves; otherwise NULL.
  void (*write_next)(LinesToWrite* self);
};

/// Where the bytes of dst come from, line after line, until the pattern repeats further on in src.
/// A block of 16 bytes takes bytes from up to four windows of 16.
struct Pattern {
  static constexpr int kLines = 32;   ///< at most
  static constexpr int kWindows = 4;  ///< at most, of a block
  static constexpr int kFetches = 8;  ///< at most, beside a line

  /// A line's windows, kWindows of each block: first of one, first of the next, second of one ...
  struct Line {
    static constexpr int kMost = kLine / 16 * kWindows;
    /// Which byte of a window each byte of its block takes; 128: none.
    alignas(kLine) uint8_t pick[16 * kMost];
    int64_t offset[kMost];    ///< where windows begin
    int64_t fetch[kFetches];  ///< lines of src to ask for
  };

  int64_t lines;  ///< until the pattern repeats
  int64_t src;    ///< bytes from there to there
  int windows;    ///< of each block
  int fetches;    ///< of each line
  Line line[kLines];
};

/// A part of a transposition whose rows are copied together first, so that each source line is read
/// once, whole, whatever cache sets the rows share.
struct Block {
  static constexpr int64_t kMaxRows = 64;
  static constexpr int64_t kRowBytes = 64;  ///< at most
  static constexpr int64_t kBytes = kMaxRows * kRowBytes;

  char* dst;
  int64_t dv;
  const char* src;
  const int64_t* row;  ///< where each row begins, from src on
  int64_t nu;          ///< 0: nothing to do
  int64_t nv;
  char* rows;  ///< room of kBytes for the rows, aligned to a line
};

/// One line of each of many rows of src.
struct StripSource {
  const char* src;    ///< of the first column; NULL: none
  int64_t last_byte;  ///< of a row, from its beginning
  bool both;          ///< rows begin in lines that were not fetched for the strip before
};

/// The lines of a strip, to be transposed into columns.
struct Strip {
  static constexpr int64_t kFront = 64;  ///< bytes before a column in the buffer
  static constexpr int64_t kBuffer = 64 * 400;

  /// Rows of items of 8 and 16 bytes that are read side by side; rows of a chunk of a wide strip,
  /// which may have up to kTogether more; and the pitch of its columns in the buffer.
  static constexpr int kTogether = 16;
  static constexpr int64_t wide_rows(int64_t item) { return 512 / item; }
  static constexpr int64_t wide_pitch(int64_t item) {
    return kFront + (wide_rows(item) + kTogether) * item;
  }

  char* dst;              ///< of the first row
  const int64_t* column;  ///< where each of nv columns begins, from dst on
  const int64_t* row;     ///< where each of nu rows begins, from src on
  char* room;             ///< for the lines of 64 rows
  char* buffer;           ///< for the columns of some rows: kBuffer bytes, or nv * wide_pitch()
  int64_t item;           ///< bytes
  int64_t nu;             ///< at least 64 / item
  int64_t nv;             ///< from 16 / W to 64 / item; any more if `even`, and in wide strips
  int64_t ahead;          ///< how many rows ahead lines are fetched; at most nu, whole lines of dst
  bool staged;            ///< rows collide in the cache: copy those of a line of dst together first
  bool even;              ///< columns all begin at the same place of a line, a multiple of an item
  bool cached;            ///< dst stays in the caches: only of items of three quarters
  StripSource source;
  StripSource next;  ///< of the strip to be fetched beside this one
};

/// Some rows of the columns of a strip, on their way to dst.
struct Chunk {
  char* dst;
  const int64_t* column;
  int64_t nv;
  int64_t bytes;       ///< of a column
  int64_t pitch;       ///< from column to column in the buffer,
  const char* buffer;  ///< each behind kFront bytes, the last ones of the chunk before
  char* kept;          ///< for the last line of each column, which the next chunk goes on with
  int64_t kept_pitch;
  bool begins;  ///< nothing of the columns was written before
  bool ends;
  bool cached = false;  ///< dst stays in the caches: nothing is kept
};

/// The inner loops for one instruction set, by item size: index k is for items of 2^k bytes.
///
/// Steps count bytes and may be negative unless said otherwise. No kernel touches a byte of dst
/// beside its items. Reads stay within 16 bytes of an item of the same source, and never reach a
/// page that holds none.
struct Kernels {
  typedef void Transpose(char* dst, int64_t dv, const char* src, int64_t su, int64_t nu,
                         int64_t nv);
  typedef void TransposeFolded(char* dst, const int64_t* column, const char* src,
                               const int64_t* row, int64_t nu, int64_t nv);
  typedef void Regroup(char* dst, int64_t dv, const char* src, int64_t su, int64_t nu, int64_t nv,
                       const Pick& pick);

  const char* name;
  int64_t widest;  ///< bytes of a register

  /// dst[v * dv + u * W] = src[row[u] + v * W] in two steps, of two blocks at once: copies the rows
  /// of `in` together and transposes those of `out`, which were copied by the call before. Beside
  /// that it fetches and writes as many lines as it moves: so all that memory is asked for comes
  /// evenly. NULL for items that do not gain by it.
  void (*weave[5])(const Block& in, const Block& out, LinesToFetch& fetch, LinesToWrite& write);

  /// dst[v * dv + u * W] = src[u * su + v * W], for nu and nv of at least 16 / W.
  Transpose* transpose[5];
  /// The same in the order of dst, in stores of 16 bytes. NULL where registers are no wider.
  Transpose* transpose_columns[5];
  /// dst[column[v] + u * W] = src[row[u] + v * W], for any nu and nv.
  TransposeFolded* transpose_folded[5];
  /// The same in the order of dst, in stores of 16 bytes. NULL where registers are no wider.
  TransposeFolded* transpose_columns_folded[5];

  /// The same where nv * W < 16, taking 2^g cells of nv items at a time: [k][g]. `su` is positive
  /// and at most 4096; 2^g cells lie within 16 bytes. `pick` sorts their items into units of 2^g,
  /// one for each v. NULL for single bytes one by one where there is transpose_every.
  Regroup* split[3][4];

  /// The same where nu * W < 16, and 2^g cells of `dv` bytes lie within 16. What is in dst between
  /// cells is overwritten. `pick` sorts units of 2^g items, one for each u, into 2^g cells.
  Regroup* join[3][4];

  /// Transposes a strip. NULL if that gains nothing.
  void (*transpose_strip[5])(const Strip& strip);
  /// The same for items of three quarters of 2^k bytes, and any nv; rows are read with up to 16
  /// bytes beyond. NULL where the instruction set cannot permute bytes.
  void (*transpose_thirds_strip[5])(const Strip& strip);
  void (*write_columns)(const Chunk& chunk);
  /// Copies `bytes` of n rows, src[row[i]], together: dst[i * pitch].
  void (*gather_rows)(char* dst, int64_t pitch, const char* src, const int64_t* row, int64_t n,
                      int64_t bytes);

  /// dst[u * W + v * dv] = src[u * su + v * sv], row after row. Those that run backwards (`su` =
  /// -W) are turned in registers.
  void (*gather[5])(char* dst, int64_t dv, const char* src, int64_t su, int64_t sv, int64_t nu,
                    int64_t nv);
  /// dst[v * dv + u * W] = src[u * su + v * every * W], for nu of at least 16 / W, and rows of at
  /// least 4 bytes. NULL where the instruction set cannot permute bytes.
  void (*transpose_every[2])(char* dst, int64_t dv, const char* src, int64_t su, int64_t every,
                             int64_t nu, int64_t nv);
  /// dst[u * item + v * dv] = src[v * sv], for items of any power of two up to 16.
  void (*fill_rows)(char* dst, int64_t dv, const char* src, int64_t sv, int64_t item, int64_t nu,
                    int64_t nv);
  /// dst[u * du + v * dv] = src[u * su + v * sv], row after row.
  void (*spread[5])(char* dst, int64_t du, int64_t dv, const char* src, int64_t su, int64_t sv,
                    int64_t nu, int64_t nv);

  /// The same for `nu` from 2 to 8.
  void (*spread_few[5])(char* dst, int64_t du, int64_t dv, const char* src, int64_t su, int64_t sv,
                        int64_t nu, int64_t nv);

  /// Rows of `nu` cells, `dv` and `sv` bytes from one to the next. Where the instruction set cannot
  /// permute bytes, this is NULL, and g is 0 above.
  void (*cells)(char* dst, int64_t dv, const char* src, int64_t sv, int64_t nu, int64_t nv,
                const Cells& cells);
  /// One row from the last cell to the first, for a negative `cells.src`.
  void (*cells_backwards)(char* dst, const char* src, int64_t n, const Cells& cells);
  /// The same with cells `step` bytes apart in dst, more than `cells.dst` and at most 8. NULL where
  /// the instruction set cannot store single bytes of a register.
  void (*cells_apart)(char* dst, int64_t step, const char* src, int64_t n, const Cells& cells);
  /// Rows of any number of bytes.
  void (*rows)(char* dst, int64_t dr, const char* src, int64_t sr, int64_t bytes, int64_t n);
  /// The same, past the caches where whole lines of dst are covered.
  void (*stream_rows)(char* dst, int64_t dr, const char* src, int64_t sr, int64_t bytes, int64_t n);

  /// Writes lines past the caches, beginning with that line of the pattern: [n - 1] for n windows;
  /// [n - 1][1] from the last one down, and asks for nothing.
  /// `src` is where the pattern as a whole begins; dst is aligned to a line. Only windows are read.
  /// What is fetched lies `fetch_on` bytes on from where the pattern has it. NULL where the
  /// instruction set cannot permute bytes.
  void (*stream_pattern[Pattern::kWindows][2])(char* dst, const char* src, const Pattern& pattern,
                                               int64_t line, int64_t lines, int64_t fetch_on);

  /// Lines of items past the caches: dst[u * W] = src[u * su]; dst is aligned to a line. NULL for
  /// items of less than 4 bytes, and where the instruction set cannot permute bytes.
  void (*stream_gathered[5])(char* dst, const char* src, int64_t su, int64_t lines);

  /// Lines of 64 bytes past the caches; dst is aligned to a line.
  void (*stream)(char* dst, const char* src, int64_t lines);
  /// Orders streamed lines before whatever the thread does next.
  void (*fence)();
};

/// Kernels::spread for items of 1, 2, 4 and 8 bytes, and Kernels::spread_few, which wide registers
/// do nothing for: the same for all instruction sets.
template <int W>
void spread_items(char* dst, int64_t du, int64_t dv, const char* src, int64_t su, int64_t sv,
                  int64_t nu, int64_t nv);
template <int W>
void spread_few(char* dst, int64_t du, int64_t dv, const char* src, int64_t su, int64_t sv,
                int64_t nu, int64_t nv);

/// The best set for this machine, or the one that DLX_ISA names (sse2, avx2, avx512, neon).
const Kernels& kernels() noexcept;

/// The set of that name; NULL if this build or this machine has none.
const Kernels* kernels_named(const char* name) noexcept;

extern const Kernels kKernelsBase;
#if defined(__x86_64__)
extern const Kernels kKernelsAvx2;
extern const Kernels kKernelsAvx512;
#endif

}  // namespace dlx

#endif  // DLX_SRC_COPY_KERNELS_KERNELS_H_
