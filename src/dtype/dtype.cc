#include "src/dtype/dtype.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "dlx/dlx.h"
#include "src/base/error.h"

namespace dlx {
namespace {

/// THE list of dtypes, indexed by code: the name, whether the number of bits follows it, and the
/// numbers of bits that the code allows.
struct Kind {
  uint8_t code;
  bool bits_in_name;
  const char* name;
  uint64_t bits[2];  ///< bit n-1 of the 128: n bits are allowed

  constexpr Kind(int code_of, bool bits_follow, const char* name_of,
                 std::initializer_list<int> widths)
      : code(static_cast<uint8_t>(code_of)), bits_in_name(bits_follow), name(name_of), bits{0, 0} {
    for (int width : widths) bits[(width - 1) / 64] |= uint64_t{1} << ((width - 1) % 64);
  }
  constexpr bool has(unsigned width) const {
    return width - 1 < 128 && (bits[(width - 1) / 64] >> ((width - 1) % 64) & 1) != 0;
  }
};

constexpr Kind kKinds[] = {
    {kDLInt, true, "int", {1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 64, 128}},
    {kDLUInt, true, "uint", {1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 64, 128}},
    {kDLFloat, true, "float", {16, 32, 64, 128}},
    {kDLOpaqueHandle, true, "opaque", {8, 16, 32, 64, 128}},
    {kDLBfloat, true, "bfloat", {16}},
    {kDLComplex, true, "complex", {32, 64, 128}},
    {kDLBool, false, "bool", {8}},
    {kDLFloat8_e3m4, false, "float8_e3m4", {8}},
    {kDLFloat8_e4m3, false, "float8_e4m3", {8}},
    {kDLFloat8_e4m3b11fnuz, false, "float8_e4m3b11fnuz", {8}},
    {kDLFloat8_e4m3fn, false, "float8_e4m3fn", {8}},
    {kDLFloat8_e4m3fnuz, false, "float8_e4m3fnuz", {8}},
    {kDLFloat8_e5m2, false, "float8_e5m2", {8}},
    {kDLFloat8_e5m2fnuz, false, "float8_e5m2fnuz", {8}},
    {kDLFloat8_e8m0fnu, false, "float8_e8m0fnu", {8}},
    {kDLFloat6_e2m3fn, false, "float6_e2m3fn", {6}},
    {kDLFloat6_e3m2fn, false, "float6_e3m2fn", {6}},
    {kDLFloat4_e2m1fn, false, "float4_e2m1fn", {4}},
    {18, true, "bcomplex", {32}},  // kDLBcomplex, which no released dlpack.h has yet
};

constexpr size_t kKindCount = sizeof kKinds / sizeof *kKinds;

constexpr bool indexed_by_code() {
  for (size_t i = 0; i < kKindCount; ++i) {
    if (kKinds[i].code != i) return false;
  }
  return true;
}
static_assert(indexed_by_code(), "kKinds must be in the order of the codes, without a gap");

const Kind* find_kind(DLDataType dtype) noexcept {
  if (dtype.code >= kKindCount || !kKinds[dtype.code].has(dtype.bits)) return nullptr;
  return &kKinds[dtype.code];
}

/// Reads a decimal number without sign or leading zero; false if there is none or it exceeds
/// `limit`.
bool read_number(const char** cursor, int limit, int* out) noexcept {
  const char* c = *cursor;
  if (*c < '1' || *c > '9') return false;
  int value = 0;
  for (; *c >= '0' && *c <= '9'; ++c) {
    value = value * 10 + (*c - '0');
    if (value > limit) return false;
  }
  *cursor = c;
  *out = value;
  return true;
}

/// Reads the rest of a name: "x4" or nothing.
bool read_lanes(const char* rest, int* out) noexcept {
  *out = 1;
  if (*rest == '\0') return true;
  if (*rest++ != 'x') return false;
  return read_number(&rest, UINT16_MAX, out) && *rest == '\0';
}

void copy_text(const char* text, char* out, size_t capacity) {
  const size_t length = std::strlen(text);
  if (length >= capacity) {
    fail(DLX_ERROR_INVALID_ARGUMENT, "`capacity` is too small (got %zu, expected at least %zu)",
         capacity, length + 1);
  }
  std::memcpy(out, text, length + 1);
}

constexpr bool kLittleEndian = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;

[[noreturn]] void fail_byte_order(const char* format) {
  fail(DLX_ERROR_UNSUPPORTED,
       "`format` has a foreign byte order, which DLPack cannot express (got \"%.40s\", expected "
       "the machine's own): convert the data first",
       format);
}

/// One scalar of a buffer format, with native or standard sizes.
DLDataType parse_buffer_scalar(const char* c, bool native_size) noexcept {
  const int long_bits = native_size ? static_cast<int>(8 * sizeof(long)) : 32;
  if (c[0] == 'Z' && c[1] != '\0' && c[2] == '\0') {
    switch (c[1]) {
      case 'e': return make_dtype(kDLComplex, 32);
      case 'f': return make_dtype(kDLComplex, 64);
      case 'd': return make_dtype(kDLComplex, 128);
    }
    return make_dtype(0, 0);
  }
  if (c[0] == '\0' || c[1] != '\0') return make_dtype(0, 0);
  switch (c[0]) {
    case '?': return make_dtype(kDLBool, 8);
    case 'b': return make_dtype(kDLInt, 8);
    case 'B': return make_dtype(kDLUInt, 8);
    case 'h': return make_dtype(kDLInt, 16);
    case 'H': return make_dtype(kDLUInt, 16);
    case 'i': return make_dtype(kDLInt, 32);
    case 'I': return make_dtype(kDLUInt, 32);
    case 'l': return make_dtype(kDLInt, long_bits);
    case 'L': return make_dtype(kDLUInt, long_bits);
    case 'q': return make_dtype(kDLInt, 64);
    case 'Q': return make_dtype(kDLUInt, 64);
    case 'n': return make_dtype(kDLInt, native_size ? 8 * sizeof(size_t) : 0);
    case 'N': return make_dtype(kDLUInt, native_size ? 8 * sizeof(size_t) : 0);
    case 'e': return make_dtype(kDLFloat, 16);
    case 'f': return make_dtype(kDLFloat, 32);
    case 'd': return make_dtype(kDLFloat, 64);
    case 'F': return make_dtype(kDLComplex, 64);  // ctypes from CPython 3.14 on
    case 'D': return make_dtype(kDLComplex, 128);
  }
  return make_dtype(0, 0);
}

DLDataType parse_buffer_format(const char* format) {
  const char* c = format;
  bool native_size = true, swapped = false;
  switch (*c) {
    case '@':
    case '^': ++c; break;
    case '=':
      ++c;
      native_size = false;
      break;
    case '<':
      ++c;
      native_size = false;
      swapped = !kLittleEndian;
      break;
    case '>':
    case '!':
      ++c;
      native_size = false;
      swapped = kLittleEndian;
      break;
  }
  const DLDataType dtype = parse_buffer_scalar(c, native_size);
  if (dtype.bits == 0) {
    fail(DLX_ERROR_UNSUPPORTED,
         "`format` is not a scalar of DLPack (got \"%.40s\", expected one of ? b B h H i I "
         "l L q Q n N e f d Zf Zd): structures, strings and objects cannot be exchanged",
         format);
  }
  if (swapped && dtype.bits > 8) fail_byte_order(format);
  return dtype;
}

DLDataType parse_typestr(const char* typestr) {
  const char order = typestr[0];
  int bytes = 0;
  const char* rest = order == '\0' ? "" : typestr + 2;
  const bool shaped = order != '\0' && std::strchr("<>|=", order) != nullptr &&
                      typestr[1] != '\0' && read_number(&rest, 16, &bytes) && *rest == '\0';
  DLDataType dtype = make_dtype(0, 0);
  if (shaped) {
    switch (typestr[1]) {
      case 'b': dtype = make_dtype(kDLBool, bytes == 1 ? 8 : 0); break;
      case 'i': dtype = make_dtype(kDLInt, bytes <= 8 ? bytes * 8 : 0); break;
      case 'u': dtype = make_dtype(kDLUInt, bytes <= 8 ? bytes * 8 : 0); break;
      // 16 bytes of 'f' are a long double, which is not IEEE binary128 on every machine.
      case 'f': dtype = make_dtype(kDLFloat, bytes >= 2 && bytes <= 8 ? bytes * 8 : 0); break;
      case 'c': dtype = make_dtype(kDLComplex, bytes >= 8 ? bytes * 8 : 0); break;
    }
  }
  if (dtype.bits == 0 || !dtype_known(dtype)) {
    fail(DLX_ERROR_UNSUPPORTED,
         "`format` is not a typestr of DLPack's dtypes (got \"%.40s\", expected something like "
         "\"<f4\"): structures, strings, dates and objects cannot be exchanged",
         typestr);
  }
  if (dtype.bits > 8 && order == (kLittleEndian ? '>' : '<')) fail_byte_order(typestr);
  return dtype;
}

}  // namespace

bool dtype_known(DLDataType dtype) noexcept {
  return dtype.lanes != 0 && find_kind(dtype) != nullptr;
}

void require_known_dtype(DLDataType dtype, const char* argument, const char* owner) {
  if (dtype_known(dtype)) return;
  fail(DLX_ERROR_UNSUPPORTED,
       "`%s`%s is not a dtype of DLPack 1.3 (got code %d, bits %d, lanes %d)", argument,
       OwnerText(owner).text, dtype.code, dtype.bits, dtype.lanes);
}

DLDataType parse_dtype(const char* name) {
  for (const Kind& kind : kKinds) {
    const size_t length = std::strlen(kind.name);
    if (std::strncmp(name, kind.name, length) != 0) continue;
    const char* rest = name + length;
    int bits = 1, lanes = 1;
    if (kind.bits_in_name) {
      if (!read_number(&rest, 255, &bits)) continue;
    } else {
      while (!kind.has(static_cast<unsigned>(bits))) ++bits;
    }
    if (!read_lanes(rest, &lanes)) continue;
    const DLDataType dtype = make_dtype(kind.code, bits, lanes);
    if (dtype_known(dtype)) return dtype;
  }
  fail(DLX_ERROR_INVALID_ARGUMENT,
       "`name` is not a dtype (got \"%.60s\", expected one like \"float32\", \"bfloat16\" or "
       "\"uint8x4\")",
       name);
}

DTypeText dtype_text(DLDataType dtype) noexcept {
  DTypeText out;
  const Kind* kind = find_kind(dtype);
  if (kind == nullptr || dtype.lanes == 0) {
    std::snprintf(out.text, sizeof out.text, "(code %d, bits %d, lanes %d)", dtype.code, dtype.bits,
                  dtype.lanes);
    return out;
  }
  char bits[8] = "", lanes[8] = "";
  if (kind->bits_in_name) std::snprintf(bits, sizeof bits, "%d", dtype.bits);
  if (dtype.lanes != 1) std::snprintf(lanes, sizeof lanes, "x%d", dtype.lanes);
  std::snprintf(out.text, sizeof out.text, "%s%s%s", kind->name, bits, lanes);
  return out;
}

void name_dtype(DLDataType dtype, char* out, size_t capacity) {
  require_known_dtype(dtype, "dtype");
  copy_text(dtype_text(dtype).text, out, capacity);
}

const char* buffer_format(DLDataType dtype) noexcept {
  if (dtype.lanes != 1) return nullptr;
  // NumPy's letter for int64 is "l" if long has 64 bits; with the same letter an array that comes
  // back has the same dtype object.
  constexpr bool kLong64 = sizeof(long) == 8;
  switch (dtype.code << 8 | dtype.bits) {
    case kDLBool << 8 | 8: return "?";
    case kDLInt << 8 | 8: return "b";
    case kDLInt << 8 | 16: return "h";
    case kDLInt << 8 | 32: return "i";
    case kDLInt << 8 | 64: return kLong64 ? "l" : "q";
    case kDLUInt << 8 | 8: return "B";
    case kDLUInt << 8 | 16: return "H";
    case kDLUInt << 8 | 32: return "I";
    case kDLUInt << 8 | 64: return kLong64 ? "L" : "Q";
    case kDLFloat << 8 | 16: return "e";
    case kDLFloat << 8 | 32: return "f";
    case kDLFloat << 8 | 64: return "d";
    case kDLComplex << 8 | 64: return "Zf";
    case kDLComplex << 8 | 128: return "Zd";
  }
  return nullptr;
}

DLDataType parse_dtype_format(const char* format, int32_t style) {
  if (style == DLX_FORMAT_BUFFER) return parse_buffer_format(format);
  if (style == DLX_FORMAT_TYPESTR) return parse_typestr(format);
  fail(DLX_ERROR_INVALID_ARGUMENT, "`style` is unknown (got %d, expected DLX_FORMAT_*)", style);
}

void format_dtype(DLDataType dtype, int32_t style, char* out, size_t capacity) {
  if (style != DLX_FORMAT_BUFFER && style != DLX_FORMAT_TYPESTR) {
    fail(DLX_ERROR_INVALID_ARGUMENT, "`style` is unknown (got %d, expected DLX_FORMAT_*)", style);
  }
  require_known_dtype(dtype, "dtype");
  const char* buffer = buffer_format(dtype);
  if (buffer == nullptr) {
    fail(DLX_ERROR_UNSUPPORTED, "`dtype` has no format in that style (got %s)",
         dtype_text(dtype).text);
  }
  if (style == DLX_FORMAT_BUFFER) return copy_text(buffer, out, capacity);
  const char kind = dtype.code == kDLBool    ? 'b'
                    : dtype.code == kDLInt   ? 'i'
                    : dtype.code == kDLUInt  ? 'u'
                    : dtype.code == kDLFloat ? 'f'
                                             : 'c';
  const char order = dtype.bits == 8 ? '|' : kLittleEndian ? '<' : '>';
  char text[16];
  std::snprintf(text, sizeof text, "%c%c%d", order, kind, dtype.bits / 8);
  copy_text(text, out, capacity);
}

}  // namespace dlx
