// Items of 4 and 8 bytes three times their size apart, of 16 bytes twice, and less than 96 bytes.
#include "way_test.h"

using namespace dlx_test;

static const WayTest test(__FILE__, {large({
                                        {"4 bytes, steps of 12", 4, {70000}, {3}, "spaced"},
                                        {"steps of 8", 4, {70000}, {2}, "pattern"},
                                        {"steps of 92", 4, {70000}, {23}, "spaced"},
                                        {"steps of 96", 4, {70000}, {24}, "planes"},
                                        {"8 bytes, steps of 24", 8, {40000}, {3}, "spaced"},
                                        {"8 bytes, steps of 16", 8, {40000}, {2}, "pattern"},
                                        {"16 bytes, steps of 32", 16, {20000}, {2}, "spaced"},
                                        {"16 bytes, steps of 96", 16, {20000}, {6}, "planes"},
                                        {"2 bytes", 2, {140000}, {6}, "planes"},
                                    })});
