#include "src/python/scalar_arguments.h"

#include <cmath>
#include <cstdio>

#include "src/base/error.h"
#include "src/contract/check.h"
#include "src/dtype/dtype.h"
#include "src/python/arguments.h"
#include "src/python/errors.h"
#include "src/python/integers.h"
#include "src/python/reference.h"
#include "src/python/type_cache.h"

namespace dlx::py {
namespace {

[[noreturn, gnu::cold]] void refuse_type(const Parameter& parameter, PyObject* object) {
  raise(api.type_error, "`%s` must be %s (got %s)", parameter.name.c_str(),
        parameter.declared.c_str(), type_text(class_of(object)).text);
}

[[noreturn, gnu::cold]] void refuse_number(const Parameter& parameter, const char* got) {
  fail(DLX_ERROR_INVALID_ARGUMENT, "`%s` must be a number that %s can hold (got %s)",
       parameter.name.c_str(), dtype_text(parameter.scalar).text, got);
}

/// Numbers beyond int64 that a uint64 holds.
int64_t read_uint64(const Parameter& parameter, PyObject* object) {
  if (api.PyIndex_Check(object) == 0) refuse_type(parameter, object);
  const Ref number(check(api.PyNumber_Index(object)));
  const unsigned long long value = api.PyLong_AsUnsignedLongLong(number.get());
  if (value == ~0ull && api.PyErr_Occurred() != nullptr) {
    if (api.PyErr_ExceptionMatches(api.overflow_error) == 0) throw PythonError();
    api.PyErr_Clear();
    refuse_number(parameter, "another");
  }
  return static_cast<int64_t>(value);
}

int64_t read_int(const Parameter& parameter, PyObject* object) {
  const DLDataType scalar = parameter.scalar;
  if (scalar.code == kDLUInt && scalar.bits == 64) return read_uint64(parameter, object);
  if (class_of(object) != api.long_type && api.PyIndex_Check(object) == 0) {
    refuse_type(parameter, object);
  }
  const int64_t value = to_int64(object, parameter.name.c_str());
  if (can_hold(scalar, value)) return value;
  char got[24];
  std::snprintf(got, sizeof got, "%lld", static_cast<long long>(value));
  refuse_number(parameter, got);
}

double read_float(const Parameter& parameter, PyObject* object) {
  const double value = api.PyFloat_AsDouble(object);  // also takes __float__ and __index__
  if (value == -1.0 && api.PyErr_Occurred() != nullptr) {
    if (api.PyErr_ExceptionMatches(api.type_error) == 0) throw PythonError();
    api.PyErr_Clear();
    refuse_type(parameter, object);
  }
  if (std::isfinite(value) && !can_hold(parameter.scalar, value)) {
    char got[32];
    std::snprintf(got, sizeof got, "%g", value);
    refuse_number(parameter, got);
  }
  return value;
}

bool read_bool(const Parameter& parameter, PyObject* object) {
  if (object == api.true_ || object == api.false_) return object == api.true_;
  // Also the truth values of NumPy.
  if ((look_up_type(class_of(object)).flags & kBoolean) == 0) refuse_type(parameter, object);
  const int value = api.PyObject_IsTrue(object);
  if (value < 0) throw PythonError();
  return value != 0;
}

const char* read_text(const Parameter& parameter, PyObject* object) {
  if ((api.PyType_GetFlags(class_of(object)) & kTypeFlagUnicode) == 0) {
    refuse_type(parameter, object);
  }
  return to_text(object, parameter.name.c_str());
}

dlx_argument read(const Parameter& parameter, PyObject* object) {
  dlx_argument out;
  const bool given = object != nullptr;
  switch (parameter.kind) {
    case Kind::kInt:
      out.integer = given ? read_int(parameter, object) : parameter.default_int;
      break;
    case Kind::kFloat:
      out.real = given ? read_float(parameter, object) : parameter.default_float;
      break;
    case Kind::kBool:
      out.integer = (given ? read_bool(parameter, object) : parameter.default_int != 0) ? 1 : 0;
      break;
    default:
      out.text = given ? read_text(parameter, object) : parameter.default_text.c_str();
      break;
  }
  return out;
}

}  // namespace

dlx_argument read_scalar(const Contract& contract, const Parameter& parameter, PyObject* object) {
  try {
    return read(parameter, object);
  } catch (const PythonError&) {
    extend_message((contract.function + ": ").c_str(), "");
    throw;
  }
}

std::string default_text(const Parameter& parameter) {
  char text[40] = "";
  switch (parameter.kind) {
    case Kind::kArray: break;
    case Kind::kInt:
      std::snprintf(text, sizeof text, "=%lld", static_cast<long long>(parameter.default_int));
      break;
    case Kind::kFloat: return parameter.optional ? "=" + parameter.default_text : "";
    case Kind::kBool:
      return !parameter.optional ? "" : parameter.default_int != 0 ? "=True" : "=False";
    default: return parameter.optional ? "='" + parameter.default_text + "'" : "";
  }
  if (parameter.kind == Kind::kArray) return parameter.optional || parameter.result ? "=None" : "";
  return parameter.optional ? text : "";
}

}  // namespace dlx::py
