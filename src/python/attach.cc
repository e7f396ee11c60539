#include "src/python/attach.h"

#include "src/base/error.h"
#include "src/python/contract_text.h"
#include "src/python/convert.h"
#include "src/python/device_streams.h"
#include "src/python/dtype_device.h"
#include "src/python/entry.h"
#include "src/python/errors.h"
#include "src/python/exchange_table.h"
#include "src/python/function.h"
#include "src/python/functions.h"
#include "src/python/import.h"
#include "src/python/import_arrow.h"
#include "src/python/import_plain.h"
#include "src/python/integers.h"
#include "src/python/ndarray.h"
#include "src/python/numpy_numbers.h"
#include "src/python/operators.h"
#include "src/python/owners.h"
#include "src/python/reference.h"
#include "src/python/stack.h"
#include "src/python/state.h"
#include "src/python/tensor_type.h"
#include "src/python/torch_fields.h"
#include "src/python/torch_modes.h"
#include "src/python/torch_plain.h"
#include "src/python/type_cache.h"

namespace dlx::py {
namespace {

/// Takes the GIL and holds it while it lives.
class WithGil {
 public:
  WithGil() noexcept : state_(api.PyGILState_Ensure()) {}
  ~WithGil() { api.PyGILState_Release(state_); }
  WithGil(const WithGil&) = delete;
  WithGil& operator=(const WithGil&) = delete;

