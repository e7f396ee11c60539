// Runs and cells that repeat, take turns or have gaps between them.
#include <algorithm>
#include <numeric>

#include "layout_test.h"
#include "src/copy/threads/threads.h"

namespace {

using dlx_test::check_layout;
using dlx_test::Choices;
using dlx_test::compact;

// A repeated run is arranged once: also between other axes, with gaps behind it, and with another
// run repeated inside it.
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
  const dlx::Machine before = dlx::machine();
  for (const int64_t threshold : {int64_t{0}, INT64_MAX}) {
    dlx::machine().stream_bytes = threshold;
    for (const int64_t item : {1, 3, 8, 12, 31, 1024, 1030}) {
      for (const int64_t start : {0, 8, 17}) {
        for (const int64_t n : {4, 191, 193, 900}) {
          check_layout({n}, {1}, {0}, item, start);  // the run is one item
          check_layout({3, n}, {n + 1, 1}, {-1, 0}, item, start);
          check_layout({4, n, 3}, compact({4, n, 3}), {20, 0, -4}, item, start);  // some
        }
        for (const int64_t n : {4, 8, 9}) check_layout({57, n}, {n, 1}, {1, 0}, item, start);
        check_layout({2, 9000, 5}, compact({2, 9000, 5}), {1, 0, 7}, item, start);
      }
    }
  }
  dlx::machine() = before;
}

// Repeated runs larger than a cache, alone and between other axes: each part is arranged once, on
// one thread and on several.
void large_repeated_runs_are_exact(void**) {
  const dlx::Machine before = dlx::machine();
  dlx::machine().parallel_bytes = 0;
  for (const int32_t threads : {1, 3}) {
    dlx::set_num_threads(threads);
    for (const auto& [threshold, start] :
         {std::pair<int64_t, int64_t>{0, 0}, {0, 17}, {INT64_MAX, 17}}) {
      dlx::machine().stream_bytes = threshold;
      check_layout({5, 300, 1100}, compact({5, 300, 1100}), {0, 1, 300}, 1, start);
      check_layout({4, 700, 101}, compact({4, 700, 101}), {0, 120, 1}, 4, start);
      check_layout({4, 3, 41000}, {200000, 41000, 1}, {0, -50, 3}, 4, start);
      check_layout({2, 4, 3, 90, 130}, compact({2, 4, 3, 90, 130}), {7, 0, 0, 2, -190}, 8, start);
    }
  }
  dlx::set_num_threads(0);
  dlx::machine() = before;
}

