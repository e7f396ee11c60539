// The strided-copy kernels on the layouts that each way is made for, with every item size, odd and
// even extents and addresses: on an OpenCL device, or on the host without one.
#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <map>
#include <string>

#include "kernel_copy.h"
#include "src/gpu/kernels.h"
#include "tests/src/copy/random_copy.h"

extern "C" {
#include <cmocka.h>
}
#undef fail  // its macro would hide dlx::fail

namespace {

using dlx_test::Choices;
using dlx_test::KernelCopy;
using dlx_test::OpenClDevice;

using Axes = std::vector<int64_t>;

/// A view of a compact array, which is copied into a compact one.
struct Layout {
  const char* name;
  Axes shape;              // of the source's memory, at most; scaled down at random
  std::vector<int> order;  // axes of the view
  Axes steps;           // of the view, in elements of the source's axes: [::2], [::-1]; 0 repeats
  Axes dst_order;       // axes of the view in dst's order; empty: unchanged
  int64_t dst_gap = 0;  // elements between the items of dst, and after each row
  int64_t even =
      1;  // extents above 16 are multiples of this, without gaps, at a sector; 0: without gaps
  int64_t of_last = 0;  // the view has so many items of the last axis
};

const Layout kLayouts[] = {
    {"matrix", {200, 300}, {1, 0}, {1, 1}, {}},
    {"matrix, one axis reversed", {200, 300}, {1, 0}, {1, -1}, {}},
    {"matrix, both axes reversed", {150, 170}, {1, 0}, {-1, -1}, {}},
    {"matrix, every other row and column", {200, 160}, {1, 0}, {2, 2}, {}},
    {"matrix into gaps", {150, 130}, {1, 0}, {1, 1}, {}, 1},
    {"rows into gaps", {150, 130}, {0, 1}, {1, 1}, {}, 1},
    {"narrow", {3000, 7}, {1, 0}, {1, 1}, {}},
    {"flat", {7, 3000}, {1, 0}, {1, 1}, {}},
    {"two columns", {4000, 2}, {1, 0}, {1, 1}, {}},
    {"interleave", {3, 3, 3000}, {0, 2, 1}, {1, 1, 1}, {}},
    {"deinterleave", {3, 3000, 3}, {0, 2, 1}, {1, 1, 1}, {}},
    {"deinterleave, reversed pixels", {3, 2000, 3}, {0, 2, 1}, {1, 1, -1}, {}},
    {"deinterleave, reversed channels", {3, 2000, 3}, {0, 2, 1}, {1, -1, 1}, {}},
    {"small images", {60, 100, 3}, {0, 2, 1}, {1, 1, 1}, {}},
    {"smaller images", {16, 60, 3}, {0, 2, 1}, {1, 1, 1}, {}},
    {"four channels", {2, 4, 3000}, {0, 2, 1}, {1, 1, 1}, {}},
    {"channels last", {2, 40, 20, 64}, {0, 3, 1, 2}, {1, 1, 1, 1}, {}},
    {"channels first", {2, 64, 20, 40}, {0, 2, 3, 1}, {1, 1, 1, 1}, {}},
    {"heads", {2, 40, 8, 64}, {0, 2, 1, 3}, {1, 1, 1, 1}, {}},
    {"heads, transposed", {2, 40, 8, 64}, {0, 2, 3, 1}, {1, 1, 1, 1}, {}},
    {"three axes reversed in order", {30, 31, 32}, {2, 1, 0}, {1, 1, 1}, {}},
    {"batches with axes reversed", {3, 20, 24, 20, 24}, {0, 4, 3, 2, 1}, {1, 1, 1, 1, 1}, {}},
    {"batches of five axes",
     {3, 8, 9, 7, 10, 11},
     {0, 5, 2, 4, 1, 3},
     {1, 1, 1, 1, 1, 1},
     {},
     0,
     0},
    {"five axes", {8, 9, 7, 10, 11}, {4, 1, 3, 0, 2}, {1, 1, 1, 1, 1}, {}},
    {"six axes", {6, 7, 5, 6, 8, 7}, {4, 2, 5, 1, 3, 0}, {1, 1, 1, 1, 1, 1}, {}},
    {"every third", {9000}, {0}, {3}, {}},
    {"backwards", {9001}, {0}, {-1}, {}},
    {"rows backwards", {30, 900}, {0, 1}, {1, -1}, {}},
    {"long rows backwards", {3, 20000}, {0, 1}, {1, -1}, {}},
    {"pixels backwards", {3000, 3}, {0, 1}, {1, -1}, {}},
    {"mirrored pixels", {20, 300, 3}, {0, 1, 2}, {1, -1, 1}, {}},
    {"crop", {300, 103}, {0, 1}, {2, 1}, {}},
    {"crop of three axes", {40, 20, 37}, {0, 1, 2}, {1, 2, 1}, {}},
    {"one long row", {40000}, {0}, {1}, {}},
    {"long rows", {5, 9001}, {0, 1}, {2, 1}, {}},
    {"repeated elements", {300, 200}, {0, 1}, {1, 0}, {}},
    {"repeated rows", {200, 300}, {0, 1}, {0, 1}, {}},
    {"transposed and repeated", {20, 40, 50}, {2, 1, 0}, {1, 0, 1}, {}},
    {"dst transposed", {90, 80}, {0, 1}, {1, 1}, {1, 0}},
    {"even matrices", {3, 192, 320}, {0, 2, 1}, {1, 1, 1}, {}, 0, 32},
    {"even, narrow", {3, 64, 320}, {0, 2, 1}, {1, 1, 1}, {}, 0, 32},
    {"few against many", {3, 5, 4000}, {0, 2, 1}, {1, 1, 1}, {}},
    {"many against few", {3, 4000, 6}, {0, 2, 1}, {1, 1, 1}, {}},
    {"small matrices", {500, 9, 5}, {0, 2, 1}, {1, 1, 1}, {}, 0, 0},
    {"smaller matrices", {900, 4, 4}, {0, 2, 1}, {1, 1, 1}, {}, 0, 0},
    {"planes", {3, 640, 3}, {0, 2, 1}, {1, 1, 1}, {}, 0, 4},
    {"planes of 4", {3, 640, 4}, {0, 2, 1}, {1, 1, 1}, {}, 0, 4},
    {"pixels", {3, 3, 640}, {0, 2, 1}, {1, 1, 1}, {}, 0, 4},
    {"pixels of 4", {3, 4, 640}, {0, 2, 1}, {1, 1, 1}, {}, 0, 4},
    {"every second", {4, 3200}, {0, 1}, {1, 2}, {}, 0, 32},
    {"every third", {4, 3072}, {0, 1}, {1, 3}, {}, 0, 32},
    {"every fourth", {4, 6400}, {0, 1}, {1, 4}, {}, 0, 32},
    {"every other row", {9, 3200}, {0, 1}, {2, 2}, {}, 0, 32},
    {"rows backwards", {30, 928}, {0, 1}, {1, -1}, {}, 0, 32},
    {"pixels turned", {7, 640, 3}, {0, 1, 2}, {2, 1, -1}, {}, 0, 0},
    {"pixels turned into rows of their own", {7, 640, 3}, {0, 1, 2}, {2, 1, -1}, {1, 0, 2}, 0, 0},
    {"channels dropped", {9, 640, 4}, {0, 1, 2}, {1, 1, 1}, {}, 0, 0, 3},
    {"a channel", {9, 640, 4}, {0, 1, 2}, {1, 1, 1}, {}, 0, 0, 1},
    {"a channel of rows", {9, 640, 4}, {0, 1, 2}, {2, 1, 1}, {1, 0, 2}, 0, 0, 1},
    {"mirrored pixels of even rows", {20, 320, 3}, {0, 1, 2}, {2, -1, 1}, {}, 0, 0},
};

constexpr int kItems[] = {1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 20, 24, 32, 48, 63, 64, 100};

/// The launches seen: kernels, and what makes a difference within one.
std::map<std::string, int> seen;

void note(const dlx::gpu::Launch& launch) {
  const std::string what = dlx::gpu::kernel_name(launch.kernel);
  const dlx_strided_copy& copy = launch.copy;
  ++seen[what];
  if (copy.outer_axes > 0) ++seen[what + ", outer axes"];
  if (launch.groups[0] > 1) ++seen[what + ", groups"];
}

class LayoutCopy {
 public:
  LayoutCopy(const Layout& layout, int item, Choices& choices) : layout_(layout), item_(item) {
    const size_t ndim = layout.shape.size();
    Axes shape = layout.shape;
    // New extents each time; fewer for larger items.
    for (int64_t& extent : shape) {
      if (extent > 16) extent = std::max<int64_t>(extent - choices.below(extent / 2), 2);
      if (extent > 64 && item >= 16) extent = extent / 4 + choices.below(3);
      if (extent > 16 && layout.even > 1) extent = (extent / layout.even + 1) * layout.even;
    }
    Axes strides(ndim);
    int64_t elements = 1;
    for (size_t k = ndim; k-- > 0;) {
      strides[k] = elements;
      elements *= shape[k];
      if (layout.even == 1 && choices.one_in(4)) elements += choices.below(3);
    }
    int64_t first = 0;
    for (size_t k = 0; k < ndim; ++k) {
      const auto axis = static_cast<size_t>(layout.order[k]);
      const int64_t step = layout.steps[k];
      int64_t extent = step > 1 ? (shape[axis] + step - 1) / step : shape[axis];
      if (layout.of_last != 0 && axis == ndim - 1) extent = layout.of_last;
      shape_.push_back(extent);
      src_strides_.push_back(strides[axis] * step);
      if (step < 0) first += strides[axis] * (extent - 1);
    }
    place_dst();
    src_.resize(static_cast<size_t>(elements * item) + 64);
    dst_.resize(static_cast<size_t>(dst_elements_ * item) + 64);
    for (uint8_t& byte : src_) byte = static_cast<uint8_t>(choices.next());
    // Mostly at a sector, whose first byte is this:
    const auto sector = [](const std::vector<uint8_t>& memory) {
      return static_cast<int64_t>(-reinterpret_cast<uintptr_t>(memory.data()) & 31);
    };
    const bool odd = layout.even == 1;
    src_first_ = first * item + (odd && choices.one_in(4) ? choices.below(17) : sector(src_));
    dst_first_ = odd && choices.one_in(4) ? choices.below(17) : sector(dst_);
  }

