// Transpositions of items of 1 and 2 bytes, of close rows, and of rows that collide.
#include "way_test.h"

using namespace dlx_test;

static const WayTest test(
    __FILE__,
    {large({
         {"items of 2 bytes, columns of 512 bytes", 2, {300, 256}, {1, 300}, "gathered"},
         {"columns of 510 bytes", 2, {300, 255}, {1, 300}, "boxes"},
         {"items of 4 bytes, rows less than 1 KiB apart", 4, {250, 3000}, {1, 250}, "gathered"},
         {"rows further apart", 4, {300, 3000}, {1, 300}, "strips"},
         {"rows further apart that collide", 4, {4096, 300}, {1, 4096}, "gathered"},
     }),
     large_with_1_mib({
         {"items of 2 bytes, columns of 512 bytes", 2, {300, 256}, {1, 300}, "strips"},
     })});
