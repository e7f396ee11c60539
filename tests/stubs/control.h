// The test's side of a fake driver: its control functions by name.
#ifndef DLX_TESTS_STUBS_CONTROL_H_
#define DLX_TESTS_STUBS_CONTROL_H_

#include <dlfcn.h>
#include <stdlib.h>

#include <cstdio>
#include <string>

#include "tests/stubs/fake.h"

namespace dlx_test {

/// A loaded fake. Loading initialises nothing. dlx loads the same object if it gets the same path.
class Fake {
 public:
  explicit Fake(const std::string& path) {
    char* absolute = realpath(path.c_str(), nullptr);
    path_ = absolute == nullptr ? path : absolute;
    free(absolute);
    handle_ = dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ == nullptr) {
      std::fprintf(stderr, "%s\n", dlerror());
      abort();
    }
#define FAKE_LOAD(result, name, parameters) load("fake_" #name, &name);
    FAKE_CONTROLS(FAKE_LOAD)
#undef FAKE_LOAD
  }

  const std::string& path() const { return path_; }

  /// A function of the driver, or NULL.
  template <typename F>
  bool find(const char* symbol, F** out) const {
    *out = reinterpret_cast<F*>(dlsym(handle_, symbol));
    return *out != nullptr;
  }
  template <typename F>
  void load(const char* symbol, F** out) const {
    if (find(symbol, out)) return;
    std::fprintf(stderr, "%s has no %s\n", path_.c_str(), symbol);
    abort();
  }

  fake_report report() const {
    fake_report result;
    get_report(&result);
    return result;
  }

#define FAKE_MEMBER(result, name, parameters) result(*name) parameters;
  FAKE_CONTROLS(FAKE_MEMBER)
#undef FAKE_MEMBER

 private:
  std::string path_;
  void* handle_;
};

}  // namespace dlx_test

#endif  // DLX_TESTS_STUBS_CONTROL_H_
