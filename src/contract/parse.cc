#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "dlx/dlx.h"
#include "src/base/error.h"
#include "src/contract/check.h"
#include "src/device/registry.h"
#include "src/dtype/dtype.h"

namespace dlx {
namespace {

/// Reads a contract from left to right. All functions throw Error(INVALID_ARGUMENT).
class Reader {
 public:
  explicit Reader(const char* text) : text_(text), at_(text) {}

  Contract* read(const char* name) {
    std::unique_ptr<Contract> contract(new Contract());
    contract_ = contract.get();
    contract->function = name;
    read_head();
    while (!ended()) {
      read_parameter();
      if (!accept(',')) break;
    }
    if (in_parentheses_) expect(')');
    if (accept("->")) read_returns();
    if (!ended_here()) fail_here("the end");
    finish();
    return contract.release();
  }

 private:
  // ---- tokens

  void skip_space() {
    while (std::isspace(static_cast<unsigned char>(*at_)) != 0) ++at_;
  }
  bool ended_here() {
    skip_space();
    return *at_ == '\0';
  }
  bool ended() { return ended_here() || *at_ == ')' || (*at_ == '-' && at_[1] == '>'); }
  bool accept(char token) {
    skip_space();
    if (*at_ != token) return false;
    ++at_;
    return true;
  }
  bool accept(const char* token) {
    skip_space();
    const size_t length = std::strlen(token);
    if (std::strncmp(at_, token, length) != 0) return false;
    at_ += length;
    return true;
  }
  void expect(char token) {
    const char wanted[] = {'`', token, '`', '\0'};
    if (!accept(token)) fail_here(wanted);
  }
  static bool is_letter(char c) {
    return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_';
  }
  /// A name, or "" if none begins here.
  std::string accept_name() {
    skip_space();
    const char* end = at_;
    if (is_letter(*end)) {
      while (is_letter(*end) || std::isdigit(static_cast<unsigned char>(*end)) != 0) ++end;
    }
    std::string name(at_, end);
    at_ = end;
    return name;
  }
  std::string expect_name(const char* what) {
    std::string name = accept_name();
    if (name.empty()) fail_here(what);
    return name;
  }
  /// The words before `at` and at it: enough to find the place.
  [[noreturn]] void fail_here(const char* expected) {
    skip_space();
    fail(DLX_ERROR_INVALID_ARGUMENT,
         "`text` of the contract must have %s at byte %lld (got \"%.40s\"): such as \"scale(x: "
         "float32[n] writable, factor: float)\"",
         expected, static_cast<long long>(at_ - text_), at_);
  }

  // ---- the grammar

  /// "name(" of the function, which may be left out.
  void read_head() {
    const char* const start = at_;
    std::string name = accept_name();
    if (accept('(')) {
      in_parentheses_ = true;
      if (!name.empty()) contract_->function = std::move(name);
    } else {
      at_ = start;
    }
  }

  void read_parameter() {
    Parameter parameter;
    parameter.name = expect_name("the name of a parameter");
    for (const Parameter& other : contract_->parameters) {
      if (other.name == parameter.name) fail_name("two parameters", other.name);
    }
    expect(':');
    skip_space();
    const char* const start = at_;
    if (!read_scalar(&parameter)) read_array(&parameter);
    const char* end = at_;
    while (end > start && std::isspace(static_cast<unsigned char>(end[-1])) != 0) --end;
    parameter.declared.assign(start, end);
    if (accept('=')) read_default(&parameter);
    if (contract_->parameters.size() == Contract::kMostParameters) {
      fail(DLX_ERROR_INVALID_ARGUMENT, "`text` of the contract has more than %d parameters",
           Contract::kMostParameters);
    }
    contract_->parameters.push_back(std::move(parameter));
  }

  [[noreturn]] void fail_name(const char* what, const std::string& name) {
    fail(DLX_ERROR_INVALID_ARGUMENT, "`text` of the contract has %s named \"%.60s\"", what,
         name.c_str());
  }

