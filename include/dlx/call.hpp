/**
 * Functions in C that have a contract (dlx/call.h), called with tensors:
 *     const dlx::Function blur(filter_blur_packed, FILTER_BLUR);
 *     dlx::Tensor blurred = blur(image, 2)[0];
 *
 * **Ownership**: arguments are borrowed during the call, results belong to the caller. **Errors**:
 * dlx::Error. **Thread safety**: contracts never change; a Function is as safe as what it calls.
 */
#ifndef DLX_CALL_HPP_
#define DLX_CALL_HPP_

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "dlx/call.h"
#include "dlx/dlx.hpp"

namespace dlx {

/** A contract, read once. */
class Contract {
 public:
  explicit Contract(const char* text) { check(dlx_contract_create(text, &handle_)); }
  Contract(const Contract&) = delete;
  Contract& operator=(const Contract&) = delete;
  ~Contract() { dlx_contract_release(handle_); }

  dlx_contract* get() const noexcept { return handle_; }
  /** The contract of a struct with a `static constexpr char contract[]`. */
  template <typename Tag>
  static const Contract& of() {
    static const Contract contract(Tag::contract);
    return contract;
  }

 private:
  dlx_contract* handle_ = nullptr;
};

/** An argument of a Function: a tensor, a number, a text, or nullptr for the contract's default. */
class Argument {
 public:
  Argument(std::nullptr_t) noexcept : kind_(Kind::kDefault) {}
  Argument(const Tensor& tensor) noexcept : kind_(Kind::kTensor), tensor_(tensor.get()) {}
  Argument(const char* text) noexcept : kind_(Kind::kText), text_(text) {}
  template <typename T, typename = std::enable_if_t<std::is_arithmetic_v<T>>>
  Argument(T number) noexcept
      : kind_(std::is_floating_point_v<T> ? Kind::kReal : Kind::kInteger),
        integer_(std::is_floating_point_v<T> ? 0 : static_cast<int64_t>(number)),
        real_(static_cast<double>(number)) {}

 private:
  friend class Function;
  enum class Kind { kDefault, kTensor, kText, kInteger, kReal };

  /** Whether it fits, and then what the function gets. */
  bool put(int32_t kind, dlx_tensor** tensor, dlx_argument* value) const noexcept {
    switch (kind) {
      case DLX_PARAMETER_ARRAY: *tensor = tensor_; return kind_ == Kind::kTensor;
      case DLX_PARAMETER_TEXT: value->text = text_; return kind_ == Kind::kText;
      case DLX_PARAMETER_FLOAT:
        value->real = real_;
        return kind_ == Kind::kReal || kind_ == Kind::kInteger;
      default: value->integer = integer_; return kind_ == Kind::kInteger;
    }
  }

  Kind kind_;
  dlx_tensor* tensor_ = nullptr;
  const char* text_ = nullptr;
  int64_t integer_ = 0;
  double real_ = 0;
};

/** A function in C that takes the tensors that fit its contract. */
class Function {
 public:
  /** `context` is passed on to `function`, which must fit the contract. */
  Function(dlx_function function, const char* contract, void* context = nullptr)
      : contract_(contract), function_(function), context_(context) {
    for (int32_t i = 0; i < dlx_contract_count(contract_.get()); ++i) {
      parameters_.push_back(DLX_PARAMETER_INIT);
      check(dlx_contract_parameter(contract_.get(), i, &parameters_.back()));
      if (has(parameters_.back(), DLX_PARAMETER_RESULT)) ++results_;
    }
  }

  /** Calls the function; the results are those of the contract. */
  template <typename... Arguments>
  std::vector<Tensor> operator()(const Arguments&... arguments) const {
    const Argument list[] = {Argument(arguments)..., nullptr};
    return call(list, sizeof...(arguments));
  }

 private:
  static bool has(const dlx_parameter& parameter, uint64_t flag) noexcept {
    return (parameter.flags & flag) != 0;
  }

  std::vector<Tensor> call(const Argument* list, size_t count) const {
    std::vector<dlx_tensor*> tensors(parameters_.size() + 1);
    std::vector<dlx_argument> values(parameters_.size() + 1);
    size_t next = 0;
    for (size_t i = 0; i < parameters_.size(); ++i) {
      const dlx_parameter& parameter = parameters_[i];
      values[i] = parameter.default_value;
      if (has(parameter, DLX_PARAMETER_RESULT) || parameter.kind == DLX_PARAMETER_STREAM) continue;
      const bool given = next < count && list[next].kind_ != Argument::Kind::kDefault;
      const std::string name = std::string("`") + parameter.name + "`";
      if (given && !list[next].put(parameter.kind, &tensors[i], &values[i])) {
        refuse(name + " is of another type");
      }
      if (!given && !has(parameter, DLX_PARAMETER_OPTIONAL)) refuse(name + " is missing");
      ++next;
    }
    if (count > next) {
      refuse("it takes " + std::to_string(next) + " arguments (got " + std::to_string(count) + ")");
    }
    std::vector<dlx_tensor*> made(results_ + 1);
    check(dlx_contract_call(contract_.get(), function_, context_, tensors.data(), values.data(),
                            made.data()));
    std::vector<Tensor> out(results_);
    for (size_t i = 0; i < results_; ++i) out[i] = Tensor::adopt(made[i]);
    return out;
  }

  [[noreturn]] void refuse(const std::string& words) const {
    throw InvalidArgument(dlx_contract_name(contract_.get()) + (": " + words));
  }

  Contract contract_;
  dlx_function function_;
  void* context_;
  std::vector<dlx_parameter> parameters_;
  size_t results_ = 0;
};

}  // namespace dlx

#endif  // DLX_CALL_HPP_
