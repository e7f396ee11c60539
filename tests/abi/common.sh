# Sourced by the scripts of this folder: finds compilers and official DLPack headers.

WARNINGS="-Wall -Wextra -Wpedantic -Werror"
C_WARNINGS="-Wstrict-prototypes -Wmissing-prototypes -Wc++-compat"
CXX_WARNINGS="-Wmissing-declarations"

die() {
  echo "$*" >&2
  exit 1
}

skip() { echo "skipped: $*"; }

# The compilers to use, one per line. At least one of gcc and clang must be installed.
find_compilers() {
  local found=() name
  command -v gcc >/dev/null && found+=(gcc)
  for name in clang clang-{21,20,19,18,17,16,15,14}; do
    command -v "$name" >/dev/null && found+=("$name") && break
  done
  [ ${#found[@]} -eq 0 ] || printf '%s\n' "${found[@]}"
}

# The official headers to test against, one per line: "release include-flags". Reports missing
# headers on stderr.
find_official_headers() {
  local dir
  if echo '#include <dlpack/dlpack.h>' | cc_any -xc -fsyntax-only - 2>/dev/null; then
    official_release
  else
    skip "the system's <dlpack/dlpack.h>: not installed (Debian: libdlpack-dev)" >&2
  fi
  if dir=$(wheel_include_dir) && [ -f "$dir/dlpack/dlpack.h" ]; then
    echo "$(official_release -isystem "$dir") -isystem $dir"
  else
    skip "official header 1.3: no package tvm_ffi in ${DLX_PYTHON:-python3} (DLX_PYTHON)" >&2
  fi
}

cc_any() { "$(find_compilers | head -1)" "$@"; }

wheel_include_dir() {
  "${DLX_PYTHON:-python3}" - 2>/dev/null <<'PYTHON'
import importlib.util
import os
spec = importlib.util.find_spec("tvm_ffi")
print(os.path.join(spec.submodule_search_locations[0], "include"))
PYTHON
}

official_release() {
  printf '%s\n' '#include <dlpack/dlpack.h>' \
    'release DLPACK_VERSION DLPACK_MAJOR_VERSION DLPACK_MINOR_VERSION' |
    cc_any -E -P "$@" - | awk '/^release / {
      if ($2 ~ /^[0-9]+$/) printf "0.%d\n", $2 / 10; else printf "%s.%s\n", $3, $4 }'
}
