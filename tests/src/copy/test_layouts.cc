// Structured layouts, each of which the engine has a way of its own for, against loops over elements.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <numeric>

#include "copy_test.h"
#include "random_copy.h"
#include "src/copy/copy.h"
#include "src/copy/threads.h"
#include "src/copy/tuning.h"

namespace {

using dlx_test::Choices;
using dlx_test::Described;

// Each axis order of a tensor with extents round the block sizes, each item size, with and without
// streaming.
void every_permutation_of_odd_extents_is_exact(void**) {
  const dlx::Tuning before = dlx::tuning();
  for (const int64_t item : {1, 2, 3, 4, 6, 8, 12, 16}) {
    std::vector<int64_t> shape = {33, 7, 65};
    std::vector<uint8_t> src(static_cast<size_t>(33 * 7 * 65 * item));
    std::iota(src.begin(), src.end(), static_cast<uint8_t>(1));
    std::vector<int> order = {0, 1, 2};
    do {
      for (const int64_t threshold : {int64_t{0}, INT64_MAX}) {
        dlx::tuning().stream_bytes = threshold;
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
  dlx::tuning() = before;
}

/// Copies one compact tensor of `shape`, its axes reversed, to another, both some bytes behind a
/// line, and compares the items one by one.
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
  const dlx::Tuning before = dlx::tuning();
  dlx::tuning().stream_bytes = 0;
  dlx::tuning().long_row_bytes = 1;
  dlx::tuning().cache_sets = 1;
  for (const int64_t item : {1, 2, 4, 8, 16}) {
    for (const int64_t start : {int64_t{0}, item, int64_t{48}}) {
      check_reversal({128, 4, 64}, item, start, 0);
      check_reversal({32, 16, 16, 32}, item, 0, start);
      check_reversal(std::vector<int64_t>(14, 2), item, start, start);
      // More rows and columns than are copied together at once, the last ones fewer than a block.
      check_reversal({517, 300}, item, start, item);
      check_reversal({16, 35, 263}, item, 0, start);
      check_reversal({258, 129}, item, 0, 0);
    }
  }
  dlx::tuning() = before;
}

/// Copies elements of `item` bytes from the middle of some noise to `start` bytes behind a line, and
/// compares all of dst and what lies round it with loops over elements.
void check_layout(const std::vector<int64_t>& shape, const std::vector<int64_t>& dst_steps,
                  const std::vector<int64_t>& src_steps, int64_t item, int64_t start = 0) {
  int64_t lowest = 0, highest = 0, dst_extent = 1, count = 1;
  for (size_t k = 0; k < shape.size(); ++k) {
    const int64_t reach = (shape[k] - 1) * src_steps[k];
    (reach < 0 ? lowest : highest) += reach;
    dst_extent += (shape[k] - 1) * dst_steps[k];
    count *= shape[k];
  }
  std::vector<uint8_t> src =
      Choices(static_cast<uint64_t>(count)).noise((highest - lowest + 1) * item);
  std::vector<uint8_t> dst(static_cast<size_t>(dst_extent * item + 256), 0xCD);
  std::vector<uint8_t> expected = dst;
  uint8_t* const from = src.data() - lowest * item;
  uint8_t* const to = dst.data() + (-reinterpret_cast<uintptr_t>(dst.data()) & 63) + 64 + start;
  const DLDataType dtype = {kDLUInt, 8, static_cast<uint16_t>(item)};

  dlx::copy_tensor(Described(to, shape, dst_steps, dtype).tensor, false,
                   Described(from, shape, src_steps, dtype).tensor, false);

  uint8_t* const expected_to = expected.data() + (to - dst.data());
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i, d = 0, s = 0;
    for (size_t k = shape.size(); k-- > 0; rest /= shape[k]) {
      d += rest % shape[k] * dst_steps[k];
      s += rest % shape[k] * src_steps[k];
    }
    std::memcpy(expected_to + d * item, from + s * item, static_cast<size_t>(item));
  }
  assert_memory_equal(dst.data(), expected.data(), dst.size());
}

std::vector<int64_t> compact(const std::vector<int64_t>& shape) {
  std::vector<int64_t> steps(shape.size(), 1);
  for (size_t k = shape.size() - 1; k > 0; --k) steps[k - 1] = steps[k] * shape[k];
  return steps;
}

// Columns of more rows than are taken at once, which begin anywhere in a line: what one block leaves
// of a line, the next one goes on with.
void long_columns_are_exact(void**) {
  const dlx::Tuning before = dlx::tuning();
  dlx::tuning().long_row_bytes = 1;
  for (const int64_t cache_sets : {int64_t{1}, before.cache_sets, int64_t{4096}}) {
    dlx::tuning().cache_sets = cache_sets;
    for (const int64_t threshold : {int64_t{0}, INT64_MAX}) {
      dlx::tuning().stream_bytes = threshold;
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
    dlx::tuning().stream_bytes = 0;
    check_layout({300, 5000}, {5003, 1}, {1, 300}, 1, 16);
    check_layout({170, 4100}, {4103, 1}, {1, 170}, 2, 6);
  }
  dlx::tuning() = before;
}

// Rows of one side or of both lie so far apart that they crowd into few sets of a cache: blocks are
// copied together or written by way of their columns, whole ones and what is left over.
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

// A run that comes again and again is arranged once: also between other axes, with gaps behind it,
// and where another run is repeated inside.
void repeated_runs_are_exact(void**) {
  const auto check = [](const std::vector<int64_t>& shape, const std::vector<int64_t>& steps,
                        int64_t gap) {
    std::vector<int64_t> dst_steps = compact(shape);
    dst_steps[1] += gap;
    dst_steps[0] = shape[1] * dst_steps[1];
    check_layout(shape, dst_steps, steps, 4);
  };
  for (const int64_t gap : {0, 1, 40}) {
    check({3, 70, 2, 8, 9}, {500, 0, 200, 1, 11}, gap);
    check({3, 9, 30, 8, 9}, {500, 0, 0, 1, 11}, gap);
    check({2, 60, 3, 50, 7}, {40, 0, 7, 0, 3}, gap);
    check({200, 4, 5, 6, 7}, {0, 1, 90, 15, 2}, gap);
    check({7001, 5, 16}, {2, 0, 7}, gap);  // more runs than a cache holds
    check({2, 7001, 5, 4, 4}, {50000, 2, 0, 7, 1}, gap);
  }
  const dlx::Tuning before = dlx::tuning();
  for (const int64_t threshold : {int64_t{0}, INT64_MAX}) {
    dlx::tuning().stream_bytes = threshold;
    for (const int64_t item : {1, 3, 8, 12, 31, 1024, 1030}) {
      for (const int64_t start : {0, 8, 17}) {
        for (const int64_t n : {4, 191, 193, 900}) {
          check_layout({n}, {1}, {0}, item, start);  // the run is one item
          check_layout({3, n}, {n + 1, 1}, {-1, 0}, item, start);
          check_layout({4, n, 3}, compact({4, n, 3}), {20, 0, -4}, item, start);  // some
        }
        check_layout({2, 9000, 5}, compact({2, 9000, 5}), {1, 0, 7}, item, start);
      }
    }
  }
  dlx::tuning() = before;
}

// Runs of more than a cache holds come again and again, alone and between other axes: part after part
// is arranged once, on one thread and shared out.
void large_repeated_runs_are_exact(void**) {
  const dlx::Tuning before = dlx::tuning();
  dlx::tuning().parallel_bytes = 0;
  for (const int32_t threads : {1, 3}) {
    dlx::set_num_threads(threads);
    for (const auto& [threshold, start] :
         {std::pair<int64_t, int64_t>{0, 0}, {0, 17}, {INT64_MAX, 17}}) {
      dlx::tuning().stream_bytes = threshold;
      check_layout({5, 300, 1100}, compact({5, 300, 1100}), {0, 1, 300}, 1, start);
      check_layout({4, 700, 101}, compact({4, 700, 101}), {0, 120, 1}, 4, start);
      check_layout({4, 3, 41000}, {200000, 41000, 1}, {0, -50, 3}, 4, start);
      check_layout({2, 4, 3, 90, 130}, compact({2, 4, 3, 90, 130}), {7, 0, 0, 2, -190}, 8, start);
    }
  }
  dlx::set_num_threads(0);
  dlx::tuning() = before;
}

// Items with gaps between them in src, long and short rows of them, single ones and a few streams
// side by side: with and without streaming, wherever dst begins.
void items_with_gaps_are_exact(void**) {
  const dlx::Tuning before = dlx::tuning();
  for (const int64_t threshold : {int64_t{0}, INT64_MAX}) {
    dlx::tuning().stream_bytes = threshold;
    dlx::tuning().long_row_bytes = 1;
    for (const int64_t item : {1, 2, 4, 8, 16}) {
      for (const int64_t start : {int64_t{0}, item, int64_t{17}, int64_t{48}}) {
        for (const int64_t step : {-7, -3, -2, -1, 2, 3, 5}) {
          for (const int64_t n : {15, 16, 31, 33, 64, 100, 5003}) {
            check_layout({n}, {1}, {step}, item, start);
            check_layout({9, n}, {n, 1}, {n * 5 + 3, step}, item, start);
            check_layout({9, n}, {n + 3, 1}, {n * 5 + 3, step}, item, start);
            check_layout({40, n}, {n + 1, 1}, {n * 7 + 900, step}, item, start);
          }
        }
        check_layout({3, 1500, 4}, compact({3, 1500, 4}), {20000, 2, 4000}, item, start);
        check_layout({1500, 2, 3, 5}, compact({1500, 2, 3, 5}), {40, 3, 9, -2}, item, start);
        check_layout({900, 4, 4}, compact({900, 4, 4}), {9, 1, 9000}, item, start);
      }
    }
  }
  dlx::tuning() = before;
}

// A few long rows whose items take turns in dst or in src, in whichever order, in batches, and wherever
// dst begins. Stretches end with any number of items.
void rows_that_take_turns_are_exact(void**) {
  const dlx::Tuning before = dlx::tuning();
  dlx::tuning().stream_bytes = 0;
  for (const int64_t item : {1, 2, 4, 8, 16}) {
    for (const int64_t start : {int64_t{0}, item, int64_t{17}}) {
      for (const int64_t rows : {2, 3, 5, 8, 13, 16, 17}) {
        for (const int64_t more : {0, 5, 67}) {
          const int64_t n = 4096 / item + more;
          const int64_t far = n + 61;
          check_layout({n, rows}, {rows, 1}, {1, far}, item, start);    // joined
          check_layout({n, rows}, {rows, 1}, {1, -far}, item, start);   // the last one first
          check_layout({n, rows}, {rows, 1}, {-1, far}, item, start);   // and backwards
          check_layout({n, rows}, {rows, 1}, {3, 4 * n}, item, start);  // with gaps
          check_layout({rows, n}, {n, 1}, {1, rows}, item, start);      // split
          check_layout({rows, n}, {n, 1}, {-1, rows}, item, start);
          check_layout({rows, n}, {n, 1}, {1, -rows}, item, start);
          check_layout({rows, n}, {n + 3, 1}, {1, rows + 1}, item, start);
        }
        const int64_t n = 5003 / item;
        check_layout({3, n, rows}, compact({3, n, rows}), {rows * n + 9, 1, n}, item, start);
        check_layout({3, rows, n}, compact({3, rows, n}), {rows * n + 9, 1, rows}, item, start);
      }
    }
  }
  dlx::tuning() = before;
}

// Gaps in dst, which nobody may write to: between cells that are joined, copied or reversed, and
// between items of rows and columns. Rows lie behind each other or far apart.
void gaps_in_dst_are_left_alone(void**) {
  const dlx::Tuning before = dlx::tuning();
  for (const int64_t threshold : {int64_t{0}, INT64_MAX}) {
    dlx::tuning().stream_bytes = threshold;
    dlx::tuning().relay_bytes = 0;
    for (const int64_t item : {1, 2, 4, 8}) {
      for (const int64_t start : {int64_t{0}, int64_t{17}}) {
        for (const int64_t n : {5, 16, 17, 100, 700}) {
          for (const int64_t cell : {2, 3, 4, 5, 6, 7, 8, 11, 15}) {
            for (const int64_t step : {cell + 1, cell + 2, cell + 9}) {
              check_layout({n, cell}, {step, 1}, {1, n + 3}, item, start);      // planes
              check_layout({n, cell}, {step, 1}, {cell, 1}, item, start);       // cells
              check_layout({n, cell}, {step, 1}, {cell + 1, -1}, item, start);  // and backwards
            }
          }
          for (const int64_t step : {2, 3, 5, 9}) {
            check_layout({9, n}, {step * n, step}, {n, 1}, item, start);
            check_layout({9, n}, {step * n + 300, step}, {n + 300, -1}, item, start);
            check_layout({9, n}, {step * n + 300, step}, {1, 10}, item, start);
            check_layout({3, 2, 9, n}, {60 * step * n, 30 * step * n, step * n, step},
                         {-9 * n, 900 * n, 30 * n, 1}, item, start);
          }
        }
      }
    }
  }
  dlx::tuning() = before;
}

// Short rows of cells, which write into the next one: all that lies round the last one stays as it is.
// Rows overlap in src, touch, or lie apart, on another page, too.
void short_rows_of_cells_are_exact(void**) {
  for (const int64_t item : {1, 2, 4}) {
    for (const int64_t n : {2, 7, 8, 9, 15, 16, 17, 25, 40}) {
      for (const int64_t step : {2, 3, 4, 5, 8}) {
        for (const int64_t row : {int64_t{1}, n, n * step, n * step + 3, int64_t{5000}}) {
          check_layout({37, n}, {n, 1}, {row, step}, item, n);
          check_layout({3, 20, n}, {21 * n, n, 1}, {7, row, step}, item, n);
          check_layout({19, n}, {n, 1}, {-row, step}, item);
        }
      }
      for (const int64_t cell : {2, 3, 4, 5}) {
        const int64_t row = n * cell;
        check_layout({20, n, cell}, compact({20, n, cell}), {row + 9, cell, -1}, item, n);
        check_layout({20, n, cell}, compact({20, n, cell}), {row + n, cell + 1, 1}, item, n);
      }
    }
  }
}

// Short cells of one to three axes again and again: near and far in src, forwards and backwards, with
// and without gaps, wherever dst begins.
void repeated_cells_are_exact(void**) {
  const dlx::Tuning before = dlx::tuning();
  dlx::tuning().stream_bytes = 0;
  dlx::tuning().long_row_bytes = 8;
  Choices choices(20261123);
  for (int i = 0; i < 3000; ++i) {
    const int64_t item =
        std::vector<int64_t>{1, 2, 3, 4, 6, 8, 12, 16, 40, 64, 130}[choices.below(11)];
    std::vector<int64_t> shape = {20 + choices.below(30 + 6000 / item)};
    const int64_t axes = choices.below(4);
    for (int64_t k = 0; k < axes; ++k) shape.push_back(1 + choices.below(5));
    std::vector<int64_t> steps(shape.size());
    int64_t reach = 1 + choices.below(3);
    std::vector<size_t> order(shape.size() - 1);
    std::iota(order.begin(), order.end(), size_t{1});
    if (choices.one_in(2)) std::reverse(order.begin(), order.end());
    for (const size_t k : order) {
      steps[k] = choices.one_in(3) ? -reach : reach;
      reach = reach * shape[k] + (choices.one_in(4) ? choices.below(600) : 0);
    }
    steps[0] = choices.one_in(3) ? -reach : reach;
    if (choices.one_in(4) && shape.size() > 1) {  // streams side by side
      steps[0] = 1 + choices.below(3);
      steps[order[0]] = steps[0] * shape[0];
      for (size_t k = 1; k < order.size(); ++k) {
        steps[order[k]] = steps[order[k - 1]] * shape[order[k - 1]];
      }
    }
    check_layout(shape, compact(shape), steps, item, choices.below(64));
  }
  dlx::tuning() = before;
}

// Source lines that several axes go along, some of them backwards, transposed: in tiles, in strips,
// and straight.
void lines_of_axes_in_both_directions_are_exact(void**) {
  const dlx::Tuning before = dlx::tuning();
  for (const int64_t threshold : {int64_t{0}, INT64_MAX}) {
    dlx::tuning().stream_bytes = threshold;
    for (const int64_t cache_sets : {int64_t{1}, before.cache_sets, int64_t{4096}}) {
      dlx::tuning().cache_sets = cache_sets;
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
  dlx::tuning() = before;
}

// Rows of few items, backwards and with gaps, side by side and apart.
void short_rows_are_exact(void**) {
  for (const int64_t item : {1, 2, 4, 8, 16}) {
    for (const int64_t start : {int64_t{0}, item, int64_t{17}}) {
      for (const int64_t n : {2, 3, 4, 5, 6, 7, 8, 9, 11, 16, 17, 30, 33, 50, 65}) {
        for (const int64_t step : {-1, -2, 3, -100}) {
          check_layout({2, n}, {n, 1}, {4 * n, step}, item, start);
          check_layout({40, n}, {n, 1}, {4 * n, step}, item, start);
          check_layout({3, 40, n}, {40 * (n + 1), n + 1, 1}, {1, 4 * n, step}, item, start);
        }
      }
    }
  }
}

// Batches of small matrices, which registers fill but in part, with and without gaps in src.
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

// Rows of several parts, and more of them than a block has, that are copied together before they are
// transposed: parts begin inside lines, and the last ones are short.
void blocks_of_rows_are_exact(void**) {
  const dlx::Tuning before = dlx::tuning();
  dlx::tuning().stream_bytes = 0;
  dlx::tuning().cache_sets = 1;
  for (const int64_t item : {1, 2, 4, 8, 16}) {
    for (const int64_t start : {int64_t{0}, item, int64_t{48}}) {
      check_reversal({2001 / item + 9, 523}, item, start, start);
      check_reversal({5000 / item + 1, 131}, item, 0, start);
      check_reversal({1408 / item, 7, 96}, item, start, 16);
    }
  }
  dlx::tuning() = before;
}

// Transpositions whose axes are short on either side, small matrices far apart and rows out of order,
// in boxes of several sizes: some are cut along every axis, and their runs begin inside lines.
void boxes_are_exact(void**) {
  const dlx::Tuning before = dlx::tuning();
  dlx::tuning().stream_bytes = 0;
  dlx::tuning().cache_sets = 1024;
  for (const int64_t bytes : {int64_t{700}, int64_t{6000}, before.box_bytes}) {
    dlx::tuning().box_bytes = bytes;
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
  dlx::tuning() = before;
}

// Columns of src with gaps between them, and rows of few columns: as many at a time as a load holds,
// with what is left over on either axis, in either direction.
void columns_with_gaps_are_exact(void**) {
  const dlx::Tuning before = dlx::tuning();
  for (const int64_t threshold : {int64_t{0}, INT64_MAX}) {
    dlx::tuning().stream_bytes = threshold;
    for (const int64_t item : {1, 2, 4}) {
      for (const int64_t every : {1, 2, 3, 4, 7, 8}) {
        for (const int64_t nv : {2, 3, 4, 5, 7, 8, 15, 33}) {
          for (const int64_t nu : {4, 15, 16, 17, 31, 33, 70}) {
            const int64_t su = every * nv + 5;
            check_layout({nv, nu}, compact({nv, nu}), {every, su}, item);
            check_layout({nv, nu}, compact({nv, nu}), {-every, su}, item, item);
            check_layout({nv, nu}, {nu + 3, 1}, {every, -su}, item);
            check_layout({3, nv, 2, nu}, compact({3, nv, 2, nu}), {2 * nu * su, -every, su, 2 * su},
                         item, 2 * item);
          }
        }
      }
      check_layout({300, 200}, {1024 / item, 1}, {2, 4096 / item}, item);
      check_layout({3, 40}, compact({3, 40}), {1, 5000}, item);
    }
    for (const int64_t item : {1, 2, 4, 8, 16}) {  // whose rows collide in the cache
      for (const int64_t nv : {2, 3, 5, 8, 9}) {
        check_layout({nv, 3, 70}, compact({nv, 3, 70}), {3, 8, 2048 / item}, item);
        check_layout({nv, 3, 70}, compact({nv, 3, 70}), {-3, 8, -2048 / item}, item, item);
        check_layout({nv, 130}, {4096 / item, 1}, {2, 4096 / item}, item);
      }
    }
  }
  dlx::tuning() = before;
}

// Few short rows in a plane, many planes: in long loops along another axis, in whole parts of it and
// in what is left over, whichever axis comes again; and rows of 16 to 256 bytes wherever they begin.
void planes_of_few_rows_are_exact(void**) {
  const dlx::Tuning before = dlx::tuning();
  for (const int64_t threshold : {int64_t{0}, INT64_MAX}) {
    dlx::tuning().stream_bytes = threshold;
    for (const int64_t sets : {1024, 4096}) {
      dlx::tuning().cache_sets = sets;
      for (const int64_t item : {1, 2, 4, 8, 16, 48}) {
        for (const int64_t start : {int64_t{0}, item, int64_t{16}}) {
          for (const int64_t n : {2, 5, 7, 8, 17, 31}) {
            for (const int64_t rows : {6, 63, 300}) {
              check_layout({3, 2, rows, n}, compact({3, 2, rows, n}), {8 * n * rows, 1, 8 * n, -3},
                           item, start);
              check_layout({rows, 2, 3, n}, compact({rows, 2, 3, n}), {3 * n, 0, 3 * n * rows, 3},
                           item, start);
              check_layout({rows, 3, n}, compact({rows, 3, n}), {200 * n, 0, 90}, item, start);
              check_layout({rows, 2, n}, {2 * n + 3, n + 1, 1}, {6 * n, 1, 2}, item, start);
            }
          }
        }
      }
    }
  }
  dlx::tuning().stream_bytes = INT64_MAX;
  for (const int64_t item : {1, 2, 4}) {  // short rows of cells
    for (const int64_t start : {int64_t{0}, item, int64_t{17}}) {
      for (const int64_t n : {16, 33, 64}) {
        for (const int64_t rows : {30, 131, 400}) {
          check_layout({2, rows, n}, compact({2, rows, n}), {2 * n, 4 * n, 2}, item, start);
          check_layout({3, 2, rows, n}, {6 * n * rows, 2 * n * rows, 2 * n, 1},
                       {-2 * n, 0, 7 * n, -1}, item, start);
          check_layout({3, rows, n, 3}, compact({3, rows, n, 3}), {3 * n, 9 * n, 3, -1}, item,
                       start);
        }
      }
    }
  }
  dlx::tuning().stream_bytes = 0;  // pieces of long stretches, with an axis inside that comes again
  for (const int64_t item : {4, 8, 16}) {
    for (const int64_t start : {int64_t{0}, item, int64_t{17}}) {
      check_layout({3, 599, 2, 5}, compact({3, 599, 2, 5}), {5990, 2, 0, 1198}, item, start);
      check_layout({2, 700, 3, 2, 4}, compact({2, 700, 3, 2, 4}), {5600, 2, 0, 0, 1400}, item,
                   start);
    }
  }
  dlx::tuning() = before;
  for (const int64_t bytes : {16, 32, 48, 64, 80, 96, 112, 128, 144, 240, 256}) {
    for (const int64_t start : {0, 16, 48, 5}) {
      check_layout({9, bytes}, {bytes, 1}, {300, 1}, 1, start);
      check_layout({9, bytes}, {bytes + 16, 1}, {-301, 1}, 1, start);
    }
  }
}

// Rows side by side in src that go to columns far apart in dst, some of the longer rows at a time, the
// last fewer; more columns than have a line kept for them; either axis downwards.
void regrouped_rows_are_exact(void**) {
  const dlx::Tuning before = dlx::tuning();
  dlx::tuning().stream_bytes = 0;
  for (const int64_t sets : {1024, 2048}) {
    dlx::tuning().cache_sets = sets;
    for (const int64_t bytes : {24, 40, 64, 100, 128, 200, 448}) {
      for (const int64_t start : {0, 16, 5}) {
        for (const int64_t n : {48, 57, 128}) {
          for (const int64_t columns : {4, 5, 33}) {
            const int64_t row = columns * bytes + 6;
            check_layout({columns, n, bytes}, compact({columns, n, bytes}), {bytes, row, 1}, 1,
                         start);
            check_layout({2, columns, n, bytes}, compact({2, columns, n + 1, bytes}),
                         {n * row, bytes + 3, -2 * row, 1}, 1, start);
            check_layout({columns, n, bytes}, compact({columns, n, bytes}), {-bytes, 3 * row, 1}, 1,
                         start);
          }
        }
      }
    }
    check_layout({2050, 43, 24}, compact({2050, 43, 24}), {24, 24 * 2050, 1}, 1, 16);
  }
  dlx::tuning() = before;
}

// Long rows that are read from end to end, some side by side, from one on that begins lines of dst.
void rows_read_side_by_side_are_exact(void**) {
  const dlx::Tuning before = dlx::tuning();
  dlx::tuning().stream_bytes = 0;
  dlx::tuning().cache_sets = 1024;
  for (const int64_t item : {8, 16}) {
    const int64_t line = 64 / item;
    const int64_t longest = (40 << 10) / item / item;
    for (const int64_t start : {int64_t{0}, item, int64_t{48}, int64_t{4}}) {
      for (const int64_t n : {int64_t{16}, 4 * line, 35 + line, 67 - line}) {
        for (const int64_t row : {longest, longest - 1, longest - 6}) {
          const int64_t column = (n + line) / line * line;
          check_layout({row, n}, {column, 1}, {1, longest + 8}, item, start);
          check_layout({row, n}, compact({row, n}), {-1, row + line}, item, start);
          check_layout({row / 7, 7, n}, {7 * column, column, 1}, {7, 1, -longest}, item, start);
          check_layout({row, 2, n}, {2 * column, column, 1}, {1, 40 * longest, longest}, item,
                       start);
        }
      }
    }
  }
  dlx::tuning() = before;
}

// The same where columns begin anywhere in a line and rows share the sets of a cache: by way of a buffer.
void rows_read_side_by_side_into_a_buffer_are_exact(void**) {
  const dlx::Tuning before = dlx::tuning();
  dlx::tuning().stream_bytes = 0;
  dlx::tuning().cache_sets = 1024;
  for (const int64_t item : {8, 16}) {
    const int64_t pitch = (32 << 10) / item;
    const int64_t shortest = (32 << 10) / item / item;
    for (const int64_t start : {int64_t{0}, item, int64_t{4}}) {
      for (const int64_t n : {32, 47, 49, 79, 129}) {
        for (const int64_t row : {shortest, shortest + 3, 3 * shortest, int64_t{312}}) {
          check_layout({row, n}, {n + 1, 1}, {1, pitch}, item, start);
          check_layout({row, n}, {n + 2, 1}, {-1, -pitch}, item, start);
          check_layout({2, row, n}, compact({2, row, n}), {pitch / 2, 1, pitch}, item, start);
        }
      }
    }
  }
  dlx::tuning() = before;
}

// Rows of about the length from which on the C library copies them, alone and with gaps between them.
void long_rows_are_exact(void**) {
  const dlx::Tuning before = dlx::tuning();
  for (const int64_t sets : {1024, 4096}) {
    dlx::tuning().cache_sets = sets;
    for (const int64_t row : {32767, 32768, 50001}) {
      for (const int64_t start : {0, 17}) {
        check_layout({row}, {1}, {1}, 1, start);
        check_layout({3, row}, {row + 5, 1}, {-row - 9, 1}, 1, start);
      }
    }
  }
  dlx::tuning() = before;
}

// One item again and again: short and long rows, between others and alone.
void rows_of_one_item_are_exact(void**) {
  for (const int64_t item : {1, 2, 4, 8, 16}) {
    for (const int64_t start : {int64_t{0}, item, int64_t{17}}) {
      for (const int64_t n : {2, 3, 7, 15, 16, 17, 33, 63, 64, 65, 200}) {
        check_layout({40, n}, {n, 1}, {3, 0}, item, start);
        check_layout({20, 2, n}, {2 * n, n, 1}, {-2, 1, 0}, item, start);
        check_layout({30, n}, {n + 1, 1}, {1, 0}, item, start);
        check_layout({5, 40, n}, {40 * n, n, 1}, {1, 8, 0}, item, start);
      }
    }
  }
  const dlx::Tuning before = dlx::tuning();
  dlx::tuning().stream_bytes = 0;
  for (const int64_t item : {1, 2, 4, 8, 16}) {
    for (const int64_t start : {int64_t{0}, item, int64_t{17}}) {
      for (const int64_t n : {63, 64, 1023, 1024, 1025, 2217}) {
        check_layout({n}, {1}, {0}, item, start);
        check_layout({3, n}, {n, 1}, {-1, 0}, item, start);
        check_layout({2, 2, n}, {2 * n + 1, n, 1}, {1, 2, 0}, item, start);
      }
    }
  }
  dlx::tuning() = before;
}

// What runs backwards is written from its end, or by patterns that begin there: items of all sizes,
// rows that end anywhere in a line, that touch or do not.
void rows_that_run_backwards_are_exact(void**) {
  const dlx::Tuning before = dlx::tuning();
  for (const int64_t threshold : {int64_t{0}, INT64_MAX}) {
    dlx::tuning().stream_bytes = threshold;
    for (const int64_t item : {1, 2, 3, 4, 5, 6, 8, 12, 15, 16, 24, 32, 64, 300, 512, 513}) {
      for (const int64_t step : {1, 2, 3, 5}) {
        for (const int64_t start : {0, 17, 48}) {
          for (const int64_t row : {70, 255, 260, 1000, 4100, 9000}) {
            const int64_t n = 1 + row / item;
            check_layout({n}, {1}, {-step}, item, start);
            check_layout({3, n}, {n, 1}, {n * step, -step}, item, start);
            check_layout({3, n}, {n + 1, 1}, {-n * step - 3, -step}, item, start);
            check_layout({n, 3}, {3, 1}, {-3 * step, 1}, item, start);
            check_layout({2, n, 3}, {3 * n, 3, 1}, {-4 * n * step, -4 * step, -1}, item, start);
          }
          check_layout({40}, {3}, {-step}, item, start);
        }
      }
    }
  }
  dlx::tuning() = before;
}

// Runs that are streamed one by one, whatever direction the axes around them have, however near and
// far the runs lie: on machines that stream short runs alone, and on those that do not.
void streamed_runs_are_exact(void**) {
  const dlx::Tuning before = dlx::tuning();
  dlx::tuning().stream_bytes = 0;
  for (const int64_t shortest : {64, 1024}) {
    dlx::tuning().run_bytes = shortest;
    for (const int64_t alone : {64, 512, 1024}) {
      dlx::tuning().long_run_bytes = alone;
      for (const int64_t run : {64, 100, 128, 384, 390, 700, 1024, 1500}) {
        for (const int64_t start : {0, 5}) {
          for (const int64_t row : {run, run + 1, run + 28, -run, -run - 300}) {
            check_layout({21, run}, {run, 1}, {row, 1}, 1, start);
            check_layout({21, run}, {run + 6, 1}, {row, 1}, 1, start);
            check_layout({3, 7, run}, compact({3, 7, run}), {row, -5 * row, 1}, 1, start);
            check_layout({2, 3, 5, run}, compact({2, 3, 5, run}), {-9000, row, 5000, 1}, 1, start);
          }
        }
      }
    }
  }
  dlx::tuning() = before;
}

// Items that lie apart on both sides, or in descending order, go by way of a buffer, in boxes of any
// size: whole ones and what is left over, with and without streaming.
void what_goes_by_way_of_a_buffer_is_exact(void**) {
  struct Layout {
    std::vector<int64_t> shape;
    std::vector<int64_t> src_steps;
  };
  const Layout layouts[] = {
      {{70, 90}, {2, 200}},                          // [:, ::2].T
      {{70, 90}, {-3, 211}},                         // [:, ::-3].T
      {{3, 40, 50, 3}, {6000, 50, -1, 2000}},        // a flip, channels last
      {{3, 20, 25, 8}, {8000, 80, 2, 1000}},         // every second row and column of it
      {{2, 64, 30, 30}, {115200, 2, 3840, 128}},     // [..., ::2], channels first
      {{6, 3, 5, 16, 16}, {16, 7680, 1536, 96, 1}},  // patches of an image
      {{4, 5, 16, 16, 3}, {3840, 48, 240, 3, 1}},    // the same
      {{5, 4, 3, 16, 16}, {48, 3840, 1, 240, 3}},    // the same, channels first in each
      {{2, 60, 5, 7, 3}, {0, 2, -600, 120, 9000}},   // repeated, too
      {{11, 3, 101, 5}, {1515, -505, -5, 16665}},    // joined, backwards
      {{11, 150, 160, 3}, {72000, 160, -1, 24000}},  // more than a second-level cache holds
  };
  const dlx::Tuning before = dlx::tuning();
  dlx::tuning().relay_bytes = 0;
  int relayed[] = {0, 0};  // streamed, and not
  for (const int64_t threshold : {int64_t{0}, INT64_MAX}) {
    dlx::tuning().stream_bytes = threshold;
    for (const int64_t tile : {int64_t{300}, int64_t{5000}, before.relay_tile}) {
      dlx::tuning().relay_tile = tile;
      for (const Layout& layout : layouts) {
        for (const int64_t item : {1, 2, 3, 4, 8}) {
          check_layout(layout.shape, compact(layout.shape), layout.src_steps, item, item);
          char text[1024];
          // They are not read, and need not exist.
          void* const to = reinterpret_cast<void*>(uintptr_t{1} << 40);
          void* const from = reinterpret_cast<void*>(uintptr_t{1} << 41);
          const DLDataType dtype = {kDLUInt, 8, static_cast<uint16_t>(item)};
          dlx::describe_copy(Described(to, layout.shape, {}, dtype).tensor,
                             Described(from, layout.shape, layout.src_steps, dtype).tensor, text,
                             sizeof text);
          if (std::strstr(text, "by way of a buffer") != nullptr) ++relayed[threshold != 0];
        }
      }
    }
  }
  assert_true(relayed[0] > 0);
  assert_true(relayed[1] > 0);
  dlx::tuning() = before;
}

// Pairs of small elements travel as one item; a third axis leads to places that are no multiples of
// such an item.
void planes_that_begin_inside_items_are_exact(void**) {
  const dlx::Tuning before = dlx::tuning();
  dlx::tuning().stream_bytes = 0;
  dlx::tuning().long_row_bytes = 1;
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
  dlx::tuning() = before;
}

// The tests above with each instruction set that this machine has.
void every_instruction_set_is_exact(void**) { dlx_test::run_with_each_isa("--layouts"); }

}  // namespace

int main(int argc, char** argv) {
  const CMUnitTest layouts[] = {
      cmocka_unit_test(every_permutation_of_odd_extents_is_exact),
      cmocka_unit_test(reversals_of_powers_of_two_are_exact),
      cmocka_unit_test(long_columns_are_exact),
      cmocka_unit_test(crowded_rows_and_columns_are_exact),
      cmocka_unit_test(repeated_runs_are_exact),
      cmocka_unit_test(large_repeated_runs_are_exact),
      cmocka_unit_test(items_with_gaps_are_exact),
      cmocka_unit_test(rows_that_take_turns_are_exact),
      cmocka_unit_test(gaps_in_dst_are_left_alone),
      cmocka_unit_test(short_rows_of_cells_are_exact),
      cmocka_unit_test(repeated_cells_are_exact),
      cmocka_unit_test(lines_of_axes_in_both_directions_are_exact),
      cmocka_unit_test(short_rows_are_exact),
      cmocka_unit_test(small_planes_are_exact),
      cmocka_unit_test(blocks_of_rows_are_exact),
      cmocka_unit_test(boxes_are_exact),
      cmocka_unit_test(columns_with_gaps_are_exact),
      cmocka_unit_test(planes_of_few_rows_are_exact),
      cmocka_unit_test(regrouped_rows_are_exact),
      cmocka_unit_test(rows_read_side_by_side_are_exact),
      cmocka_unit_test(rows_read_side_by_side_into_a_buffer_are_exact),
      cmocka_unit_test(long_rows_are_exact),
      cmocka_unit_test(rows_of_one_item_are_exact),
      cmocka_unit_test(rows_that_run_backwards_are_exact),
      cmocka_unit_test(streamed_runs_are_exact),
      cmocka_unit_test(what_goes_by_way_of_a_buffer_is_exact),
      cmocka_unit_test(planes_that_begin_inside_items_are_exact),
  };
  if (argc > 1 && std::strcmp(argv[1], "--layouts") == 0) {
#ifdef __SANITIZE_THREAD__
    std::puts("only what threads share: the other layouts are copied on one thread");
    cmocka_set_test_filter("large_repeated_runs_are_exact");
#endif
    return cmocka_run_group_tests(layouts, nullptr, nullptr);
  }
  const CMUnitTest tests[] = {
      cmocka_unit_test(every_instruction_set_is_exact),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
