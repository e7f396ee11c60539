// Shared by the tests of dlx.hpp.
#ifndef DLX_TESTS_CPP_UTIL_H_
#define DLX_TESTS_CPP_UTIL_H_

#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "dlx/dlx.hpp"

// CMocka needs <csetjmp>, <cstdarg>, <cstddef> and <cstdint> first, and does not say that it is C.
extern "C" {
#include <cmocka.h>
}

/// Checks that the call throws exactly that class of error, and that its message contains `words`.
template <typename Expected, typename Call>
void assert_throws(Call&& call, const std::string& words) {
  std::string message = "nothing was thrown";
  try {
    call();
  } catch (const Expected& error) {
    message = error.what();
  } catch (const std::exception& error) {
    message = std::string("another error: ") + error.what();
  }
  if (message.find(words) == std::string::npos || message.compare(0, 7, "another") == 0) {
    fail_msg("%s", message.c_str());
  }
}

struct CountRelease {
  void operator()(const int32_t*) const noexcept { ++*count; }
  int* count;
};

/// Six numbers, 2 x 3; `released` counts the releases of their memory.
struct Numbers {
  int32_t values[6] = {0, 1, 2, 3, 4, 5};
  int released = 0;

  dlx::Tensor wrap() {
    return dlx::Tensor::wrap(values, {2, 3},
                             std::unique_ptr<int32_t, CountRelease>(values, {&released}));
  }
};

#endif  // DLX_TESTS_CPP_UTIL_H_
