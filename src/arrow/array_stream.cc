#include "src/arrow/array_stream.h"

#include "src/arrow/import.h"
#include "src/arrow/release.h"
#include "src/arrow/schema.h"
#include "src/base/error.h"
#include "src/device/registry.h"

namespace dlx::arrow {
namespace {

void check_call(ArrowArrayStream* stream, int error, const char* call) {
  if (error == 0) return;
  const char* words = stream->get_last_error == nullptr ? nullptr : stream->get_last_error(stream);
  fail(DLX_ERROR_INVALID_ARGUMENT, "the stream's %s failed with the error %d: %.500s", call, error,
       words == nullptr ? "no reason given" : words);
}

}  // namespace

TensorRef import_array_stream(ArrowArrayStream* stream, const CopyRequest& request, bool* copied) {
  if (stream->release == nullptr) {
    fail(DLX_ERROR_INVALID_ARGUMENT, "the stream has been released or moved");
  }
  Released<ArrowSchema> schema;
  const int error = stream->get_schema(stream, schema.get());
  if (error != 0) schema.get()->release = nullptr;  // undefined after a failure
  check_call(stream, error, "get_schema");
  const TensorType type = read_schema(*schema.get());
  Released<ArrowArray> first;
  for (;;) {
    Released<ArrowArray> next;
    const int status = stream->get_next(stream, next.get());
    if (status != 0) next.get()->release = nullptr;
    check_call(stream, status, "get_next");
    if (next.get()->release == nullptr) break;
    if (next.get()->length == 0) continue;
    if (first.get()->release != nullptr) {
      fail(DLX_ERROR_UNSUPPORTED,
           "the data has several chunks, and a tensor must have one: join them first (in PyArrow: "
           ".combine_chunks(), in Polars: .rechunk())");
    }
    *first.get() = next.take();
  }
  if (first.get()->release == nullptr) {
    *copied = true;
    return import_nothing(type, request);
  }
  return import_array(first.get(), type, kCpu, nullptr, request, copied);
}

}  // namespace dlx::arrow