  /// A parameter without [extents]: int, float, bool, str, stream, or a number by its dtype.
  bool read_scalar(Parameter* parameter) {
    static constexpr struct {
      const char* name;
      Kind kind;
      DLDataType scalar;
    } kKinds[] = {{"int", Kind::kInt, {kDLInt, 64, 1}},
                  {"float", Kind::kFloat, {kDLFloat, 64, 1}},
                  {"bool", Kind::kBool, {kDLBool, 8, 1}},
                  {"str", Kind::kText, {}},
                  {"stream", Kind::kStream, {}}};
    const char* const start = at_;
    const std::string name = accept_name();
    skip_space();
    const bool array = *at_ == '[' || *at_ == '|' || *at_ == '(' || name == "any";
    if (array || name.empty()) {
      at_ = start;
      return false;
    }
    for (const auto& known : kKinds) {
      if (name != known.name) continue;
      parameter->kind = known.kind;
      parameter->scalar = known.scalar;
      return true;
    }
    parameter->scalar = dtype_named(name, *parameter);
    const uint8_t code = parameter->scalar.code, bits = parameter->scalar.bits;
    const bool whole = (code == kDLInt || code == kDLUInt) && bits >= 8;
    if (!whole && !(code == kDLFloat && bits >= 32)) {
      fail(DLX_ERROR_INVALID_ARGUMENT,
           "`%s` of the contract is %s without [extents]: a number must be an integer of 8 to 64 "
           "bits, float32 or float64, and an array has extents, as in %s[n]",
           parameter->name.c_str(), name.c_str(), name.c_str());
    }
    parameter->kind = whole ? Kind::kInt : Kind::kFloat;
    return true;
  }

  void read_array(Parameter* parameter) {
    const char* const start = at_;
    do {
      read_dtype(parameter);
    } while (accept('|'));
    const char* end = at_;
    while (std::isspace(static_cast<unsigned char>(end[-1])) != 0) --end;
    parameter->type.assign(start, end);
    expect('[');
    read_extents(parameter);
    layout_ = device_ = nullptr;
    for (skip_space(); is_letter(*at_); skip_space()) read_word(at_, parameter);
    if (parameter->result) parameter->writable = true;
    note_usual_form(parameter);
  }

  void read_dtype(Parameter* parameter) {
    const std::string name = expect_name("a dtype, int, float, bool, str or stream");
    if (name == "any") return;
    if (name == "dtype") {
      expect('(');
      parameter->same_dtype_as = find_array(expect_name("the name of an earlier array"));
      expect(')');
      return;
    }
    if (parameter->dtype_count == Parameter::kMostDTypes) {
      fail(DLX_ERROR_INVALID_ARGUMENT, "`%s` of the contract has more than %d dtypes",
           parameter->name.c_str(), Parameter::kMostDTypes);
    }
    parameter->dtypes[parameter->dtype_count++] = dtype_named(name, *parameter);
  }

  static DLDataType dtype_named(const std::string& name, const Parameter& parameter) {
    try {
      return parse_dtype(name.c_str());
    } catch (const Error& error) {
      fail(error.status(), "`%s` of the contract has an unknown type: %s", parameter.name.c_str(),
           error.what());
    }
  }

  int find_array(const std::string& name) {
    for (size_t i = 0; i < contract_->parameters.size(); ++i) {
      const Parameter& other = contract_->parameters[i];
      if (other.name == name && other.kind == Kind::kArray && !other.result && !other.optional) {
        return static_cast<int>(i);
      }
    }
    fail(DLX_ERROR_INVALID_ARGUMENT,
         "`text` of the contract refers to \"%.60s\", which is no earlier array that every caller "
         "passes",
         name.c_str());
  }

  void read_extents(Parameter* parameter) {
    if (accept("...")) {
      parameter->ellipsis = true;
      if (!accept(',')) return expect(']');
    }
    while (!accept(']')) {
      if (parameter->axes == Parameter::kMostAxes) {
        fail(DLX_ERROR_INVALID_ARGUMENT, "`%s` of the contract names more than %d axes",
             parameter->name.c_str(), Parameter::kMostAxes);
      }
      parameter->extents[parameter->axes++] = read_extent();
      if (!accept(',')) return expect(']');
    }
  }

  int64_t read_extent() {
    const std::string name = accept_name();
    if (name == "_") return kAnyExtent;
    if (!name.empty()) return extent_of_name(find_or_add_name(name));
    skip_space();
    if (std::isdigit(static_cast<unsigned char>(*at_)) == 0) {
      fail_here("an extent (a number, a name, or _ for any)");
    }
    return read_number(at_);
  }

