// Fuzzes imports of Arrow's data: arrays, tables and streams, right or wrong, over buffers on the heap that are as
// long as a truthful array needs. Numbers are truthful or absurd (negative, or beyond any memory), because a length
// that is only a little too long cannot be seen. What is accepted has the elements of a naive reading, and no nulls;
// a truthful array is accepted; all structs are released once.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/arrow/array_stream.h"
#include "src/arrow/import.h"
#include "src/arrow/schema.h"
#include "src/base/error.h"
#include "tests/support/fuzz_source.h"

namespace {

using dlx::arrow::TensorType;
using dlx_test::FuzzSource;

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

constexpr int64_t kAbsurd[] = {-1,
                               -2,
                               INT64_MIN,
                               (int64_t{1} << 50) + 1,
                               int64_t{1} << 57,
                               int64_t{1} << 60,
                               int64_t{1} << 61,
                               INT64_MAX - 1,
                               INT64_MAX};
int64_t absurd(FuzzSource& in) { return kAbsurd[in.below(9)]; }

bool bit(const void* bits, int64_t index) {
  return (static_cast<const uint8_t*>(bits)[index / 8] >> (index % 8) & 1) != 0;
}

/// One type: levels of lists, then numbers. The same for all chunks of a stream.
struct Type {
  std::vector<int64_t> sizes;
  int bits = 0;  ///< of a number
  bool lies = false;

  explicit Type(FuzzSource& in) {
    static constexpr const char* kFormats[] = {"c", "s", "i", "g", "_pli128", "b"};
    static constexpr int kBits[] = {8, 16, 32, 64, 128, 1};
    for (int32_t left = in.below(4); left > 0; --left) sizes.push_back(in.below(4));
    const int32_t which = in.below(6);
    bits = kBits[which];
    for (const int64_t size : sizes) formats_.push_back("+w:" + std::to_string(size));
    formats_.push_back(kFormats[which]);
    const bool run_ends = in.one_in(32), dictionary = in.one_in(32);
    if (run_ends) formats_[static_cast<size_t>(in.below(4)) % formats_.size()] = "+r";
    schemas_.resize(formats_.size());
    children_.resize(formats_.size());
    for (size_t i = 0; i < formats_.size(); ++i) {
      schemas_[i] = ArrowSchema{};
      schemas_[i].format = formats_[i].c_str();
      schemas_[i].name = "column";
      schemas_[i].release = [](ArrowSchema* self) { self->release = nullptr; };
      children_[i] = i + 1 < formats_.size() ? &schemas_[i + 1] : nullptr;
      schemas_[i].n_children = children_[i] != nullptr;
      schemas_[i].children = &children_[i];
    }
    if (dictionary) schemas_.back().dictionary = &schemas_.back();
    lies = run_ends || dictionary;
  }

  ArrowSchema* schema() { return schemas_.data(); }

 private:
  std::vector<std::string> formats_;
  std::vector<ArrowSchema> schemas_;
  std::vector<ArrowSchema*> children_;
};

/// An array of one level, and the levels below it.
struct Level {
  ArrowArray array{};
  std::unique_ptr<uint8_t[]> bitmap, data;
  const void* buffers[2] = {nullptr, nullptr};
  std::vector<std::unique_ptr<Level>> children;
  std::vector<ArrowArray*> pointers;
  int released = 0;

  Level() {
    array.private_data = this;
    array.release = [](ArrowArray* self) {
      auto* level = static_cast<Level*>(self->private_data);
      require(++level->released == 1, "released twice");
      for (auto& child : level->children) {
        if (child->array.release != nullptr) child->array.release(&child->array);
      }
      self->release = nullptr;
    };
  }

  /// Memory of exactly so many bits, so that the sanitizers see a read beyond it.
  static std::unique_ptr<uint8_t[]> memory(FuzzSource& in, int64_t bits, bool ones) {
    const auto bytes = static_cast<size_t>((bits + 7) / 8);
    std::unique_ptr<uint8_t[]> made(new uint8_t[bytes]);
    for (size_t i = 0; i < bytes; ++i) made[i] = ones ? 255 : static_cast<uint8_t>(in.byte() + i);
    return made;
  }

  /// Elements in addition to an offset; the bitmap has a null now and then.
  void fill(FuzzSource& in, int64_t length) {
    array.length = length + (in.one_in(4) ? in.below(3) : 0);
    array.offset = in.one_in(2) ? in.below(12) : 0;
    array.buffers = buffers;
    if (in.one_in(3)) return;
    array.null_count = in.below(3) - 1;
    bitmap = memory(in, array.offset + array.length, !in.one_in(4));
    buffers[0] = bitmap.get();
  }

  void adopt(std::unique_ptr<Level> child) {
    children.push_back(std::move(child));
    pointers.clear();
    for (auto& each : children) pointers.push_back(&each->array);
    array.n_children = static_cast<int64_t>(children.size());
    array.children = pointers.data();
  }