  std::string run(KernelCopy& kernels) {
    std::vector<uint8_t> expected = dst_;
    Axes index(shape_.size());
    for (;;) {
      int64_t to = 0, from = 0;
      for (size_t k = 0; k < index.size(); ++k) {
        to += index[k] * dst_strides_[k];
        from += index[k] * src_strides_[k];
      }
      std::memcpy(&expected[static_cast<size_t>(dst_first_ + to * item_)],
                  &src_[static_cast<size_t>(src_first_ + from * item_)],
                  static_cast<size_t>(item_));
      size_t k = index.size();
      for (; k > 0 && ++index[k - 1] == shape_[k - 1]; --k) index[k - 1] = 0;
      if (k == 0) break;
    }
    kernels.copy(tensor(dst_, dst_first_, dst_strides_), tensor(src_, src_first_, src_strides_),
                 {item_, item_, item_, 1, false});
    for (size_t k = 0; k < expected.size(); ++k) {
      if (expected[k] != dst_[k]) return "byte " + std::to_string(k) + " of dst differs";
    }
    return "";
  }

  std::string describe() const {
    std::string text = layout_.name;
    text += ", items of " + std::to_string(item_) + " bytes, shape";
    for (const int64_t extent : shape_) text += " " + std::to_string(extent);
    return text + ", at " + std::to_string(dst_first_) + " and " + std::to_string(src_first_);
  }

