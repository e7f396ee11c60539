// The exception with a status and a message.
#include "src/base/error.h"

#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

// CMocka needs <csetjmp>, <cstdarg>, <cstddef> and <cstdint> first, and does not say that it is C.
extern "C" {
#include <cmocka.h>
}
#undef fail  // its macro would hide dlx::fail

namespace {

// A handler gets the status and the formatted message.
void fail_throws_status_and_message(void**) {
  int32_t status = 0;
  std::string message;

  try {
    dlx::fail(3, "`%s` is wrong (got %d)", "shape", -7);
  } catch (const dlx::Error& error) {
    status = error.status();
    message = error.what();
  }

  assert_int_equal(status, 3);
  assert_string_equal(message.c_str(), "`shape` is wrong (got -7)");
}

// A handler for std::exception catches it too.
void error_is_a_std_exception(void**) {
  std::string message;

  try {
    dlx::fail(1, "words");
  } catch (const std::exception& error) {
    message = error.what();
  }

  assert_string_equal(message.c_str(), "words");
}

// A message that is too long is truncated and terminated.
void long_messages_are_cut(void**) {
  const std::string words(5000, 'x');
  size_t length = 0;

  try {
    dlx::fail(1, "%s", words.c_str());
  } catch (const dlx::Error& error) {
    length = std::strlen(error.what());
  }

  assert_int_equal(length, dlx::Error::kMessageBytes - 1);
}

// A copy of the exception keeps the message after the original is destroyed.
void copies_keep_the_message(void**) {
  std::unique_ptr<dlx::Error> copy;

  try {
    dlx::fail(2, "%s %d", "kept", 5);
  } catch (const dlx::Error& error) {
    copy = std::make_unique<dlx::Error>(error);
  }

  assert_non_null(copy.get());
  assert_int_equal(copy->status(), 2);
  assert_string_equal(copy->what(), "kept 5");
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(fail_throws_status_and_message),
      cmocka_unit_test(error_is_a_std_exception),
      cmocka_unit_test(long_messages_are_cut),
      cmocka_unit_test(copies_keep_the_message),
  };
  return cmocka_run_group_tests_name("error", tests, nullptr, nullptr);
}