  /// One number, pointer or callback becomes a lie.
  void spoil(FuzzSource& in) {
    switch (in.below(10)) {
      case 0: array.null_count = absurd(in); break;
      case 1: array.n_buffers = absurd(in); break;
      case 2: array.n_children = absurd(in); break;
      case 3: array.buffers = nullptr; break;
      case 4: buffers[in.below(2)] = nullptr; break;
      case 5: array.children = nullptr; break;
      case 6: array.dictionary = &array; break;
      case 7: array.offset = absurd(in); break;
      default: array.length = absurd(in);
    }
  }
};

std::unique_ptr<Level> make_column(FuzzSource& in, const Type& type, int64_t length, size_t depth) {
  auto level = std::make_unique<Level>();
  level->fill(in, length);
  const int64_t all = level->array.offset + level->array.length;
  if (depth == type.sizes.size()) {
    level->array.n_buffers = 2;
    level->data = Level::memory(in, all * type.bits, false);
    level->buffers[1] = level->data.get();
  } else {
    level->array.n_buffers = 1;
    level->adopt(make_column(in, type, all * type.sizes[depth], depth + 1));
  }
  return level;
}

/// The struct of two columns of a table, or one column.
std::unique_ptr<Level> make_array(FuzzSource& in, const std::vector<Type>& types) {
  const int64_t length = in.below(8);
  if (types.size() == 1) return make_column(in, types[0], length, 0);
  auto level = std::make_unique<Level>();
  level->fill(in, length);
  level->array.n_buffers = 1;
  const int64_t all = level->array.offset + level->array.length;
  for (const Type& type : types) level->adopt(make_column(in, type, all, 0));
  return level;
}

std::vector<Level*> levels_of(Level* top) {
  std::vector<Level*> all{top};
  for (auto& child : top->children) {
    for (Level* level : levels_of(child.get())) all.push_back(level);
  }
  return all;
}

/// Lies at one place, or about the lengths of all levels at once.
bool spoil(FuzzSource& in, Level* top) {
  const std::vector<Level*> all = levels_of(top);
  if (in.one_in(3)) {
    const bool offsets = in.one_in(2);
    for (Level* level : all) (offsets ? level->array.offset : level->array.length) = absurd(in);
    return true;
  }
  if (!in.one_in(3)) return false;
  all[static_cast<size_t>(in.byte()) % all.size()]->spoil(in);
  return true;
}

/// What the array's memory says, one element after the other. False for a null.
bool read_naively(const Type& type, const Level& column, int64_t first, int64_t count,
                  std::vector<uint8_t>* out) {
  struct Walk {
    const Type& type;
    std::vector<uint8_t>* out;
    bool at(const Level& level, size_t depth, int64_t index) {
      const bool may_be_null = level.array.null_count != 0 && level.buffers[0] != nullptr;
      if (may_be_null && !bit(level.buffers[0], index)) return false;
      if (depth < type.sizes.size()) {
        const Level& child = *level.children[0];
        for (int64_t k = 0; k < type.sizes[depth]; ++k) {
          const int64_t inner = index * type.sizes[depth] + k + child.array.offset;
          if (!at(child, depth + 1, inner)) return false;
        }
        return true;
      }
      if (type.bits == 1) {
        out->push_back(bit(level.buffers[1], index));
        return true;
      }
      const auto* from = static_cast<const uint8_t*>(level.buffers[1]) + index * type.bits / 8;
      out->insert(out->end(), from, from + type.bits / 8);
      return true;
    }
  } walk{type, out};
  for (int64_t row = 0; row < count; ++row) {
    if (!walk.at(column, 0, column.array.offset + first + row)) return false;
  }
  return true;
}

/// The elements of the chunks. False for a null. Absurd lengths are those of lists of nothing.
bool read_chunks(const std::vector<Type>& types, size_t which,
                 const std::vector<std::unique_ptr<Level>>& chunks, std::vector<uint8_t>* out) {
  for (const auto& chunk : chunks) {
    const ArrowArray& array = chunk->array;
    if (array.length > 1000) continue;
    if (types.size() == 1) {
      if (!read_naively(types[0], *chunk, 0, array.length, out)) return false;
      continue;
    }
    for (int64_t row = 0; row < array.length; ++row) {
      const int64_t index = array.offset + row;
      const bool may_be_null = array.null_count != 0 && chunk->buffers[0] != nullptr;
      if (may_be_null && !bit(chunk->buffers[0], index)) return false;
    }
    const Level& column = *chunk->children[which];
    if (!read_naively(types[which], column, array.offset, array.length, out)) return false;
  }
  return true;
}

struct Stream : ArrowArrayStream {
  std::vector<ArrowArray*> chunks;
  ArrowSchema schema{};
  size_t next = 0;
  int fails = 0;

