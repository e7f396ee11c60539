// Rows that run backwards, of 256 bytes or more, of items of less than 384.
#include "way_test.h"

using namespace dlx_test;

static const WayTest test(__FILE__,
                          {large({
                              {"64 items of 4 bytes", 4, {20, 64}, {64, -1}, "backwards"},
                              {"63 items of 4 bytes", 4, {20, 63}, {63, -1}, "in_order"},
                              {"forwards", 4, {20, 64}, {70, 1}, "runs"},
                              {"items of 383 bytes", 383, {20, 30}, {30, -1}, "backwards"},
                              {"items of 384 bytes are runs", 384, {20, 30}, {30, -1}, "runs"},
                          })});
