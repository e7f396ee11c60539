/**
 * dlx for C++17: Arrow arrays in and out, on arrow.h. Header only, like dlx.hpp.
 */
#ifndef DLX_ARROW_HPP_
#define DLX_ARROW_HPP_

#include <utility>

#include "dlx/arrow.h"
#include "dlx/dlx.hpp"

namespace dlx {

/** An Arrow array and its schema in transit; what was not moved out is released with this object. */
struct Arrow {
  ArrowArray array{};
  ArrowSchema schema{};

  Arrow() noexcept = default;
  Arrow(Arrow&& other) noexcept
      : array(std::exchange(other.array, {})), schema(std::exchange(other.schema, {})) {}
  Arrow& operator=(Arrow&& other) noexcept {
    std::swap(array, other.array);
    std::swap(schema, other.schema);
    return *this;
  }
  Arrow(const Arrow&) = delete;
  Arrow& operator=(const Arrow&) = delete;
  ~Arrow() {
    if (array.release != nullptr) array.release(&array);
    if (schema.release != nullptr) schema.release(&schema);
  }
};

/** Options start as the defaults; set the fields that differ. */
struct ArrowOptions : dlx_arrow_options {
  ArrowOptions() noexcept : dlx_arrow_options DLX_ARROW_OPTIONS_INIT {}
};

/** Imports an Arrow array in CPU memory, which is always consumed. */
inline Tensor from_arrow(Arrow arrow, const CopyOptions& options = {}) {
  dlx_tensor* out = nullptr;
  check(dlx_tensor_from_arrow(&arrow.array, &arrow.schema, &options, nullptr, &out));
  return Tensor::adopt(out);
}

/** Exports a tensor in CPU memory as an Arrow array, which keeps the memory alive. */
inline Arrow to_arrow(const Tensor& tensor, const ArrowOptions& options = {}) {
  Arrow out;
  check(dlx_tensor_to_arrow(tensor.get(), &options, &out.array, &out.schema));
  return out;
}

}  // namespace dlx

#endif  // DLX_ARROW_HPP_
