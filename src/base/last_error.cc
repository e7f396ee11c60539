#include "src/base/last_error.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "src/system/loader.h"

namespace dlx {
namespace {

constexpr size_t kErrorBytes = 1024;

// A fixed buffer, so that setting a message never fails.
thread_local char text[kErrorBytes] = "no call has failed yet";
thread_local uint64_t own_number = 0;

// Deleters that other libraries hold must stay callable. This file is in every program that links
// the static library, because all functions set the last error.
[[maybe_unused]] const bool stays_loaded = (sys::keep_loaded(&stays_loaded), true);

}  // namespace

std::atomic<uint64_t> last_error_number{0};

void set_last_error(const char* function, const char* message) noexcept {
  own_number = last_error_number.fetch_add(1, std::memory_order_relaxed) + 1;
  if (message == text) return;
  if (function == nullptr) {
    // Callers of functions set a message before each call: no format is read here.
    const size_t length = std::min(std::strlen(message), kErrorBytes - 1);
    std::memmove(text, message, length);
    text[length] = '\0';
  } else {
    std::snprintf(text, kErrorBytes, "%s: %s", function, message);
  }
}

const char* last_error() noexcept { return text; }

bool has_new_error(uint64_t number) noexcept { return own_number > number; }

}  // namespace dlx
