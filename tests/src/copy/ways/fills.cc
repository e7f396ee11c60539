// Rows of one item: 1 KiB of whole lines, or 2 KiB. Not with registers of a line, which write it unread.
#include "way_test.h"

using namespace dlx_test;

static const WayTest test(
    __FILE__,
    {large({
         {"rows of 1024 bytes", 4, {40, 256}, {1, 0}, "fills"},
         {"the same, but dst begins inside a line", 4, {40, 256}, {1, 0}, "in_order", {}, 16},
         {"rows of 1020 bytes", 4, {40, 255}, {1, 0}, "in_order"},
         {"rows of 2052 bytes", 4, {40, 513}, {1, 0}, "fills"},
         {"rows of 2044 bytes", 4, {40, 511}, {1, 0}, "in_order"},
     }),
     large_with_avx512({
         {"rows of 1024 bytes", 4, {40, 256}, {1, 0}, "in_order"},
     }),
     small({
         {"rows of 1024 bytes", 4, {40, 256}, {1, 0}, "in_order"},
     })});
