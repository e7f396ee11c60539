// Transpositions of planes; each test is for a way or kernel of its own.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "layout_test.h"
#include "src/copy/kernels/kernels.h"
#include "src/copy/schedule/schedule.h"
#include "src/copy/ways/tiling.h"

namespace {

using dlx::CopyAxis;
using dlx_test::check_layout;
using dlx_test::Choices;
using dlx_test::compact;
using dlx_test::Described;
using dlx_test::plan_of;

// Each axis order of a tensor with extents near the block sizes, each item size, with and without
// streaming.
void every_permutation_of_odd_extents_is_exact(void**) {
  const dlx::Machine before = dlx::machine();
  for (const int64_t item : {1, 2, 3, 4, 6, 8, 12, 16}) {
    std::vector<int64_t> shape = {33, 7, 65};
    std::vector<uint8_t> src(static_cast<size_t>(33 * 7 * 65 * item));
    std::iota(src.begin(), src.end(), static_cast<uint8_t>(1));
    std::vector<int> order = {0, 1, 2};
    do {
      for (const int64_t threshold : {int64_t{0}, INT64_MAX}) {
        dlx::machine().stream_bytes = threshold;
        const int64_t step[] = {7 * 65, 65, 1};
        const DLDataType dtype = {kDLUInt, 8, static_cast<uint16_t>(item)};
        const int64_t n[] = {shape[order[0]], shape[order[1]], shape[order[2]]};
        const int64_t s[] = {step[order[0]], step[order[1]], step[order[2]]};
        std::vector<uint8_t> dst(src.size());
        const Described from(src.data(), {n[0], n[1], n[2]}, {s[0], s[1], s[2]}, dtype);
        const Described to(dst.data(), {n[0], n[1], n[2]}, {}, dtype);

        dlx::copy_tensor(to.tensor, false, from.tensor, false);

        const uint8_t* expected = dst.data();
        for (int64_t i = 0; i < n[0]; ++i) {
          for (int64_t j = 0; j < n[1]; ++j) {
            for (int64_t k = 0; k < n[2]; ++k, expected += item) {
              const size_t at = static_cast<size_t>((i * s[0] + j * s[1] + k * s[2]) * item);
              assert_memory_equal(expected, &src[at], static_cast<size_t>(item));
            }
          }
        }
      }
    } while (std::next_permutation(order.begin(), order.end()));
  }
  dlx::machine() = before;
}

/// Copies a compact tensor of `shape` with its axes reversed to a compact tensor, both at some
/// offset in a line, and compares the items one by one.
void check_reversal(const std::vector<int64_t>& shape, int64_t item, int64_t dst_start,
                    int64_t src_start) {
  const size_t ndim = shape.size();
  std::vector<int64_t> steps(ndim, 1);  // of src, in items
  for (size_t k = 1; k < ndim; ++k) steps[k] = steps[k - 1] * shape[k - 1];
  const size_t bytes = static_cast<size_t>(steps.back() * shape.back() * item);
  std::vector<uint8_t> src = Choices(bytes).noise(static_cast<int64_t>(bytes) + 128);
  std::vector<uint8_t> dst(src.size());
  const auto at_line = [](std::vector<uint8_t>& memory) {
    return memory.data() + (-reinterpret_cast<uintptr_t>(memory.data()) & 63);
  };
  uint8_t* const from = at_line(src) + src_start;
  uint8_t* const to = at_line(dst) + dst_start;
  const DLDataType dtype = {kDLUInt, 8, static_cast<uint16_t>(item)};

  dlx::copy_tensor(Described(to, shape, {}, dtype).tensor, false,
                   Described(from, shape, steps, dtype).tensor, false);

  std::vector<int64_t> index(ndim, 0);
  for (size_t i = 0; i < bytes; i += static_cast<size_t>(item)) {
    int64_t offset = 0;
    for (size_t k = 0; k < ndim; ++k) offset += index[k] * steps[k];
    assert_memory_equal(to + i, from + offset * item, static_cast<size_t>(item));
    for (size_t k = ndim; k-- > 0;) {
      if (++index[k] < shape[k]) break;
      index[k] = 0;
    }
  }
}

// Powers of two, whose source lines share the sets of any cache.
void reversals_of_powers_of_two_are_exact(void**) {
  const dlx::Machine before = dlx::machine();
  dlx::machine().stream_bytes = 0;
  dlx::machine().long_row_bytes = 1;
  dlx::machine().cache_sets = 1;
  for (const int64_t item : {1, 2, 4, 8, 16}) {
    for (const int64_t start : {int64_t{0}, item, int64_t{48}}) {
      check_reversal({128, 4, 64}, item, start, 0);
      check_reversal({32, 16, 16, 32}, item, 0, start);
      check_reversal(std::vector<int64_t>(14, 2), item, start, start);
      // More rows and columns than one block has; the last block is smaller.
      check_reversal({517, 300}, item, start, item);
      check_reversal({16, 35, 263}, item, 0, start);
      check_reversal({258, 129}, item, 0, 0);
    }
  }
  dlx::machine() = before;
}

// Columns of more rows than one block has, which begin anywhere in a line: a block completes the
// line that the block before began.
void long_columns_are_exact(void**) {
  const dlx::Machine before = dlx::machine();
  dlx::machine().long_row_bytes = 1;
  for (const int64_t cache_sets : {int64_t{1}, before.cache_sets, int64_t{4096}}) {
    dlx::machine().cache_sets = cache_sets;
    for (const int64_t threshold : {int64_t{0}, INT64_MAX}) {
      dlx::machine().stream_bytes = threshold;
      for (const int64_t item : {1, 2, 4, 8, 16}) {
        for (const int64_t start : {int64_t{0}, item, int64_t{17}}) {
          for (const int64_t gap : {0, 1, 5}) {
            const int64_t columns = 320 / item + 1;
            for (const int64_t rows : {257, 384, 520, 1111}) {
              check_layout({columns, rows}, {rows + gap, 1}, {1, columns + gap}, item, start);
            }
          }
        }
      }
    }
    dlx::machine().stream_bytes = 0;
    check_layout({300, 5000}, {5003, 1}, {1, 300}, 1, 16);
    check_layout({170, 4100}, {4103, 1}, {1, 170}, 2, 6);
  }
  dlx::machine() = before;
}

// Tiles of many short axes whose lines overlap in src: a tile holds them all, or is none.
void axes_that_overlap_in_src_are_exact(void**) {
  const dlx::Machine before = dlx::machine();
  dlx::machine().stream_bytes = 0;
  const std::vector<int64_t> shape = {8, 8, 8, 8, 2, 160};
  const std::vector<int64_t> steps = {1, 1, 1, 1, 40, 90};
  for (const int64_t item : {1, 2, 4}) {
    for (const int64_t run : {160, 16}) {
      std::vector<CopyAxis> axes(shape.size());
      int64_t step = item;
      for (size_t k = shape.size(); k-- > 0;) {
        axes[k] = {k + 1 == shape.size() ? run : shape[k], step, steps[k] * item * 1000};
        if (k < 4) axes[k].src = item;
        step *= axes[k].extent;
      }
      char* const at = reinterpret_cast<char*>(uintptr_t{1} << 40);
      const dlx::CopyPlan plan(at, at + step, item, axes.data(), static_cast<int>(axes.size()));
      const dlx::Schedule schedule(plan, dlx::machine(), dlx::Held::kNeither, true);
      dlx::Tiling tiling;
      if (!tiling.build(schedule)) continue;
      int64_t bytes = item;
      for (int k = 0; k < schedule.ndim; ++k) {
        assert_in_range(tiling.extent[k], 1, schedule.axes[k].extent);
        bytes *= tiling.extent[k];
      }
      assert_in_range(bytes, item, dlx::Tiling::kBufferBytes);
    }
    check_layout(shape, compact(shape), steps, item);
  }
  dlx::machine() = before;
}

// Rows on one side or both are so far apart that they share few cache sets: their blocks are copied
// together, or their columns are written through a buffer; whole blocks and remainders.
void crowded_rows_and_columns_are_exact(void**) {
  for (const int64_t item : {1, 2, 4, 8, 16}) {
    for (const int64_t start : {int64_t{0}, item, int64_t{17}}) {
      for (const int64_t pitch : {1024, 4096}) {
        const int64_t far = pitch / item;
        const int64_t block = 16 / item;
        for (const int64_t columns : {64 + block - 1, int64_t{64}, int64_t{301}}) {
          for (const int64_t rows : {512 / item, 512 / item + 1, 1000 / item}) {
            check_layout({columns, rows}, {far, 1}, {1, columns + 3}, item, start);
            check_layout({columns, rows}, {far, 1}, {-1, 8 * far}, item, start);
            check_layout({columns, rows}, {rows + 1, 1}, {1, 8 * far}, item, start);
          }
        }
        check_layout({3, 70, far}, compact({3, 70, far}), {100, 1, 301}, item, start);
      }
      for (const int64_t columns : {513, 600, 1100}) {  // more than a cache has lines
        check_layout({columns, 37}, {37, 1}, {1, columns}, item, start);
      }
    }
  }
}

// Transpositions with several axes inside a source line, some of them backwards: in tiles, in
// strips, and straight.
void lines_of_axes_in_both_directions_are_exact(void**) {
  const dlx::Machine before = dlx::machine();
  for (const int64_t threshold : {int64_t{0}, INT64_MAX}) {
    dlx::machine().stream_bytes = threshold;
    for (const int64_t cache_sets : {int64_t{1}, before.cache_sets, int64_t{4096}}) {
      dlx::machine().cache_sets = cache_sets;
      for (const int64_t item : {1, 2, 4, 8, 16}) {
        for (const int64_t side : {-1, 1}) {
          for (const int64_t start : {int64_t{0}, item, int64_t{17}}) {
            check_layout({90, 4, 33}, compact({90, 4, 33}), {side * 4, -side, 400}, item, start);
            check_layout({4, 90, 64}, {90 * 64 + 9, 64, 1}, {side, side * -4, 512}, item, start);
            check_layout({3, 5, 40, 2, 70}, compact({3, 5, 40, 2, 70}),
                         {20 * side, -4 * side, 60, 2 * side, -2400}, item, start);
            check_layout(std::vector<int64_t>(12, 2), compact(std::vector<int64_t>(12, 2)),
                         {1, -2, 4, -8, side * 16, 32, -64, 128, -256, 512, side * 1024, 2048},
                         item, start);
          }
        }
      }
    }
  }
  dlx::machine() = before;
}

// Batches of small matrices, which fill registers only in part, with and without gaps in src.
void small_planes_are_exact(void**) {
  for (const int64_t item : {1, 2, 4, 8}) {
    for (int64_t columns = 2; columns <= 18; ++columns) {
      for (int64_t rows = 2; rows <= 40; ++rows) {
        for (const int64_t gap : {0, 3}) {
          const int64_t step = columns + gap;
          check_layout({3, columns, rows}, compact({3, columns, rows}), {rows * step, 1, step},
                       item);
        }
      }
    }
  }
}

// Planes of few items, in the order of src and backwards, with and without gaps on both sides; the
// last group of planes is smaller.
void planes_of_few_items_are_exact(void**) {
  const dlx::Machine before = dlx::machine();
  for (const int64_t threshold : {int64_t{0}, INT64_MAX}) {
    dlx::machine().stream_bytes = threshold;
    for (int64_t item = 1; item <= 34; ++item) {
      for (const int64_t many : {5, 71}) {
        const std::vector<int64_t> shape = {many, 3, 2, 2};
        check_layout(shape, compact(shape), {48, 1, 6, 24}, item);
        check_layout(shape, {36, 8, 4, 2}, {-48, 24, -6, 1}, item, item);
      }
      check_layout({2, 29, 5, 3}, compact({2, 29, 5, 3}), {900, 6, -180, 1}, item);
    }
  }
  dlx::machine() = before;
}

// Few rows of src that are read side by side, some lines at a time; the last part is short.
void few_rows_are_exact(void**) {
  for (const int64_t item : {4, 8, 16}) {
    for (const int64_t rows : {4, 6, 8, 13, 15, 16}) {
      for (const int64_t n : {701, 2055}) {
        check_layout({n, rows}, {rows, 1}, {1, n + 5}, item);
        check_layout({n, rows}, {rows, 1}, {-1, n + 5}, item, 17);
        check_layout({3, n, rows}, compact({3, n, rows}), {rows * n * 2, 1, -2 * n}, item, item);
      }
    }
  }
}

// More rows than a block has, in several parts, copied together before they are transposed: parts
// begin inside lines, and the last ones are short.
void blocks_of_rows_are_exact(void**) {
  const dlx::Machine before = dlx::machine();
  dlx::machine().stream_bytes = 0;
  dlx::machine().cache_sets = 1;
  for (const int64_t item : {1, 2, 4, 8, 16}) {
    for (const int64_t start : {int64_t{0}, item, int64_t{48}}) {
      check_reversal({2001 / item + 9, 523}, item, start, start);
      check_reversal({5000 / item + 1, 131}, item, 0, start);
      check_reversal({1408 / item, 7, 96}, item, start, 16);
    }
  }
  dlx::machine() = before;
}

// Transpositions whose axes are short on either side, small matrices far apart and rows out of
// order, in boxes of several sizes: some are cut along every axis, and their runs begin inside
// lines.
void boxes_are_exact(void**) {
  const dlx::Machine before = dlx::machine();
  dlx::machine().stream_bytes = 0;
  dlx::machine().cache_sets = 1024;
  for (const int64_t bytes : {int64_t{700}, int64_t{6000}, before.box_bytes}) {
    dlx::machine().box_bytes = bytes;
    for (const int64_t item : {1, 2, 4, 8, 16}) {
      for (const int64_t start : {int64_t{0}, item, int64_t{48}}) {
        check_layout({22, 95, 61}, compact({22, 95, 61}), {1, 22, 22 * 95}, item, start);
        check_layout({5, 8, 1155}, compact({5, 8, 1155}), {1, 5, 40}, item, start);
        check_layout({69, 24, 6, 16}, compact({69, 24, 6, 16}), {96, 96 * 69, 1, 6}, item, start);
        check_layout({13, 70, 9, 26}, compact({13, 70, 9, 26}), {630, 1, 70, 630 * 13}, item,
                     start);
        check_layout({9, 31, 7, 20}, compact({9, 31, 7, 20}), {8, -80, 1, 80 * 31}, item, start);
        check_layout({22, 35, 61}, {35 * 70, 70, 1}, {-1, 22, -22 * 35 - 3}, item, start);
        check_layout({11, 3, 40, 25}, compact({11, 3, 40, 25}), {1, 0, 11, 440}, item, start);
        check_layout({2, 2600, 10}, compact({2, 2600, 10}), {33, 66, 3}, item, start);
        check_layout({45, 7, 130}, compact({45, 7, 130}), {3, 135 * 130, -140}, item, start);
        check_layout({3, 5, 355, 36, 3}, compact({3, 5, 355, 36, 3}), {180, 36, 1620, 1, 540}, item,
                     start);
        check_layout({12, 20, 26, 8, 3 * item}, compact({12, 20, 26, 8, 3 * item}),
                     {60 * item, 3 * item, 720 * item, 18720 * item, 1}, 1, start);
      }
    }
  }
  dlx::machine() = before;
}

// Items that lie apart on both sides, or in descending order, are relayed through a buffer, in
// boxes of any size: whole boxes and remainders, with and without streaming.
void relayed_copies_are_exact(void**) {
  struct Layout {
    std::vector<int64_t> shape;
    std::vector<int64_t> src_steps;
  };
  const Layout layouts[] = {
      {{70, 90}, {2, 200}},                          // [:, ::2].T
      {{70, 90}, {-3, 211}},                         // [:, ::-3].T
      {{3, 40, 50, 3}, {6000, 50, -1, 2000}},        // a flip, channels last
      {{3, 20, 25, 8}, {8000, 80, 2, 1000}},         // every second row and column, channels last
      {{2, 64, 30, 30}, {115200, 2, 3840, 128}},     // [..., ::2], channels first
      {{6, 3, 5, 16, 16}, {16, 7680, 1536, 96, 1}},  // patches of an image
      {{4, 5, 16, 16, 3}, {3840, 48, 240, 3, 1}},    // the same
      {{5, 4, 3, 16, 16}, {48, 3840, 1, 240, 3}},    // the same, channels first in each
      {{2, 60, 5, 7, 3}, {0, 2, -600, 120, 9000}},   // also repeated
      {{11, 3, 101, 5}, {1515, -505, -5, 16665}},    // joined, backwards
      {{11, 150, 160, 3}, {72000, 160, -1, 24000}},  // more than a second-level cache holds
  };
  const dlx::Machine before = dlx::machine();
  dlx::machine().relay_bytes = 0;
  int relayed[] = {0, 0};  // streamed, and not
  for (const int64_t threshold : {int64_t{0}, INT64_MAX}) {
    dlx::machine().stream_bytes = threshold;
    for (const int64_t tile : {int64_t{300}, int64_t{5000}, before.relay_tile}) {
      dlx::machine().relay_tile = tile;
      for (const Layout& layout : layouts) {
        for (const int64_t item : {1, 2, 3, 4, 8}) {
          check_layout(layout.shape, compact(layout.shape), layout.src_steps, item, item);
          const std::string way =
              plan_of(layout.shape, compact(layout.shape), layout.src_steps, item);
          if (way.find("by way of a buffer") != way.npos) ++relayed[threshold != 0];
        }
      }
    }
  }
  assert_true(relayed[0] > 0);
  assert_true(relayed[1] > 0);
  dlx::machine() = before;
}

// Pixels of three elements are arranged in strips, through the caches and past them: any number of
// rows and columns, with gaps on either side, backwards, planes of any number of axes.
void transposed_pixels_are_exact(void**) {
  struct Layout {
    std::vector<int64_t> shape, dst_steps, src_steps;
  };
  const Layout layouts[] = {
      {{260, 181}, {181, 1}, {1, 260}},              // compact
      {{179, 257}, {300, 1}, {1, 190}},              // with gaps
      {{256, 192}, {192, 1}, {-1, 256}},             // backwards
      {{192, 256}, {256, 1}, {1, -192}},             // the other way
      {{20, 2350}, {2350, 1}, {1, 20}},              // few columns
      {{1030, 86}, {86, 1}, {1, 1030}},              // short ones
      {{37, 36, 35}, {1260, 35, 1}, {1, 37, 1332}},  // several axes
      {{31, 33, 3, 16}, {1584, 48, 16, 1}, {1, 93, 31, 3069}},
  };
  const dlx::Machine before = dlx::machine();
  for (const int64_t threshold : {int64_t{0}, INT64_MAX}) {
    dlx::machine().stream_bytes = threshold;
    for (const Layout& layout : layouts) {
      for (const int64_t item : {3, 6, 12}) {
        for (const int64_t start : {0, 1, 61}) {
          check_layout(layout.shape, layout.dst_steps, layout.src_steps, item, start);
        }
      }
    }
    const Layout& image = layouts[0];
    const bool in_strips = dlx::kernels().transpose_thirds_strip[2] != nullptr;
    const std::string way = plan_of(image.shape, image.dst_steps, image.src_steps, 3);
    const char* const expected = threshold == 0 ? "streamed in strips" : "written in strips";
    assert_int_equal(way.find(expected) != way.npos, in_strips);
  }
  dlx::machine() = before;
}

// Pairs of small elements form an item; the step of a third axis is not a multiple of that item.
void planes_that_begin_inside_items_are_exact(void**) {
  const dlx::Machine before = dlx::machine();
  dlx::machine().stream_bytes = 0;
  dlx::machine().long_row_bytes = 1;
  const int64_t n = 512, lines = 16;
  for (const int64_t item : {1, 2, 4, 8}) {
    const int64_t row = 2 * n + 64;  // elements of dst, so that columns begin at the same place
    const int64_t plane = lines * row + 1;
    const DLDataType dtype = {kDLUInt, 8, static_cast<uint16_t>(item)};
    const std::vector<uint8_t> src = Choices(7).noise(3 * n * lines * 2 * item);
    std::vector<uint8_t> dst(static_cast<size_t>(3 * plane * item + 64));
    uint8_t* const to = dst.data() + (-reinterpret_cast<uintptr_t>(dst.data()) & 63);

    dlx::copy_tensor(Described(to, {3, lines, n, 2}, {plane, row, 2, 1}, dtype).tensor, false,
                     Described(const_cast<uint8_t*>(src.data()), {3, lines, n, 2},
                               {n * lines * 2, 2, lines * 2, 1}, dtype)
                         .tensor,
                     false);

    for (int64_t a = 0; a < 3; ++a) {
      for (int64_t v = 0; v < lines; ++v) {
        for (int64_t u = 0; u < n; ++u) {
          assert_memory_equal(to + (a * plane + v * row + 2 * u) * item,
                              &src[static_cast<size_t>(((a * n + u) * lines + v) * 2 * item)],
                              static_cast<size_t>(2 * item));
        }
      }
    }
  }
  dlx::machine() = before;
}

// Few rows of dst that take their items from the same lines of src, such as columns of records: src
// is read once, into a stream for each row.
void columns_of_records_are_exact(void**) {
  const dlx::Machine before = dlx::machine();
  dlx::machine().stream_bytes = 0;
  for (const int64_t item : {1, 2, 4, 8, 16}) {
    for (const int64_t columns : {2, 3, 5, 9}) {
      for (const int64_t every : {1, 2}) {
        const int64_t record = columns * every + 1;
        check_layout({columns, 700}, compact({columns, 700}), {every, record}, item, item);
        check_layout({columns, 700}, {900, 1}, {-every, -record}, item, 2);
        check_layout({3, columns, 90}, compact({3, columns, 90}), {95 * record, every, record},
                     item);
      }
    }
  }
  dlx::machine() = before;
  const std::string way = plan_of({5, 1500000}, compact({5, 1500000}), {2, 15}, 4);
  assert_true(way.find("written in order") != way.npos);
}

}  // namespace

int main(int argc, char** argv) {
  const CMUnitTest layouts[] = {
      cmocka_unit_test(every_permutation_of_odd_extents_is_exact),
      cmocka_unit_test(reversals_of_powers_of_two_are_exact),
      cmocka_unit_test(long_columns_are_exact),
      cmocka_unit_test(axes_that_overlap_in_src_are_exact),
      cmocka_unit_test(crowded_rows_and_columns_are_exact),
      cmocka_unit_test(lines_of_axes_in_both_directions_are_exact),
      cmocka_unit_test(small_planes_are_exact),
      cmocka_unit_test(planes_of_few_items_are_exact),
      cmocka_unit_test(few_rows_are_exact),
      cmocka_unit_test(blocks_of_rows_are_exact),
      cmocka_unit_test(boxes_are_exact),
      cmocka_unit_test(relayed_copies_are_exact),
      cmocka_unit_test(planes_that_begin_inside_items_are_exact),
      cmocka_unit_test(transposed_pixels_are_exact),
      cmocka_unit_test(columns_of_records_are_exact),
  };
  return dlx_test::run_layouts(argc, argv, layouts);
}
