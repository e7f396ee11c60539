// Tables: struct arrays and streams, and what is wrong with them, column by column.
#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "dlx/dlx.h"
#include "src/arrow/array_stream.h"
#include "src/base/error.h"

// CMocka needs <csetjmp>, <cstdarg>, <cstddef> and <cstdint> first, and does not say that it is C.
extern "C" {
#include <cmocka.h>
}
#undef fail

namespace {

int released = 0;

/// A struct of `columns` columns of int32, and an array of it.
struct Table {
  static constexpr int kColumns = 2;
  ArrowSchema schema{}, child_schemas[kColumns]{};
  ArrowSchema* schema_children[kColumns];
  ArrowArray array{}, child_arrays[kColumns]{};
  ArrowArray* array_children[kColumns];
  const void* buffers[kColumns][2]{};
  const void* none[1] = {nullptr};
  int32_t numbers[4] = {1, 2, 3, 4};

  Table() {
    static constexpr const char* kNames[] = {"left", "right"};
    schema.format = "+s";
    schema.release = [](ArrowSchema* self) { self->release = nullptr; };
    array.release = [](ArrowArray* self) {
      ++released;
      self->release = nullptr;
    };
    for (int k = 0; k < kColumns; ++k) {
      child_schemas[k].format = "i";
      child_schemas[k].name = kNames[k];
      child_schemas[k].release = schema.release;
      schema_children[k] = &child_schemas[k];
      buffers[k][1] = numbers;
      child_arrays[k].length = 4;
      child_arrays[k].n_buffers = 2;
      child_arrays[k].buffers = buffers[k];
      child_arrays[k].release = array.release;
      array_children[k] = &child_arrays[k];
    }
    schema.n_children = array.n_children = kColumns;
    schema.children = schema_children;
    array.length = 4;
    array.n_buffers = 1;
    array.buffers = none;
    array.children = array_children;
  }
};

/// The words of the error; "" if there is none.
std::string error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const dlx::Error& error) {
    return error.what();
  }
  return "";
}

int32_t status_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const dlx::Error& error) {
    return error.status();
  }
  return DLX_OK;
}

std::string refusal(const std::function<void(Table*)>& spoil) {
  Table table;
  spoil(&table);
  return error_of([&] { dlx::arrow::import_table(&table.array, table.schema, {}); });
}

void assert_says(const std::string& words, const char* expected) {
  if (words.find(expected) == std::string::npos) print_error("%s\n", words.c_str());
  assert_non_null(std::strstr(words.c_str(), expected));
}

void columns_have_their_names_and_rows(void**) {
  released = 0;
  {
    Table table;
    table.array.offset = 1;
    table.array.length = 2;
    const auto columns = dlx::arrow::import_table(&table.array, table.schema, {});

    assert_int_equal(columns.size(), 2);
    assert_string_equal(columns[1].name.c_str(), "right");
    const DLTensor& dl = columns[1].tensor->dl;
    assert_int_equal(dl.shape[0], 2);
    assert_int_equal(
        *reinterpret_cast<const int32_t*>(static_cast<char*>(dl.data) + dl.byte_offset), 2);
    assert_null(table.array.release);
  }
  assert_int_equal(released, 3);  // the struct, and each column once
}

void malformed_tables_are_refused(void**) {
  assert_says(refusal([](Table* t) { t->schema.children = nullptr; }), "no children (got 2)");
  assert_says(refusal([](Table* t) { t->schema.n_children = -1; }), "no children (got -1)");
  assert_says(refusal([](Table* t) { t->schema_children[1] = nullptr; }), "a NULL child");
  assert_says(refusal([](Table* t) { t->child_schemas[1].format = "u"; }), "column 'right'");
  assert_says(refusal([](Table* t) { t->array_children[1] = nullptr; }),
              "column 'right': `array` has a NULL child");
  assert_says(refusal([](Table* t) { t->child_arrays[0].release = nullptr; }),
              "column 'left': `array` is released or too short");
  assert_says(refusal([](Table* t) { t->child_arrays[0].length = 3; }), "got 3 elements");
  assert_says(refusal([](Table* t) { t->child_arrays[0].length = -1; }), "got -1 elements");
  assert_says(refusal([](Table* t) {
                t->array.offset = 2;
                t->array.length = 3;
              }),
              "got 4 elements, expected 3 from 2 on");
  assert_says(refusal([](Table* t) {
                t->child_arrays[1].offset = INT64_MAX;
                t->array.offset = 1;
                t->array.length = 3;
              }),
              "column 'right': `array` has an offset beyond 2^63-1");
  assert_says(refusal([](Table* t) { t->array.n_children = 1; }), "children");
  assert_says(refusal([](Table* t) { t->schema.n_children = INT64_MAX; }), "impossible number");
}

