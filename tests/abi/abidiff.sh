#!/bin/bash
# Compares the public ABI of libdlx.so, functions and types, with the committed record of it.
#
# usage: abidiff.sh LIBRARY RECORD [INCLUDE_DIR]            compare; exit 1 on any difference
#        abidiff.sh --update LIBRARY RECORD [INCLUDE_DIR]   write the record
#
# LIBRARY must have debug information. INCLUDE_DIR (default: the folder include/ beside tests/)
# says which types are public. Needs abidw and abidiff (Debian: abigail-tools); without them the
# comparison is skipped.
set -u
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"

update=
[ "${1:-}" = --update ] && update=yes && shift
[ $# -eq 2 ] || [ $# -eq 3 ] || die "usage: abidiff.sh [--update] LIBRARY RECORD [INCLUDE_DIR]"
library=$1
record=$2
include=${3:-$here/../../include}
[ -f "$library" ] || die "abidiff.sh: no file $library"
[ -f "$include/dlx/dlx.h" ] || die "abidiff.sh: no headers in $include"

if ! command -v abidw >/dev/null || ! command -v abidiff >/dev/null; then
  [ -z "$update" ] || die "abidiff.sh: abidw is not installed (Debian: abigail-tools)"
  skip "abidw and abidiff are not installed (Debian: abigail-tools)"
  exit 0
fi
readelf --sections --wide "$library" | grep -q '\.debug_info' ||
  die "abidiff.sh: $library has no debug information (compile with -g, do not strip)"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The record has no paths, no line numbers and no private types, so it changes only with the ABI.
abidw --headers-dir "$include" --drop-private-types --drop-undefined-syms \
  --exported-interfaces-only --type-id-style hash --no-corpus-path --no-comp-dir-path \
  --no-show-locs --no-elf-needed \
  --out-file "$work/raw.abi" "$library" || die "abidiff.sh: abidw failed"
# A build outside the source tree names its sources by absolute paths: keep the last part.
sed "s|path='/[^']*/|path='|" "$work/raw.abi" >"$work/now.abi"

if [ -n "$update" ]; then
  cp "$work/now.abi" "$record" && echo "wrote $record"
  exit
fi

how="If the change is meant, run
    tests/abi/abidiff.sh --update LIBRARY $record
and add a line to CHANGELOG.md."

[ -f "$record" ] || die "FAILED: there is no record $record.
$how"
# --harmless: what abidiff calls harmless, a renamed field or a dropped const, breaks sources.
abidiff --harmless --no-show-locs "$record" "$work/now.abi" >"$work/report" 2>&1
status=$?
# Bits of the exit status: 1 failure, 2 wrong usage, 4 a change, 8 a change that breaks programs.
[ $((status & 3)) -eq 0 ] || die "abidiff.sh: abidiff failed
$(cat "$work/report")"
if [ $((status & 12)) -eq 0 ]; then
  echo "the ABI is the one of $record"
  exit 0
fi
cat "$work/report"
if [ $((status & 8)) -ne 0 ]; then
  echo "FAILED: programs built against $record would break. A released ABI only grows."
else
  echo "FAILED: the ABI is not the one of $record."
fi
echo "$how"
exit 1
