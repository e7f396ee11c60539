#include "dlx/arrow.h"

#include "capi/options.h"
#include "src/arrow/export.h"
#include "src/arrow/import.h"
#include "src/arrow/release.h"
#include "src/arrow/schema.h"

using namespace dlx;
using namespace dlx::capi;

namespace {

/// Decodes dlx_arrow_options. `allocator` is storage that must live as long as the result.
arrow::ExportRequest read_arrow_options(const dlx_arrow_options* options,
                                        dlx_allocator* allocator) {
  const dlx_arrow_options read = read_options(options, "options");
  require_range(read.copy, DLX_COPY_NEVER, "options->copy");
  require_range(read.layout, DLX_ARROW_TENSORS, "options->layout");
  require_zero(read.reserved, "options->reserved");
  arrow::ExportRequest request;
  request.copy = read.copy;
  request.layout = read.layout;
  request.allocation.allocator = read_allocator(read.allocator, allocator);
  return request;
}

Tensor* import_checked(ArrowArray* array, const ArrowSchema& schema, DLDevice device,
                       void* sync_event, const dlx_copy_options* options, int32_t* out_copied) {
  dlx_allocator storage;
  const CopyRequest request = read_copy_options(options, &storage);
  bool copied;
  TensorRef tensor =
      arrow::import_array(array, arrow::read_schema(schema), device, sync_event, request, &copied);
  if (out_copied != nullptr) *out_copied = copied ? 1 : 0;
  return tensor.detach();
}

}  // namespace

extern "C" {

dlx_status dlx_tensor_from_arrow(ArrowArray* array, const ArrowSchema* schema,
                                 const dlx_copy_options* options, int32_t* out_copied,
                                 dlx_tensor** out) {
  if (out != nullptr) *out = nullptr;
  return guard(__func__, [&] {
    require(array, "array");
    require(schema, "schema");
    require(out, "out");
    *out = import_checked(array, *schema, kCpu, nullptr, options, out_copied);
  });
}

dlx_status dlx_tensor_from_arrow_device(ArrowDeviceArray* array, const ArrowSchema* schema,
                                        const dlx_copy_options* options, int32_t* out_copied,
                                        dlx_tensor** out) {
  if (out != nullptr) *out = nullptr;
  return guard(__func__, [&] {
    require(array, "array");
    require(schema, "schema");
    require(out, "out");
    *out = import_checked(&array->array, *schema, arrow::read_device(*array), array->sync_event,
                          options, out_copied);
  });
}

dlx_status dlx_tensor_to_arrow(dlx_tensor* tensor, const dlx_arrow_options* options,
                               ArrowArray* out, ArrowSchema* out_schema) {
  return guard(__func__, [&] {
    require(tensor, "tensor");
    require(out, "out");
    dlx_allocator storage;
    const arrow::ExportRequest request = read_arrow_options(options, &storage);
    arrow::require_host(tensor);
    arrow::Released<ArrowSchema> schema;
    if (out_schema != nullptr) arrow::export_schema(tensor, request, schema.get());
    arrow::Released<ArrowArray> array;
    arrow::export_array(tensor, request, array.get());
    *out = array.take();
    if (out_schema != nullptr) *out_schema = schema.take();
  });
}

dlx_status dlx_tensor_to_arrow_device(dlx_tensor* tensor, const dlx_arrow_options* options,
                                      ArrowDeviceArray* out, ArrowSchema* out_schema) {
  return guard(__func__, [&] {
    require(tensor, "tensor");
    require(out, "out");
    dlx_allocator storage;
    const arrow::ExportRequest request = read_arrow_options(options, &storage);
    arrow::Released<ArrowSchema> schema;
    if (out_schema != nullptr) arrow::export_schema(tensor, request, schema.get());
    arrow::Released<ArrowDeviceArray> array;
    arrow::export_device_array(tensor, request, array.get());
    *out = array.take();
    if (out_schema != nullptr) *out_schema = schema.take();
  });
}

dlx_status dlx_tensor_to_arrow_schema(dlx_tensor* tensor, const dlx_arrow_options* options,
                                      ArrowSchema* out) {
  return guard(__func__, [&] {
    require(tensor, "tensor");
    require(out, "out");
    dlx_allocator storage;
    const arrow::ExportRequest request = read_arrow_options(options, &storage);
    arrow::Released<ArrowSchema> schema;
    arrow::export_schema(tensor, request, schema.get());
    *out = schema.take();
  });
}

}  // extern "C"
