// Decodes the options that several sections of the C interface share.
#ifndef DLX_CAPI_OPTIONS_H_
#define DLX_CAPI_OPTIONS_H_

#include "capi/guard.h"
#include "src/device/registry.h"
#include "src/tensor/copies.h"
#include "src/tensor/tensor.h"

namespace dlx::capi {

/// Decodes dlx_copy_options. `allocator` is storage that must live as long as the result.
inline CopyRequest read_copy_options(const dlx_copy_options* options, dlx_allocator* allocator) {
  const dlx_copy_options read = read_options(options, "options");
  require_flags(read.flags, DLX_HAS_STREAM, "options->flags");
  require_range(read.copy, DLX_COPY_NEVER, "options->copy");
  require_range(read.order, DLX_ORDER_F, "options->order");
  require_power_of_two(read.alignment, "options->alignment");
  require_zero(read.reserved, "options->reserved");
  CopyRequest request;
  request.copy = read.copy;
  request.has_stream = (read.flags & DLX_HAS_STREAM) != 0;
  request.stream = read.stream;
  request.allocation.order = read.order;
  request.allocation.alignment = read.alignment;
  request.allocation.allocator = read_allocator(read.allocator, allocator);
  return request;
}

}  // namespace dlx::capi

#endif  // DLX_CAPI_OPTIONS_H_
