#ifndef DLX_TESTS_SRC_COPY_COPY_TEST_H_
#define DLX_TESTS_SRC_COPY_COPY_TEST_H_

#include <sys/wait.h>
#include <unistd.h>

#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <utility>
#include <vector>

#include "dlx/dlpack.h"
#include "src/copy/kernels/kernels.h"

// CMocka needs <csetjmp>, <cstdarg>, <cstddef> and <cstdint> first, and does not say that it is C.
extern "C" {
#include <cmocka.h>
}
#undef fail  // its macro would hide dlx::fail

namespace dlx_test {

/// A DLTensor that owns its shape and strides.
struct Described {
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;  // empty: NULL
  DLTensor tensor{};

  Described(void* data, std::vector<int64_t> shape_in, std::vector<int64_t> strides_in = {},
            DLDataType dtype = {kDLUInt, 32, 1})
      : shape(std::move(shape_in)), strides(std::move(strides_in)) {
    tensor.data = data;
    tensor.device = {kDLCPU, 0};
    tensor.ndim = static_cast<int32_t>(shape.size());
    tensor.dtype = dtype;
    tensor.shape = shape.data();
    tensor.strides = strides.empty() ? nullptr : strides.data();
  }
  Described(const Described&) = delete;
  Described& operator=(const Described&) = delete;
};

/// Runs this test again with that argument for each instruction set that this machine has. The set is
/// chosen once a process, so each gets a process of its own.
inline void run_with_each_isa(const char* argument) {
  char self[4096] = "";  // the name itself: /proc/self/exe of a program under valgrind is valgrind
  assert_true(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
  for (const char* name : {"sse2", "avx2", "avx512", "neon"}) {
    if (dlx::kernels_named(name) == nullptr) {
      print_message("skipped: this machine or this build has no %s\n", name);
      continue;
    }
    const pid_t child = fork();
    if (child == 0) {
      setenv("DLX_ISA", name, 1);
      execl(self, "test", argument, nullptr);
      _exit(127);
    }
    int status = -1;
    waitpid(child, &status, 0);

    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
  }
}

}  // namespace dlx_test

#endif  // DLX_TESTS_SRC_COPY_COPY_TEST_H_
