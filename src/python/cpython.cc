#include "src/python/cpython.h"

#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <new>
#include <string>
#include <type_traits>

#include "dlx/dlx.h"
#include "src/base/error.h"
#include "src/system/loader.h"
#include "src/system/system.h"

namespace dlx::py {

Api api;
int64_t head_bytes = 2 * sizeof(void*);

namespace {

/// The library that holds `object_type`. The process may contain a second libpython, which must not
/// be mixed up with it.
void* open_interpreter(PyObject* object_type) {
  const std::string file = sys::file_around(object_type);
  if (file.empty()) {
    fail(DLX_ERROR_UNAVAILABLE, "`object_type` is not in a loaded library (got %p)",
         static_cast<void*>(object_type));
  }
  for (const char* name : {file.c_str(), static_cast<const char*>(nullptr)}) {
    // NULL is the program itself, which the interpreter may be linked into.
    void* library = sys::find_loaded(name);
    if (library == nullptr) continue;
    if (sys::find_symbol(library, "PyBaseObject_Type") == object_type) return library;
    sys::unload(library);
  }
  fail(DLX_ERROR_UNAVAILABLE,
       "the Python interpreter in %s is not a CPython whose functions can be looked up",
       file.c_str());
}

void* find(void* library, const char* name) {
  void* symbol = sys::find_symbol(library, name);
  // not covered: no CPython since 3.9 lacks one
  if (symbol == nullptr) {
    // not covered from here: no CPython since 3.9 lacks one
    fail(DLX_ERROR_UNAVAILABLE, "this Python interpreter lacks %s (expected CPython 3.9 or newer)",
         name);
    // covered again
  }
  return symbol;
}

constexpr char kNames[] =
#define DLX_PY(required, type, name, arguments) #name "\0"
#include "src/python/cpython.inc"
#undef DLX_PY
    ;
constexpr bool kRequired[] = {
#define DLX_PY(required, type, name, arguments) required,
#include "src/python/cpython.inc"
#undef DLX_PY
};

constexpr char kObjects[] =
#define DLX_PY_OBJECT(name, symbol) #symbol "\0"
#define DLX_PY_EXCEPTION(name, symbol) #symbol "\0"
#include "src/python/cpython_objects.inc"
#undef DLX_PY_EXCEPTION
#undef DLX_PY_OBJECT
    ;
constexpr bool kPointedTo[] = {
#define DLX_PY_OBJECT(name, symbol) false,
#define DLX_PY_EXCEPTION(name, symbol) true,
#include "src/python/cpython_objects.inc"
#undef DLX_PY_EXCEPTION
#undef DLX_PY_OBJECT
};
constexpr size_t kFirstObject = offsetof(Api, none);

/// Wraps a function of Api that may run Python code or wait for the GIL in SleepsIfEnded.
template <auto Api::* slot, typename Function>
struct Guarded;

template <auto Api::* slot, typename Result, typename... Arguments>
struct Guarded<slot, Result (*)(Arguments...)> {
  static inline Result (*real)(Arguments...) = nullptr;

  static Result call(Arguments... arguments) {
    SleepsIfEnded waiting;
    if constexpr (std::is_void_v<Result>) {
      real(arguments...);
      waiting.returned();
    } else {
      const Result result = real(arguments...);
      waiting.returned();
      return result;
    }
  }

  static void put_in(Api* api) noexcept {
    real = api->*slot;
    // not covered: the same
    if (real != nullptr) api->*slot = call;
  }
};

/// The first exception sets up the unwinder inside libdlx. That must happen before glibc's unwinder
/// ends a thread through dlx's frames.
void set_up_unwinder() noexcept {
  try {
    throw std::bad_alloc();
  } catch (const std::bad_alloc&) {
  }
}

}  // namespace

void load_api(PyObject* object_type) {
  void* library = open_interpreter(object_type);
  Api loaded;
  // A loop over each list: a call for each name would be ten times the code.
  static_assert(offsetof(Api, current_thread_state) == std::size(kRequired) * sizeof(void*) &&
                    sizeof(Api) == kFirstObject + std::size(kPointedTo) * sizeof(void*),
                "Api consists of the functions, the two derived ones, and the objects");
  const char* name = kNames;
  for (size_t i = 0; i < std::size(kRequired); ++i, name += std::strlen(name) + 1) {
    void* const symbol = kRequired[i] ? find(library, name) : sys::find_symbol(library, name);
    std::memcpy(reinterpret_cast<char*>(&loaded) + i * sizeof symbol, &symbol, sizeof symbol);
  }
  // not covered: CPython 3.13 and newer
  loaded.current_thread_state = loaded.PyThreadState_GetUnchecked != nullptr
                                    ? loaded.PyThreadState_GetUnchecked
                                    : loaded._PyThreadState_UncheckedGet;
  // not covered: no CPython since 3.9 lacks both
  if (loaded.current_thread_state == nullptr) find(library, "PyThreadState_GetUnchecked");
  // not covered: CPython 3.13 and newer
  loaded.lookup_attribute = loaded.PyObject_GetOptionalAttr != nullptr
                                ? loaded.PyObject_GetOptionalAttr
                                : loaded._PyObject_LookupAttr;
  // not covered: no CPython since 3.9 lacks both
  if (loaded.lookup_attribute == nullptr) find(library, "PyObject_GetOptionalAttr");
  const char* symbol = kObjects;
  for (size_t i = 0; i < std::size(kPointedTo); ++i, symbol += std::strlen(symbol) + 1) {
    void* object = find(library, symbol);
    if (kPointedTo[i]) object = *static_cast<void**>(object);
    std::memcpy(reinterpret_cast<char*>(&loaded) + kFirstObject + i * sizeof object, &object,
                sizeof object);
  }
#define DLX_GUARDED(name) Guarded<&Api::name, decltype(Api::name)>::put_in(&loaded)
  DLX_GUARDED(Py_DecRef);
  DLX_GUARDED(PyBuffer_Release);
  DLX_GUARDED(PyErr_WriteUnraisable);
  DLX_GUARDED(PyEval_RestoreThread);
  DLX_GUARDED(PyGILState_Ensure);
  DLX_GUARDED(PyIter_Next);
  DLX_GUARDED(PyNumber_Index);
  DLX_GUARDED(PyObject_GetAttr);
  DLX_GUARDED(PyObject_GetBuffer);
  DLX_GUARDED(PyObject_GetIter);
  DLX_GUARDED(PyObject_IsTrue);
  DLX_GUARDED(PyObject_Vectorcall);
  DLX_GUARDED(PyObject_VectorcallMethod);
  DLX_GUARDED(PySequence_Tuple);
  DLX_GUARDED(lookup_attribute);
#undef DLX_GUARDED
  set_up_unwinder();
  api = loaded;
}

void sleep_for_ever() noexcept { sys::sleep_for_ever(); }

PyObject* call_objects(PyObject* function, PyObject* a, PyObject* b, PyObject* c, PyObject* d,
                       PyObject* e, PyObject* f) {
  SleepsIfEnded waiting;
  PyObject* const result = api.PyObject_CallFunctionObjArgs(function, a, b, c, d, e, f, nullptr);
  waiting.returned();
  return result;
}

}  // namespace dlx::py
