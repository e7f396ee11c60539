#!/bin/bash
# Runs the suite as on a machine's own driver (DLX_TEST_REAL), with a fake as the driver, on one device and
# on two, to test the code that otherwise runs only on a machine with a GPU.
set -u
failures=0
ran=0
for test in tests/device/test_*; do
  for devices in 1 2; do
    for driver in "$PWD"/tests/stubs/fake_lib*.so; do
      case $driver in
        *cuda*) cuda=$driver hip=/nonexistent ;;
        *) cuda=/nonexistent hip=$driver ;;
      esac
      DLX_TEST_REAL=1 DLX_CUDA_PATH=$cuda DLX_HIP_PATH=$hip FAKE_DEVICES=$devices "$test"
      case $? in
        0) ran=$((ran + 1)) ;;
        77) ;;  # cases for the fakes alone
        *) failures=$((failures + 1)) ;;
      esac
    done
  done
done
echo "$ran ran, $failures failed"
[ "$failures" -eq 0 ] && [ "$ran" -ge 20 ]
