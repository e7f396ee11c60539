#ifndef DLX_SRC_BASE_ERROR_H_
#define DLX_SRC_BASE_ERROR_H_

#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <exception>

namespace dlx {

/// A failure inside dlx: a DLX_ERROR_* status and its message. The C interface catches it.
///
/// The message is stored in the exception itself, so reporting "out of memory" allocates nothing.
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

/// Throws Error. The message has the form "`argument` is wrong in this way (got X, expected Y)";
/// the C interface puts the name of the failing function in front.
[[noreturn, gnu::cold, gnu::format(printf, 2, 3)]] inline void fail(int32_t status,
                                                                    const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  Error error(status, format, arguments);
  va_end(arguments);
  throw error;
}

/// " of `owner`", for a message about a part of an argument; "" if `owner` is NULL.
struct OwnerText {
  explicit OwnerText(const char* owner) noexcept {
    if (owner != nullptr) std::snprintf(text, sizeof text, " of `%s`", owner);
  }
  char text[48] = "";
};

}  // namespace dlx

#endif  // DLX_SRC_BASE_ERROR_H_
