// What no other way suits.
#include "way_test.h"

using namespace dlx_test;

static const WayTest test(
    __FILE__, {small({
                   {"a transposition", 4, {300, 400}, {1, 300}, "planes"},
                   {"the same with items of 3 bytes", 3, {300, 400}, {1, 300}, "strips"},
                   {"planes of 16 items of 8 bytes", 8, {1000, 4, 4}, {16, 1, 4}, "planes"},
                   {"planes of 12", 8, {1000, 3, 4}, {12, 1, 3}, "table"},
               }),
               large({
                   {"16 rows to join", 4, {9000, 16}, {1, 9000}, "planes"},
                   {"17 rows", 4, {9000, 17}, {1, 9000}, "tiles"},
               })});
