// Transpositions that strips, blocks and tiles do not suit, with caches of less than 1 MiB.
#include "way_test.h"

using namespace dlx_test;

static const WayTest test(
    __FILE__, {large({
                   {"columns of 508 bytes", 4, {300, 127}, {1, 300}, "boxes"},
                   {"columns of 512 bytes", 4, {300, 128}, {1, 300}, "strips"},
                   {"16 streams of 8-byte items", 8, {16, 3000}, {1, 16}, "boxes"},
                   {"15 streams are split in the order of dst", 8, {15, 3000}, {1, 15}, "planes"},
                   {"rows to join: 33", 4, {9000, 33}, {1, 9000}, "boxes"},
                   {"rows to join: 32", 4, {9000, 32}, {1, 9000}, "tiles"},
               }),
               large_with_1_mib({
                   {"columns of 508 bytes", 4, {300, 127}, {1, 300}, "tiles"},
               })});
