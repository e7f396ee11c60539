#!/usr/bin/env bash
# tests/msan.sh [FOLDER]: replays fuzz corpora under MemorySanitizer, which finds reads of memory that nobody
# wrote. It needs a C++ library that is built with it too: this script builds libc++ from the sources in the
# package ziglang (third_party/python/platforms.txt), and all of dlx, into FOLDER, where a second run finds both.
# Status 77: no clang, no CMake, or no ziglang.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.."
folder=$(realpath -m "${1:-build/msan}")
python=${DLX_PYTHON:-.venv/bin/python}
type clang++-19 cmake &>/dev/null || { echo "msan.sh: no clang 19, or no CMake"; exit 77; }
zig=$("$python" -c "import ziglang; print(ziglang.__path__[0])" 2>/dev/null) || { echo "msan.sh: no ziglang"; exit 77; }
mkdir -p "$folder"

# What LLVM's build would write into __config_site; Zig passes these words too.
site=(
  -D_LIBCPP_ABI_VERSION=1 -D_LIBCPP_ABI_NAMESPACE=__1
  -D_LIBCPP_HARDENING_MODE_DEFAULT=_LIBCPP_HARDENING_MODE_NONE
  -D_LIBCPP_ASSERTION_SEMANTIC_DEFAULT=_LIBCPP_ASSERTION_SEMANTIC_ENFORCE
  -D_LIBCPP_PSTL_BACKEND_SERIAL
)
for yes in THREADS THREAD_API_PTHREAD MONOTONIC_CLOCK TERMINAL FILESYSTEM RANDOM_DEVICE LOCALIZATION UNICODE \
  WIDE_CHARACTERS; do site+=("-D_LIBCPP_HAS_$yes=1"); done
for no in MUSL_LIBC VENDOR_AVAILABILITY_ANNOTATIONS TIME_ZONE_DATABASE THREAD_API_EXTERNAL THREAD_API_WIN32 \
  THREAD_API_C11; do site+=("-D_LIBCPP_HAS_$no=0"); done
for libc in PICOLIBC NEWLIB LLVM_LIBC; do site+=("-D_LIBCPP_LIBC_$libc=0"); done
# -w: clang 19 does not know all words of a newer libc++.
flags=(-O1 -g1 -fno-omit-frame-pointer -fsanitize=memory -fno-sanitize-recover=all -nostdinc++ -w "${site[@]}"
  -isystem "$zig/lib/libcxx/include" -isystem "$zig/lib/libcxxabi/include")

compile() { # OBJECT SOURCE FLAG...
  [[ $1 -nt $2 ]] || clang++-19 "${flags[@]}" "${@:3}" -c "$2" -o "$1"
}

objects=()
for source in "$zig"/lib/libcxx/src/*.cpp "$zig"/lib/libcxxabi/src/*.cpp; do
  name=${source##*/}
  # The C++ ABI's library has its own operator new; cxa_noexception is for builds without exceptions.
  case $source in */libcxx/src/new.cpp | */libcxx/src/print.cpp | */cxa_noexception.cpp) continue ;; esac
  objects+=("$folder/cxx-$name.o")
  compile "${objects[-1]}" "$source" -std=c++23 -I"$zig/lib/libcxx/src" -I"$zig/lib/libcxx/src/include" \
    -I"$zig/lib/libcxx/libc" -D_LIBCPP_BUILDING_LIBRARY -DLIBCXX_BUILDING_LIBCXXABI \
    -D_LIBCXXABI_BUILDING_LIBRARY -DHAVE___CXA_THREAD_ATEXIT_IMPL
done
rm -f "$folder/libcxx.a"
ar rcs "$folder/libcxx.a" "${objects[@]}"

# The whole library, by the builds of packagers: CMakeLists.txt knows its sources and their flags.
cmake -S . -B "$folder/library" -DBUILD_SHARED_LIBS=OFF -DCMAKE_BUILD_TYPE=None -DCMAKE_CXX_COMPILER=clang++-19 \
  -DCMAKE_CXX_COMPILER_WORKS=1 -DCMAKE_CXX_FLAGS="${flags[*]}" >"$folder/cmake.log" || { cat "$folder/cmake.log"; exit 1; }
cmake --build "$folder/library" -j"$(nproc)" --target dlx >"$folder/build.log" || { tail -50 "$folder/build.log"; exit 1; }

compile "$folder/main.o" tests/fuzz_main.cc -std=c++17
# Not the target of the drivers: they are libraries of their own, which are not compiled for this.
for target in capi/fuzz_calls src/{arrow/fuzz_{metadata,schema},contract/fuzz_contract,copy/fuzz_copy,dtype/fuzz_formats,tensor/fuzz_views}; do
  program=$folder/${target//\//-}
  compile "$program.o" "tests/$target.cc" -std=c++17 -DDLX_DLPACK_OWN -DDLX_STATIC -I. -Iinclude
  clang++-19 -fsanitize=memory -nostdlib++ "$program.o" "$folder/main.o" "$folder/library/libdlx.a" "$folder/libcxx.a" \
    -lpthread -ldl -lm -o "$program"
  echo "$target"
  # It writes a line for each allocation that is refused.
  MSAN_OPTIONS=allocator_may_return_null=1 "$program" "-corpus=tests/$target.corpus" -seeds=1-2000 2>"$program.log" ||
    { grep -v "failed to allocate" "$program.log"; exit 1; }
done
