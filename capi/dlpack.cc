#include "src/tensor/dlpack.h"

#include "capi/options.h"
#include "src/tensor/dlpack_check.h"

using namespace dlx;
using namespace dlx::capi;

namespace {

/// Decodes dlx_export_options. `allocator` is storage that must live as long as the result.
ExportRequest read_export_options(const dlx_export_options* options, dlx_allocator* allocator) {
  const dlx_export_options read = read_options(options, "options");
  require_flags(read.flags, DLX_HAS_STREAM | DLX_HAS_DEVICE, "options->flags");
  require_range(read.copy, DLX_COPY_NEVER, "options->copy");
  require_range(read.negative_strides, DLX_NEGATIVE_STRIDES_ERROR, "options->negative_strides");
  require_power_of_two(read.min_alignment, "options->min_alignment");
  require_zero(read.reserved, "options->reserved");
  ExportRequest request;
  request.copy = read.copy;
  request.has_max_version = read.max_version_major != 0 || read.max_version_minor != 0;
  request.max_version_major = read.max_version_major;
  request.has_device = (read.flags & DLX_HAS_DEVICE) != 0;
  request.device = make_device(read.device_type, read.device_id);
  request.has_stream = (read.flags & DLX_HAS_STREAM) != 0;
  request.stream = read.stream;
  request.min_alignment = read.min_alignment;
  request.negative_strides = read.negative_strides;
  request.allocation.allocator = read_allocator(read.allocator, allocator);
  return request;
}

}  // namespace

extern "C" {

dlx_status dlx_tensor_from_dlpack_versioned(DLManagedTensorVersioned* managed,
                                            int32_t* out_consumed, dlx_tensor** out) {
  if (out != nullptr) *out = nullptr;
  bool consumed = false, copied;
  const dlx_status status = guard(__func__, [&] {
    require(managed, "managed");
    require(out, "out");
    *out = import_versioned(managed, &consumed, &copied).detach();
  });
  if (out_consumed != nullptr) *out_consumed = consumed ? 1 : 0;
  return status;
}

dlx_status dlx_tensor_from_dlpack(DLManagedTensor* managed, uint64_t flags, dlx_tensor** out) {
  if (out != nullptr) *out = nullptr;
  return guard(__func__, [&] {
    require(managed, "managed");
    require(out, "out");
    *out = import_legacy(managed, flags).detach();
  });
}

dlx_status dlx_tensor_to_dlpack_versioned(dlx_tensor* tensor, const dlx_export_options* options,
                                          DLManagedTensorVersioned** out) {
  if (out != nullptr) *out = nullptr;
  return guard(__func__, [&] {
    require(tensor, "tensor");
    require(out, "out");
    dlx_allocator storage;
    *out = export_versioned(tensor, read_export_options(options, &storage));
  });
}

dlx_status dlx_tensor_to_dlpack(dlx_tensor* tensor, const dlx_export_options* options,
                                DLManagedTensor** out) {
  if (out != nullptr) *out = nullptr;
  return guard(__func__, [&] {
    require(tensor, "tensor");
    require(out, "out");
    dlx_allocator storage;
    *out = export_legacy(tensor, read_export_options(options, &storage));
  });
}

dlx_status dlx_set_export_negative_strides(int32_t policy) {
  return guard(__func__, [&] { set_negative_strides_policy(policy); });
}

int32_t dlx_get_export_negative_strides(void) { return negative_strides_policy(); }

dlx_status dlx_dlpack_check(const void* managed, int32_t kind, char* report, size_t capacity,
                            int32_t* out_errors, int32_t* out_warnings) {
  return guard(__func__, [&] {
    require(managed, "managed");
    require_range(kind, DLX_MANAGED_VERSIONED, "kind");
    if (capacity > 0) require(report, "report");
    CheckReport findings{report, capacity};
    if (capacity > 0) report[0] = '\0';
    if (kind == DLX_MANAGED_VERSIONED) {
      check_versioned(*static_cast<const DLManagedTensorVersioned*>(managed), &findings);
    } else {
      check_legacy(*static_cast<const DLManagedTensor*>(managed), &findings);
    }
    if (out_errors != nullptr) *out_errors = findings.errors;
    if (out_warnings != nullptr) *out_warnings = findings.warnings;
  });
}

}  // extern "C"
