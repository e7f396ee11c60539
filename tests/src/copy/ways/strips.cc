// Transpositions of columns of 512 bytes or more; items of 3 bytes from 32 KiB on, also if small.
#include "way_test.h"

using namespace dlx_test;

static const WayTest test(
    __FILE__, {large({
                   {"columns of 512 bytes", 4, {300, 128}, {1, 300}, "strips"},
                   {"columns of 508 bytes", 4, {300, 127}, {1, 300}, "boxes"},
                   {"items of 3 bytes, columns of 258 bytes", 3, {300, 86}, {1, 300}, "strips"},
                   {"columns of 255 bytes", 3, {300, 85}, {1, 300}, "boxes"},
               }),
               small({
                   {"items of 3 bytes, 33,000 bytes", 3, {100, 110}, {1, 100}, "strips"},
                   {"32,700 bytes", 3, {100, 109}, {1, 100}, "planes"},
                   {"items of 6 bytes, 264,000 bytes", 6, {200, 220}, {1, 200}, "strips"},
                   {"240,000 bytes", 6, {200, 200}, {1, 200}, "planes"},
               })});
