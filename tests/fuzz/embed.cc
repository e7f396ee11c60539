// Fuzzes dlx through Python: libFuzzer in a program that embeds CPython. The program knows one harness, a
// module beside this file (DLX_HARNESS), and calls its function `run` with the bytes of each input. An
// exception of `run` is a finding.
//
// libdlx.so is instrumented, and this program is linked to it, so that dlx's package loads the same one. A
// harness whose subject is dlx's Python code says `LINES = True`: the lines of the package that run count
// as coverage, too.
//
// Environment: DLX_FUZZ_LIBPYTHON, and what the interpreter and dlx need (./dev fuzz sets all of it).
#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

extern "C" int32_t dlx_abi_version();

// Leaks: CPython keeps most of its objects until the process ends.
extern "C" const char* __asan_default_options() { return "detect_leaks=0"; }

namespace {

struct Object;
using TraceFunction = int (*)(Object* self, Object* frame, int event, Object* argument);

struct Python {
  void (*Py_InitializeEx)(int);
  Object* (*PyImport_ImportModule)(const char*);
  Object* (*PyObject_GetAttrString)(Object*, const char*);
  int (*PyObject_IsTrue)(Object*);
  Object* (*PyBytes_FromStringAndSize)(const char*, intptr_t);
  Object* (*PyObject_CallFunctionObjArgs)(Object*, ...);
  const char* (*PyUnicode_AsUTF8)(Object*);
  void (*PyErr_Print)();
  void (*PyErr_Clear)();
  void (*Py_DecRef)(Object*);
  void (*PyEval_SetTrace)(TraceFunction, Object*);
  Object* (*PyFrame_GetCode)(Object*);
  int (*PyFrame_GetLineNumber)(Object*);
} py;

template <typename F>
void load(void* library, const char* name, F** out) {
  *out = reinterpret_cast<F*>(dlsym(library, name));
  if (*out != nullptr) return;
  std::fprintf(stderr, "%s\n", dlerror());
  std::abort();
}

[[noreturn]] void fail_pending() {
  py.PyErr_Print();
  std::fflush(nullptr);
  std::abort();
}

/// libFuzzer takes these for counters of branches.
constexpr size_t kLines = 1 << 14, kCodes = 1 << 12;
__attribute__((section("__libfuzzer_extra_counters"))) uint8_t line_counters[kLines];

/// What is known of a code object: where its lines begin among the counters; 0: not dlx's. Code of modules
/// lives as long as the process.
struct Code {
  Object* code;
  uint32_t lines;
} codes[kCodes];

uint32_t lines_of(Object* code) {
  Object* const name = py.PyObject_GetAttrString(code, "co_filename");
  const char* const text = name == nullptr ? nullptr : py.PyUnicode_AsUTF8(name);
  uint32_t hash = 0;
  if (text == nullptr) {
    py.PyErr_Clear();
  } else if (std::strstr(text, "/dlx/") != nullptr) {
    hash = 2166136261u;
    for (const char* at = std::strstr(text, "/dlx/"); *at != '\0'; ++at) {
      hash = (hash ^ static_cast<uint8_t>(*at)) * 16777619u;
    }
  }
  if (name != nullptr) py.Py_DecRef(name);
  return hash;
}

int count_line(Object*, Object* frame, int event, Object*) {
  constexpr int kLine = 2;
  if (event != kLine) return 0;
  Object* const code = py.PyFrame_GetCode(frame);
  Code& known = codes[(reinterpret_cast<uintptr_t>(code) >> 4) % kCodes];
  if (known.code != code) known = {code, lines_of(code)};
  py.Py_DecRef(code);
  if (known.lines == 0) return 0;
  uint8_t& counter =
      line_counters[(known.lines + static_cast<uint32_t>(py.PyFrame_GetLineNumber(frame))) %
                    kLines];
  if (counter != 255) ++counter;
  return 0;
}

/// The harness's function.
Object* start() {
  dlx_abi_version();  // the linker keeps libdlx.so
  const char* const told = std::getenv("DLX_FUZZ_LIBPYTHON");
  if (told == nullptr) {
    std::fprintf(stderr, "DLX_FUZZ_LIBPYTHON is not set: ./dev fuzz sets it\n");
    std::abort();
  }
  const std::string path = told;
  // So that the sanitizer sees Python's objects. Hostile objects are many, and this halves their speed;
  // test_hostile_random.py has CPython's own debug allocator for them.
  const bool many = std::strcmp(DLX_HARNESS, "fuzz_objects") == 0;
  setenv("PYTHONMALLOC", many ? "pymalloc" : "malloc", 0);
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    std::abort();
  }
#define LOAD(name) load(library, #name, &py.name)
  LOAD(Py_InitializeEx);
  LOAD(PyImport_ImportModule);
  LOAD(PyObject_GetAttrString);
  LOAD(PyObject_IsTrue);
  LOAD(PyBytes_FromStringAndSize);
  LOAD(PyObject_CallFunctionObjArgs);
  LOAD(PyUnicode_AsUTF8);
  LOAD(PyErr_Print);
  LOAD(PyErr_Clear);
  LOAD(Py_DecRef);
  LOAD(PyEval_SetTrace);
  LOAD(PyFrame_GetCode);
  LOAD(PyFrame_GetLineNumber);
#undef LOAD
  py.Py_InitializeEx(0);
  Object* const harness = py.PyImport_ImportModule(DLX_HARNESS);
  if (harness == nullptr) fail_pending();
  Object* const run = py.PyObject_GetAttrString(harness, "run");
  Object* const lines = py.PyObject_GetAttrString(harness, "LINES");
  if (run == nullptr || lines == nullptr) fail_pending();
  if (py.PyObject_IsTrue(lines) == 1) py.PyEval_SetTrace(count_line, nullptr);
  return run;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static Object* const run = start();
  Object* const input = py.PyBytes_FromStringAndSize(reinterpret_cast<const char*>(data),
                                                     static_cast<intptr_t>(size));
  if (input == nullptr) fail_pending();
  Object* const result = py.PyObject_CallFunctionObjArgs(run, input, nullptr);
  if (result == nullptr) fail_pending();
  py.Py_DecRef(result);
  py.Py_DecRef(input);
  return 0;
}
