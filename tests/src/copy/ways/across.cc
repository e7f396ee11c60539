// Planes with few rows, along a third axis as long as twice their rows.
#include "way_test.h"

using namespace dlx_test;

static const WayTest test(
    __FILE__,
    {small({
        {"few rows along v, and twice as many places", 4, {6, 3, 3}, {9, 1, 3}, "across"},
        {"not twice as many places", 4, {5, 3, 3}, {9, 1, 3}, "table"},
        {"11 rows", 4, {1000, 11, 3}, {90, 7, 2}, "across"},
        {"12 rows: the cache holds too few of them", 4, {1000, 12, 3}, {96, 7, 2}, "table"},
        {"items without kernels, 32 times", 3, {32, 4, 4}, {16, 1, 4}, "across"},
        {"31 times: a table costs less", 3, {31, 4, 4}, {16, 1, 4}, "table"},
    })});
