// Planes of less than 16 items of 8 and 16 bytes, or of 16 by 32 items without kernels of up to 32 bytes.
#include "way_test.h"

using namespace dlx_test;

static const WayTest test(
    __FILE__, {small({
                  {"2 by 3 items of 8 bytes", 8, {1000, 2, 3}, {6, 1, 2}, "table"},
                  {"4 by 4", 8, {1000, 4, 4}, {16, 1, 4}, "planes"},
                  {"items of 3 bytes", 3, {31, 4, 4}, {16, 1, 4}, "table"},
                  {"more of them: loops across planes", 3, {32, 4, 4}, {16, 1, 4}, "across"},
                  {"rows of 16", 3, {31, 4, 16}, {64, 1, 4}, "table"},
                  {"rows of 17", 3, {31, 4, 17}, {68, 1, 4}, "across"},
                  {"32 rows", 3, {31, 32, 4}, {128, 1, 32}, "table"},
                  {"33 rows", 3, {31, 33, 4}, {132, 1, 33}, "planes"},
                  {"items of 32 bytes", 32, {31, 4, 4}, {16, 1, 4}, "table"},
                  {"items of 33 bytes", 33, {31, 4, 4}, {16, 1, 4}, "across"},
              })});
