#!/bin/bash -eu
# Builds each fuzz_*.cc of tests with the flags of the service: all of src and capi are linked into
# each target, so that no shared library has to be found. Corpora become zip files, as the service
# expects.
flags="$CXXFLAGS -std=c++17 -DDLX_DLPACK_OWN -Wno-deprecated-declarations -I. -Iinclude"
mkdir -p "$WORK/objects" "$WORK/corpora"
objects=()
while read -r source; do
  object="$WORK/objects/${source//\//_}.o"
  $CXX $flags -c "$source" -o "$object"
  objects+=("$object")
done < <(find src capi -name '*.cc' | sort)
ar rcs "$WORK/libdlx.a" "${objects[@]}"

# tests/device is about the fake drivers, which are shared libraries.
for source in $(find tests -name 'fuzz_*.cc' ! -name fuzz_main.cc ! -path 'tests/device/*'); do
  name=$(basename "$source" .cc)
  folder=$(dirname "$source")
  $CXX $flags -I"$folder" -Itests/src/copy "$source" "$WORK/libdlx.a" $LIB_FUZZING_ENGINE -ldl -lpthread \
    -o "$OUT/$name"
  [[ ! -f $folder/$name.dict ]] || cp "$folder/$name.dict" "$OUT/"
  [[ -f $folder/$name.corpus ]] || continue
  mkdir -p "$WORK/corpora/$name"
  number=0
  while read -r line; do
    printf '%b' "$(sed 's/../\\x&/g' <<<"$line")" >"$WORK/corpora/$name/$((number += 1))"
  done <"$folder/$name.corpus"
  (cd "$WORK/corpora/$name" && zip -qr "$OUT/${name}_seed_corpus.zip" .)
done
