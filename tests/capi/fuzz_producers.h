// What a hostile caller hands to the C interface: descriptions, managed tensors, Arrow arrays and a
// device, each right or wrong. All arrays are as long as their struct says, so that a read beyond
// one is seen.
#ifndef DLX_TESTS_CAPI_FUZZ_PRODUCERS_H_
#define DLX_TESTS_CAPI_FUZZ_PRODUCERS_H_

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "dlx/arrow.h"
#include "dlx/dlx.h"
#include "tests/support/fuzz_source.h"

namespace dlx_test {

inline void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

/// Number of objects of producers that were not released yet.
inline std::atomic<int64_t> live_things{0};

/// Whether a callback fails this time. Each thread has its own random numbers.
inline bool fails_now(uint32_t one_in) {
  thread_local uint32_t state = 1;
  state = state * 1664525 + 1013904223;
  return state >> 8 < (1u << 24) / one_in;
}

/// A description with its arrays and, where it is `readable`, the bytes that it spans, exactly.
struct Description {
  DLTensor tensor{};
  std::vector<int64_t> shape, strides;
  std::unique_ptr<char[]> bytes;
  bool readable = false;

  explicit Description(FuzzSource& in) {
    in.one_in(3) ? make_hostile(in) : make_right(in);
    tensor.shape = shape.empty() && in.one_in(2) ? nullptr : shape.data();
    tensor.strides = strides.empty() ? nullptr : strides.data();
  }

 private:
  void make_hostile(FuzzSource& in) {
    static constexpr int32_t kDevices[] = {1, 1, 1, 2, 3, 7, 8, 12, 13, 0, 99, -5};
    shape = in.numbers(in.one_in(64) ? 70 : static_cast<size_t>(in.below(6)));
    if (in.one_in(2)) strides = in.numbers(shape.size());
    const auto axes = static_cast<int32_t>(shape.size());
    tensor.ndim = in.one_in(8) ? static_cast<int32_t>(in.number()) : axes;
    // A wrong number of axes is allowed only if dlx must refuse it before it reads the arrays.
    if (tensor.ndim > axes && tensor.ndim <= DLX_MAX_NDIM) tensor.ndim = axes;
    tensor.device.device_type = static_cast<DLDeviceType>(kDevices[in.below(12)]);
    tensor.device.device_id = in.one_in(4) ? static_cast<int32_t>(in.number()) : 0;
    tensor.dtype = in.dtype();
    if (in.one_in(8)) tensor.dtype.bits = in.byte();
    if (in.one_in(16)) tensor.dtype.lanes = 0;
    tensor.data = reinterpret_cast<void*>(in.one_in(4) ? in.number() : int64_t{1} << 20);
    if (in.one_in(3)) tensor.byte_offset = static_cast<uint64_t>(in.number());
  }

  void make_right(FuzzSource& in) {
    static constexpr DLDataType kTypes[] = {
        {kDLFloat, 32, 1}, {kDLUInt, 8, 1},         {kDLInt, 64, 1},      {kDLBool, 8, 1},
        {kDLInt, 4, 1},    {kDLUInt, 1, 1},         {kDLComplex, 128, 1}, {kDLBfloat, 16, 1},
        {kDLFloat, 16, 3}, {kDLFloat4_e2m1fn, 4, 2}};
    tensor.dtype = kTypes[in.below(10)];
    tensor.device = {kDLCPU, 0};
    tensor.ndim = in.below(6);
    int64_t low = 0, high = 0, size = 1, compact = 1;
    for (int32_t k = 0; k < tensor.ndim; ++k) {
      shape.push_back(in.one_in(16) ? 0 : 1 + in.below(5));
      size *= shape.back();
    }
    for (int32_t k = tensor.ndim - 1; k >= 0; --k) {
      const int64_t extent = shape[static_cast<size_t>(k)];
      const int64_t stride = in.one_in(2) ? compact : in.below(40) - 12;
      strides.insert(strides.begin(), stride);
      compact *= extent;
      (stride < 0 ? low : high) += stride * (extent - 1);
    }
    if (size == 0) low = high = 0;
    const int64_t bits = int64_t{8} * ((tensor.dtype.bits + 7) / 8) * tensor.dtype.lanes;
    const auto room = static_cast<size_t>((high - low + 1) * bits / 8);
    bytes.reset(new char[room]);
    std::memset(bytes.get(), static_cast<int>(room), room);
    tensor.byte_offset = static_cast<uint64_t>(in.one_in(4) ? in.below(16) : 0);
    tensor.data = bytes.get() - low * bits / 8 - tensor.byte_offset;
    readable = true;
  }
};

/// A managed tensor; its deleter frees it and counts.
template <typename Managed>
struct Producer {
  Description description;
  Managed managed{};

