#include "src/base/last_error.h"

#include <cstdio>

namespace dlx {
namespace {

constexpr size_t kErrorBytes = 1024;

// A fixed buffer, so that setting a message never fails.
thread_local char text[kErrorBytes] = "no call has failed yet";
thread_local uint64_t count = 0;

}  // namespace

void set_last_error(const char* function, const char* message) noexcept {
  ++count;
  if (message == text) return;
  if (function == nullptr) {
    std::snprintf(text, kErrorBytes, "%s", message);
  } else {
    std::snprintf(text, kErrorBytes, "%s: %s", function, message);
  }
}

const char* last_error() noexcept { return text; }

uint64_t count_last_errors() noexcept { return count; }

}  // namespace dlx
