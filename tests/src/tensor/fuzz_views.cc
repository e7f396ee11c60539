// Fuzzes descriptions and views: for all numbers of a producer and all views of an accepted tensor,
// a view describes only elements of its parent, and dlx accepts it as an import.
#include "src/tensor/views.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "src/base/error.h"
#include "src/dtype/dtype.h"
#include "src/tensor/copies.h"
#include "src/tensor/layout.h"
#include "tests/support/fuzz_source.h"

using dlx::Tensor;
using dlx::TensorRef;
using Source = dlx_test::FuzzSource;

namespace {

TensorRef read_description(Source* source) {
  DLTensor description{};
  const std::vector<int64_t> shape = source->numbers(source->byte() % 6);
  const std::vector<int64_t> strides = source->numbers(shape.size());
  description.data = reinterpret_cast<void*>(source->byte() % 8 == 0 ? source->number() : 1 << 20);
  description.device = {source->byte() % 4 == 0 ? kDLOpenCL : kDLCPU, 0};
  description.ndim = static_cast<int32_t>(shape.size());
  description.dtype = source->dtype();
  description.shape = const_cast<int64_t*>(shape.data());
  if (source->byte() % 4 != 0) description.strides = const_cast<int64_t*>(strides.data());
  if (source->byte() % 4 == 0) description.byte_offset = static_cast<uint64_t>(source->number());
  return dlx::describe(description, source->byte() % 8, "tensor");
}

TensorRef read_view(Tensor* tensor, Source* source) {
  const int32_t ndim = tensor->dl.ndim;
  const auto axis = static_cast<int32_t>(source->byte() % (ndim + 2)) - 1;
  switch (source->byte() % 9) {
    case 0: {
      const int64_t start = source->number(), stop = source->number();
      return dlx::slice(tensor, axis, start, stop, source->number());
    }
    case 1: return dlx::select(tensor, axis, source->number());
    case 2: {
      std::vector<int32_t> axes(static_cast<size_t>(ndim));
      for (int32_t& one : axes) one = source->byte() % (ndim + 1) - 1;
      return dlx::permute(tensor, source->byte() % 2 == 0 ? nullptr : axes.data());
    }
    case 3: return dlx::squeeze(tensor, source->byte() % 2, &axis);
    case 4: return dlx::expand_dims(tensor, axis);
    case 5: {
      std::vector<int64_t> shape = source->numbers(source->byte() % 3);
      for (int32_t i = 0; i < ndim; ++i) {
        shape.push_back(source->byte() % 4 == 0 ? source->number() : tensor->shape()[i]);
      }
      return dlx::broadcast_to(tensor, static_cast<int32_t>(shape.size()), shape.data());
    }
    case 6: return dlx::bitcast(tensor, source->dtype());
    case 7: {
      const std::vector<int64_t> shape = source->numbers(source->byte() % 5);
      dlx::CopyRequest request;
      request.copy = DLX_COPY_NEVER;
      return dlx::reshape(tensor, static_cast<int32_t>(shape.size()), shape.data(), request);
    }
    default: return dlx::as_readonly(tensor);
  }
}

/// The first bit and one past the last bit, counted from address 0 or a handle's beginning.
struct Range {
  __int128 begin = 0, end = 0;
};

Range range_of(const Tensor* tensor) {
  const DLTensor& dl = tensor->dl;
  const __int128 bits = dlx::item_bits(dl.dtype, tensor->padded());
  int64_t lowest, highest;
  if (!dlx::offset_range(dl.ndim, dl.shape, dl.strides, &lowest, &highest)) std::abort();
  const __int128 first = static_cast<__int128>(reinterpret_cast<uintptr_t>(dl.data)) * 8 +
                         static_cast<__int128>(dl.byte_offset) * 8;
  return {first + lowest * bits, first + (highest + 1) * bits};
}

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

void check_view(const Tensor* view, const Tensor* parent) {
  const DLTensor& dl = view->dl;
  require(dlx::count_elements(dl.ndim, dl.shape) == view->size, "its size is another");
  require(!parent->readonly() || view->readonly(), "read-only was dropped");
  require(parent->size != 0 || view->size == 0, "elements out of nothing");
  if (view->size == 0) return;
  const Range inner = range_of(view), outer = range_of(parent);
  require(inner.begin >= outer.begin && inner.end <= outer.end, "it leaves its parent");
  require(dlx::check_description(dl, view->padded(), "view") == view->size, "it is no import");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Source source(data, size);
  std::vector<TensorRef> tensors;
  try {
    tensors.push_back(read_description(&source));
  } catch (const dlx::Error&) {
    return 0;
  }
  while (!source.done() && tensors.size() < 16) {
    Tensor* parent = tensors[source.byte() % tensors.size()].get();
    try {
      TensorRef view = read_view(parent, &source);
      check_view(view.get(), parent);
      tensors.push_back(std::move(view));
    } catch (const dlx::Error&) {
      continue;
    }
  }
  return 0;
}
