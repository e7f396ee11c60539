#!/bin/bash
# The embedded kernels are made from this source, are valid HIP C++, and NVIDIA's assembler takes them for
# every architecture that it knows. Parts that need a missing tool are skipped with a message.
set -u
failures=0

if python3 src/gpu/make_images.py --check; then
  echo "the images are up to date"
else
  failures=1
fi

print=tests/src/gpu/print_image
families="turn few pattern rows tiles elements"
for image in ptx source gfx906 gfx90a gfx942 gfx1030 gfx1100; do
  for family in $families; do
    expected=$(sed -n "s/^\/\/ image $image $family: //p" src/gpu/images_*.inc)
    found=$("$print" "$image" "$family" | sha256sum)
    [ "${found%% *}" = "$expected" ] || { echo "$image $family: unpacked wrongly"; failures=1; }
  done
done

# hiprtc compiles HIP C++ without headers: clang does the same, for architectures without an image.
if command -v clang-19 >/dev/null && command -v ld.lld-19 >/dev/null; then
  architecture=gfx1201
  for family in $families; do
    "$print" source "$family" | tr -d '\0' >"$TEST_TMPDIR/k.hip"
    if clang-19 -x hip -nogpuinc -nogpulib --cuda-device-only --no-gpu-bundle-output "--offload-arch=$architecture" -O2 \
      -Wall -Wextra -Werror -c -o "$TEST_TMPDIR/k.o" "$TEST_TMPDIR/k.hip"; then
      echo "HIP C++ of $family for $architecture: valid"
    else
      failures=1
    fi
  done
else
  echo "skipped: HIP C++: there is no clang-19 with ld.lld-19"
fi

ptxas=$(command -v ptxas || ls /usr/local/cuda*/bin/ptxas 2>/dev/null | tail -n 1)
if [ -n "$ptxas" ]; then
  known=$("$ptxas" --help | grep -oE "'sm_[0-9]+'" | tr -d "'" | sort -u)
  for family in $families; do
    "$print" ptx "$family" | tr -d '\0' >"$TEST_TMPDIR/k.ptx"
    for architecture in $(printf "%s\n" $known | grep -xE "sm_(50|75|90|121)"); do
      if "$ptxas" "-arch=$architecture" -Werror -v -o /dev/null "$TEST_TMPDIR/k.ptx" \
        2>"$TEST_TMPDIR/log" && ! grep -qE ' [1-9][0-9]* bytes (spill|stack)' "$TEST_TMPDIR/log"; then
        echo "PTX of $family for $architecture: taken, nothing spilled"
      else
        cat "$TEST_TMPDIR/log"
        failures=1
      fi
    done
  done
else
  echo "skipped: PTX: there is no ptxas"
fi
exit "$failures"
