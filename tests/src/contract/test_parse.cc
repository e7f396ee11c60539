// Contracts as text: what they mean, and where the wrong ones are wrong.
#include "src/contract/contract.h"

#include <cmath>
#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "src/base/error.h"

// CMocka needs <csetjmp>, <cstdarg>, <cstddef> and <cstdint> first, and does not say that it is C.
extern "C" {
#include <cmocka.h>
}

namespace {

using dlx::Kind;

struct Release {
  void operator()(dlx::Contract* contract) const { dlx::release(contract); }
};
using Owned = std::unique_ptr<dlx::Contract, Release>;

Owned parse(const char* text) { return Owned(dlx::parse_contract(text)); }

std::string refusal(const char* text) {
  try {
    parse(text);
  } catch (const dlx::Error& error) {
    return error.what();
  }
  fail_msg("accepted: %s", text);
  return "";
}

void assert_refused(const char* text, const char* words) {
  const std::string said = refusal(text);
  if (said.find(words) == std::string::npos) fail_msg("%s: %s", text, said.c_str());
}

void arrays_have_dtypes_extents_and_words(void**) {
  const Owned contract = parse(
      "blur(image: uint8|float32[h, w, 3] strided, any_: any[..., h] writable unaligned copy grad, "
      "mask: bool[h, _] = None, out: dtype(image)[w] result F)");
  assert_string_equal(contract->function.c_str(), "blur");
  assert_int_equal(contract->parameters.size(), 4);
  const dlx::Parameter& image = contract->parameters[0];
  assert_int_equal(image.dtype_count, 2);
  assert_int_equal(image.dtypes[1].code, kDLFloat);
  assert_int_equal(image.axes, 3);
  assert_int_equal(image.extents[2], 3);
  assert_string_equal(contract->names[0].c_str(), "h");
  assert_int_equal(dlx::name_index(image.extents[0]), 0);
  assert_true(image.layout == dlx::Layout::kStrided && !image.usual && !image.writable);
  assert_string_equal(image.declared.c_str(), "uint8|float32[h, w, 3] strided");
  assert_true(contract->parameters[2].optional);
  assert_int_equal(contract->parameters[2].extents[0], image.extents[0]);
  const dlx::Parameter& out = contract->parameters[3];
  assert_true(out.result && out.writable && out.layout == dlx::Layout::kColumnMajor);
  assert_int_equal(out.same_dtype_as, 0);
  const dlx::Parameter& any = contract->parameters[1];
  assert_true(any.ellipsis && any.unaligned && any.may_copy && any.takes_grad);
  assert_int_equal(any.dtype_count, 0);
  assert_int_equal(contract->results, 1);
}

void scalars_have_a_type_of_c_and_a_default(void**) {
  const Owned contract = parse(
      "n: int, x: float32[n], f: float = -1.5e3, b: bool = True, s: str = 'a b', i: int8 = -3, u: "
      "uint64 = 7, h: float32 = 2 -> void");
  const auto& p = contract->parameters;
  assert_string_equal(contract->function.c_str(), "function");
  assert_true(p[0].kind == Kind::kInt && p[0].bound_name == 0 && !p[0].optional);
  assert_true(p[2].kind == Kind::kFloat && p[2].default_float == -1500);
  assert_true(p[3].kind == Kind::kBool && p[3].default_int == 1);
  assert_true(p[4].kind == Kind::kText && p[4].default_text == "a b");
  assert_true(p[5].scalar.bits == 8 && p[5].default_int == -3);
  assert_true(p[6].scalar.code == kDLUInt && p[6].scalar.bits == 64);
  assert_true(p[7].kind == Kind::kFloat && p[7].scalar.bits == 32);
  assert_true(contract->returns == dlx::Returns::kVoid);
  const Owned ends =
      parse("a: float = -inf, b: float32 = +.5E+1, c: int8 = -128, d: float = 1e-400");
  assert_true(ends->parameters[0].default_float == -HUGE_VAL);
  assert_true(ends->parameters[1].default_float == 5);
  assert_string_equal(ends->parameters[1].default_text.c_str(), "+.5E+1");
  assert_true(ends->parameters[2].default_int == -128 && ends->parameters[3].default_float == 0);
}

void an_empty_contract_takes_nothing(void**) {
  assert_int_equal(parse("f()")->parameters.size(), 0);
  assert_int_equal(parse("")->parameters.size(), 0);
  assert_true(parse("f() -> int")->returns == dlx::Returns::kInt);
}

void devices_need_a_stream(void**) {
  const Owned contract = parse("x: float32[n] cuda, y: any[...] anywhere, s: stream");
  assert_int_equal(contract->parameters[0].device_type, kDLCUDA);
  assert_int_equal(contract->parameters[1].device_type, 0);
  assert_int_equal(contract->stream, 2);
  assert_refused("x: float32[n] cuda", "add \"stream: stream\"");
  assert_refused("x: float32[n], s: stream, t: stream", "a second stream named \"t\"");
}

void what_is_wrong_is_shown(void**) {
  static const struct {
    const char* text;
    const char* words;
  } kWrong[] = {
      {"f(x)", "must have `:` at byte 3"},
      {"f(x: float32[n)", "must have `]`"},
      {"f(x: float32[n]", "must have `)`"},
      {"f(x: float32[-1])", "an extent"},
      {"f(x: float32[99999999999999999999])", "a whole number below 2^63"},
      {"f(x: floot[n])", "floot"},
      {"f(x: float32[n] writeable)", "unknown word \"writeable\""},
      {"f(x: float16)", "without [extents]"},
      {"f(x: int4)", "without [extents]"},
      {"f(x: float32[n], x: int)", "two parameters named \"x\""},
      {"f(x: float32[n] = 3)", "None, the default of an array"},
      {"f(a: int = x)", "a whole number"},
      {"f(a: bool = 1)", "True or False"},
      {"f(a: float = b)", "must have a number"},
      {"f(a: float = 1.5.)", "must have a number"},
      {"f(a: float = 0x10)", "must have `)` at byte 14"},
      {"f(a: int8 = 128)", "a default that the type holds at byte 12"},
      {"f(a: uint16 = -1)", "a default that the type holds"},
      {"f(a: float = -1e999)", "a default that the type holds at byte 13"},
      {"f(a: float32 = 1e39)", "a default that the type holds"},
      {"f(x: float32[n] F writable C)", "only one of C, F and strided at byte 27"},
      {"f(x: float32[n] cuda anywhere, s: stream)", "only one device at byte 21"},
      {"f(n: float, x: float32[n])", "an extent that is no integer, named \"n\""},
      {"f(a: str = b)", "a text in quotes"},
      {"f(a: str = bob)", "a text in quotes"},
      {"f(a: int = 1, b: int)", "without default after one with a default, named \"b\""},
      {"f(y: dtype(x)[n])", "refers to \"x\""},
      {"f(x: int, y: dtype(x)[n])", "refers to \"x\""},
      {"f(x: any[n], y: float32[n] result, z: dtype(y)[n])", "refers to \"y\""},
      {"f(x: float32[n] = None, y: dtype(x)[n])", "that every caller passes"},
      {"f(y: float32[n] result)", "no argument says how long axis 0 is"},
      {"f(x: float32[n] = None, y: float32[n] result)", "no argument says"},
      {"f(x: float32[n], y: float32[_] result)", "no argument says"},
      {"f(x: float32[n], y: any[n] result)", "it must have one dtype"},
      {"f(x: float32[n], y: int8|float32[n] result)", "it must have one dtype"},
      {"f(x: float32[n], y: float32[...] result)", "cannot have \"...\""},
      {"f(x: float32[n], y: float32[n] result = None)", "is a result and has a default"},
      {"f(x: float32[n], y: float32[n] result) -> int", "returns status or void"},
      {"f() -> double", "status, void, int, float or tensor"},
      {"f() 3", "the end"},
      {"f(x: float32[a, b, c, d, e, f, g, h, i])", "more than 8 axes"},
      {"f(x: float32[n] \xff)", "must have"},
  };
  for (const auto& wrong : kWrong) assert_refused(wrong.text, wrong.words);
}

/// "f(first, <each>0, <each>1, …)" with `count` parts; each '#' is the part's number.
std::string repeated(const std::string& first, const std::string& each, int count) {
  std::string text = "f(" + first;
  for (int i = 0; i < count; ++i) {
    for (const char c : each) text += c == '#' ? std::to_string(i) : std::string(1, c);
  }
  return text + ")";
}

void there_are_limits(void**) {
  static const struct {
    const char *first, *each, *last;
    int most;
    const char* words;
  } kLimits[] = {
      {"", "p#: int,", "", 32, "more than 32 parameters"},
      {"x: any[", "n#,", "]", 8, "more than 8 axes"},
      {"", "y#: any[n#],", "", 16, "more than 16 extents"},
      {"x: int8", "|int8", "[n]", 16 - 1, "more than 16 dtypes"},
      {"n: int,", "y#: int8[n] result,", "", 8, "one result too many, named \"y8\""},
  };
  for (const auto& limit : kLimits) {
    const auto text = [&](int count) {
      std::string whole = repeated(limit.first, limit.each, count);
      return whole.insert(whole.size() - 1, limit.last);
    };
    assert_non_null(parse(text(limit.most).c_str()).get());
    assert_refused(text(limit.most + 1).c_str(), limit.words);
  }
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(arrays_have_dtypes_extents_and_words),
      cmocka_unit_test(scalars_have_a_type_of_c_and_a_default),
      cmocka_unit_test(an_empty_contract_takes_nothing),
      cmocka_unit_test(devices_need_a_stream),
      cmocka_unit_test(what_is_wrong_is_shown),
      cmocka_unit_test(there_are_limits),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