 private:
  void place_dst() {
    dst_strides_.resize(shape_.size());
    dst_elements_ = 1 + layout_.dst_gap;
    for (size_t k = shape_.size(); k-- > 0;) {
      const size_t axis = layout_.dst_order.empty() ? k : static_cast<size_t>(layout_.dst_order[k]);
      dst_strides_[axis] = dst_elements_;
      dst_elements_ = dst_elements_ * shape_[axis] + layout_.dst_gap;
    }
  }

  DLTensor tensor(std::vector<uint8_t>& memory, int64_t first, const Axes& strides) {
    DLTensor tensor{};
    tensor.data = memory.data();
    tensor.byte_offset = static_cast<uint64_t>(first);
    tensor.ndim = static_cast<int32_t>(shape_.size());
    tensor.dtype = {kDLUInt, 8, static_cast<uint16_t>(item_)};
    tensor.shape = shape_.data();
    tensor.strides = const_cast<int64_t*>(strides.data());
    return tensor;
  }

  const Layout& layout_;
  int64_t item_;
  Axes shape_, src_strides_, dst_strides_;
  int64_t dst_elements_ = 0;
  int64_t src_first_ = 0, dst_first_ = 0;
  std::vector<uint8_t> src_, dst_;
};

void run_layouts(OpenClDevice* device, uint64_t seed, int rounds) {
  Choices choices(seed);
  for (int round = 0; round < rounds; ++round) {
    for (const Layout& layout : kLayouts) {
      for (const int item : kItems) {
        dlx::gpu::Limits limits{};
        if (choices.one_in(8)) limits.max_group_size = 64;
        // Families that a driver did not take. The last one is there, or there is no kernel at all.
        if (choices.one_in(8))
          limits.missing = static_cast<uint32_t>(choices.below(1 << dlx::gpu::kElements));
        KernelCopy kernels(device, limits, note);
        LayoutCopy copy(layout, item, choices);
        std::string trouble;
        try {
          trouble = copy.run(kernels);
        } catch (const std::exception& error) {
          trouble = error.what();
        }
        if (!trouble.empty()) {
          print_error("seed %llu: %s\n%s\n", static_cast<unsigned long long>(seed), trouble.c_str(),
                      copy.describe().c_str());
        }
        assert_string_equal(trouble.c_str(), "");
      }
    }
  }
}

void launches_mean_the_copy(void**) { run_layouts(nullptr, 1, 8); }

// Without a device: only the choices.
void every_way_has_been_taken(void**) {
  for (const auto& item : seen) print_message("%s: %d\n", item.first.c_str(), item.second);
  for (int32_t k = 0; k < dlx::gpu::kernel_count(); ++k) {
    const std::string kernel = dlx::gpu::kernel_name(k);
    const bool turn = dlx::gpu::family_of(k) == dlx::gpu::kTurn;
    for (const char* more : {"", ", groups", turn ? ", outer axes" : ""}) {
      if (seen[kernel + more] == 0) print_error("never: %s%s\n", kernel.c_str(), more);
      assert_true(seen[kernel + more] > 0);
    }
  }
}

void kernels_equal_the_naive_copy(void**) {
  OpenClDevice* device = OpenClDevice::find_or_skip();
  run_layouts(device, 1, 1);
  run_layouts(device, static_cast<uint64_t>(std::time(nullptr)), 1);
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(launches_mean_the_copy),
      cmocka_unit_test(every_way_has_been_taken),
      cmocka_unit_test(kernels_equal_the_naive_copy),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
