// Fuzzes contracts: what is accepted is within the limits of a contract, and the same text is accepted
// again with the same meaning.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "src/base/error.h"
#include "src/contract/check.h"

namespace {

void require(bool condition, const char* what, const std::string& text) {
  if (condition) return;
  std::fprintf(stderr, "%s: \"%s\"\n", what, text.c_str());
  std::abort();
}

void look_at(const dlx::Contract& contract, const std::string& text) {
  using dlx::Contract;
  using dlx::Kind;
  require(contract.parameters.size() <= Contract::kMostParameters, "parameters", text);
  require(contract.names.size() <= Contract::kMostNames, "names", text);
  require(contract.results <= Contract::kMostResults, "results", text);
  const auto names = static_cast<int64_t>(contract.names.size());
  int index = 0;
  for (const dlx::Parameter& parameter : contract.parameters) {
    require(parameter.axes <= dlx::Parameter::kMostAxes, "axes", text);
    require(parameter.same_dtype_as < index, "dtype(x) of a later array", text);
    require(!parameter.result || !parameter.optional, "an optional result", text);
    for (int i = 0; i < parameter.axes; ++i) {
      const int64_t extent = parameter.extents[i];
      require(!dlx::is_name(extent) || dlx::name_index(extent) < names, "a name", text);
    }
    ++index;
  }
  // An array that every parameter is asked about: no answer may depend on more than the description.
  int64_t shape[2] = {3, 4}, strides[2] = {4, 1};
  float data[12] = {};
  DLTensor array = {data, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, strides, 0};
  dlx::Binding binding(contract);
  for (const dlx::Parameter& parameter : contract.parameters) {
    if (parameter.kind != Kind::kArray) continue;
    const dlx::Mismatch found = dlx::check_array(parameter, array, 0, nullptr, &binding);
    if (found == dlx::Mismatch::kNone) continue;
    try {
      dlx::refuse(contract, parameter, found, array, nullptr, binding);
    } catch (const dlx::Error& error) {
      require(std::string(error.what()).find('`' + parameter.name.substr(0, 60)) == 0, error.what(),
              text);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  dlx::Contract* contract;
  try {
    contract = dlx::parse_contract(text.c_str());
  } catch (const dlx::Error&) {
    return 0;
  }
  look_at(*contract, text);
  dlx::Contract* const again = dlx::parse_contract(text.c_str());
  require(again->parameters.size() == contract->parameters.size(), "read twice", text);
  dlx::release(again);
  dlx::release(contract);
  return 0;
}
