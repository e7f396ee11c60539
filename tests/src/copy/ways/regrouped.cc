// At least 4 columns of 1 KiB of rows of 24 to 448 bytes.
#include "way_test.h"

using namespace dlx_test;

static const WayTest test(
    __FILE__,
    {large({
         {"4 heads of 8 rows of 128 bytes", 2, {4, 8, 64}, {64, 256, 1}, "regrouped"},
         {"3 heads", 2, {3, 8, 64}, {64, 192, 1}, "runs"},
         {"7 rows", 2, {4, 7, 64}, {64, 256, 1}, "runs"},
         {"rows of 24 bytes, 2160 side by side", 1, {90, 60, 24}, {24, 2160, 1}, "regrouped"},
         {"rows of 23 bytes", 1, {90, 60, 23}, {23, 2070, 1}, "boxes"},
         {"rows of 24 bytes, 1920 side by side", 1, {80, 60, 24}, {24, 1920, 1}, "boxes"},
         {"rows of 448 bytes", 1, {8, 60, 448}, {448, 3584, 1}, "regrouped"},
         {"rows of 449 bytes", 1, {8, 60, 449}, {449, 3592, 1}, "planes"},
     }),
     large_with_1_mib({
         {"whole lines", 2, {4, 8, 64}, {64, 256, 1}, "runs"},
     })});
