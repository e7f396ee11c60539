// Layouts without data, to ask the engine which way it takes for each.
#ifndef DLX_TESTS_SRC_COPY_LAYOUTS_H_
#define DLX_TESTS_SRC_COPY_LAYOUTS_H_

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "copy_test.h"
#include "random_copy.h"
#include "src/copy/copy.h"

namespace dlx_test {

struct Layout {
  std::string name;
  int64_t item = 1;  // bytes
  std::vector<int64_t> shape;
  std::vector<int64_t> dst_steps;  // in items
  std::vector<int64_t> src_steps;
  int64_t dst_start = 0;  // bytes behind a page
  int64_t src_start = 0;
};

inline std::vector<Layout> named_layouts() {
  return {
#include "named_layouts.inc"
  };
}

/// Layouts of about 2^8 to 2^27 bytes: one to five axes, permuted, each whole, stepped, reversed,
/// cropped or repeated. Integers alone, so that they are the same everywhere.
class RandomLayouts {
 public:
  explicit RandomLayouts(uint64_t seed) : choices_(seed) {}

  Layout next() {
    static constexpr int64_t kItems[] = {1, 1, 2, 2, 4, 4, 4, 8, 8, 16, 3, 6, 12, 5, 20, 100};
    Layout layout;
    layout.item = kItems[choices_.below(16)];
    layout.shape = shape(layout.item);
    layout.src_steps = steps(layout.shape, true);
    layout.dst_steps = choices_.below(5) < 3 ? compact(layout.shape) : steps(layout.shape, false);
    layout.dst_start = start(layout.item);
    layout.src_start = start(layout.item);
    return layout;
  }

 private:
  static std::vector<int64_t> compact(const std::vector<int64_t>& shape) {
    std::vector<int64_t> steps(shape.size(), 1);
    for (size_t k = shape.size() - 1; k > 0; --k) steps[k - 1] = steps[k] * shape[k];
    return steps;
  }

  /// 2 to the power of `quarters` / 4.
  static int64_t power(int64_t quarters) {
    static constexpr int64_t kOf16[] = {16, 19, 23, 27};
    return (kOf16[quarters % 4] << quarters / 4) / 16;
  }

  std::vector<int64_t> shape(int64_t item) {
    int64_t left = 4 * 8 + choices_.below(4 * 19 + 1);
    const int64_t most = power(left) + power(left) / 2;
    for (int64_t bytes = item; bytes > 1 && left > 4; bytes /= 2) left -= 4;
    std::vector<int64_t> shape(static_cast<size_t>(1 + choices_.below(5)));
    for (size_t k = 0; k + 1 < shape.size(); ++k) {
      const int64_t part = choices_.below(left + 1);
      shape[k] = power(part);
      left -= part;
    }
    shape.back() = power(left);
    std::rotate(shape.begin(), shape.begin() + choices_.below(static_cast<int64_t>(shape.size())),
                shape.end());
    if (choices_.below(10) < 3) {
      static constexpr int64_t kFew[] = {2, 3, 4, 7, 8, 16, 64};
      shape[static_cast<size_t>(choices_.below(static_cast<int64_t>(shape.size())))] =
          kFew[choices_.below(7)];
    }
    if (choices_.below(10) < 3) {
      for (int64_t& extent : shape)
        extent = int64_t{1} << (63 - __builtin_clzll(static_cast<uint64_t>(extent)));
    }
    const auto bytes = [&] {
      return std::accumulate(shape.begin(), shape.end(), item, std::multiplies<int64_t>());
    };
    while (bytes() > most) {
      int64_t& longest = *std::max_element(shape.begin(), shape.end());
      if (longest == 1) break;
      longest /= 2;
    }
    return shape;
  }

  std::vector<int64_t> steps(const std::vector<int64_t>& shape, bool repeats) {
    std::vector<size_t> order(shape.size());
    std::iota(order.begin(), order.end(), size_t{0});
    if (!choices_.one_in(4)) {
      for (size_t k = order.size(); k > 1; --k) {
        std::swap(order[k - 1],
                  order[static_cast<size_t>(choices_.below(static_cast<int64_t>(k)))]);
      }
    }
    std::vector<int64_t> steps(shape.size());
    int64_t step = 1;
    for (const size_t k : order) {  // from the innermost axis
      const int64_t kind = choices_.below(repeats ? 95 : 87);
      if (kind < 50) {
        steps[k] = step;
        step *= shape[k];
      } else if (kind < 67) {
        steps[k] = step * (kind < 61 ? 2 : 3);
        step = steps[k] * shape[k];
      } else if (kind < 77) {
        steps[k] = -step;
        step *= shape[k];
      } else if (kind < 87) {
        steps[k] = step;
        step *= shape[k] + 5;
      } else {
        steps[k] = 0;
      }
    }
    return steps;
  }

  int64_t start(int64_t item) {
    switch (choices_.below(4)) {
      case 0: return 0;
      case 1: return 16;
      case 2: return item * choices_.below(64);
      default: return choices_.below(64);
    }
  }

  Choices choices_;
};

/// What the plan of such a copy says of itself; nothing is read or written.
inline std::string description_of(const Layout& layout) {
  char text[4096];
  const auto at = [](int which, int64_t start) {
    return reinterpret_cast<void*>((uintptr_t{1} << (44 + which)) + static_cast<uintptr_t>(start));
  };
  const DLDataType dtype = {kDLUInt, 8, static_cast<uint16_t>(layout.item)};
  dlx::describe_copy(
      Described(at(0, layout.dst_start), layout.shape, layout.dst_steps, dtype).tensor,
      Described(at(1, layout.src_start), layout.shape, layout.src_steps, dtype).tensor, text,
      sizeof text);
  return text;
}

}  // namespace dlx_test

#endif  // DLX_TESTS_SRC_COPY_LAYOUTS_H_
