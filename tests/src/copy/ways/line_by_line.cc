// Transpositions of items of 8 and 16 bytes whose 16 rows or more are 4 and 2 KiB long.
#include "way_test.h"

using namespace dlx_test;

static const WayTest test(
    __FILE__, {large({
                   {"512 columns of 8 bytes", 8, {512, 200}, {1, 512}, "line_by_line"},
                   {"504 columns", 8, {504, 200}, {1, 504}, "strips"},
                   {"128 columns of 16 bytes", 16, {128, 500}, {1, 128}, "line_by_line"},
                   {"124 columns", 16, {124, 500}, {1, 124}, "strips"},
                   {"items of 4 bytes", 4, {1000, 200}, {1, 1000}, "strips"},
               }),
               large_with_1_mib({
                   {"512 columns of 8 bytes", 8, {512, 200}, {1, 512}, "strips"},
               })});
