#include "src/arrow/array_stream.h"

#include <cstring>
#include <string>
#include <vector>

#include "src/arrow/import.h"
#include "src/arrow/release.h"
#include "src/arrow/schema.h"
#include "src/base/checked.h"
#include "src/base/error.h"
#include "src/base/foreign.h"
#include "src/device/registry.h"
#include "src/tensor/views.h"

namespace dlx::arrow {
namespace {

void check_call(ArrowArrayStream* stream, int error, const char* call) {
  if (error == 0) return;
  const char* words =
      stream->get_last_error == nullptr ? nullptr : call_foreign(stream->get_last_error, stream);
  fail(DLX_ERROR_INVALID_ARGUMENT, "the stream's %s failed with the error %d: %.500s", call, error,
       words == nullptr ? "no reason given" : words);
}

/// Calls `take(array)` for each array of the stream that has elements; `take` may move it out.
template <typename Take>
void each_chunk(ArrowArrayStream* stream, Take&& take) {
  for (;;) {
    Released<ArrowArray> next;
    const int error = call_foreign(stream->get_next, stream, next.get());
    if (error != 0) next.get()->release = nullptr;
    check_call(stream, error, "get_next");
    if (next.get()->release == nullptr) return;
    if (next.get()->length != 0) take(next.get());
  }
}

/// The chunks of one column, in order, as tensors.
class Chunks {
 public:
  Chunks(TensorType type, const CopyRequest& request)
      : type_(static_cast<TensorType&&>(type)), request_(request) {}

  /// Throws for lengths that no memory holds, before anything is read.
  void check(const ArrowArray& array) const { check_lengths(array, type_); }

  /// Takes over an array with elements.
  void add(ArrowArray* array) {
    if (!parts_.empty() && request_.copy == DLX_COPY_NEVER) {
      fail(DLX_ERROR_COPY_REFUSED,
           "the data lies in several chunks, a copy is needed to join them, and `copy` "
           "forbids it: join them first (in PyArrow: `.combine_chunks()`, in Polars: "
           "`.rechunk()`)");
    }
    CopyRequest request = request_;
    if (request.copy == DLX_COPY_ALWAYS) request.copy = DLX_COPY_IF_NEEDED;  // join() copies once
    parts_.push_back(import_array(array, type_, kCpu, nullptr, request, &copied_));
  }

  /// One tensor of all chunks: the only chunk itself, or a copy.
  TensorRef join(bool* copied) {
    if (parts_.size() == 1) {
      const bool clones = request_.copy == DLX_COPY_ALWAYS && !copied_;
      *copied = copied_ || clones;
      return clones ? clone(parts_[0].get(), request_) : static_cast<TensorRef&&>(parts_[0]);
    }
    *copied = true;
    if (parts_.empty()) return import_nothing(type_, request_);
    std::vector<int64_t> shape(parts_[0]->dl.shape, parts_[0]->dl.shape + parts_[0]->dl.ndim);
    shape[0] = 0;
    for (const TensorRef& part : parts_) {
      if (!checked_add(shape[0], part->dl.shape[0], &shape[0])) {
        fail(DLX_ERROR_INVALID_ARGUMENT, "the stream has more than 2^63-1 elements");
      }
    }
    TensorRef all = empty(static_cast<int32_t>(shape.size()), shape.data(), type_.dtype, kCpu, 0,
                          request_.allocation);
    int64_t first = 0;
    for (const TensorRef& part : parts_) {
      const int64_t end = first + part->dl.shape[0];
      const TensorRef place = slice(all.get(), 0, first, end, 1);
      copy_data(place->dl, part->dl, request_);
      first = end;
    }
    return all;
  }

