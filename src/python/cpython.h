#ifndef DLX_SRC_PYTHON_CPYTHON_H_
#define DLX_SRC_PYTHON_CPYTHON_H_

#include <cstddef>
#include <cstdint>

namespace dlx::py {

/// The part of CPython's ABI that dlx uses, without Python.h: structs of the stable ABI and numbers
/// that never change. Functions and objects are looked up at run time (cpython.inc,
/// cpython_objects.inc).

/// An object of the interpreter. Only class_of() reads from it.
struct PyObject;

/// The size of an object's head in bytes: 16 with the GIL (part of the stable ABI from CPython 3.2
/// to 3.15), 32 in free-threaded builds. The class is its last pointer. attach() refuses other
/// builds.
extern int64_t head_bytes;
constexpr int64_t kLargestHead = 32;

inline bool is_free_threaded() noexcept { return head_bytes == kLargestHead; }

[[gnu::nonnull]] inline PyObject* class_of(const PyObject* object) noexcept {
  return *reinterpret_cast<PyObject* const*>(reinterpret_cast<const char*>(object) + head_bytes -
                                             sizeof(PyObject*));
}

using PyCFunction = PyObject* (*)(PyObject* self, PyObject* argument);
using PyFastFunction = PyObject* (*)(PyObject* self, PyObject* const* args, int64_t nargs,
                                     PyObject* kwnames);

/// A function pointer, whose type the flags next to it say.
union PyMethod {
  constexpr PyMethod() noexcept : plain(nullptr) {}
  constexpr PyMethod(PyCFunction function) noexcept : plain(function) {}
  constexpr PyMethod(PyFastFunction function) noexcept : fast(function) {}
  PyCFunction plain;
  PyFastFunction fast;
};
struct PyMethodDef {
  const char* name;
  PyMethod function;
  int flags;
  const char* doc;
};
enum {
  METH_VARARGS = 0x1,
  METH_KEYWORDS = 0x2,
  METH_NOARGS = 0x4,
  METH_O = 0x8,
  METH_FASTCALL = 0x80
};

struct PyGetSetDef {
  const char* name;
  PyObject* (*get)(PyObject* self, void* closure);
  int (*set)(PyObject* self, PyObject* value, void* closure);
  const char* doc;
  void* closure;
};

struct PyMemberDef {
  const char* name;
  int type;
  int64_t offset;
  int flags;
  const char* doc;
};
enum { T_PYSSIZET = 19, READONLY = 1 };

struct PyTypeSlot {
  int slot;
  void* value;
};
struct PyTypeSpec {
  const char* name;
  int basicsize;
  int itemsize;
  unsigned flags;
  PyTypeSlot* slots;
};
enum {
  Py_bf_getbuffer = 1,
  Py_bf_releasebuffer = 2,
  Py_mp_ass_subscript = 3,
  Py_mp_length = 4,
  Py_mp_subscript = 5,
  Py_nb_bool = 9,
  Py_nb_float = 11,
  Py_nb_index = 13,
  Py_nb_int = 26,
  Py_sq_item = 44,
  Py_sq_length = 45,
  Py_tp_dealloc = 52,
  Py_tp_descr_get = 54,
  Py_tp_doc = 56,
  Py_tp_methods = 64,
  Py_tp_new = 65,
  Py_tp_members = 72,
  Py_tp_getset = 73,
  Py_tp_free = 74
};
constexpr unsigned long kTypeFlagHeap = 1ul << 9;  ///< not a static class: most are of Python code
constexpr unsigned long kTypeFlagDefault = 1ul << 18;
constexpr unsigned long kTypeFlagLong = 1ul << 24;
constexpr unsigned long kTypeFlagTuple = 1ul << 26;
constexpr unsigned long kTypeFlagUnicode = 1ul << 28;
constexpr unsigned long kTypeFlagDict = 1ul << 29;

struct PyBuffer {
  void* buf;
  PyObject* obj;
  int64_t len;
  int64_t itemsize;
  int readonly;
  int ndim;
  char* format;
  int64_t* shape;
  int64_t* strides;
  int64_t* suboffsets;
  void* internal;
};
enum {
  PyBUF_SIMPLE = 0,
  PyBUF_WRITABLE = 0x1,
  PyBUF_FORMAT = 0x4,
  PyBUF_ND = 0x8,
  PyBUF_STRIDES = 0x18,
  PyBUF_C_CONTIGUOUS = 0x38,
  PyBUF_F_CONTIGUOUS = 0x58,
  PyBUF_ANY_CONTIGUOUS = 0x98,
  PyBUF_FULL_RO = 0x11c
};

constexpr int PyBUF_MAX_NDIM = 64;

constexpr int Py_EQ = 2;
constexpr size_t PY_VECTORCALL_ARGUMENTS_OFFSET = size_t{1} << (8 * sizeof(size_t) - 1);

using PyDestructor = void (*)(PyObject*);

/// The interpreter's functions and objects.
struct Api {
#define DLX_PY(required, type, name, arguments) type(*name) arguments;
#include "src/python/cpython.inc"
#undef DLX_PY
  void* (*current_thread_state)();
  int (*lookup_attribute)(PyObject* object, PyObject* name, PyObject** out);

#define DLX_PY_OBJECT(name, symbol) PyObject* name;
#define DLX_PY_EXCEPTION(name, symbol) PyObject* name;
#include "src/python/cpython_objects.inc"
#undef DLX_PY_EXCEPTION
#undef DLX_PY_OBJECT
};

/// Never returns. Before 3.14, CPython ends a thread that waits for the GIL during shutdown by
/// pthread_exit(), and destructors would touch objects without the GIL. The thread sleeps instead,
/// as in CPython from 3.14 on.
[[noreturn, gnu::cold]] void sleep_for_ever() noexcept;

/// Guards a call that may wait for the GIL, where CPython may end the thread: the thread sleeps.
class SleepsIfEnded {
 public:
  SleepsIfEnded() noexcept {}
  ~SleepsIfEnded() {
    if (!returned_) sleep_for_ever();
  }
  SleepsIfEnded(const SleepsIfEnded&) = delete;
  SleepsIfEnded& operator=(const SleepsIfEnded&) = delete;
  void returned() noexcept { returned_ = true; }

 private:
  bool returned_ = false;
};

/// PyObject_CallFunctionObjArgs(): the first NULL ends the arguments.
PyObject* call_objects(PyObject* function, PyObject* a = nullptr, PyObject* b = nullptr,
                       PyObject* c = nullptr, PyObject* d = nullptr, PyObject* e = nullptr,
                       PyObject* f = nullptr);

/// Filled by load_api(); stays valid until the process ends.
extern Api api;

/// Looks up all functions and objects in the library that `object_type` (builtins.object) lies in.
/// Throws Error(UNAVAILABLE) that names a missing one.
[[gnu::cold]] void load_api(PyObject* object_type);

}  // namespace dlx::py

#endif  // DLX_SRC_PYTHON_CPYTHON_H_
