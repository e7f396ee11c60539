#!/bin/bash
# Our declarations of CUDA, HIP and OpenCL say what the vendors' headers say. A vendor whose headers are
# not here is skipped, and said so.
#
# CUDA_HOME, ROCM_PATH: look there first. DLX_PYTHON: a Python that may have NVIDIA's wheels.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
checked=0

# numbers HEADER: `kName = 1,  // THEIR_NAME` becomes SAME_NUMBER(kName, THEIR_NAME).
numbers() {
  sed -nE 's/^ *(using cuda::)?(k[A-Za-z0-9]+)( = [-0-9A-Fx]+)?[,;] +\/\/ (C[UL][A-Z0-9]*_[A-Z0-9_]+|hip[A-Za-z0-9]+)$/SAME_NUMBER(\2, \4)/p' \
    "src/driver/$1" >"$work/numbers.inc"
  [ "$(wc -l <"$work/numbers.inc")" -ge 20 ] || { echo "the numbers of $1 are not found"; exit 1; }
}

# check NAME PATTERN...: compiles NAME_abi.cc against each folder that has the header.
check() {
  local name=$1 header=$2 dir flags seen=
  shift 2
  numbers "$name.h"
  for dir in "$@"; do
    [ -f "$dir/$header" ] || continue
    dir=$(realpath "$dir")
    case " $seen " in *" $dir "*) continue ;; esac
    seen="$seen $dir"
    checked=$((checked + 1))
    # /usr/include is searched anyway; naming it would put it before the compiler's own.
    [ "$dir" = /usr/include ] && flags=() || flags=(-isystem "$dir")
    if g++ -std=c++17 -Wall -Wno-deprecated-declarations -fsyntax-only -I. -I"$work" "${flags[@]}" \
      "tests/src/driver/${name}_abi.cc"; then
      echo "$name: the same as $dir/$header"
    else
      failures=$((failures + 1))
    fi
  done
  [ -n "$seen" ] || echo "skipped: $name: no $header ($*)"
}

wheel_includes() {
  "${DLX_PYTHON:-python3}" - 2>/dev/null <<'PYTHON'
import glob
import importlib.util
spec = importlib.util.find_spec("nvidia")
for folder in spec.submodule_search_locations:
    print("\n".join(glob.glob(folder + "/*/include")))
PYTHON
}

check cuda cuda.h ${CUDA_HOME:+"$CUDA_HOME/include"} /usr/local/cuda*/include /usr/include $(wheel_includes)
check hip hip/hip_runtime_api.h ${ROCM_PATH:+"$ROCM_PATH/include"} /opt/rocm*/include /usr/include
check opencl CL/cl.h /usr/include /usr/local/cuda*/include
echo "$checked checked, $failures failed"
[ "$failures" -eq 0 ]