  explicit Stream(FuzzSource& in) : ArrowArrayStream{} {
    get_schema = [](ArrowArrayStream* self, ArrowSchema* out) {
      *out = static_cast<Stream*>(self)->schema;
      return static_cast<Stream*>(self)->fails == 1 ? 5 : 0;
    };
    get_next = [](ArrowArrayStream* self, ArrowArray* out) {
      auto* stream = static_cast<Stream*>(self);
      if (stream->fails == 2 && stream->next == stream->chunks.size()) return 5;
      *out = ArrowArray{};
      if (stream->next == stream->chunks.size()) return 0;
      ArrowArray* chunk = stream->chunks[stream->next++];
      *out = *chunk;
      chunk->release = nullptr;
      return 0;
    };
    get_last_error = [](ArrowArrayStream*) -> const char* { return "as the fuzzer says"; };
    release = [](ArrowArrayStream*) { require(false, "a borrowed stream was released"); };
    fails = in.one_in(8) ? 1 + in.below(2) : 0;
    if (in.one_in(16)) get_schema = nullptr;
    if (in.one_in(16)) get_next = nullptr;
    if (in.one_in(8)) get_last_error = nullptr;
    if (in.one_in(16)) release = nullptr;
  }
  bool is_truthful() const {
    return fails == 0 && get_schema != nullptr && get_next != nullptr && release != nullptr;
  }
};

void check(const dlx::TensorRef& tensor, const std::vector<uint8_t>& expected) {
  const auto bytes = static_cast<size_t>(dlx::nbytes_of(tensor.get()));
  require(bytes == expected.size(), "another number of elements");
  if (bytes == 0) return;
  require(std::memcmp(tensor->dl.data, expected.data(), bytes) == 0, "other elements");
}

enum class Result { kTaken, kCopyRefused, kRefused };

/// Imports what there is, in one of the ways.
Result import(FuzzSource& in, ArrowSchema* schema, bool is_table,
              const std::vector<std::unique_ptr<Level>>& chunks, Stream* stream,
              std::vector<dlx::TensorRef>* out) {
  dlx::CopyRequest request;
  request.copy = in.below(3);
  bool copied;
  std::vector<dlx::arrow::Column> columns;
  try {
    if (stream != nullptr) {
      stream->schema = *schema;
      for (const auto& chunk : chunks) stream->chunks.push_back(&chunk->array);
      dlx::arrow::ArrayStreamReader reader(stream);
      require(reader.is_table() == is_table, "a table, or none");
      if (is_table) {
        columns = reader.read_table(request);
      } else {
        out->push_back(reader.read_array(request, &copied));
      }
    } else if (is_table) {
      columns = dlx::arrow::import_table(&chunks[0]->array, *schema, request);
    } else {
      ArrowDeviceArray device{};
      device.device_type = ARROW_DEVICE_CPU;
      device.device_id = in.below(3) - 1;
      const TensorType type = dlx::arrow::read_schema(*schema);
      out->push_back(dlx::arrow::import_array(
          &chunks[0]->array, type, dlx::arrow::read_device(device), nullptr, request, &copied));
    }
  } catch (const dlx::Error& error) {
    require(error.what()[0] != '\0', "an error without words");
    return error.status() == DLX_ERROR_COPY_REFUSED ? Result::kCopyRefused : Result::kRefused;
  }
  for (dlx::arrow::Column& column : columns) out->push_back(std::move(column.tensor));
  return Result::kTaken;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  FuzzSource in(data, size);
  const bool is_table = in.one_in(3), is_stream = in.one_in(3);
  std::vector<Type> types;
  types.reserve(2);
  for (int i = is_table ? 2 : 1; i > 0; --i) types.emplace_back(in);
  ArrowSchema table{};
  ArrowSchema* columns[2] = {types[0].schema(), types.back().schema()};
  table.format = "+s";
  table.release = [](ArrowSchema* self) { self->release = nullptr; };
  table.n_children = in.one_in(32) ? absurd(in) : 2;
  table.children = columns;

  std::vector<std::unique_ptr<Level>> chunks;
  for (int32_t i = is_stream ? in.below(4) : 1; i > 0; --i) chunks.push_back(make_array(in, types));
  bool acceptable = !is_table || table.n_children == 2;
  for (size_t k = 0; k < types.size(); ++k) {
    std::vector<uint8_t> unused;
    acceptable = read_chunks(types, k, chunks, &unused) && !types[k].lies && acceptable;
  }
  std::vector<Level*> all;
  for (auto& chunk : chunks) {
    acceptable = !spoil(in, chunk.get()) && acceptable;
    for (Level* level : levels_of(chunk.get())) all.push_back(level);
  }
  std::unique_ptr<Stream> stream;
  if (is_stream) stream = std::make_unique<Stream>(in);
  acceptable = acceptable && (!is_stream || stream->is_truthful());
  {
    std::vector<dlx::TensorRef> made;
    ArrowSchema* schema = is_table ? &table : types[0].schema();
    const Result result = import(in, schema, is_table, chunks, stream.get(), &made);
    require(!acceptable || result != Result::kRefused, "a truthful array was refused");
    for (size_t k = 0; k < made.size(); ++k) {
      std::vector<uint8_t> expected;
      require(read_chunks(types, k, chunks, &expected), "nulls were accepted");
      check(made[k], expected);
    }
  }
  for (auto& chunk : chunks) {
    if (chunk->array.release != nullptr) chunk->array.release(&chunk->array);
  }
  for (const Level* level : all) require(level->released == 1, "not released");
  return 0;
}
