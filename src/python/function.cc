#include "src/python/function.h"

#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "src/base/error.h"
#include "src/base/foreign.h"
#include "src/base/last_error.h"
#include "src/contract/check.h"
#include "src/dtype/dtype.h"
#include "src/python/argument.h"
#include "src/python/arguments.h"
#include "src/python/borrow.h"
#include "src/python/dtype_device.h"
#include "src/python/entry.h"
#include "src/python/errors.h"
#include "src/python/gil.h"
#include "src/python/integers.h"
#include "src/python/results.h"
#include "src/python/scalar_arguments.h"
#include "src/python/tensor_type.h"
#include "src/system/natural_call.h"
#include "src/tensor/synchronization.h"

namespace dlx::py {
namespace {

constexpr int kMost = Contract::kMostParameters;

/// What a callable calls. Owned by a capsule, which is the callable's `self`.
struct Function {
  ~Function() {
    if (release != nullptr) call_foreign(release, context);
    dlx::release(contract);
  }

  void (*address)() = nullptr;
  Contract* contract = nullptr;
  int count = 0;  ///< of the parameters
  bool natural = false;
  bool all_words = false;  ///< no parameter is a floating-point number
  int64_t kept_below = 0;  ///< as in dlx_function_options, but never 0
  void* context = nullptr;
  void (*release)(void*) = nullptr;
  Ref keep;
  int64_t direct = -1;          ///< so many positional arguments are the parameters; -1: never
  std::vector<int> positional;  ///< the parameters that a caller passes by position, in order
  std::string doc;
  PyMethodDef definition{};
};

constexpr char kCapsule[] = "dlx.function";

/// The context, which is the pointer too: asking for it compares no names.
Function* function_of(PyObject* self) noexcept {
  return static_cast<Function*>(api.PyCapsule_GetContext(self));
}

void destroy(PyObject* capsule) {
  const WithoutPendingError aside;
  delete static_cast<Function*>(api.PyCapsule_GetPointer(capsule, kCapsule));
}

// ---- a call

/// The arguments of a call by parameter; NULL for what was left out. Keywords, results that the
/// caller passes, and wrong counts.
[[gnu::cold]] void sort_arguments(const Function& function, PyObject* const* args, int64_t nargs,
                                  PyObject* kwnames, PyObject** values) {
  const Contract& contract = *function.contract;
  const auto positions = static_cast<int64_t>(function.positional.size());
  if (nargs > positions) {
    raise(api.type_error, "%s() takes %lld positional arguments (got %lld)",
          contract.function.c_str(), static_cast<long long>(positions),
          static_cast<long long>(nargs));
  }
  std::fill(values, values + kMost, nullptr);
  for (int64_t i = 0; i < nargs; ++i) values[function.positional[static_cast<size_t>(i)]] = args[i];
  const int64_t keywords = kwnames == nullptr ? 0 : api.PyTuple_Size(kwnames);
  for (int64_t k = 0; k < keywords; ++k) {
    const char* name = api.PyUnicode_AsUTF8AndSize(api.PyTuple_GetItem(kwnames, k), nullptr);
    if (name == nullptr) throw PythonError();
    size_t i = 0;
    while (i < contract.parameters.size() && contract.parameters[i].name != name) ++i;
    if (i == contract.parameters.size() || contract.parameters[i].kind == Kind::kStream) {
      raise(api.type_error, "%s() got an unexpected keyword argument '%.100s'",
            contract.function.c_str(), name);
    }
    if (values[i] != nullptr) {
      raise(api.type_error, "%s() got multiple values for argument '%s'", contract.function.c_str(),
            name);
    }
    values[i] = args[nargs + k];
  }
  for (const int i : function.positional) {
    const Parameter& parameter = contract.parameters[static_cast<size_t>(i)];
    if (values[i] != nullptr || parameter.optional) continue;
    raise(api.type_error, "%s() misses the argument '%s': %s", contract.function.c_str(),
          parameter.name.c_str(), parameter.declared.c_str());
  }
}

/// One call, from the objects to the result.
class Call {
 public:
  Call(const Function& function, PyObject* const* values) noexcept
      : function_(function), contract_(*function.contract), values_(values), binding_(contract_) {
    for (int i = 0; i < sys::NaturalArguments::kRegisters; ++i) slots_[i].integer = 0;
  }
  ~Call() {
    while (result_count_ > 0) api.Py_DecRef(results_[--result_count_]);
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  [[gnu::always_inline]] PyObject* run() {
    read_arguments();
    if (contract_.results > 0) make_results();
    if (device_ != nullptr) begin_on_stream();
    Ref result(invoke());
    if (device_ != nullptr) end_on_stream();
    loans_.succeed();
    if (contract_.results > 0) return collect_results();
    if (contract_.returns != Returns::kTensor) return result.detach();
    return finish_result(static_cast<Ref&&>(result), find_like()).detach();
  }

 private:
  void read_arguments() {
    PyObject* const* value = values_;
    dlx_argument* slot = slots_;
    for (const Parameter& parameter : contract_.parameters) {
      if (parameter.kind != Kind::kArray) {
        if (parameter.kind != Kind::kStream) read_number(parameter, *value, slot);
      } else if (parameter.optional && (*value == nullptr || *value == api.none)) {
        slot->array = nullptr;
      } else if (!parameter.result) {
        borrow_into_slot(parameter, *value, slot);
      }
      ++value;
      ++slot;
    }
  }

  [[gnu::noinline]] void read_number(const Parameter& parameter, PyObject* value,
                                     dlx_argument* slot) {
    *slot = read_scalar(contract_, parameter, value);
    if (parameter.bound_name >= 0) bind_number(parameter, slot->integer, &binding_);
  }

  [[gnu::always_inline]] void borrow_into_slot(const Parameter& parameter, PyObject* value,
                                               dlx_argument* slot) {
    const auto like = [&]() -> const DLTensor* {
      return parameter.same_dtype_as >= 0 ? slots_[parameter.same_dtype_as].array : nullptr;
    };
    Borrowed* const borrowed = loans_.next();
    slot->array = &borrowed->array;
    const bool owns = borrow(value, contract_, parameter, like, &binding_, borrowed);
    loans_.keep(owns);
    // Arrays on a device are imported, which makes an owner.
    if (owns && borrowed->array.device.device_type != kDLCPU) device_ = &borrowed->array;
  }

  /// The first array, whose library the results have; NULL if there is none.
  PyObject* find_like() const noexcept {
    for (size_t i = 0; i < contract_.parameters.size(); ++i) {
      const Parameter& parameter = contract_.parameters[i];
      const bool array = parameter.kind == Kind::kArray && !parameter.result;
      if (array && values_[i] != nullptr && values_[i] != api.none) return values_[i];
    }
    return nullptr;
  }

  [[gnu::noinline]] void make_results() {
    like_ = find_like();
    for (size_t i = 0; i < contract_.parameters.size(); ++i) {
      const Parameter& parameter = contract_.parameters[i];
      if (!parameter.result) continue;
      PyObject* const passed = values_[i] == api.none ? nullptr : values_[i];
      passed_ |= (passed != nullptr ? 1u : 0u) << result_count_;
      Ref result = passed != nullptr ? Ref::share(passed) : new_array(parameter);
      results_[result_count_] = result.detach();
      borrow_into_slot(parameter, results_[result_count_++], &slots_[i]);
    }
  }

  Ref new_array(const Parameter& parameter) {
    int64_t shape[Parameter::kMostAxes];
    infer_shape(parameter, binding_, shape);
    const int like = parameter.same_dtype_as;
    const DLDataType dtype = like >= 0 ? slots_[like].array->dtype : parameter.dtypes[0];
    const DLDevice device = device_ != nullptr ? device_->device : DLDevice{kDLCPU, 0};
    const int32_t order = parameter.layout == Layout::kColumnMajor ? DLX_ORDER_F : DLX_ORDER_C;
    return new_result(like_, {dtype, device, parameter.axes, shape, order});
  }

  [[gnu::noinline]] PyObject* collect_results() {
    if (result_count_ == 1) return take_result(0).detach();
    Ref tuple(check(api.PyTuple_New(result_count_)));
    for (int i = 0; i < result_count_; ++i)
      api.PyTuple_SetItem(tuple.get(), i, take_result(i).detach());
    return tuple.detach();
  }
  /// What the caller passed comes back itself.
  Ref take_result(int i) const {
    return finish_result(Ref::share(results_[i]), (passed_ >> i & 1) != 0 ? nullptr : like_);
  }

  // ---- streams: dlx's work before and after the call is ordered by the tensors' readiness

  /// Calls visit(tensor) for the tensors on a device; dlx borrows these as Tensors.
  template <typename Visit>
  void for_each_on_device(Visit&& visit) {
    for (const Borrowed& borrowed : loans_) {
      if (borrowed.array.device.device_type == kDLCPU || borrowed.owner == nullptr) continue;
      visit(tensor_of(static_cast<PyObject*>(borrowed.owner)));
    }
  }

  [[gnu::cold]] void begin_on_stream() {
    for_each_on_device([&](Tensor* tensor) { stream_ = make_ready_on_current(tensor); });
  }
  [[gnu::cold]] void end_on_stream() {
    for_each_on_device([&](Tensor* tensor) { note_written(tensor, stream_); });
  }

  // ---- the call itself

  bool keeps_gil() const noexcept {
    return device_ == nullptr && static_cast<int64_t>(binding_.elements) < function_.kept_below;
  }

  /// None, a number, or the Tensor that the function returned; a new reference.
  PyObject* invoke() {
    if (contract_.stream >= 0) slots_[contract_.stream].integer = stream_;
    const uint64_t messages = last_error_number.load(std::memory_order_relaxed);
    if (!function_.natural) {
      const auto packed = reinterpret_cast<dlx_function>(function_.address);
      dlx_status status;
      {
        const WithoutGil without(!keeps_gil());
        status = packed(function_.context, slots_);
      }
      return check_status(status, messages);
    }
    if (function_.all_words)
      return invoke_natural(sys::WordArguments{slots_, function_.count}, messages);
    sys::NaturalArguments arguments;
    sort_into_registers(&arguments);
    return invoke_natural(arguments, messages);
  }

  template <typename Arguments>
  PyObject* invoke_natural(const Arguments& arguments, uint64_t messages) {
    const auto* const address = reinterpret_cast<const void*>(function_.address);
    if (contract_.returns == Returns::kFloat) {
      double real;
      {
        const WithoutGil without(!keeps_gil());
        real = sys::call_for_real(address, arguments);
      }
      require_no_exception();
      return check(api.PyFloat_FromDouble(real));
    }
    int64_t word;
    {
      const WithoutGil without(!keeps_gil());
      word = sys::call_for_word(address, arguments);
    }
    if (contract_.returns == Returns::kStatus) {
      return check_status(static_cast<dlx_status>(word), messages);
    }
    return value_of(word, messages);
  }

  PyObject* value_of(int64_t word, uint64_t messages) {
    auto* const tensor =
        contract_.returns == Returns::kTensor ? reinterpret_cast<Tensor*>(word) : nullptr;
    TensorRef returned(tensor);
    require_no_exception();
    switch (contract_.returns) {
      case Returns::kInt: return check(api.PyLong_FromLongLong(word));
      case Returns::kTensor:
        if (tensor == nullptr) fail_in_words(0, messages);
        return new_object(static_cast<TensorRef&&>(returned));
      default: return none();
    }
  }

  void sort_into_registers(sys::NaturalArguments* arguments) const noexcept {
    const dlx_argument* slot = slots_;
    for (const Parameter& parameter : contract_.parameters) {
      switch (parameter.kind) {
        case Kind::kArray: arguments->add_pointer(slot->array); break;
        case Kind::kText: arguments->add_pointer(slot->text); break;
        case Kind::kFloat:
          if (parameter.scalar.bits == 32) {
            arguments->add_float(static_cast<float>(slot->real));
          } else {
            arguments->add_real(slot->real);
          }
          break;
        default: arguments->add_word(slot->integer);
      }
      ++slot;
    }
  }

  static void require_no_exception() {
    if (api.PyErr_Occurred() != nullptr) throw PythonError();
  }

  PyObject* check_status(dlx_status status, uint64_t messages) const {
    if (__builtin_expect(status != DLX_OK, 0)) fail_in_words(status, messages);
    return none();
  }

  /// A Python exception that the function set wins; else its dlx_set_last_error(). `status` 0: it
  /// returned NULL.
  [[noreturn, gnu::cold]] void fail_in_words(dlx_status status, uint64_t messages) const {
    require_no_exception();
    char missing[80];
    std::snprintf(missing, sizeof missing,
                  status == 0 ? "it returned NULL" : "it returned the status %d",
                  static_cast<int>(status));
    const char* text = has_new_error(messages) ? last_error() : missing;
    // The convention of messages, "function: what is wrong", says the name once.
    const std::string& name = contract_.function;
    if (std::strncmp(text, name.c_str(), name.size()) == 0 && text[name.size()] == ':') {
      text += name.size() + 1;
      while (*text == ' ') ++text;
    }
    if (is_error_status(status)) fail(status, "%s", text);
    raise(api.runtime_error, "%s: %s", name.c_str(), text);
  }

  const Function& function_;
  const Contract& contract_;
  PyObject* const* values_;
  Binding binding_;
  PyObject* like_ = nullptr;          ///< if there are results: find_like()
  const DLTensor* device_ = nullptr;  ///< an array that is not on the CPU
  StreamHandle stream_ = 0;
  unsigned passed_ = 0;  ///< a bit for each result that the caller passed
  int result_count_ = 0;
  PyObject* results_[Contract::kMostResults];  ///< owned: the first `result_count_`
  dlx_argument slots_[kMost];
  Loans<kMost> loans_;
};

PyObject* call(PyObject* self, PyObject* const* args, int64_t nargs, PyObject* kwnames) {
  const Function& function = *function_of(self);
  return enter(function.contract->function.c_str(), static_cast<PyObject*>(nullptr),
               [&]() __attribute__((always_inline)) {
                 PyObject* sorted[kMost];
                 PyObject* const* values = args;
                 if (__builtin_expect(nargs != function.direct || kwnames != nullptr, 0)) {
                   sort_arguments(function, args, nargs, kwnames, sorted);
                   values = sorted;
                 }
                 return Call(function, values).run();
               });
}

// ---- making a callable

/// "name(x, factor=1.0, *, out=None)", and what each parameter must be: what help() shows.
std::string document(const Contract& contract, const char* doc) {
  std::string signature = contract.function + "(", text;
  bool first = true, keywords = false;
  const auto add = [&](const std::string& part) {
    signature += first ? part : ", " + part;
    first = false;
  };
  for (const bool results : {false, true}) {
    for (const Parameter& parameter : contract.parameters) {
      if (parameter.kind == Kind::kStream || parameter.result != results) continue;
      if (results && !keywords) add("*");
      keywords = results;
      add(parameter.name + default_text(parameter));
    }
  }
  for (const Parameter& parameter : contract.parameters) {
    if (parameter.kind != Kind::kStream) text += parameter.name + ": " + parameter.declared + "\n";
  }
  if (doc != nullptr) text = std::string(doc) + "\n\n" + text;
  return signature + ")\n--\n\n" + text;
}

/// Throws Error(UNSUPPORTED) if functions of the contract cannot be called so on this machine.
void require_natural(const Contract& contract) {
  const sys::NaturalLimits most = sys::natural_limits();
  // not covered from here: other processors
  if (most.words == 0) {
    fail(DLX_ERROR_UNSUPPORTED,
         "functions that take their arguments one by one are for x86-64 and 64-bit ARM: pass a "
         "dlx_function (packed)");
  }
  // covered again
  int words = 0, reals = 0;
  for (const Parameter& parameter : contract.parameters) {
    ++(parameter.kind == Kind::kFloat && most.reals > 0 ? reals : words);
  }
  if (words <= most.words && reals <= most.reals) return;
  fail(DLX_ERROR_UNSUPPORTED,
       "a function that takes its arguments one by one may have %d arguments in words and %d "
       "floating-point numbers (got %d and %d): pass a dlx_function (packed)",
       most.words, most.reals, words, reals);
}

}  // namespace

PyObject* make_function(void (*function)(), Contract* contract, const dlx_function_options& options,
                        PyObject* keep) {
  if (options.natural != 0) require_natural(*contract);
  if (options.natural == 0 && contract->returns != Returns::kStatus) {
    fail(DLX_ERROR_INVALID_ARGUMENT,
         "`contract` of a dlx_function must return status, which is what a dlx_function returns");
  }
  auto made = std::make_unique<Function>();
  made->address = function;
  made->contract = contract;
  retain(contract);
  made->natural = options.natural != 0;
  made->kept_below = options.gil_kept_below == 0 ? kReleaseGilFrom : options.gil_kept_below;
  made->all_words = true;
  if (keep != nullptr) made->keep = Ref::share(keep);
  for (size_t i = 0; i < contract->parameters.size(); ++i) {
    const Parameter& parameter = contract->parameters[i];
    if (parameter.kind == Kind::kFloat) made->all_words = false;
    if (!parameter.result && parameter.kind != Kind::kStream) {
      made->positional.push_back(static_cast<int>(i));
    }
  }
  made->count = static_cast<int>(contract->parameters.size());
  if (made->positional.size() == contract->parameters.size()) made->direct = made->count;
  made->doc = document(*contract, options.doc);
  made->definition = fast_entry(contract->function.c_str(), call, made->doc.c_str());
  Ref capsule(check(api.PyCapsule_New(made.get(), kCapsule, destroy)));
  Function* const owned = made.release();
  api.PyCapsule_SetContext(capsule.get(), owned);
  // Nothing may fail once the callable owns the context.
  PyObject* const callable =
      check(api.PyCFunction_NewEx(&owned->definition, capsule.get(), nullptr));
  owned->context = options.context;
  owned->release = options.release;
  return callable;
}

namespace {

/// _function(address, contract, natural, kept_below, keep, doc, name)
PyObject* function_from_python(PyObject*, PyObject* const* args, int64_t nargs, PyObject*) {
  return positional("function", nargs, 7, [&] {
    void* const address = api.PyLong_AsVoidPtr(args[0]);
    if (address == nullptr) {
      if (api.PyErr_Occurred() != nullptr) throw PythonError();
      fail(DLX_ERROR_INVALID_ARGUMENT, "`pointer` is NULL");
    }
    const char* const text = to_text(args[1], "contract");
    const char* const name = to_text(args[6], "name");
    dlx_function_options options = DLX_FUNCTION_OPTIONS_INIT;
    options.natural = args[2] == api.true_ ? 1 : 0;
    options.gil_kept_below = to_int64(args[3], "gil");
    if (args[5] != api.none) options.doc = to_text(args[5], "doc");
    Contract* const contract = parse_contract(text, name);
    const std::unique_ptr<Contract, void (*)(Contract*)> owned(
        contract, [](Contract* c) { dlx::release(c); });
    void (*function)();
    std::memcpy(&function, &address, sizeof function);
    return make_function(function, contract, options, args[4] == api.none ? nullptr : args[4]);
  });
}

/// _new_like(like, shape, dtype, device): an uninitialised array of the library of `like`.
PyObject* new_like(PyObject*, PyObject* const* args, int64_t nargs, PyObject*) {
  return positional("empty_like", nargs, 4, [&] {
    const Int64List shape(args[1], "shape");
    const ArraySpec spec{to_dtype(args[2]), to_device(args[3]), shape.count(), shape.data(),
                         DLX_ORDER_C};
    return finish_result(new_result(args[0], spec), args[0]).detach();
  });
}

}  // namespace

PyMethodDef function_functions[] = {fast_entry("_function", function_from_python),
                                    fast_entry("_argument", argument_from_python),
                                    fast_entry("_new_like", new_like),
                                    {}};

}  // namespace dlx::py
