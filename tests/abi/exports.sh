#!/bin/bash
# Checks what linkers see of libdlx.so: it exports exactly the functions that the headers declare,
# each with its version. Also checks its name, dependencies, flags and size.
#
# usage: exports.sh LIBRARY HEADER...
#
# The headers are the C ones, by paths that end in dlx/NAME.h. A sanitizer's build is skipped: it
# needs the sanitizer's runtime and leaves symbols undefined.
set -u -o pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"

max_bytes=$((1536 * 1024))
soname=libdlx.so.1
may_need='^(libc|libm|libdl|libpthread|ld-linux[-a-z0-9_]*|ld64)\.so\.[0-9]+$'

[ $# -ge 2 ] || die "usage: exports.sh LIBRARY HEADER..."
library=$1
shift
[ -f "$library" ] || die "exports.sh: no file $library"
for header in "$@"; do [ -f "$header" ] || die "exports.sh: no file $header"; done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

fail() {
  echo "FAILED: $*"
  failures=$((failures + 1))
}

dynamic=$(readelf --wide --dynamic "$library") || die "exports.sh: $library is no ELF file"
if grep -Eq 'NEEDED.*\[lib(clang_rt\.)?(asan|lsan|tsan|ubsan)' <<<"$dynamic" ||
  nm -D --undefined-only "$library" | grep -E ' __(asan|tsan|ubsan)_' >/dev/null; then
  skip "$library was built with a sanitizer"
  exit 0
fi

# ---- symbols: exactly the functions that the headers declare ----

# After the preprocessor, every statement that starts with the mark declares one function.
declared() {
  local header
  for header in "$@"; do
    cc_any -E -P -DDLX_DLPACK_OWN -DDLX_API=dlx_api_mark -I"$(dirname "$(dirname "$header")")" \
      "$header" || die "exports.sh: $header does not preprocess"
  done | tr '\n' ' ' | tr ';{}' '\n\n\n' |
    sed -n 's/.*dlx_api_mark[^(]*[^A-Za-z0-9_(]\([A-Za-z_][A-Za-z0-9_]*\) *(.*/\1/p' | sort -u
}

declared "$@" >"$work/declared" || exit 1
[ -s "$work/declared" ] || die "exports.sh: no DLX_API declaration found in $*"

# Lines "name@@version type"; the version nodes themselves are symbols of type A.
nm -D --defined-only --with-symbol-versions --format=posix "$library" |
  awk '$2 != "A" { print $1, $2 }' >"$work/exported"
sed 's/[@ ].*//' "$work/exported" | sort -u >"$work/names"

for name in $(comm -23 "$work/declared" "$work/names"); do
  fail "$name is declared, but not exported"
done
for name in $(comm -13 "$work/declared" "$work/names"); do
  fail "$name is exported, but in no header"
done

while read -r symbol type; do
  [[ $symbol =~ @@DLX_1\.[0-9]+$ ]] || fail "$symbol has no version DLX_1.N"
  [ "$type" = T ] || fail "$symbol is no function (nm type $type)"
done <"$work/exported"

# ---- the dynamic section ----

entry() { sed -n "s/.*($1).*\[\(.*\)\].*/\1/p" <<<"$dynamic"; }

[ "$(entry SONAME)" = "$soname" ] || fail "SONAME is '$(entry SONAME)', expected $soname"
for needed in $(entry NEEDED); do
  [[ $needed =~ $may_need ]] || fail "needs $needed; only the C library's own files are allowed"
done
grep -q 'FLAGS_1.*NODELETE' <<<"$dynamic" ||
  fail "not linked with -z nodelete: deleters must outlive dlclose"
grep -Eq '\((RPATH|RUNPATH)\)' <<<"$dynamic" && fail "carries an RPATH or RUNPATH"
grep -Eq 'TEXTREL' <<<"$dynamic" && fail "has text relocations: not all objects are -fPIC"
readelf --wide --program-headers "$library" | grep -E 'GNU_STACK.* RWE ' >/dev/null &&
  fail "asks for an executable stack"

# ---- size ----

strip -o "$work/stripped" "$library" || fail "strip failed"
bytes=$(wc -c <"$work/stripped")
[ "$bytes" -le "$max_bytes" ] || fail "$bytes bytes when stripped, expected at most $max_bytes"

echo "$(wc -l <"$work/declared") functions, $bytes bytes stripped, $failures failed"
[ "$failures" -eq 0 ]
