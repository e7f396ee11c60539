#ifndef DLX_SRC_PYTHON_ENTRY_H_
#define DLX_SRC_PYTHON_ENTRY_H_

#include <exception>
#include <new>

#include "dlx/dlx.h"
#include "src/base/cancellation.h"
#include "src/base/error.h"
#include "src/python/cpython.h"
#include "src/python/errors.h"
#include "src/python/gil.h"
#include "src/python/owners.h"

namespace dlx::py {

/// Entry points: the functions that CPython calls.

/// Runs the body of an entry point: turns C++ exceptions into Python ones and returns `failure`.
template <typename Result, typename Body>
[[gnu::always_inline]] inline Result enter(const char* function, Result failure, Body&& body) {
  drain_deferred();
  try {
    return body();
  } catch (const PythonError&) {
  } catch (const Error& error) {
    set_error(error.status(), function, error.what());
    // not covered from here: C++ runs out of memory in tests/capi/no_memory.cc only, and dlx throws
    // nothing else
  } catch (const std::bad_alloc&) {
    set_error(DLX_ERROR_OUT_OF_MEMORY, function, "out of memory");
  } catch (const std::exception& error) {
    set_error(DLX_ERROR_INTERNAL, function, error.what());
  } catch (...) {
    // not covered from here: CPython ends the process soon after it ended a thread
    if (thread_is_being_ended()) {
      end_with_the_gil();
      throw;
    }
    set_error(DLX_ERROR_INTERNAL, function, "an unknown exception");
    // covered again
  }
  return failure;
}

/// Runs the body of a function that C code calls while it holds the GIL: errors also become Python
/// exceptions. Throws Error.
template <typename Body>
void with_exception(const char* function, Body&& body) {
  try {
    body();
  } catch (const PythonError&) {
    fail(DLX_ERROR_INTERNAL, "Python code raised the exception that is set");
  } catch (const Error& error) {
    set_error(error.status(), function, error.what());
    throw;
  } catch (const std::bad_alloc&) {
    // not covered from here: memory that runs out where an entry of the C interface enters Python
    set_error(DLX_ERROR_OUT_OF_MEMORY, function, "out of memory");
    throw;
    // covered again
  }
}

/// An entry of a method table: a function that takes positional arguments and keywords.
constexpr PyMethodDef fast_entry(const char* name, PyFastFunction function,
                                 const char* doc = nullptr) noexcept {
  return {name, function, METH_FASTCALL | METH_KEYWORDS, doc};
}
/// An entry of a method table: a function with the arguments that `flags` say.
constexpr PyMethodDef plain_entry(const char* name, PyCFunction function, int flags,
                                  const char* doc = nullptr) noexcept {
  return {name, function, flags, doc};
}

}  // namespace dlx::py

#endif  // DLX_SRC_PYTHON_ENTRY_H_
