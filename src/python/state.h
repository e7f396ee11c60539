#ifndef DLX_SRC_PYTHON_STATE_H_
#define DLX_SRC_PYTHON_STATE_H_

#include <atomic>
#include <cstdint>

#include "src/base/cancellation.h"
#include "src/base/error.h"
#include "src/python/cpython.h"
#include "src/tensor/tensor.h"

namespace dlx::py {

/// What one attached interpreter holds: written when it attaches, read by all of its threads.
struct State {
  uint64_t generation = 0;  ///< counts attachments to fresh interpreters; 0: none yet
  PyObject* tensor_type = nullptr;
  PyObject* exchange_capsule = nullptr;

  // Hooks, see bindings/python/dlx/_native.py.
  PyObject* errors[9] = {};  ///< by status; [0] is the one for DLX_ERROR_INTERNAL
#define DLX_HOOK(name) PyObject* name = nullptr;
#include "src/python/hooks.inc"
#undef DLX_HOOK

  PyObject* version_1_3 = nullptr;        ///< (1, 3)
  PyObject* max_version_names = nullptr;  ///< ("max_version",)
};

extern State state;

/// numpy.array: NULL until NumPy was needed, by whichever thread; see _note_numpy().
extern std::atomic<PyObject*> numpy_array;

/// Interned names of attributes, methods and keywords.
struct Names {
#define DLX_NAME(name) PyObject* name;
#include "src/python/names.inc"
#undef DLX_NAME
};
extern Names names;

/// A Python exception is set: unwinds to the entry point, which returns NULL.
struct PythonError {};

/// Sets the Python exception for a status.
void set_error(int32_t status, const char* function, const char* message) noexcept;
/// Sets an exception of the given class and throws PythonError.
[[noreturn, gnu::format(printf, 2, 3)]] void raise(PyObject* exception, const char* format, ...);

/// Throws PythonError if `object` is NULL.
inline PyObject* check(PyObject* object) {
  if (object == nullptr) throw PythonError();
  return object;
}

/// Holds one Python reference.
class Ref {
 public:
  Ref() = default;
  explicit Ref(PyObject* owned) noexcept : object_(owned) {}
  Ref(Ref&& other) noexcept : object_(other.detach()) {}
  Ref& operator=(Ref&& other) noexcept {
    PyObject* old = object_;
    object_ = other.detach();
    if (old != nullptr) api.Py_DecRef(old);
    return *this;
  }
  Ref(const Ref&) = delete;
  Ref& operator=(const Ref&) = delete;
  ~Ref() {
    if (object_ != nullptr) api.Py_DecRef(object_);
  }

  static Ref share(PyObject* object) noexcept {
    api.Py_IncRef(object);
    return Ref(object);
  }
  PyObject* get() const noexcept { return object_; }
  explicit operator bool() const noexcept { return object_ != nullptr; }
  PyObject* detach() noexcept {
    PyObject* object = object_;
    object_ = nullptr;
    return object;
  }

 private:
  PyObject* object_ = nullptr;
};

/// Puts a pending exception aside while it lives. Deleters run any code, foreign ones too, which
/// may not see it and would clear it.
class WithoutPendingError {
 public:
  WithoutPendingError() noexcept : pending_(api.PyErr_Occurred() != nullptr) {
    if (pending_) api.PyErr_Fetch(&type_, &value_, &traceback_);
  }
  ~WithoutPendingError() {
    if (pending_) api.PyErr_Restore(type_, value_, traceback_);
  }
  WithoutPendingError(const WithoutPendingError&) = delete;
  WithoutPendingError& operator=(const WithoutPendingError&) = delete;

 private:
  bool pending_;
  PyObject* type_ = nullptr;
  PyObject* value_ = nullptr;
  PyObject* traceback_ = nullptr;
};

/// A thread that is being ended, and unwinds: does not return unless it holds the GIL, as one does
/// that somebody cancelled.
[[gnu::cold]] void end_with_the_gil() noexcept;

/// Lets other Python threads run while it lives, if `worthwhile`.
class WithoutGil {
 public:
  explicit WithoutGil(bool worthwhile) noexcept
      : thread_state_(worthwhile ? api.PyEval_SaveThread() : nullptr) {}
  ~WithoutGil() {
    if (thread_state_ != nullptr) api.PyEval_RestoreThread(thread_state_);
  }
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  void* thread_state_;
};

/// Copies of at least so many bytes take longer than giving the GIL away and taking it back.
constexpr int64_t kReleaseGilFrom = 32 * 1024;

/// Releases objects that threads without the GIL left behind. Called on every entry.
void drain_deferred_slow() noexcept;
extern std::atomic<void*> deferred_head;
inline void drain_deferred() noexcept {
  if (deferred_head.load(std::memory_order_relaxed) != nullptr) drain_deferred_slow();
}

/// Makes `root`'s memory belong to a Python object: one reference is taken over. `on_release`, if
/// not NULL, is called without arguments when the memory is given back (one reference, too).
/// May be given back on any thread, with or without the GIL, during and after finalisation.
void set_python_owner(Tensor* root, PyObject* owner, PyObject* on_release) noexcept;

/// From now on objects that only a thread without the GIL could give back are leaked.
void stop_deferring() noexcept;
void start_deferring() noexcept;
/// stop_deferring() was called, and no interpreter was started since.
bool interpreter_shut_down() noexcept;

/// Runs the body of an entry point: turns C++ exceptions into Python ones and returns `failure`.
template <typename Result, typename Body>
Result enter(const char* function, Result failure, Body&& body) {
  drain_deferred();
  try {
    return body();
  } catch (const PythonError&) {
  } catch (const Error& error) {
    set_error(error.status(), function, error.what());
  } catch (const std::bad_alloc&) {
    set_error(DLX_ERROR_OUT_OF_MEMORY, function, "out of memory");
  } catch (const std::exception& error) {
    set_error(DLX_ERROR_INTERNAL, function, error.what());
  } catch (...) {
    if (thread_is_being_ended()) {
      end_with_the_gil();
      throw;
    }
    set_error(DLX_ERROR_INTERNAL, function, "an unknown exception");
  }
  return failure;
}

}  // namespace dlx::py

#endif  // DLX_SRC_PYTHON_STATE_H_
