// From 128 KiB on, items that would move one by one although two steps with kernels arrange them.
#include "way_test.h"

using namespace dlx_test;

static const WayTest test(
    __FILE__,
    {small({
         {"every second item transposed, 132,000 bytes", 2, {220, 300}, {2, 441}, "relay"},
         {"120,000 bytes", 2, {200, 300}, {2, 401}, "planes"},
         {"items of 4 bytes cost less each", 4, {220, 300}, {2, 441}, "planes"},
     }),
     large({
         {"single bytes far apart", 1, {100, 40, 300}, {13, 1400, 60000}, "relay"},
         {"the same, one after the other",
          1,
          {100, 40, 300},
          {12000, 300, 1},
          "planes",
          {13000, 310, 1}},
     }),
     large_with_1_mib({
         {"single bytes far apart", 1, {100, 40, 300}, {13, 1400, 60000}, "relay"},
         {"two bytes", 2, {100, 40, 300}, {13, 1400, 60000}, "planes"},
     })});