// Items with gaps between them in src, in long and short rows, alone and in a few streams side by
// side: with and without streaming, dst at any offset in a line.
void items_with_gaps_are_exact(void**) {
  const dlx::Machine before = dlx::machine();
  for (const int64_t threshold : {int64_t{0}, INT64_MAX}) {
    dlx::machine().stream_bytes = threshold;
    dlx::machine().long_row_bytes = 1;
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
  dlx::machine() = before;
}

// The kernel that moves item by item, beyond caches: it prefetches lines of dst with gaps, and lines
// of src that hold one item each.
void items_beyond_caches_are_exact(void**) {
  const auto check = [](int log_item, int64_t du, int64_t su, int64_t nu) {
    const size_t item = size_t{1} << log_item;
    const auto at = [](int64_t step, int64_t u) { return static_cast<size_t>(step * u); };
    const std::vector<uint8_t> src = Choices(1).noise(su * nu + 16);
    std::vector<uint8_t> dst(at(du, nu) + item, 0xCD), expected = dst;
    for (int64_t u = 0; u < nu; ++u) std::memcpy(&expected[at(du, u)], &src[at(su, u)], item);
    dlx::machine().kernels->spread[log_item](reinterpret_cast<char*>(dst.data()), du, 0,
                                             reinterpret_cast<const char*>(src.data()), su, 0, nu,
                                             1);
    assert_memory_equal(dst.data(), expected.data(), dst.size());
  };
  for (const int log_item : {0, 1, 2, 3}) {
    check(log_item, 12, 8, 700007);
    check(log_item, 16, 24, 530003);
  }
  for (const int64_t su : {64, 100, 384}) check(2, 4, su, 132001);
}

// Rows of single items with gaps between them in dst, from rows near and far, in the order of
// either side, through a buffer and straight: caches hold all lines, only the items, or neither.
void single_items_into_gaps_are_exact(void**) {
  const dlx::Machine before = dlx::machine();
  dlx::machine().relay_bytes = 0;
  for (const int64_t threshold : {int64_t{0}, int64_t{4096}, int64_t{60000}, INT64_MAX}) {
    dlx::machine().stream_bytes = threshold;
    for (const int64_t item : {1, 2, 4, 8, 16}) {
      for (const int64_t step : {2, 3, 4}) {
        for (const int64_t n : {9, 26, 49, 600}) {
          const int64_t row = n * step + 70;
          check_layout({40, n}, {row, step}, {n, 1}, item);
          check_layout({40, n}, {row, step}, {-n, -1}, item, 17);
          check_layout({40, n}, {row, step}, {1, 41}, item);
          check_layout({11, 20, n}, {20 * row, row, step}, {n, 11 * n, 1}, item, item);
          check_layout({11, 20, n}, {20 * row, row, step}, {n * 3, -34 * n, -3}, item);
        }
      }
    }
  }
  dlx::machine() = before;
}

// Copies larger than any cache with prefetched lines: of a dst with gaps, and of a src in which
// each item has a line of its own.
void many_lines_are_exact(void**) {
  for (const int64_t item : {1, 2, 4, 8}) {
    const int64_t step = item < 4 ? 4 / item : 2;
    const int64_t n = (9 << 20) / (step * item);
    check_layout({n}, {step}, {1}, item, item);
    check_layout({3, n / 3}, {n / 3 * step + 5, step}, {-n, -2}, item);
  }
  for (const int64_t item : {1, 2, 4, 8, 16}) {
    check_layout({(8 << 20) / 64 + 133}, {1}, {64 / item}, item, item);
    check_layout({(8 << 20) / 64 + 133}, {2}, {-80 / item}, item);
  }
}

// A few long rows whose items take turns in dst or in src, in any order, in batches, dst at any
// offset in a line. The last part has any number of items.
void rows_that_take_turns_are_exact(void**) {
  const dlx::Machine before = dlx::machine();
  dlx::machine().stream_bytes = 0;
  for (const int64_t item : {1, 2, 4, 8, 16}) {
    for (const int64_t start : {int64_t{0}, item, int64_t{17}}) {
      for (const int64_t rows : {2, 3, 5, 8, 13, 16, 17}) {
        for (const int64_t more : {0, 5, 67}) {
          const int64_t n = 4096 / item + more;
          const int64_t far = n + 61;
          check_layout({n, rows}, {rows, 1}, {1, far}, item, start);    // joined
          check_layout({n, rows}, {rows, 1}, {1, -far}, item, start);   // the last row first
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
  dlx::machine() = before;
}

// Gaps in dst are not written: between cells that are joined, copied or reversed, and between items
// of rows and columns. Rows are consecutive or far apart.
void gaps_in_dst_are_left_alone(void**) {
  const dlx::Machine before = dlx::machine();
  for (const int64_t threshold : {int64_t{0}, INT64_MAX}) {
    dlx::machine().stream_bytes = threshold;
    dlx::machine().relay_bytes = 0;
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
        // Short rows of dst between streams whose lines collide.
        check_layout({40, 33, 2}, {4096, 5, 2}, {1, 40, 0}, item, start);
        check_layout({40, 33, 3}, {4096, 4, 1}, {1, 40, 0}, item, start);
        check_layout({2, 40, 33, 2}, {170000, 4096, 4, 2}, {9000, 1, 40, 2000}, item, start);
      }
    }
  }
  dlx::machine() = before;
}

// Short rows of cells, each of which writes into the next row: bytes around the last row stay
// unchanged. Rows overlap in src, touch, or lie apart, also on another page.
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

// Repeated short cells of one to three axes: near and far in src, forwards and backwards, with and
// without gaps, dst at any offset in a line.
void repeated_cells_are_exact(void**) {
  const dlx::Machine before = dlx::machine();
  dlx::machine().stream_bytes = 0;
  dlx::machine().long_row_bytes = 8;
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
  dlx::machine() = before;
}

// Runs that are streamed one by one, near and far, inside axes of any direction: on machines that
// stream short runs by themselves, and on machines that do not.
void streamed_runs_are_exact(void**) {
  const dlx::Machine before = dlx::machine();
  dlx::machine().stream_bytes = 0;
  for (const int64_t shortest : {64, 1024}) {
    dlx::machine().run_bytes = shortest;
    for (const int64_t alone : {64, 512, 1024}) {
      dlx::machine().long_run_bytes = alone;
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
  dlx::machine() = before;
}

// Runs of about a line that lie side by side in src, more than a cache holds: some at a time or
// from end to end, upwards and downwards, with gaps on both sides.
void runs_side_by_side_are_exact(void**) {
  const dlx::Machine before = dlx::machine();
  dlx::machine().cache_sets = 1;
  for (const int64_t item : {24, 48, 64, 80, 200, 512, 520}) {
    for (const int64_t columns : {2, 4, 9, 40}) {
      for (const int64_t n : {16, 64, 65, 200}) {
        for (const int64_t step : {1, 2}) {
          const int64_t row = step * columns;
          check_layout({columns, n}, compact({columns, n}), {step, row}, item);
          check_layout({columns, n}, compact({columns, n}), {-step, row}, item, 8);
          check_layout({columns, n}, {3 * n, 3}, {step, -row - 1}, item, 17);
          check_layout({3, columns, n}, compact({3, columns, n}), {n * row, step, row}, item);
        }
      }
    }
  }
  dlx::machine() = before;
}

}  // namespace

int main(int argc, char** argv) {
  const CMUnitTest layouts[] = {
      cmocka_unit_test(repeated_runs_are_exact),
      cmocka_unit_test(large_repeated_runs_are_exact),
      cmocka_unit_test(runs_side_by_side_are_exact),
      cmocka_unit_test(items_with_gaps_are_exact),
      cmocka_unit_test(gaps_in_dst_are_left_alone),
      cmocka_unit_test(items_beyond_caches_are_exact),
      cmocka_unit_test(single_items_into_gaps_are_exact),
      cmocka_unit_test(many_lines_are_exact),
      cmocka_unit_test(rows_that_take_turns_are_exact),
      cmocka_unit_test(short_rows_of_cells_are_exact),
      cmocka_unit_test(repeated_cells_are_exact),
      cmocka_unit_test(streamed_runs_are_exact),
  };
  return dlx_test::run_layouts(argc, argv, layouts);
}