  /// The number that begins at `start`; moves behind it.
  int64_t read_number(const char* start) {
    char* end;
    errno = 0;
    const long long number = std::strtoll(start, &end, 10);
    if (errno != 0 || end == start) fail_here("a whole number below 2^63");
    at_ = end;
    return number;
  }

  int find_or_add_name(const std::string& name) {
    std::vector<std::string>& names = contract_->names;
    for (size_t i = 0; i < names.size(); ++i) {
      if (names[i] == name) return static_cast<int>(i);
    }
    if (names.size() == Contract::kMostNames) {
      fail(DLX_ERROR_INVALID_ARGUMENT, "`text` of the contract names more than %d extents",
           Contract::kMostNames);
    }
    names.push_back(name);
    return static_cast<int>(names.size()) - 1;
  }

  void read_word(const char* place, Parameter* parameter) {
    const std::string word = accept_name();
    if (word == "writable") {
      parameter->writable = true;
    } else if (word == "result") {
      parameter->result = true;
    } else if (word == "C" || word == "F" || word == "strided") {
      if (layout_ != nullptr) fail_back(place, "only one of C, F and strided");
      layout_ = place;
      parameter->layout = word == "C"   ? Layout::kRowMajor
                          : word == "F" ? Layout::kColumnMajor
                                        : Layout::kStrided;
    } else if (word == "unaligned") {
      parameter->unaligned = true;
    } else if (word == "copy") {
      parameter->may_copy = true;
    } else if (word == "grad") {
      parameter->takes_grad = true;
    } else {
      read_device(word, parameter);
      if (device_ != nullptr) fail_back(place, "only one device");
      device_ = place;
    }
  }

  void read_device(const std::string& word, Parameter* parameter) {
    if (word == "anywhere") {
      parameter->device_type = 0;
      parameter->device = "any device";
      return;
    }
    try {
      parameter->device_type = type_of(parse_device(word.c_str()));
      parameter->device = word;
    } catch (const Error&) {
      fail(DLX_ERROR_INVALID_ARGUMENT,
           "`%s` of the contract has the unknown word \"%.40s\" (expected writable, result, C, F, "
           "strided, unaligned, copy, grad, anywhere, or a device such as cuda)",
           parameter->name.c_str(), word.c_str());
    }
  }

  void read_default(Parameter* parameter) {
    parameter->optional = true;
    skip_space();
    const char* const start = at_;
    switch (parameter->kind) {
      case Kind::kArray:
        if (accept_name() != "None") fail_back(start, "None, the default of an array");
        return;
      case Kind::kInt:
        parameter->default_int = read_number(start);
        if (can_hold(parameter->scalar, parameter->default_int)) return;
        fail_back(start, kHeld);
      case Kind::kFloat: return read_real(parameter);
      case Kind::kBool: {
        const std::string word = accept_name();
        if (word != "True" && word != "False") fail_back(start, "True or False");
        parameter->default_int = word == "True" ? 1 : 0;
        return;
      }
      case Kind::kText: return read_text(parameter);
      case Kind::kStream: fail_here("no default for a stream");
    }
  }

  static constexpr char kHeld[] = "a default that the type holds";
  /// A decimal number, inf or nan.
  void read_real(Parameter* parameter) {
    const char* const start = at_;
    if (*at_ == '+' || *at_ == '-') ++at_;
    const bool word = is_letter(*at_);
    while (word ? is_letter(*at_) : is_of_number(at_)) ++at_;
    parameter->default_text.assign(start, at_);
    double* const value = &parameter->default_float;
    if (!parse_real(parameter->default_text, value)) fail_back(start, "a number");
    if (!word && !can_hold(parameter->scalar, *value)) fail_back(start, kHeld);
  }
  static bool is_of_number(const char* c) {
    const bool sign = (*c == '+' || *c == '-') && (c[-1] == 'e' || c[-1] == 'E');
    return sign || (*c != '\0' && std::strchr("0123456789.eE", *c) != nullptr);
  }

  [[noreturn]] void fail_back(const char* place, const char* expected) {
    at_ = place;
    fail_here(expected);
  }

  void read_text(Parameter* parameter) {
    skip_space();
    const char quote = *at_;
    const char* end = quote == '"' || quote == '\'' ? std::strchr(at_ + 1, quote) : nullptr;
    if (end == nullptr) fail_here("a text in quotes");
    parameter->default_text.assign(at_ + 1, end);
    at_ = end + 1;
  }