  explicit Producer(FuzzSource& in) : description(in) {
    managed.dl_tensor = description.tensor;
    managed.manager_ctx = this;
    managed.deleter = [](Managed* self) {
      --live_things;
      delete static_cast<Producer*>(self->manager_ctx);
    };
    ++live_things;
  }
};

/// One level of an Arrow array and its type. The array owns the node and its children.
struct ArrowNode {
  ArrowSchema schema{};
  ArrowArray array{};
  std::string format, metadata;
  std::vector<std::unique_ptr<char[]>> blocks;
  std::unique_ptr<const void*[]> buffers;
  std::vector<std::unique_ptr<ArrowNode>> children;
  std::unique_ptr<ArrowSchema*[]> schema_children;
  std::unique_ptr<ArrowArray*[]> array_children;
  bool readable = true;  ///< so are the children

  ArrowNode(FuzzSource& in, int depth) {
    static constexpr const char* kFormats[] = {"f",     "i",
                                               "l",     "C",
                                               "e",     "g",
                                               "s",     "S",
                                               "b",     "b",
                                               "u",     "z",
                                               "n",     "tdD",
                                               "d:5,2", "",
                                               "+s",    "w:3",
                                               "+w",    "+w:",
                                               "+w:-1", "+w:99999999999999999999",
                                               "+w:0"};
    const bool list = depth > 0 && in.one_in(2);
    format = list ? "+w:" + std::to_string(in.below(4)) : kFormats[in.below(23)];
    if (in.one_in(32)) format += static_cast<char>(in.byte());
    if (in.one_in(8)) metadata = make_metadata(in);
    array.length = in.one_in(8) ? in.number() : in.below(8);
    array.offset = in.one_in(8) ? in.number() : in.below(4);
    array.null_count = in.one_in(8) ? in.number() : in.one_in(4) ? -1 : 0;
    array.n_buffers = in.one_in(16) ? in.below(5) - 1 : list ? 1 : 2;
    add_buffers(in);
    const int count = in.one_in(16) ? in.below(3) : list ? 1 : 0;
    for (int k = 0; k < count; ++k) children.push_back(std::make_unique<ArrowNode>(in, depth - 1));
    schema_children.reset(new ArrowSchema*[static_cast<size_t>(count)]);
    array_children.reset(new ArrowArray*[static_cast<size_t>(count)]);
    for (const auto& child : children) readable = readable && child->readable;
    for (int k = 0; k < count; ++k) {
      ArrowNode& child = *children[static_cast<size_t>(k)];
      schema_children[k] = in.one_in(32) ? nullptr : &child.schema;
      array_children[k] = in.one_in(32) ? nullptr : &child.array;
    }
    schema.n_children = in.one_in(32) ? in.below(3) - 1 : count;
    array.n_children = in.one_in(32) ? in.below(3) - 1 : count;
    if (schema.n_children > count) schema.n_children = count;
    if (array.n_children > count) array.n_children = count;
    schema.children = in.one_in(32) ? nullptr : schema_children.get();
    array.children = in.one_in(32) ? nullptr : array_children.get();
    schema.format = in.one_in(64) ? nullptr : format.c_str();
    schema.metadata = metadata.empty() ? nullptr : metadata.data();
    schema.flags = in.byte();
    if (in.one_in(32)) schema.dictionary = &schema;
    if (in.one_in(32)) array.dictionary = &array;
    schema.release = [](ArrowSchema*) { require(false, "a borrowed schema was released"); };
    array.private_data = this;
    array.release = [](ArrowArray* self) { self->release = nullptr; };  // a child's
  }

 private:
  /// Zeroed memory for the used part if that is small; otherwise NULL, or memory that is not read.
  void add_buffers(FuzzSource& in) {
    buffers.reset(new const void*[array.n_buffers > 0 ? static_cast<size_t>(array.n_buffers) : 0]);
    const bool small =
        array.length >= 0 && array.length < 64 && array.offset >= 0 && array.offset < 64;
    readable = small;
    // A child must have all elements that its parents use: 64 * 3 * 3 * 3.
    const size_t room = 8 * (small ? 4096 : 0);
    for (int64_t k = 0; k < array.n_buffers; ++k) {
      if (k == 0 && array.null_count == 0 && in.one_in(2)) {
        buffers[k] = nullptr;
        continue;
      }
      blocks.emplace_back(new char[room]);
      std::memset(blocks.back().get(), in.one_in(2) ? 255 : in.byte(), room);
      buffers[k] = small ? blocks.back().get() : nullptr;
      // dlx does not read the values of numbers.
      if (!small && k > 0 && format[0] != 'b') buffers[k] = reinterpret_cast<void*>(1 << 20);
      if (in.one_in(32)) buffers[k] = nullptr;
    }
    array.buffers = in.one_in(32) ? nullptr : buffers.get();
  }

