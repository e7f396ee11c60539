// Finding a driver's library: by environment variable, among mapped files, by name; and the reason
// if it is not found.
#include "src/driver/library.h"

#include <dlfcn.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

// CMocka needs <csetjmp>, <cstdarg>, <cstddef> and <cstdint> first, and does not say that it is C.
extern "C" {
#include <cmocka.h>
}

namespace {

using dlx::DriverFiles;
using dlx::DriverFunction;
using dlx::DriverLibrary;
using dlx::DriverNeed;
using dlx::DriverSymbol;

constexpr const char* kVariable = "DLX_TEST_DRIVER_PATH";

/// A copy, under another name, of a library that always exists (CMocka's).
std::string copy_library(const std::string& name) {
  Dl_info info;
  assert_int_not_equal(dladdr(reinterpret_cast<void*>(&_cmocka_run_group_tests), &info), 0);
  const char* folder = std::getenv("TEST_TMPDIR");
  const std::string path = std::string(folder == nullptr ? "/tmp" : folder) + "/" + name;
  std::ifstream in(info.dli_fname, std::ios::binary);
  std::ofstream out(path, std::ios::binary);
  out << in.rdbuf();
  return path;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// The reason has every name that was tried, with the loader's message.
void reason_names_all_that_was_tried(void**) {
  const char* const names[] = {"libnone.so.7", "libnone.so.6", nullptr};
  DriverLibrary library(DriverFiles{kVariable, nullptr, names});
  std::string reason;

  unsetenv(kVariable);
  assert_false(library.open(&reason));

  assert_true(contains(reason, "libnone.so.7: cannot open shared object file"));
  assert_true(contains(reason, "libnone.so.6: cannot open shared object file"));
}

// If the environment variable is set, only its file is tried; an empty variable counts as unset.
void environment_chooses_the_file(void**) {
  const std::string path = copy_library("libdlxchosen.so.1");
  const char* const names[] = {"libnone.so.1", nullptr};
  DriverLibrary library(DriverFiles{kVariable, nullptr, names});
  std::string reason;

  setenv(kVariable, "", 1);
  assert_false(library.open(&reason));
  assert_true(contains(reason, "libnone.so.1"));
  setenv(kVariable, "/nowhere/libx.so", 1);
  assert_false(library.open(&reason));
  assert_true(contains(reason, std::string(kVariable) + ": /nowhere/libx.so: cannot open"));
  assert_false(contains(reason, "libnone"));
  setenv(kVariable, path.c_str(), 1);
  assert_true(library.open(&reason));

  setenv(kVariable, "/nowhere/libx.so", 1);  // it is open
  assert_true(library.open(&reason));
  assert_string_equal(library.path().c_str(), path.c_str());
  unsetenv(kVariable);
}

// open_if_mapped() loads nothing; a library that is loaded later is found.
void mapped_only_loads_nothing(void**) {
  const std::string path = copy_library("libdlxlater.so.1");
  const char* const names[] = {path.c_str(), nullptr};
  DriverLibrary library(DriverFiles{kVariable, nullptr, names});

  assert_false(library.open_if_mapped());
  assert_null(dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD));
  assert_false(library.open_if_mapped());
  void* handle = dlopen(path.c_str(), RTLD_NOW);
  assert_non_null(handle);

  assert_true(library.open_if_mapped());
  setenv(kVariable, "/nowhere/libx.so", 1);
  DriverLibrary another(DriverFiles{kVariable, nullptr, names});
  assert_false(another.open_if_mapped());  // no other file than that one
  unsetenv(kVariable);
}

// A mapped copy is preferred to the names, also one that a wheel has renamed; two copies are
// refused.
void mapped_copy_goes_first(void**) {
  const std::string first = copy_library("libdlxprobe-1a2b3c.so.6");
  const std::string second = copy_library("libdlxprobe.so.7");
  const std::string other = copy_library("libdlxprobert.so.7");        // another library
  const std::string part = copy_library("libdlxprobe-builtins.so.7");  // as hiprtc has it
  const char* const names[] = {second.c_str(), nullptr};
  std::string reason;

  assert_non_null(dlopen(other.c_str(), RTLD_NOW));
  assert_non_null(dlopen(part.c_str(), RTLD_NOW));
  assert_non_null(dlopen(first.c_str(), RTLD_NOW));
  DriverLibrary library(DriverFiles{kVariable, "libdlxprobe", names});
  assert_true(library.open(&reason));
  assert_string_equal(library.path().c_str(), first.c_str());
  assert_non_null(dlopen(second.c_str(), RTLD_NOW));
  DriverLibrary refused(DriverFiles{kVariable, "libdlxprobe", names});

  assert_false(refused.open(&reason));
  assert_true(contains(reason, first) && contains(reason, second) && contains(reason, kVariable));
  assert_false(refused.open_if_mapped());
  setenv(kVariable, second.c_str(), 1);
  assert_true(refused.open(&reason));
  assert_string_equal(refused.path().c_str(), second.c_str());
  unsetenv(kVariable);
}

// The reason names a missing required symbol and the file; a missing optional one stays NULL.
void missing_symbols(void**) {
  const std::string path = copy_library("libdlxsymbols.so.1");
  const char* const names[] = {path.c_str(), nullptr};
  DriverLibrary library(DriverFiles{kVariable, nullptr, names});
  DriverFunction<int(int)> there{"cmocka_set_message_output", nullptr};
  DriverFunction<int(int)> missing{"no_such_function", nullptr};
  std::string reason;
  assert_true(library.open(&reason));

  const std::vector<DriverSymbol> optional = {
      {there.symbol, DriverNeed::kRequired, &there.call},
      {missing.symbol, DriverNeed::kOptional, &missing.call}};
  assert_true(library.resolve(optional, &reason));
  assert_true(static_cast<bool>(there));
  assert_false(static_cast<bool>(missing));
  const std::vector<DriverSymbol> required = {
      {missing.symbol, DriverNeed::kRequired, &missing.call}};
  assert_false(library.resolve(required, &reason));

  assert_string_equal(reason.c_str(), (path + " lacks no_such_function").c_str());
}

enum Secure { kIgnored = 0, kFollowed = 1, kNotSecure = 77 };

/// What the setgid copy of this program does.
Secure open_in_secure_program() {
  if (getauxval(AT_SECURE) == 0) return kNotSecure;
  const char* const names[] = {"libm.so.6", "libc.so.6", nullptr};
  DriverLibrary library(DriverFiles{kVariable, nullptr, names});
  std::string reason;
  return library.open(&reason) ? kIgnored : kFollowed;
}

/// Makes the setgid copy and runs it. Returns its wait status, or the reason why there is none.
int run_secure_program(const char** reason) {
  constexpr gid_t kOther = 65534;
  const char* folder = std::getenv("TEST_TMPDIR");
  const std::string path = std::string(folder == nullptr ? "/tmp" : folder) + "/secure_program";
  {
    std::ifstream in("/proc/self/exe", std::ios::binary);
    std::ofstream out(path, std::ios::binary);
    out << in.rdbuf();
  }
  if (chown(path.c_str(), static_cast<uid_t>(-1), kOther) != 0 || chmod(path.c_str(), 02755) != 0) {
    unlink(path.c_str());
    *reason = "this user cannot make a setgid program";
    return 0;
  }
  setenv(kVariable, "/missing/driver.so", 1);
  const pid_t child = fork();
  if (child == 0) {
    execl(path.c_str(), path.c_str(), "secure", nullptr);
    _exit(kNotSecure);
  }
  int status = 0;
  waitpid(child, &status, 0);
  unsetenv(kVariable);
  unlink(path.c_str());
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNotSecure) {
    *reason = "setgid programs have no effect here";
  }
  return status;
}

// The caller of a setuid or setgid program must not choose the code that it runs. skip() jumps, so that
// nothing with a destructor may live here.
void setgid_programs_ignore_the_variable(void**) {
  const char* reason = nullptr;
  const int status = run_secure_program(&reason);
  if (reason != nullptr) {
    print_message("skipped: %s\n", reason);
    skip();
  }
  assert_int_equal(status, kIgnored);
}

}  // namespace

int main(int count, char**) {
  if (count > 1) return open_in_secure_program();
  const CMUnitTest tests[] = {
      cmocka_unit_test(setgid_programs_ignore_the_variable),
      cmocka_unit_test(reason_names_all_that_was_tried),
      cmocka_unit_test(environment_chooses_the_file),
      cmocka_unit_test(mapped_only_loads_nothing),
      cmocka_unit_test(mapped_copy_goes_first),
      cmocka_unit_test(missing_symbols),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
