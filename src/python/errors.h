#ifndef DLX_SRC_PYTHON_ERRORS_H_
#define DLX_SRC_PYTHON_ERRORS_H_

#include <cstdint>

#include "src/base/error.h"
#include "src/base/foreign.h"
#include "src/python/cpython.h"

namespace dlx::py {

/// Thrown while a Python exception is set. Unwinds to the entry point, which returns NULL or -1.
struct PythonError {};
/// The same, by raise(): the exception is dlx's own, not one of a producer.
struct RaisedError : PythonError {};

/// Throws PythonError if `object` is NULL.
inline PyObject* check(PyObject* object) {
  if (object == nullptr) throw PythonError();
  return object;
}

/// Sets the Python exception for a DLX_ERROR_* status.
void set_error(int32_t status, const char* function, const char* message) noexcept;
/// Sets an exception of the given class and throws RaisedError.
[[noreturn, gnu::format(printf, 2, 3)]] void raise(PyObject* exception, const char* format, ...);

/// Puts `before` and `after` around the message of the exception that is set, if it is one of dlx's, a
/// TypeError, a ValueError or a BufferError. Exceptions whose argument is not one text stay as they are.
[[gnu::cold]] void extend_message(const char* before, const char* after) noexcept;

/// Puts a pending exception aside while it lives: for objects whose end may run arbitrary code, which must
/// not see the exception and could clear it. One that is left is dropped. Foreign functions have call_foreign().
class WithoutPendingError {
 public:
  WithoutPendingError() noexcept : pending_(api.PyErr_Occurred() != nullptr) {
    if (pending_) api.PyErr_Fetch(&type_, &value_, &traceback_);
  }
  ~WithoutPendingError() {
    if (pending_) {
      api.PyErr_Restore(type_, value_, traceback_);
    } else if (api.PyErr_Occurred() != nullptr) {
      api.PyErr_Clear();
    }
  }
  WithoutPendingError(const WithoutPendingError&) = delete;
  WithoutPendingError& operator=(const WithoutPendingError&) = delete;

 private:
  bool pending_;
  PyObject* type_ = nullptr;
  PyObject* value_ = nullptr;
  PyObject* traceback_ = nullptr;
};

/// Calls a function of an exchange table. False after a failure, which may have set an exception; one that
/// is left beside success is dropped.
template <typename... Parameters, typename... Arguments>
bool call_table(int (*function)(Parameters...), Arguments... arguments) {
  if (function(arguments...) != 0) return false;
  if (api.PyErr_Occurred() != nullptr) api.PyErr_Clear();
  return true;
}

/// Keeps the exception for foreign functions that dlx calls (src/base/foreign.h).
extern const ErrorKeeper exception_keeper;

/// Takes the exception that is set, and drops it in the end unless put_back() is called.
class TakenError {
 public:
  TakenError() noexcept { api.PyErr_Fetch(&type_, &value_, &traceback_); }
  ~TakenError();
  TakenError(const TakenError&) = delete;
  TakenError& operator=(const TakenError&) = delete;

  /// Replaces the exception that is set now.
  void put_back() noexcept;

 private:
  PyObject* type_ = nullptr;
  PyObject* value_ = nullptr;
  PyObject* traceback_ = nullptr;
};

/// Whether the exception that is set is not an `Exception`, such as KeyboardInterrupt: it must not
/// be replaced by another one.
inline bool is_urgent() noexcept { return api.PyErr_ExceptionMatches(api.exception) == 0; }

/// Whether the exception that is set is one of dlx's.
[[gnu::cold]] bool is_of_dlx() noexcept;

/// The name of a type for messages, such as "numpy.ndarray" or "int". Never throws.
struct TypeText {
  char text[100];
};
[[gnu::cold]] TypeText type_text(PyObject* type) noexcept;

/// Throws `error` again; the message names the protocol and the class of `object`.
[[noreturn, gnu::cold]] void fail_by(const char* protocol, PyObject* object, const Error& error);

/// Runs `body`, which reads a protocol of `object`. Errors name the protocol and the class.
template <typename Body>
auto by_protocol(const char* protocol, PyObject* object, Body&& body) -> decltype(body()) {
  try {
    return body();
  } catch (const Error& error) {
    fail_by(protocol, object, error);
  }
}

}  // namespace dlx::py

#endif  // DLX_SRC_PYTHON_ERRORS_H_
