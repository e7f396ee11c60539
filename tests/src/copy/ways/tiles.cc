// 17 to 32 rows that are joined; with 1 MiB of cache, transpositions that are too short for strips.
#include "way_test.h"

using namespace dlx_test;

static const WayTest test(__FILE__,
                          {large({
                               {"17 rows", 4, {9000, 17}, {1, 9000}, "tiles"},
                               {"16 rows", 4, {9000, 16}, {1, 9000}, "planes"},
                               {"33 rows", 4, {9000, 33}, {1, 9000}, "boxes"},
                           }),
                           large_with_1_mib({
                               {"columns of 508 bytes", 4, {300, 127}, {1, 300}, "tiles"},
                               {"columns of 512 bytes", 4, {300, 128}, {1, 300}, "strips"},
                               {"33 rows", 4, {9000, 33}, {1, 9000}, "tiles"},
                           })});
