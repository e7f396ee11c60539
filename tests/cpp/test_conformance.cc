// Runs the conformance file (bindings/conformance), which every language runs.
#include <algorithm>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "util.h"

namespace {

using Words = std::vector<std::string>;

int deleted = 0;

Words split(const std::string& text, char separator) {
  Words words;
  std::stringstream stream(text);
  for (std::string word; std::getline(stream, word, separator);) words.push_back(word);
  return words;
}

template <typename T = int64_t>
std::vector<T> numbers(const std::string& word) {
  std::vector<T> values;
  if (word == "-") return values;
  for (const std::string& part : split(word, ',')) {
    values.push_back(static_cast<T>(std::stoll(part)));
  }
  return values;
}

std::string list(dlx::Extents values) {
  std::string text;
  for (const int64_t value : values) text += (text.empty() ? "" : ",") + std::to_string(value);
  return text.empty() ? "-" : text;
}

std::vector<uint8_t> bytes(const std::string& word) {
  std::vector<uint8_t> data;
  if (word == "-") return data;
  for (size_t i = 0; i < word.size(); i += 2) {
    data.push_back(static_cast<uint8_t>(std::stoi(word.substr(i, 2), nullptr, 16)));
  }
  return data;
}

int64_t open(const std::string& word) { return word == "_" ? DLX_SLICE_OPEN : std::stoll(word); }
int32_t axis(const std::string& word) { return static_cast<int32_t>(std::stoi(word)); }

dlx::CopyOptions how(const Words& words) {
  const auto has = [&](const char* word) {
    return std::find(words.begin(), words.end(), word) != words.end();
  };
  dlx::CopyOptions options;
  if (has("never")) options.copy = DLX_COPY_NEVER;
  if (has("F")) options.order = DLX_ORDER_F;
  return options;
}

dlx::Tensor tensor(const std::string& dtype, const std::string& shape, const std::string& data) {
  dlx::Tensor out = dlx::Tensor::empty(numbers(shape), dtype);
  const std::vector<uint8_t> values = bytes(data);
  assert_int_equal(out.nbytes(), values.size());
  if (!values.empty()) std::memcpy(out.data(), values.data(), values.size());
  return out;
}

dlx::Tensor wrap(const Words& w) {
  std::vector<uint8_t> data = bytes(w[5]);
  std::vector<int64_t> shape = numbers(w[2]), strides = numbers(w[3]);
  DLTensor description{};
  description.data = data.data() + std::stoi(w[4]);
  description.device = {kDLCPU, 0};
  description.ndim = static_cast<int32_t>(shape.size());
  description.dtype = dlx::DType(w[1]).get();
  description.shape = shape.data();
  description.strides = strides.data();
  return dlx::Tensor::wrap_with(description, std::move(data));
}

struct Foreign {
  DLManagedTensorVersioned managed{};
  std::vector<int64_t> shape{2, 3}, strides{3, 1};
  float data[6] = {0, 1, 2, 3, 4, 5};
};

void drop(DLManagedTensorVersioned* managed) {
  delete static_cast<Foreign*>(managed->manager_ctx);
  ++deleted;
}

// A managed tensor of another library, float32 (2, 3), with one field changed.
dlx::Managed foreign(const std::string& field, const std::string& word) {
  Foreign* f = new Foreign;
  const std::vector<int64_t> values = numbers(word);
  const int64_t value = values[0];
  f->managed.version.major = 1;
  f->managed.manager_ctx = f;
  f->managed.deleter = drop;
  DLTensor& t = f->managed.dl_tensor;
  t.data = f->data;
  t.device = {kDLCPU, 0};
  t.ndim = 2;
  t.dtype = {kDLFloat, 32, 1};
  if (field == "major") f->managed.version.major = static_cast<uint32_t>(value);
  if (field == "flags") f->managed.flags = static_cast<uint64_t>(value);
  if (field == "ndim") t.ndim = static_cast<int32_t>(value);
  if (field == "shape") f->shape = values;
  if (field == "strides") f->strides = values;
  if (field == "data") t.data = nullptr;
  if (field == "code") t.dtype.code = static_cast<uint8_t>(value);
  if (field == "bits") t.dtype.bits = static_cast<uint8_t>(value);
  if (field == "lanes") t.dtype.lanes = static_cast<uint16_t>(value);
  if (field == "device_type") t.device.device_type = static_cast<DLDeviceType>(value);
  t.shape = f->shape.data();
  t.strides = f->strides.data();
  return dlx::Managed(&f->managed);
}

using Step = std::function<dlx::Tensor(dlx::Tensor&, const Words&)>;

const std::map<std::string, Step>& steps() {
  using T = dlx::Tensor;
  using W = const Words&;
  static const std::map<std::string, Step> table = {
      {"tensor", [](T&, W w) { return tensor(w[1], w[2], w[3]); }},
      {"wrap", [](T&, W w) { return wrap(w); }},
      {"foreign", [](T&, W w) { return T::from_dlpack(foreign(w[1], w[2])); }},
      {"permute",
       [](T& t, W w) { return w.size() == 1 ? t.transpose() : t.permute(numbers<int32_t>(w[1])); }},
      {"slice",
       [](T& t, W w) { return t.slice(axis(w[1]), open(w[2]), open(w[3]), std::stoll(w[4])); }},
      {"select", [](T& t, W w) { return t.select(axis(w[1]), std::stoll(w[2])); }},
      {"squeeze",
       [](T& t, W w) { return w.size() == 1 ? t.squeeze() : t.squeeze(numbers<int32_t>(w[1])); }},
      {"expand_dims", [](T& t, W w) { return t.expand_dims(axis(w[1])); }},
      {"broadcast_to", [](T& t, W w) { return t.broadcast_to(numbers(w[1])); }},
      {"bitcast", [](T& t, W w) { return t.bitcast(w[1]); }},
      {"as_readonly", [](T& t, W) { return t.as_readonly(); }},
      {"contiguous", [](T& t, W w) { return t.contiguous(how(w)); }},
      {"clone", [](T& t, W) { return t.clone(); }},
      {"reshape", [](T& t, W w) { return t.reshape(numbers(w[1]), how(w)); }},
      {"to_device", [](T& t, W w) { return t.to_device(w[1]); }},
      {"dlpack", [](T& t, W) { return T::from_dlpack(t.to_dlpack()); }},
      {"legacy", [](T& t, W) { return T::from_dlpack(t.to_legacy_dlpack()); }},
      {"copy_from",
       [](T& t, W w) {
         t.copy_from(tensor(w[1], w[2], w[3]));
         return t;
       }},
  };
  return table;
}

std::string outcome(const Words& operations) {
  std::ostringstream said;
  dlx::Tensor t;
  try {
    for (const std::string& line : operations) {
      const Words words = split(line, ' ');
      if (words[0] == "parse_dtype") {
        const dlx::DType d(words[1]);
        said << "is " << d.code() << ' ' << d.bits() << ' ' << d.lanes() << ' ' << d << '\n';
        return said.str();
      }
      if (words[0] == "parse_device") {
        const dlx::Device d(words[1]);
        said << "is " << d.type() << ' ' << d.id() << ' ' << d << '\n';
        return said.str();
      }
      t = steps().at(words[0])(t, words);
    }
  } catch (const dlx::Error& error) {
    said << "error " << error.status() << ' ' << error.what() << '\n';
    return said.str();
  }
  said << "dtype " << t.dtype() << "\nshape " << list(t.shape()) << "\nstrides "
       << list(t.strides()) << "\nreadonly " << t.readonly() << "\nbytes ";
  const dlx::Tensor packed = t.contiguous();
  const auto* data = static_cast<const uint8_t*>(packed.data());
  for (int64_t i = 0; i < packed.nbytes(); ++i) {
    said << "0123456789abcdef"[data[i] / 16] << "0123456789abcdef"[data[i] % 16];
  }
  said << (packed.nbytes() == 0 ? "-\n" : "\n");
  return said.str();
}

void every_case(void**) {
  std::ifstream file("bindings/conformance/cases.txt");
  assert_true(file.good());
  const Words checks = {"dtype", "shape", "strides", "readonly", "bytes", "is", "error"};
  int cases = 0, foreigners = 0;
  std::string line, name;
  while (std::getline(file, line)) {
    if (line.compare(0, 5, "case ") != 0) continue;
    name = line.substr(5);
    Words operations;
    std::string expected;
    while (std::getline(file, line) && !line.empty()) {
      const std::string verb = line.substr(0, line.find(' '));
      const bool check = std::find(checks.begin(), checks.end(), verb) != checks.end();
      if (check) {
        expected += line + "\n";
      } else {
        operations.push_back(line);
      }
    }
    const std::string got = outcome(operations);
    if (got != expected)
      fail_msg("%s: got\n%swant\n%s", name.c_str(), got.c_str(), expected.c_str());
    if (operations[0].compare(0, 7, "foreign") == 0) ++foreigners;
    ++cases;
  }
  assert_true(cases > 80);
  assert_int_equal(deleted, foreigners);
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {cmocka_unit_test(every_case)};
  return cmocka_run_group_tests_name("cpp_conformance", tests, nullptr, nullptr);
}
