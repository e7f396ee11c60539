// Fuzzes the three spellings of a dtype (names, PEP 3118 formats, type strings): what is accepted is a
// dtype of DLPack, and what dlx writes for it is read back as the same dtype.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "dlx/dlx.h"
#include "src/base/error.h"
#include "src/dtype/dtype.h"

namespace {

void require(bool condition, const char* what, const std::string& text) {
  if (condition) return;
  std::fprintf(stderr, "%s: \"%s\"\n", what, text.c_str());
  std::abort();
}

DLDataType parse(int32_t style, const char* text) {
  return style < 0 ? dlx::parse_dtype(text) : dlx::parse_dtype_format(text, style);
}

void write(DLDataType dtype, int32_t style, char* out, size_t capacity) {
  if (style < 0) return dlx::name_dtype(dtype, out, capacity);
  dlx::format_dtype(dtype, style, out, capacity);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  static constexpr int32_t kStyles[] = {-1, DLX_FORMAT_BUFFER, DLX_FORMAT_TYPESTR};
  const int32_t style = kStyles[data[0] % 3];
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  DLDataType dtype;
  try {
    dtype = parse(style, text.c_str());
  } catch (const dlx::Error&) {
    return 0;
  }
  require(dlx::dtype_known(dtype), "an unknown dtype was accepted", text);
  for (const int32_t other : kStyles) {
    // An exact size, so that the sanitizers detect a write beyond it.
    char* const out = static_cast<char*>(std::malloc(DLX_NAME_SIZE));
    bool written = true;
    try {
      write(dtype, other, out, DLX_NAME_SIZE);
    } catch (const dlx::Error&) {
      written = false;  // not every dtype has a format
    }
    if (written)
      require(dlx::same_dtype(parse(other, out), dtype), "it is not read back", text + " → " + out);
    std::free(out);
  }
  return 0;
}