/// The columns' lengths are checked before the table's own bitmap of one byte is counted.
void impossible_lengths_are_refused(void**) {
  static constexpr uint8_t kValid = 255;
  static constexpr const void* kBitmap[] = {&kValid};
  for (const int64_t null_count : {-1, 0, 1}) {
    for (const int64_t length : {int64_t{1} << 49, int64_t{1} << 60}) {
      const std::string words = refusal([=](Table* t) {
        t->array.length = t->child_arrays[0].length = t->child_arrays[1].length = length;
        t->array.null_count = null_count;
        t->array.buffers = const_cast<const void**>(kBitmap);
      });
      assert_says(words, "column 'left': `array` has an impossible length or offset");
    }
  }
}

/// Naming the column changes no status.
void errors_of_a_column_keep_their_status(void**) {
  Table text, null;
  text.child_schemas[1].format = "u";
  null.array_children[1] = nullptr;
  const auto import = [](Table* table) {
    return status_of([&] { dlx::arrow::import_table(&table->array, table->schema, {}); });
  };
  assert_int_equal(import(&text), DLX_ERROR_UNSUPPORTED);
  assert_int_equal(import(&null), DLX_ERROR_INVALID_ARGUMENT);
}

int undefined_released = 0;  // what a failed call left in its output

/// A stream of tables, or of columns, that fails on demand.
struct Stream : ArrowArrayStream {
  std::vector<ArrowArray> chunks;
  ArrowSchema type{};
  size_t next = 0;
  int fails_schema = 0, fails_next = 0;
  const char* words = nullptr;

  Stream() : ArrowArrayStream{} {
    private_data = this;
    get_schema = [](ArrowArrayStream* self, ArrowSchema* out) {
      auto* stream = static_cast<Stream*>(self);
      *out = stream->type;
      if (stream->fails_schema != 0) out->release = [](ArrowSchema*) { ++undefined_released; };
      return stream->fails_schema;
    };
    get_next = [](ArrowArrayStream* self, ArrowArray* out) {
      auto* stream = static_cast<Stream*>(self);
      if (stream->fails_next != 0) {
        out->release = [](ArrowArray*) { ++undefined_released; };
        return stream->fails_next;
      }
      *out = stream->next < stream->chunks.size() ? stream->chunks[stream->next++] : ArrowArray{};
      return 0;
    };
    get_last_error = [](ArrowArrayStream* self) { return static_cast<Stream*>(self)->words; };
    release = [](ArrowArrayStream* self) { self->release = nullptr; };
  }
};

void streams_that_fail_say_why(void**) {
  Table table;
  Stream stream;
  stream.type = table.schema;
  stream.fails_schema = 5;
  assert_says(error_of([&] { dlx::arrow::ArrayStreamReader reader(&stream); }),
              "get_schema failed with the error 5: no reason given");
  stream.words = "out of beans";
  assert_says(error_of([&] { dlx::arrow::ArrayStreamReader reader(&stream); }), "out of beans");
  stream.get_last_error = nullptr;
  assert_says(error_of([&] { dlx::arrow::ArrayStreamReader reader(&stream); }), "no reason given");
  stream.fails_schema = 0;
  stream.fails_next = 7;
  dlx::arrow::ArrayStreamReader reader(&stream);
  assert_true(reader.is_table());
  assert_says(error_of([&] { reader.read_table({}); }), "get_next failed with the error 7");
  assert_int_equal(undefined_released, 0);
  stream.release = nullptr;
  assert_says(error_of([&] { dlx::arrow::ArrayStreamReader again(&stream); }), "released or moved");
}

void streams_without_a_function_are_refused(void**) {
  Stream schema, next;
  schema.get_schema = nullptr;
  next.get_next = nullptr;
  assert_says(error_of([&] { dlx::arrow::ArrayStreamReader reader(&schema); }), "get_schema");
  assert_says(error_of([&] { dlx::arrow::ArrayStreamReader reader(&next); }), "get_next");
}

void chunks_of_a_table_are_joined(void**) {
  Table first, second;
  Stream stream;
  stream.type = first.schema;
  stream.chunks = {first.array, second.array};
  dlx::arrow::ArrayStreamReader reader(&stream);

  const auto columns = reader.read_table({});

  assert_int_equal(columns.size(), 2);
  assert_int_equal(columns[0].tensor->dl.shape[0], 8);
  assert_int_equal(static_cast<const int32_t*>(columns[0].tensor->dl.data)[5], 2);
}

