// Axes that are too short by themselves, folded to a register or more on both sides.
#include "way_test.h"

using namespace dlx_test;

static const WayTest test(
    __FILE__, {small({
                   {"four short axes reversed", 4, {5, 4, 3, 2}, {1, 5, 20, 60}, "folded"},
                   {"two long axes need no folding", 4, {60, 50}, {1, 60}, "planes"},
                   {"together less than a register", 4, {3, 3, 3}, {9, 1, 3}, "table"},
               }),
               large({
                   {"four short axes reversed", 4, {5, 4, 3, 2}, {1, 5, 20, 60}, "folded"},
                   {"long axes", 4, {40, 30, 20, 10}, {1, 40, 1200, 24000}, "strips"},
               })});
