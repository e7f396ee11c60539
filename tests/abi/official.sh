#!/bin/bash
# Compiles dlx/dlpack.h with official DLPack headers: layouts are equal, a later release and a
# snapshot between two releases are accepted, an unsuitable header is refused with a message.
#
# usage: official.sh INCLUDE_DIR
#
# DLX_PYTHON: a Python with the apache-tvm-ffi package, which brings the official header 1.3.
set -u
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"

[ $# -eq 1 ] && [ -f "$1/dlx/dlpack.h" ] || die "usage: official.sh INCLUDE_DIR"
include=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

fail() {
  echo "FAILED: $*"
  failures=$((failures + 1))
}

cxx() {
  local compiler
  compiler=$(find_compilers | head -1)
  case $compiler in gcc) compiler=g++ ;; clang*) compiler=clang++${compiler#clang} ;; esac
  "$compiler" -std=c++17 $WARNINGS "$@"
}

# fake NAME: write stdin to dlpack/dlpack.h in a folder of its own.
fake() {
  mkdir -p "$work/$1/dlpack"
  cat >"$work/$1/dlpack/dlpack.h"
}

# compile NAME FLAGS...: compile our header after the fake one; messages go to stdout.
compile() {
  local name=$1
  shift
  printf '#include <dlpack/dlpack.h>\n#include "dlx/dlpack.h"\n#include "layout.c"\n' |
    cxx -x c++ -fsyntax-only -I"$work/$name" -I"$include" -I"$here" "$@" - 2>&1
}

# ---- layouts are equal ----

while read -r release flags; do
  # The flags are words: no quotes.
  if cxx $flags -I"$include" "$here"/layout_{official,ours}.cc -o "$work/compare"; then
    output=$("$work/compare") || fail "layout of $release"
    echo "official $release: $output"
  else
    fail "layout of $release does not compile"
  fi
done < <(find_official_headers)

# ---- a later 1.x, in which names that dlx prefixes have become official ----

sed -e 's/DLX_/FAKE_/g' -e 's/enum dlx_/enum fake_/' -e 's/^#define DLPACK_MINOR_VERSION 3/#define DLPACK_MINOR_VERSION 4/' \
  -e 's/kDLTrn = 18 /kDLTrn = 18, kDLTPU = 19, kDLTPUHost = 20, kDLAscend = 21 /' \
  -e 's/kDLFloat4_e2m1fn = 17U$/kDLFloat4_e2m1fn = 17U, kDLBcomplex = 18U/' \
  "$include/dlx/dlpack.h" | fake later
grep -q 'kDLAscend = 21' "$work/later/dlpack/dlpack.h" &&
  grep -q 'kDLBcomplex = 18U' "$work/later/dlpack/dlpack.h" ||
  fail "the later header was not made: the patterns of this script are out of date"
compile later -DFAKE_DLPACK_OWN || fail "a later 1.x is not accepted"

# ---- a snapshot with a name newer than its version number ----

fake snapshot <<'HEADER'
#ifndef DLPACK_DLPACK_H_
#define DLPACK_DLPACK_H_
#include <stddef.h>
#include <stdint.h>
#define DLPACK_VERSION 70
typedef enum { kDLCPU = 1 } DLDeviceType;
typedef enum { kDLInt = 0, kDLBool = 6 } DLDataTypeCode;
typedef struct { DLDeviceType device_type; int device_id; } DLDevice;
typedef struct { uint8_t code; uint8_t bits; uint16_t lanes; } DLDataType;
typedef struct {
  void* data;
  DLDevice device;
  int ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
} DLTensor;
typedef struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(struct DLManagedTensor*);
} DLManagedTensor;
#endif
HEADER
compile snapshot -DDLX_DLPACK_NO_ENUMERATORS || fail "a snapshot is not accepted"
compile snapshot >/dev/null &&
  fail "the snapshot needs no DLX_DLPACK_NO_ENUMERATORS: it tests nothing"

# ---- unsuitable headers are refused with a message ----

fake unnumbered <<<'#define DLPACK_DLPACK_H_'
compile unnumbered | grep -q 'dlx needs DLPack 0.2 to 1.x' ||
  fail "no words for a header without a number"

fake major2 <<'HEADER'
#define DLPACK_DLPACK_H_
#define DLPACK_MAJOR_VERSION 2
#define DLPACK_MINOR_VERSION 0
HEADER
compile major2 | grep -q 'dlx needs DLPack 1' || fail "no words for DLPack 2"

echo "$failures failed"
[ "$failures" -eq 0 ]