/// The caller's allocator, with a count.
struct Counted {
  int calls = 0;
  alignas(256) char memory[8][256];
  dlx_allocator allocator = DLX_ALLOCATOR_INIT;

  Counted() {
    allocator.user_data = this;
    allocator.allocate = [](size_t, size_t, int32_t, int32_t, void* user_data) -> void* {
      auto* self = static_cast<Counted*>(user_data);
      return self->memory[self->calls++];
    };
    allocator.deallocate = [](void*, size_t, int32_t, int32_t, void*) {};
  }
};

/// How often `stream` is copied by a request for a copy.
int copies_of(Stream* stream) {
  Counted counted;
  dlx::CopyRequest request;
  request.copy = DLX_COPY_ALWAYS;
  request.allocation.allocator = &counted.allocator;
  dlx::arrow::ArrayStreamReader reader(stream);
  bool copied = false;

  const dlx::TensorRef all = reader.read_array(request, &copied);

  assert_true(copied);
  return counted.calls;
}

void a_copy_of_a_stream_is_made_once(void**) {
  Table first, second;
  Stream numbers, two, bits;
  numbers.type = two.type = bits.type = first.child_schemas[0];
  bits.type.format = "b";
  numbers.chunks = {first.child_arrays[0]};
  two.chunks = {first.child_arrays[0], second.child_arrays[0]};
  bits.chunks = {first.child_arrays[1]};

  assert_int_equal(copies_of(&numbers), 1);
  assert_int_equal(copies_of(&two), 1);
  assert_int_equal(copies_of(&bits), 1);
}

/// A row may be null although none of its columns is.
void nulls_among_the_rows_are_refused(void**) {
  static constexpr uint8_t kThird = 0xfb;
  static constexpr const void* kBitmap[] = {&kThird};
  const auto spoil = [](Table* t) {
    t->array.null_count = -1;
    t->array.buffers = const_cast<const void**>(kBitmap);
  };
  assert_says(refusal(spoil), "`array` has 1 null");
  assert_string_equal(refusal([&](Table* t) {
                        spoil(t);
                        t->array.length = 2;
                      }).c_str(),
                      "");
}

/// Only a chunk with elements counts: one is shared, however many empty ones surround it.
void empty_chunks_cause_no_copy(void**) {
  Table full, before, after;
  before.array.length = after.array.length = 0;
  Stream stream;
  stream.type = full.schema;
  stream.chunks = {before.array, full.array, after.array};
  dlx::arrow::ArrayStreamReader reader(&stream);
  dlx::CopyRequest request;
  request.copy = DLX_COPY_NEVER;

  const auto columns = reader.read_table(request);

  assert_int_equal(columns[1].tensor->dl.shape[0], 4);
  assert_ptr_equal(columns[1].tensor->dl.data, full.numbers);
}

/// Lists of no elements: any number of them takes no memory.
void rows_beyond_63_bits_are_refused(void**) {
  Table inner;
  Stream stream;
  ArrowSchema* lists[] = {&inner.child_schemas[0]};
  stream.type = inner.schema;
  stream.type.format = "+w:0";
  stream.type.n_children = 1;
  stream.type.children = lists;
  inner.array.n_children = 1;
  inner.array.length = INT64_MAX / 2 + 1;
  inner.child_arrays[0].length = 0;
  ArrowArray again = inner.array;
  ArrowArray child = inner.child_arrays[0];
  ArrowArray* other[] = {&child};
  again.children = other;
  stream.chunks = {inner.array, again};
  dlx::arrow::ArrayStreamReader reader(&stream);
  assert_false(reader.is_table());

  bool copied = false;
  assert_says(error_of([&] { reader.read_array({}, &copied); }), "more than 2^63-1 elements");
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(columns_have_their_names_and_rows),
      cmocka_unit_test(malformed_tables_are_refused),
      cmocka_unit_test(impossible_lengths_are_refused),
      cmocka_unit_test(errors_of_a_column_keep_their_status),
      cmocka_unit_test(streams_that_fail_say_why),
      cmocka_unit_test(streams_without_a_function_are_refused),
      cmocka_unit_test(chunks_of_a_table_are_joined),
      cmocka_unit_test(a_copy_of_a_stream_is_made_once),
      cmocka_unit_test(nulls_among_the_rows_are_refused),
      cmocka_unit_test(empty_chunks_cause_no_copy),
      cmocka_unit_test(rows_beyond_63_bits_are_refused),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
