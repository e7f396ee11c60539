// Runs of 1 KiB, of whole lines, and of 384 bytes backwards; with 1 MiB of cache also shorter ones.
#include "way_test.h"

using namespace dlx_test;

static const WayTest test(
    __FILE__,
    {large({
         {"1024 bytes", 1, {50, 1024}, {2000, 1}, "runs"},
         {"1023 bytes", 1, {50, 1023}, {2000, 1}, "planes"},
         {"two lines", 1, {50, 128}, {200, 1}, "runs"},
         {"two lines, but dst begins inside a line", 1, {50, 128}, {200, 1}, "planes", {}, 16},
         {"384 bytes, backwards", 1, {50, 384}, {-500, 1}, "runs"},
         {"383 bytes, backwards", 1, {50, 383}, {-500, 1}, "backwards"},
     }),
     large_with_1_mib({
         {"383 bytes, backwards", 1, {50, 383}, {-500, 1}, "runs"},
         {"64 bytes", 1, {500, 64}, {100, 1}, "runs", {80, 1}},
         {"63 bytes", 1, {500, 63}, {100, 1}, "planes", {80, 1}},
     })});
