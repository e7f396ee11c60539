// Rows: short and long, side by side, backwards and with gaps.
#include "layout_test.h"

namespace {

using dlx_test::check_layout;
using dlx_test::compact;

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

// Columns of src with gaps between them, and rows of few columns: as many at a time as a load
// holds, with remainders on either axis, in either direction.
void columns_with_gaps_are_exact(void**) {
  const dlx::Machine before = dlx::machine();
  for (const int64_t threshold : {int64_t{0}, INT64_MAX}) {
    dlx::machine().stream_bytes = threshold;
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
    for (const int64_t item : {1, 2, 4, 8, 16}) {  // rows collide in the cache
      for (const int64_t nv : {2, 3, 5, 8, 9}) {
        check_layout({nv, 3, 70}, compact({nv, 3, 70}), {3, 8, 2048 / item}, item);
        check_layout({nv, 3, 70}, compact({nv, 3, 70}), {-3, 8, -2048 / item}, item, item);
        check_layout({nv, 130}, {4096 / item, 1}, {2, 4096 / item}, item);
        // A line holds less than two items: blocks of rows.
        const int64_t sparse = 40 / item + 1;
        check_layout({nv, 29}, {31, 1}, {sparse, 4096 / item}, item, item);
        check_layout({nv, 29}, {60, 2}, {-sparse, -4096 / item}, item, item);
      }
    }
    // Rows into gaps along either axis, upwards and downwards, with items far apart.
    for (const int64_t item : {1, 2, 4, 8, 16}) {
      for (const int64_t n : {2, 3, 7, 40}) {
        const int64_t far = 4096 / item + 1;
        check_layout({3, n, 5}, {15 * n + 1, 15, 3}, {1, 3, n * far}, item);
        check_layout({90, n, 2}, {9 * n, 9, 4}, {1, far, -n * far}, item, item);
        check_layout({5, 70}, {150, 2}, {-1, -far}, item);
        check_layout({5, n, 70}, {140 * n, 140, 2}, {2, 0, -far}, item);
        check_layout({3000, 2, n}, compact({3000, 2, n}), {1, 3001 * n, -3000}, item);
      }
    }
  }
  dlx::machine() = before;
}

// Many planes of few short rows: long loops along another axis, in whole parts and a remainder,
// with any axis repeated; and rows of 16 to 256 bytes at any offset in a line.
void planes_of_few_rows_are_exact(void**) {
  const dlx::Machine before = dlx::machine();
  for (const int64_t threshold : {int64_t{0}, INT64_MAX}) {
    dlx::machine().stream_bytes = threshold;
    for (const int64_t sets : {1024, 4096}) {
      dlx::machine().cache_sets = sets;
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
  dlx::machine().stream_bytes = INT64_MAX;
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
  dlx::machine().stream_bytes = 0;  // parts of long rows, with a repeated axis inside
  for (const int64_t item : {4, 8, 16}) {
    for (const int64_t start : {int64_t{0}, item, int64_t{17}}) {
      check_layout({3, 599, 2, 5}, compact({3, 599, 2, 5}), {5990, 2, 0, 1198}, item, start);
      check_layout({2, 700, 3, 2, 4}, compact({2, 700, 3, 2, 4}), {5600, 2, 0, 0, 1400}, item,
                   start);
    }
  }
  dlx::machine() = before;
  for (const int64_t bytes : {16, 32, 48, 64, 80, 96, 112, 128, 144, 240, 256}) {
    for (const int64_t start : {0, 16, 48, 5}) {
      check_layout({9, bytes}, {bytes, 1}, {300, 1}, 1, start);
      check_layout({9, bytes}, {bytes + 16, 1}, {-301, 1}, 1, start);
    }
  }
}

// Rows side by side in src that go to columns far apart in dst, some of the longer rows at a time,
// the last group smaller; more columns than there are kept lines; either axis downwards.
void regrouped_rows_are_exact(void**) {
  const dlx::Machine before = dlx::machine();
  dlx::machine().stream_bytes = 0;
  for (const int64_t sets : {1024, 2048}) {
    dlx::machine().cache_sets = sets;
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
  dlx::machine() = before;
}

// Long rows that are read from end to end, some side by side, beginning at a line of dst.
void rows_read_side_by_side_are_exact(void**) {
  const dlx::Machine before = dlx::machine();
  dlx::machine().stream_bytes = 0;
  dlx::machine().cache_sets = 1024;
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
  dlx::machine() = before;
}

// The same through a buffer: columns begin anywhere in a line, and rows share cache sets.
void rows_read_side_by_side_into_a_buffer_are_exact(void**) {
  const dlx::Machine before = dlx::machine();
  dlx::machine().stream_bytes = 0;
  dlx::machine().cache_sets = 1024;
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
  dlx::machine() = before;
}

// Rows near the length from which on the C library copies them, alone and with gaps between them.
void long_rows_are_exact(void**) {
  const dlx::Machine before = dlx::machine();
  for (const int64_t sets : {1024, 4096}) {
    dlx::machine().cache_sets = sets;
    for (const int64_t row : {32767, 32768, 50001}) {
      for (const int64_t start : {0, 17}) {
        check_layout({row}, {1}, {1}, 1, start);
        check_layout({3, row}, {row + 5, 1}, {-row - 9, 1}, 1, start);
      }
    }
  }
  dlx::machine() = before;
}

// Rows that repeat one item: short and long, between others and alone.
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
  const dlx::Machine before = dlx::machine();
  dlx::machine().stream_bytes = 0;
  for (const int64_t item : {1, 2, 4, 8, 16}) {
    for (const int64_t start : {int64_t{0}, item, int64_t{17}}) {
      for (const int64_t n : {63, 64, 1023, 1024, 1025, 2217}) {
        check_layout({n}, {1}, {0}, item, start);
        check_layout({3, n}, {n, 1}, {-1, 0}, item, start);
        check_layout({2, 2, n}, {2 * n + 1, n, 1}, {1, 2, 0}, item, start);
      }
    }
  }
  dlx::machine() = before;
}

// Rows that run backwards are written from their end, or by patterns that begin there: items of all
// sizes, rows that end anywhere in a line, with and without gaps between them.
void rows_that_run_backwards_are_exact(void**) {
  const dlx::Machine before = dlx::machine();
  for (const int64_t threshold : {int64_t{0}, INT64_MAX}) {
    dlx::machine().stream_bytes = threshold;
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
  dlx::machine() = before;
}

}  // namespace

int main(int argc, char** argv) {
  const CMUnitTest layouts[] = {
      cmocka_unit_test(short_rows_are_exact),
      cmocka_unit_test(columns_with_gaps_are_exact),
      cmocka_unit_test(planes_of_few_rows_are_exact),
      cmocka_unit_test(regrouped_rows_are_exact),
      cmocka_unit_test(rows_read_side_by_side_are_exact),
      cmocka_unit_test(rows_read_side_by_side_into_a_buffer_are_exact),
      cmocka_unit_test(long_rows_are_exact),
      cmocka_unit_test(rows_of_one_item_are_exact),
      cmocka_unit_test(rows_that_run_backwards_are_exact),
  };
  return dlx_test::run_layouts(argc, argv, layouts);
}
