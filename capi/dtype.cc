#include "src/dtype/dtype.h"

#include "capi/guard.h"

using namespace dlx;
using namespace dlx::capi;

extern "C" {

dlx_status dlx_dtype_parse(const char* name, DLDataType* out) {
  return guard(__func__, [&] {
    require(name, "name");
    require(out, "out");
    *out = parse_dtype(name);
  });
}

dlx_status dlx_dtype_name(const DLDataType* dtype, char* out, size_t capacity) {
  return guard(__func__, [&] {
    require(dtype, "dtype");
    require(out, "out");
    name_dtype(*dtype, out, capacity);
  });
}

dlx_status dlx_dtype_parse_format(const char* format, int32_t style, DLDataType* out) {
  return guard(__func__, [&] {
    require(format, "format");
    require(out, "out");
    *out = parse_dtype_format(format, style);
  });
}

dlx_status dlx_dtype_format(const DLDataType* dtype, int32_t style, char* out, size_t capacity) {
  return guard(__func__, [&] {
    require(dtype, "dtype");
    require(out, "out");
    format_dtype(*dtype, style, out, capacity);
  });
}

int64_t dlx_dtype_bits(const DLDataType* dtype) {
  return dtype != nullptr && dtype_known(*dtype) ? item_bits(*dtype, false) : 0;
}

dlx_status dlx_dtype_nbytes(const DLDataType* dtype, int64_t count, uint64_t flags, int64_t* out) {
  return guard(__func__, [&] {
    require(dtype, "dtype");
    require(out, "out");
    require_flags(flags, DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED, "flags");
    require_known_dtype(*dtype, "dtype");
    int64_t bytes;
    if (count < 0 || !compact_bytes(*dtype, flags != 0, count, &bytes)) {
      fail(DLX_ERROR_INVALID_ARGUMENT, "`count` is out of range (got %lld of %s)",
           static_cast<long long>(count), dtype_text(*dtype).text);
    }
    *out = bytes;
  });
}

}  // extern "C"
