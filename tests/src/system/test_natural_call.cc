// Calls of functions whose types are known at run time only, against the compiler's own calls: arguments
// of each type in each place. test_platforms_run.py runs this on the other platforms.
#include "src/system/natural_call.h"

#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <type_traits>

// CMocka needs <csetjmp>, <cstdarg>, <cstddef> and <cstdint> first, and does not say that it is C.
extern "C" {
#include <cmocka.h>
}

namespace {

using dlx::sys::NaturalArguments;

constexpr int kMost = 16;

/// What the called function got, or must get: each argument's bits, extended by its own type.
struct Bits {
  template <typename T>
  void add(T value) {
    int64_t bits = 0;
    if constexpr (std::is_floating_point_v<T>) {
      std::memcpy(&bits, &value, sizeof value);
    } else if constexpr (std::is_pointer_v<T>) {
      bits = static_cast<int64_t>(reinterpret_cast<intptr_t>(value));
    } else {
      bits = static_cast<int64_t>(+value);
    }
    values[count++] = bits;
  }
  int64_t values[kMost] = {};
  int count = 0;
};
Bits got;

template <typename Result, typename... Types>
Result record(Types... values) {
  got = Bits();
  (got.add(values), ...);
  return static_cast<Result>(-1.5 - got.count);
}

void pass(NaturalArguments* arguments, float value) { arguments->add_float(value); }
void pass(NaturalArguments* arguments, double value) { arguments->add_real(value); }
void pass(NaturalArguments* arguments, const void* value) { arguments->add_pointer(value); }
template <typename T>
std::enable_if_t<std::is_integral_v<T>> pass(NaturalArguments* arguments, T value) {
  arguments->add_word(static_cast<int64_t>(+value));
}

/// A value with many bits set; an integer's sign changes from place to place.
template <typename T>
T value_at(int place) {
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(place % 2 == 0 ? 1.1 + place : -1.1 - place);
  } else if constexpr (std::is_pointer_v<T>) {
    return reinterpret_cast<T>(static_cast<intptr_t>(0x7e3779b97f4a + place));
  } else if constexpr (std::is_same_v<T, bool>) {
    return place % 2 == 0;
  } else {
    const uint64_t bits = 0x9ec9a5b3f1a7c593u + static_cast<uint64_t>(place);
    return static_cast<T>(place % 2 == 0 ? bits : ~bits);
  }
}

/// Whether the machine's limits allow the call.
template <typename... Types>
constexpr bool fits() {
  constexpr int kRealCount = (0 + ... + int{std::is_floating_point_v<Types>});
  constexpr int kWordCount = static_cast<int>(sizeof...(Types)) - kRealCount;
  constexpr dlx::sys::NaturalLimits kLimits = dlx::sys::natural_limits();
  if (kLimits.reals == 0) return kWordCount + kRealCount <= kLimits.words;
  return kWordCount <= kLimits.words && kRealCount <= kLimits.reals;
}

int called = 0;

template <typename... Types>
void check_call_that_fits() {
  NaturalArguments arguments;
  Bits expected;
  int place = 0;
  (expected.add(value_at<Types>(place++)), ...);
  place = 0;
  (pass(&arguments, value_at<Types>(place++)), ...);
  ++called;

  const auto check_arguments = [&] {
    assert_int_equal(got.count, expected.count);
    for (int i = 0; i < got.count; ++i) {
      if (got.values[i] == expected.values[i]) continue;
      fail_msg("argument %d of %d: got %llx, expected %llx", i, got.count,
               static_cast<unsigned long long>(got.values[i]),
               static_cast<unsigned long long>(expected.values[i]));
    }
  };
  const int64_t word = -1 - expected.count;
  const auto status = reinterpret_cast<const void*>(&record<int32_t, Types...>);
  const auto number = reinterpret_cast<const void*>(&record<int64_t, Types...>);
  const auto real = reinterpret_cast<const void*>(&record<double, Types...>);
  assert_int_equal(static_cast<int32_t>(dlx::sys::call_for_word(status, arguments)), word);
  check_arguments();
  assert_int_equal(dlx::sys::call_for_word(number, arguments), word);
  check_arguments();
  assert_true(dlx::sys::call_for_real(real, arguments) == -1.5 - expected.count);
  check_arguments();
  if constexpr (!(false || ... || std::is_floating_point_v<Types>)) {
    const dlx::sys::WordArguments words{arguments.words, expected.count};
    assert_int_equal(dlx::sys::call_for_word(number, words), word);
    check_arguments();
    assert_true(dlx::sys::call_for_real(real, words) == -1.5 - expected.count);
    check_arguments();
  }
}

template <typename... Types>
void check_call() {
  if constexpr (fits<Types...>()) check_call_that_fits<Types...>();
}

/// Half of them are floating-point.
using AnyType =
    std::tuple<double, double, double, double, double, float, float, float, float, float, int8_t,
               uint8_t, int16_t, uint16_t, int32_t, uint32_t, int64_t, uint64_t, bool, const void*>;
template <unsigned kNumber>
using Chosen = std::tuple_element_t<kNumber % std::tuple_size_v<AnyType>, AnyType>;

constexpr unsigned next(unsigned random) { return random * 1664525u + 1013904223u; }

/// Calls with 0, 1, ... kCount arguments of random types.
template <unsigned kRandom, int kCount, typename... Types>
void check_random() {
  check_call<Types...>();
  if constexpr (kCount > 0) {
    check_random<next(kRandom), kCount - 1, Types..., Chosen<(kRandom >> 16)>>();
  }
}

void arguments_of_any_types_arrive(void**) {
  called = 0;
  check_random<1, kMost>();
  check_random<2026, kMost>();
  check_random<77, kMost>();
  check_random<5050, kMost>();
  check_random<123456, kMost>();
  assert_true(called > 40);
}

void narrow_numbers_arrive_on_the_stack_too(void**) {
  check_call<int8_t, int8_t, int8_t, int8_t, int8_t, int8_t, int8_t, int8_t, int8_t, int8_t>();
  check_call<bool, uint8_t, int16_t, uint16_t, int32_t, uint32_t, bool, uint8_t, int16_t, uint16_t,
             int32_t, uint32_t, int64_t, uint64_t>();
  check_call<float, float, float, float, float, float, float, float, int8_t, int8_t, int8_t, int8_t,
             int8_t, int8_t>();
}

/// As many as fit, and every place of a floating-point number among the first five.
void all_places_are_reached(void**) {
  using W = int64_t;
  check_call<W, W, W, W, W, W, W, W, W, W, W, W, W, W>();
  check_call<W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W>();
  check_call<double, W, W, W, W>();
  check_call<W, double, W, W, W>();
  check_call<W, W, double, W, W>();
  check_call<W, W, W, double, W>();
  check_call<W, W, W, W, double>();
  check_call<double, float, double, float, double, float, double, float>();
  check_call<double, W, float, W, double, W, float, W, double, W, float, W, double, float>();
}

void this_machine_is_known(void**) {
  const dlx::sys::NaturalLimits most = dlx::sys::natural_limits();
#if defined(__x86_64__) || defined(__aarch64__)
  assert_true(most.words >= 6);
#else
  assert_int_equal(most.words, 0);
#endif
  assert_true(most.words <= kMost);
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(this_machine_is_known),
      cmocka_unit_test(arguments_of_any_types_arrive),
      cmocka_unit_test(narrow_numbers_arrive_on_the_stack_too),
      cmocka_unit_test(all_places_are_reached),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
