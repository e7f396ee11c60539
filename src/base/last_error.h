#ifndef DLX_SRC_BASE_LAST_ERROR_H_
#define DLX_SRC_BASE_LAST_ERROR_H_

#include <atomic>
#include <cstdint>

namespace dlx {

/// The message of this thread's last failed call: dlx_last_error().

/// Sets it to "function: message", or to `message` alone if `function` is NULL.
void set_last_error(const char* function, const char* message) noexcept;
const char* last_error() noexcept;

/// Tells this thread's new messages from old ones: all threads' messages are numbered.
extern std::atomic<uint64_t> last_error_number;
/// Whether this thread has set a message since last_error_number had that value.
bool has_new_error(uint64_t number) noexcept;

}  // namespace dlx

#endif  // DLX_SRC_BASE_LAST_ERROR_H_
