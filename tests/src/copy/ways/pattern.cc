// Runs of 8 KiB that repeat one pattern of bytes, and rows that are apart in src from 3 KiB on.
#include "way_test.h"

using namespace dlx_test;

static const WayTest test(__FILE__,
                          {large({
                               {"every third byte, 8 KiB", 1, {8192}, {3}, "pattern"},
                               {"8191 bytes", 1, {8191}, {3}, "planes"},
                               {"every fifth byte", 1, {300000}, {5}, "pattern"},
                               {"every sixth byte", 1, {300000}, {6}, "planes"},
                               {"channels reversed", 1, {30000, 3}, {3, -1}, "pattern"},
                               {"crops to rows of 100 bytes", 1, {300, 100}, {200, 1}, "pattern"},
                           }),
                           large_with_sse2({
                               {"no byte permutation", 1, {30000, 3}, {3, -1}, "in_order"},
                           })});
