#!/usr/bin/env bash
# replay.sh PROGRAM CORPUS: a fuzz target, which tests/fuzz_main.cc runs, on the inputs that were kept.
exec "$1" "-corpus=$2"
