// call.hpp: functions in C with contracts, called with tensors.
#include "dlx/call.hpp"

#include <cstring>
#include <numeric>
#include <vector>

#include "util.h"

namespace {

/// Adds `by` to each element; counts its calls in the context.
dlx_status add(void* context, const dlx_argument* arguments) {
  ++*static_cast<int*>(context);
  const DLTensor& x = *arguments[0].array;
  if (arguments[1].integer < 0) {
    dlx_set_last_error("add: `by` is negative");
    return DLX_ERROR_UNSUPPORTED;
  }
  auto* out = static_cast<int32_t*>(arguments[4].array->data);
  for (int64_t i = 0; i < x.shape[0]; ++i) {
    for (int64_t j = 0; j < x.shape[1]; ++j) {
      const int32_t element = static_cast<int32_t*>(x.data)[i * x.strides[0] + j * x.strides[1]];
      *out++ = static_cast<int32_t>(static_cast<double>(element + arguments[1].integer) *
                                    arguments[2].real) +
               static_cast<int32_t>(std::strlen(arguments[3].text));
    }
  }
  return DLX_OK;
}
constexpr char kAdd[] =
    "add(x: int32[n, m] strided, by: int = 1, times: float = 2.0, label: str = '', "
    "out: int32[n, m] result)";

void functions_return_tensors(void**) {
  Numbers numbers;
  int calls = 0;
  const dlx::Function function(add, kAdd, &calls);
  const dlx::Tensor x = numbers.wrap();
  const std::vector<dlx::Tensor> results = function(x);
  assert_int_equal(results.size(), 1);
  assert_int_equal(results[0].span<int32_t>()[5], 12);
  assert_int_equal(function(x.transpose(), 0, 1.0)[0].span<int32_t>()[1], 3);
  assert_int_equal(function(x, nullptr, 3, "ab")[0].span<int32_t>()[0], 5);
  assert_int_equal(calls, 3);
  assert_int_equal(numbers.released, 0);
}

void what_does_not_fit_throws(void**) {
  Numbers numbers;
  int calls = 0;
  const dlx::Function function(add, kAdd, &calls);
  const dlx::Tensor x = numbers.wrap();
  const auto throws = [&](const char* words, auto... arguments) {
    assert_throws<dlx::InvalidArgument>([&] { function(arguments...); }, words);
  };
  throws("add: `x` must have 2 axes", x.reshape({6}));
  throws("add: `x` is missing");
  throws("add: `x` is of another type", 1);
  throws("add: `by` is of another type", x, 1.5);
  throws("add: `label` is of another type", x, 1, 1.0, 1);
  throws("add: it takes 4 arguments (got 5)", x, 1, 1, "", 1);
  assert_int_equal(calls, 0);
  assert_throws<dlx::Unsupported>([&] { function(x, -1); }, "add: `by` is negative");
  assert_throws<dlx::InvalidArgument>([] { dlx::Function(add, "add(x: int33[n])"); }, "int33");
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(functions_return_tensors),
      cmocka_unit_test(what_does_not_fit_throws),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
