#include "src/python/contract_text.h"

#include <memory>
#include <string>

#include "src/contract/contract.h"
#include "src/dtype/dtype.h"
#include "src/python/arguments.h"
#include "src/python/entry.h"
#include "src/python/errors.h"

namespace dlx::py {
namespace {

std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    c == '\n' ? out += "\\n" : out += c;
  }
  return out + "'";
}

const char* kind_text(Kind kind) noexcept {
  switch (kind) {
    case Kind::kArray: return "'array'";
    case Kind::kInt: return "'int'";
    case Kind::kFloat: return "'float'";
    case Kind::kBool: return "'bool'";
    case Kind::kText: return "'str'";
    case Kind::kStream: break;
  }
  return "'stream'";
}

std::string value_text(const Parameter& parameter) {
  if (!parameter.optional) return "None";
  switch (parameter.kind) {
    case Kind::kInt: return std::to_string(parameter.default_int);
    case Kind::kBool: return parameter.default_int != 0 ? "True" : "False";
    case Kind::kFloat:  // inf and nan are no literals
    case Kind::kText: return quoted(parameter.default_text);
    default: return "None";
  }
}

/// (name, kind, (writable, result, optional, takes_grad), dtypes, index of `dtype(x)` or -1, ellipsis, extents,
///  default); extents are numbers, names, or None for any.
std::string parameter_text(const Contract& contract, const Parameter& parameter) {
  const auto flag = [](bool value) { return value ? "True, " : "False, "; };
  std::string dtypes, extents;
  for (int i = 0; i < parameter.dtype_count; ++i) {
    dtypes += quoted(dtype_text(parameter.dtypes[i]).text) + ", ";
  }
  for (int i = 0; i < parameter.axes; ++i) {
    const int64_t extent = parameter.extents[i];
    extents += extent == kAnyExtent ? "None"
               : is_name(extent) ? quoted(contract.names[static_cast<size_t>(name_index(extent))])
                                 : std::to_string(extent);
    extents += ", ";
  }
  return "(" + quoted(parameter.name) + ", " + kind_text(parameter.kind) + ", (" +
         flag(parameter.writable) + flag(parameter.result) + flag(parameter.optional) +
         flag(parameter.takes_grad) + "), (" + dtypes + "), " +
         std::to_string(parameter.same_dtype_as) + ", " + flag(parameter.ellipsis) + "(" + extents +
         "), " + value_text(parameter) + "), ";
}

PyObject* contract_from_python(PyObject*, PyObject* const* args, int64_t nargs, PyObject*) {
  return positional("contract", nargs, 1, [&] {
    const char* const text = to_text(args[0], "contract");
    const std::unique_ptr<Contract, void (*)(Contract*)> contract(
        parse_contract(text), [](Contract* c) { dlx::release(c); });
    std::string out = "(" + quoted(contract->function) + ", (";
    for (const Parameter& parameter : contract->parameters) {
      out += parameter_text(*contract, parameter);
    }
    return check(api.PyUnicode_FromString((out + "))").c_str()));
  });
}

}  // namespace

PyMethodDef contract_functions[] = {fast_entry("_contract", contract_from_python), {}};

}  // namespace dlx::py