  static std::string make_metadata(FuzzSource& in) {
    static constexpr const char* kTexts[] = {"ARROW:extension:name",
                                             "ARROW:extension:metadata",
                                             "arrow.fixed_shape_tensor",
                                             "colour",
                                             "{\"shape\":[2]}",
                                             "{\"shape\":[3],\"permutation\":[0]}",
                                             "{\"shape\":[-1]}",
                                             "{",
                                             "arrow.bool8"};
    const auto put = [](std::string* out, int32_t number) {
      out->append(reinterpret_cast<const char*>(&number), sizeof number);
    };
    std::string out;
    const int32_t pairs = in.below(4);
    put(&out, in.one_in(8) ? -1 : pairs);
    for (int32_t k = 0; k < 2 * pairs; ++k) {
      const char* text = kTexts[in.one_in(2) ? k % 4 : in.below(9)];
      put(&out, in.one_in(16) ? -7 : static_cast<int32_t>(std::strlen(text)));
      out += text;
    }
    return out;
  }
};

/// A device whose memory is the process's, and whose work is synchronous and sometimes fails.
inline dlx_backend fuzz_backend() {
  dlx_backend f{};
  f.struct_size = sizeof f;
  f.device_count = [](void*) -> int32_t { return 2; };
  f.error_text = [](void*) { return "by chance"; };
  f.allocate = [](int32_t, size_t size, size_t, void*) -> void* {
    if (size > 1 << 26 || fails_now(16)) return nullptr;
    ++live_things;
    return std::calloc(size, 1);
  };
  f.deallocate = [](int32_t, void* data, void*) {
    --live_things;
    std::free(data);
  };
  f.copy_from_host = [](int32_t, void* dst, uint64_t at, const void* src, size_t size, int64_t,
                        void*) -> int32_t {
    if (fails_now(32)) return 7;
    std::memcpy(static_cast<char*>(dst) + at, src, size);
    return 0;
  };
  f.copy_to_host = [](int32_t, void* dst, const void* src, uint64_t at, size_t size, int64_t,
                      void*) -> int32_t {
    if (fails_now(32)) return 7;
    std::memcpy(dst, static_cast<const char*>(src) + at, size);
    return 0;
  };
  f.copy_on_device = [](int32_t, void* dst, uint64_t dst_at, int32_t, const void* src,
                        uint64_t src_at, size_t size, int64_t, void*) -> int32_t {
    if (fails_now(32)) return 7;
    std::memmove(static_cast<char*>(dst) + dst_at, static_cast<const char*>(src) + src_at, size);
    return 0;
  };
  f.synchronize = [](int32_t, void*) -> int32_t { return fails_now(32) ? 7 : 0; };
  f.default_stream = 1;
  f.stream_create = [](int32_t, int64_t* out, void*) -> int32_t {
    *out = 100;
    return fails_now(32) ? 7 : 0;
  };
  f.stream_destroy = [](int32_t, int64_t, void*) {};
  // If waiting fails, dlx leaks memory that the device may still use: so waiting never fails here.
  f.stream_synchronize = [](int32_t, int64_t, void*) -> int32_t { return 0; };
  f.event_record = [](int32_t, int64_t, void** out, void*) -> int32_t {
    *out = std::malloc(1);  // the sanitizer counts them: a staging buffer keeps its last one
    return 0;
  };
  f.event_wait = [](int32_t, int64_t, void*, void*) -> int32_t { return fails_now(32) ? 7 : 0; };
  f.event_wait_on_host = [](int32_t, void*, void*) -> int32_t { return 0; };
  f.event_query = [](int32_t, void*, int32_t* done, void*) -> int32_t {
    *done = fails_now(2) ? 1 : 0;
    return fails_now(32) ? 7 : 0;
  };
  f.event_release = [](int32_t, void* event, void*) { std::free(event); };
  return f;
}

}  // namespace dlx_test

#endif  // DLX_TESTS_CAPI_FUZZ_PRODUCERS_H_
