#!/bin/bash
# Compiles each public header alone, and before and after the official DLPack headers that are
# installed, in every language version that dlx supports, with all warnings as errors.
#
# usage: headers.sh INCLUDE_DIR
#
# DLX_PYTHON: a Python with the apache-tvm-ffi package, which brings the official header 1.3.
set -u
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"

[ $# -eq 1 ] && [ -f "$1/dlx/dlpack.h" ] || die "usage: headers.sh INCLUDE_DIR"
include=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mapfile -t compilers < <(find_compilers)
[ ${#compilers[@]} -gt 0 ] || die "neither gcc nor clang is on PATH"
printf '%s\n' "${compilers[@]}" | grep -q gcc || skip "gcc: not on PATH"
printf '%s\n' "${compilers[@]}" | grep -q clang || skip "clang: not on PATH"
mapfile -t officials < <(find_official_headers)

# One job per line: "label|compiler and arguments".
jobs=$work/jobs

# add_jobs LABEL HEADER FLAGS SOURCE: compile SOURCE in every language of the header.
add_jobs() {
  local label=$1 header=$2 flags=$3 source=$4 languages language compiler more comments
  case $header in
    *.hpp) languages="c++17 c++20" ;;
    *) languages="c99 c11 c2x c++11 c++17 c++20" ;;
  esac
  for language in $languages; do
    case $language in
      c++*) more="-x c++ $CXX_WARNINGS" ;;
      *) more="-x c $C_WARNINGS" ;;
    esac
    for compiler in "${compilers[@]}"; do
      comments=
      [[ $compiler != clang* ]] || comments=-Wdocumentation
      echo "$label, $language, $compiler|$compiler $more -std=$language $WARNINGS $comments" \
        "-fsyntax-only -I$include -I$here $flags $source" >>"$jobs"
    done
  done
}

# write_source FILE INCLUDE...: each header twice, to test the guards; then its declarations.
write_source() {
  local file=$1 line
  shift
  {
    for line in "$@" "$@"; do echo "#include $line"; done
    echo '#ifdef DLX_DLPACK_H_'
    echo '#include "layout.c"'
    echo '#endif'
    echo '#ifdef DLX_DLX_H_'
    echo '#include "constants.c"'
    echo '#endif'
  } >"$file"
}

# Versions may change; constants.c must name all other constants.
missing=$(grep -hoE '^( *|#define )(DLX|ARROW)_[A-Z0-9_]+ (= )?[-(0-9]' "$include"/dlx/{dlx,arrow}.h |
  grep -oE '(DLX|ARROW)_[A-Z0-9_]+' | grep -v '^DLX_VERSION_' | sort -u |
  while read -r name; do grep -q "($name[,) ]" "$here/constants.c" || echo "$name"; done)
[ -z "$missing" ] || die "FAILED: not in constants.c: $missing"

# SWIG takes a number without a suffix for an int, whatever its size.
bare=$(grep -nE '^#define .*[^[:alnum:]][0-9]{10,}([^[:alnum:]]|$)' "$include"/dlx/*.h)
[ -z "$bare" ] || die "FAILED: a number beyond int without a suffix: $bare"

for path in "$include"/dlx/*.h "$include"/dlx/*.hpp; do
  [ -f "$path" ] || continue
  header=$(basename "$path")
  # Casters need the headers of other projects: examples/filter is their test.
  case $header in nanobind.h | pybind11.h) continue ;; esac
  ours="\"dlx/$header\"" official="<dlpack/dlpack.h>"
  write_source "$work/$header.alone" "$ours"
  write_source "$work/$header.first" "$ours" "$official"
  write_source "$work/$header.last" "$official" "$ours"

  add_jobs "dlx/$header alone" "$header" -DDLX_DLPACK_OWN "$work/$header.alone"
  for entry in "${officials[@]}"; do
    read -r release flags <<<"$entry"
    add_jobs "dlx/$header finding $release" "$header" "$flags" "$work/$header.alone"
    add_jobs "dlx/$header before $release" "$header" "$flags -DDLX_DLPACK_OWN" \
      "$work/$header.first"
    add_jobs "dlx/$header after $release" "$header" "$flags" "$work/$header.last"
  done
done

run_job() {
  local label=${1%%|*} command=${1#*|} output
  output=$($command 2>&1) && return
  printf 'FAILED: %s\n%s\n\n' "$label" "$(head -n 8 <<<"$output")"
  return 1
}
export -f run_job

xargs -a "$jobs" -d '\n' -P "$(nproc)" -I{} bash -c 'run_job "$1"' - {} >"$work/failures" 2>&1
status=$?
cat "$work/failures"
echo "$(wc -l <"$jobs") compilations, $(grep -c '^FAILED' "$work/failures") failed"
exit "$status"
