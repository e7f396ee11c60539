#ifndef DLX_SRC_BASE_LAST_ERROR_H_
#define DLX_SRC_BASE_LAST_ERROR_H_

#include <cstdint>

namespace dlx {

/// The message of this thread's last failed call: dlx_last_error().

/// Sets it to "function: message", or to `message` alone if `function` is NULL.
void set_last_error(const char* function, const char* message) noexcept;
const char* last_error() noexcept;

/// How often this thread has set one: tells a new message from an old one.
uint64_t count_last_errors() noexcept;

}  // namespace dlx

#endif  // DLX_SRC_BASE_LAST_ERROR_H_