 private:
  int state_;
};

bool attached = false;

/// Finds out how many bytes every object begins with, which depends on CPython's build.
void read_head(PyObject* object_type) {
  // not covered: free-threaded CPython
  head_bytes = api._Py_DecRefShared != nullptr ? kLargestHead : 2 * sizeof(void*);
  const Ref size(check(api.PyObject_GetAttrString(object_type, "__basicsize__")));
  const long long bytes = api.PyLong_AsLongLong(size.get());
  // not covered: builds of CPython that the tests do not have
  if (bytes == head_bytes && class_of(api.true_) == api.bool_type) return;
  fail(DLX_ERROR_UNAVAILABLE,
       "this build of CPython (reference-tracing?) has unknown objects (got a head of %lld bytes, "
       "expected %lld)",
       bytes, static_cast<long long>(head_bytes));
}

/// Called before the GIL is taken: in a subinterpreter PyGILState_Ensure() waits for ever.
void require_main_interpreter() {
  void* current = api.current_thread_state();
  // not covered: CPython has a thread state here
  if (current == nullptr || current == api.PyGILState_GetThisThreadState()) return;
  // Before 3.12 this may be another thread's state; its interpreter is checked all the same.
  const long long id = api.PyInterpreterState_GetID(api.PyThreadState_GetInterpreter(current));
  // not covered: the same
  if (id == 0) return;
  fail(DLX_ERROR_UNAVAILABLE,
       "dlx works in the main interpreter only (this is subinterpreter %lld)", id);
}

void read_hook(PyObject* dict, const char* name, PyObject** out) {
  const Ref key(check(api.PyUnicode_FromString(name)));
  PyObject* hook = api.PyDict_GetItemWithError(dict, key.get());
  if (hook == nullptr) {
    // not covered: memory has run out
    if (api.PyErr_Occurred() != nullptr) throw PythonError();
    fail(DLX_ERROR_INVALID_ARGUMENT, "`namespace_dict` lacks the hook \"%s\"", name);
  }
  api.Py_IncRef(hook);
  *out = hook;  // an older hook is leaked: deferred work may still need it
}

void read_hooks(PyObject* dict) {
  State next = state;
#define DLX_HOOK(name) read_hook(dict, #name, &next.name);
#include "src/python/hooks.inc"
#undef DLX_HOOK
  PyObject* errors = nullptr;
  read_hook(dict, "errors", &errors);
  for (int status = 0; status <= 8; ++status) {
    const Ref key(check(api.PyLong_FromLongLong(status == 0 ? DLX_ERROR_INTERNAL : status)));
    next.errors[status] = check(api.PyObject_GetItem(errors, key.get()));
  }
  state = next;
}

/// Makes what an interpreter needs once: names, the type, the exchange table.
void start_interpreter() {
  stop_deferring();
  state = State{state.generation + 1};
  numpy_array = nullptr;
  clear_type_cache();
  reset_ndarray_check();
  forget_dtypes();
  forget_buffers();
  forget_plain();
  forget_torch_fields();
  forget_torch_modes();
  clear_object_caches();
  clear_targets();
  clear_number_classes();
#define DLX_NAME(name) names.name = check(api.PyUnicode_InternFromString(#name));
#include "src/python/names.inc"
#undef DLX_NAME
  const int64_t version[] = {1, 3};
  state.version_1_3 = tuple_of(2, version);
  Ref keyword_names(check(api.PyTuple_New(1)));
  api.Py_IncRef(names.max_version);
  api.PyTuple_SetItem(keyword_names.get(), 0, names.max_version);
  state.max_version_names = keyword_names.detach();
  state.tensor_type = make_tensor_type();
  error_keeper.store(&exception_keeper, std::memory_order_release);
  state.exchange_capsule = make_exchange_capsule();
  if (api.PyObject_SetAttrString(state.tensor_type, "__dlpack_c_exchange_api__",
                                 state.exchange_capsule) != 0) {
    throw PythonError();
  }
  start_deferring();
}

void put(PyObject* dict, const char* name, PyObject* value) {
  if (api.PyDict_SetItemString(dict, name, value) != 0) throw PythonError();
}

void put_functions(PyObject* dict, PyMethodDef* functions) {
  const Ref module_name(check(api.PyUnicode_FromString("dlx")));
  for (; functions->name != nullptr; ++functions) {
    const Ref function(check(api.PyCFunction_NewEx(functions, nullptr, module_name.get())));
    put(dict, functions->name, function.get());
  }
}

/// Throws the pending Python exception as an Error, because attach() is called from C.
[[noreturn]] void fail_pending() {
  // PyType_FromSpec() of CPython 3.11 sets no exception when memory runs out.
  const bool no_memory =
      // not covered: CPython raises nothing but MemoryError here
      api.PyErr_Occurred() == nullptr || api.PyErr_ExceptionMatches(api.memory_error) != 0;
  PyObject *type, *value, *traceback;
  api.PyErr_Fetch(&type, &value, &traceback);
  const Ref t(type), v(value), b(traceback);
  // not covered: the same
  if (no_memory) fail(DLX_ERROR_OUT_OF_MEMORY, "no memory for dlx's own Python objects");
  const Ref name(api.PyObject_GetAttrString(type, "__name__"));
  // not covered: the same
  const char* text = name ? api.PyUnicode_AsUTF8AndSize(name.get(), nullptr) : nullptr;
  fail(DLX_ERROR_INTERNAL, "CPython raised %s while dlx made its objects",
       // not covered: the same
       text == nullptr ? "an exception" : text);
}

void attach_locked(PyObject* object_type, PyObject* dict) {
  try {
    read_head(object_type);
    if (!attached || interpreter_shut_down()) {
      start_interpreter();
      attached = true;
    }
    read_hooks(dict);
    put(dict, "Tensor", state.tensor_type);
    put_functions(dict, import_functions);
    put_functions(dict, native_functions);
    put_functions(dict, arrow_functions);
    put_functions(dict, torch_functions);
    put_functions(dict, convert_functions);
    put_functions(dict, function_functions);
    put_functions(dict, contract_functions);
    put_functions(dict, operator_functions);
    put_functions(dict, device_stream_functions);
  } catch (const PythonError&) {
    fail_pending();
  }
}

}  // namespace

void attach(void* object_type, void* namespace_dict) {
  auto* type = static_cast<PyObject*>(object_type);
  load_api(type);
  // not covered: the caller is Python
  if (api.Py_IsInitialized() == 0) fail(DLX_ERROR_UNAVAILABLE, "no Python interpreter is running");
  require_main_interpreter();
  const WithGil gil;
  attach_locked(type, static_cast<PyObject*>(namespace_dict));
}

void require_attached() {
  if (attached) return;
  fail(DLX_ERROR_UNAVAILABLE, "no Python interpreter is attached: import dlx first");
}

Tensor* unwrap(void* object) {
  require_attached();
  auto* python = static_cast<PyObject*>(object);
  if (!is_tensor(python)) fail(DLX_ERROR_INVALID_ARGUMENT, "`object` is not a dlx.Tensor");
  return tensor_of(python);
}

void* wrap(Tensor* tensor) {
  require_attached();
  return new_object(TensorRef::share(tensor));
}

}  // namespace dlx::py
