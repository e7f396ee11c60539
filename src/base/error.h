#ifndef DLX_SRC_BASE_ERROR_H_
#define DLX_SRC_BASE_ERROR_H_

#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <exception>

namespace dlx {

/// A failure on its way to the C boundary: a DLX_ERROR_* status and its message.
///
/// The message lives in the exception itself, so that reporting "out of memory" needs no memory.
class Error : public std::exception {
 public:
  static constexpr int kMessageBytes = 960;

  Error(int32_t status, const char* format, va_list arguments) noexcept : status_(status) {
    std::vsnprintf(message_, sizeof message_, format, arguments);
  }

  int32_t status() const noexcept { return status_; }
  const char* what() const noexcept override { return message_; }

 private:
  int32_t status_;
  char message_[kMessageBytes];
};

/// Throws Error. The message says what is wrong as "`argument` … (got X, expected Y)"; the name
/// of the failing function is put before it at the C boundary.
[[noreturn, gnu::cold, gnu::format(printf, 2, 3)]] inline void fail(int32_t status,
                                                                    const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  Error error(status, format, arguments);
  va_end(arguments);
  throw error;
}

/// " of `owner`" for a message about one part of an argument; nothing without an owner.
struct OwnerText {
  explicit OwnerText(const char* owner) noexcept {
    if (owner != nullptr) std::snprintf(text, sizeof text, " of `%s`", owner);
  }
  char text[48] = "";
};

}  // namespace dlx

#endif  // DLX_SRC_BASE_ERROR_H_
