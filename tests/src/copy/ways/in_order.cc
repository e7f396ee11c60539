// Rows of one item; if large, also rows that are read again and again, and a src of 256 KiB.
#include "way_test.h"

using namespace dlx_test;

static const WayTest test(
    __FILE__, {small({
                   {"16 times the same item", 1, {40, 16}, {1, 0}, "in_order"},
                   {"15 times", 1, {40, 15}, {1, 0}, "planes"},
                   {"64 bytes of one item", 8, {40, 8}, {1, 0}, "in_order"},
                   {"56 bytes", 8, {40, 7}, {1, 0}, "planes"},
               }),
               large({
                   {"a row of 1024 bytes 4 times",
                    1,
                    {50, 4, 1024},
                    {2000, 0, 1},
                    "in_order",
                    {4200, 1030, 1}},
                   {"3 times", 1, {50, 3, 1024}, {2000, 0, 1}, "runs", {4200, 1030, 1}},
                   {"a row of 1025 bytes", 1, {50, 4, 1025}, {2000, 0, 1}, "runs", {4200, 1030, 1}},
                   {"256 KiB of items with gaps", 4, {65536}, {3}, "in_order"},
                   {"more", 4, {65552}, {3}, "spaced"},
               })});