  void read_returns() {
    static constexpr struct {
      const char* name;
      Returns returns;
    } kReturns[] = {{"status", Returns::kStatus},
                    {"void", Returns::kVoid},
                    {"int", Returns::kInt},
                    {"float", Returns::kFloat},
                    {"tensor", Returns::kTensor}};
    skip_space();
    const char* const start = at_;
    const std::string name = accept_name();
    for (const auto& known : kReturns) {
      if (name != known.name) continue;
      contract_->returns = known.returns;
      return;
    }
    fail_back(start, "status, void, int, float or tensor");
  }

  // ---- what must hold for the whole

  void finish() {
    bool optional = false;
    for (size_t i = 0; i < contract_->parameters.size(); ++i) {
      Parameter& parameter = contract_->parameters[i];
      if (parameter.kind == Kind::kStream) {
        if (contract_->stream >= 0) fail_name("a second stream", parameter.name);
        contract_->stream = static_cast<int>(i);
        continue;
      }
      if (parameter.kind != Kind::kArray) bind_name(&parameter);
      if (parameter.result) {
        if (++contract_->results > Contract::kMostResults)
          fail_name("one result too many,", parameter.name);
        check_result(parameter);
        continue;
      }
      ++contract_->positions;
      if (optional && !parameter.optional) {
        fail_name("a parameter without default after one with a default,", parameter.name);
      }
      optional = parameter.optional;
    }
    if (contract_->results > 0 && contract_->returns != Returns::kStatus &&
        contract_->returns != Returns::kVoid) {
      fail(
          DLX_ERROR_INVALID_ARGUMENT,
          "`text` of the contract has results and returns a value: a function with results returns "
          "status or void");
    }
    for (const Parameter& parameter : contract_->parameters) {
      if (parameter.result) check_names(parameter);
      if (parameter.kind == Kind::kArray && parameter.device_type != kDLCPU &&
          contract_->stream < 0) {
        fail(DLX_ERROR_INVALID_ARGUMENT,
             "`%s` of the contract may be on a device, and no parameter has the type stream: add "
             "\"stream: stream\", on which the function works",
             parameter.name.c_str());
      }
    }
  }

  void bind_name(Parameter* parameter) {
    for (size_t i = 0; i < contract_->names.size(); ++i) {
      if (contract_->names[i] != parameter->name) continue;
      if (parameter->kind != Kind::kInt)
        fail_name("an extent that is no integer,", parameter->name);
      parameter->bound_name = static_cast<int>(i);
    }
  }

  static void check_result(const Parameter& parameter) {
    const char* name = parameter.name.c_str();
    if (parameter.optional) {
      fail(DLX_ERROR_INVALID_ARGUMENT, "`%s` of the contract is a result and has a default", name);
    }
    if (parameter.dtype_count != 1 && parameter.same_dtype_as < 0) {
      fail(DLX_ERROR_INVALID_ARGUMENT,
           "`%s` of the contract is a result: it must have one dtype, or dtype(x) of an array x",
           name);
    }
    if (parameter.ellipsis) {
      fail(DLX_ERROR_INVALID_ARGUMENT, "`%s` of the contract is a result: it cannot have \"...\"",
           name);
    }
  }

  /// A result's extents must follow from the arguments.
  void check_names(const Parameter& result) {
    for (int i = 0; i < result.axes; ++i) {
      const int64_t extent = result.extents[i];
      bool known = extent >= 0;
      for (const Parameter& other : contract_->parameters) {
        if (!is_name(extent) || other.result) continue;
        known = known || other.bound_name == name_index(extent);
        for (int k = 0; k < other.axes && !other.optional; ++k) {
          known = known || other.extents[k] == extent;
        }
      }
      if (known) continue;
      fail(DLX_ERROR_INVALID_ARGUMENT,
           "`%s` of the contract is a result, and no argument says how long axis %d is",
           result.name.c_str(), i);
    }
  }

  const char* text_;
  const char* at_;
  Contract* contract_ = nullptr;
  bool in_parentheses_ = false;
  const char *layout_ = nullptr, *device_ = nullptr;  ///< the words of the array at hand
};

}  // namespace

Contract* parse_contract(const char* text, const char* name) { return Reader(text).read(name); }

void retain(Contract* contract) noexcept {
  contract->references.fetch_add(1, std::memory_order_relaxed);
}

void release(Contract* contract) noexcept {
  if (contract->references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete contract;
}

}  // namespace dlx