 private:
  TensorType type_;
  CopyRequest request_;
  std::vector<TensorRef> parts_;
  bool copied_ = false;
};

/// Runs `body`; its errors name the column. Names are foreign: long ones are cut.
template <typename Body>
void in_column(const std::string& name, Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    fail(error.status(), "column '%.100s': %s", name.c_str(), error.what());
  }
}

struct OpenColumn {
  std::string name;
  Chunks chunks;
};

std::vector<OpenColumn> open_columns(const ArrowSchema& foreign, const CopyRequest& request) {
  const ArrowSchema schema = foreign;
  if (schema.n_children < 0 || (schema.n_children > 0 && schema.children == nullptr)) {
    fail(DLX_ERROR_INVALID_ARGUMENT, "`schema` has the format \"+s\" and no children (got %lld)",
         static_cast<long long>(schema.n_children));
  }
  if (schema.n_children > kMostBytes / int64_t{sizeof(void*)}) {
    fail(DLX_ERROR_INVALID_ARGUMENT, "`schema` has an impossible number of children (got %lld)",
         static_cast<long long>(schema.n_children));
  }
  std::vector<OpenColumn> columns;
  for (int64_t i = 0; i < schema.n_children; ++i) {
    const ArrowSchema* child = schema.children[i];
    if (child == nullptr) fail(DLX_ERROR_INVALID_ARGUMENT, "`schema` has a NULL child");
    const char* text = child->name;
    const std::string name = text == nullptr ? "" : text;
    in_column(name, [&] { columns.push_back({name, Chunks(read_schema(*child), request)}); });
  }
  return columns;
}

/// Narrows a column of a struct to the struct's rows.
void narrow(ArrowArray* column, const ArrowArray& rows) {
  const int64_t length = column->length;
  if (column->release == nullptr || length < 0 || length - rows.offset < rows.length) {
    fail(DLX_ERROR_INVALID_ARGUMENT,
         "`array` is released or too short (got %lld elements, expected %lld from %lld on)",
         static_cast<long long>(length), static_cast<long long>(rows.length),
         static_cast<long long>(rows.offset));
  }
  if (!checked_add(column->offset, rows.offset, &column->offset)) {
    fail(DLX_ERROR_INVALID_ARGUMENT, "`array` has an offset beyond 2^63-1");
  }
  column->length = rows.length;
}

/// Moves the rows of one struct array into the columns; the array itself stays the caller's.
void add_rows(ArrowArray* rows, std::vector<OpenColumn>* columns) {
  check_struct(*rows, static_cast<int64_t>(columns->size()));
  const auto each = [&](auto&& body) {
    for (size_t i = 0; i < columns->size(); ++i) {
      OpenColumn& column = (*columns)[i];
      in_column(column.name, [&] {
        ArrowArray* child = rows->children[i];
        if (child == nullptr) fail(DLX_ERROR_INVALID_ARGUMENT, "`array` has a NULL child");
        body(&column.chunks, child);
      });
    }
  };
  each([&](Chunks* chunks, const ArrowArray* child) {
    ArrowArray part = *child;
    narrow(&part, *rows);
    chunks->check(part);
  });
  check_rows(*rows);
  each([&](Chunks* chunks, ArrowArray* child) {
    Released<ArrowArray> part(child);
    narrow(part.get(), *rows);
    chunks->add(part.get());
  });
}

std::vector<Column> close_columns(std::vector<OpenColumn>* open) {
  std::vector<Column> columns;
  for (OpenColumn& column : *open) {
    in_column(column.name, [&] {
      bool copied = false;
      TensorRef tensor = column.chunks.join(&copied);
      columns.push_back({column.name, static_cast<TensorRef&&>(tensor)});
    });
  }
  return columns;
}

}  // namespace

bool is_table(const ArrowSchema& schema) noexcept {
  return schema.format != nullptr && std::strcmp(schema.format, "+s") == 0;
}

std::vector<Column> import_table(ArrowArray* rows, const ArrowSchema& schema,
                                 const CopyRequest& request) {
  Released<ArrowArray> taken(rows);
  std::vector<OpenColumn> columns = open_columns(schema, request);
  add_rows(taken.get(), &columns);
  return close_columns(&columns);
}

ArrayStreamReader::ArrayStreamReader(ArrowArrayStream* stream) : stream_(stream) {
  if (stream->release == nullptr) {
    fail(DLX_ERROR_INVALID_ARGUMENT, "the stream has been released or moved");
  }
  if (stream->get_schema == nullptr || stream->get_next == nullptr) {
    fail(DLX_ERROR_INVALID_ARGUMENT, "the stream has no function %s (got NULL)",
         stream->get_schema == nullptr ? "get_schema" : "get_next");
  }
  const int error = call_foreign(stream->get_schema, stream, schema_.get());
  if (error != 0) schema_.get()->release = nullptr;  // undefined after a failure
  check_call(stream, error, "get_schema");
}

TensorRef ArrayStreamReader::read_array(const CopyRequest& request, bool* copied) {
  Chunks chunks(read_schema(schema_.held()), request);
  each_chunk(stream_, [&](ArrowArray* array) { chunks.add(array); });
  return chunks.join(copied);
}

std::vector<Column> ArrayStreamReader::read_table(const CopyRequest& request) {
  std::vector<OpenColumn> columns = open_columns(schema_.held(), request);
  each_chunk(stream_, [&](ArrowArray* rows) { add_rows(rows, &columns); });
  return close_columns(&columns);
}

}  // namespace dlx::arrow
