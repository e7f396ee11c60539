// The seam to the operating system and the processor.
#include "src/system/system.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csetjmp>
#include <csignal>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "src/system/cpu.h"
#include "src/system/loader.h"

// CMocka needs <csetjmp>, <cstdarg>, <cstddef> and <cstdint> first, and does not say that it is C.
extern "C" {
#include <cmocka.h>
}

namespace {

void the_processor_has_what_the_compiler_finds(void**) {
#if defined(__x86_64__)
  const dlx::sys::CpuFeatures found = dlx::sys::cpu_features();
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");

  assert_int_equal(found.avx2, __builtin_cpu_supports("avx2") != 0);
  assert_int_equal(found.avx512, avx512);
#else
  assert_false(dlx::sys::cpu_features().avx2 || dlx::sys::cpu_features().avx512);
#endif
}

void pages_are_aligned(void**) {
  for (const size_t size : {size_t{1}, size_t{4096}, size_t{1} << 20}) {
    void* const pages = dlx::sys::allocate_pages(size);
    assert_non_null(pages);
    assert_int_equal(reinterpret_cast<uintptr_t>(pages) % dlx::sys::kPage, 0);
    std::memset(pages, 1, size);
    dlx::sys::free_pages(pages);
  }
  assert_null(dlx::sys::allocate_pages(SIZE_MAX / 2));
}

void the_machine_is_known(void**) {
  char name[64] = "";
  dlx::sys::read_cpu_name(name, sizeof name);
  const dlx::sys::MemorySizes memory = dlx::sys::memory_sizes();

  assert_true(std::strlen(name) > 0);
  assert_true(memory.total > 0 && memory.free > 0 && memory.free <= memory.total);
  assert_true(dlx::sys::cores() > 0);
  assert_true(dlx::sys::second_level_cache() >= 0);
}

void an_environment_variable_is_read(void**) {
  setenv("DLX_TEST_VARIABLE", "/tmp/n\303\266", 1);
  assert_string_equal(dlx::sys::environment("DLX_TEST_VARIABLE").c_str(), "/tmp/n\303\266");
  unsetenv("DLX_TEST_VARIABLE");
  assert_string_equal(dlx::sys::environment("DLX_TEST_VARIABLE").c_str(), "");
}

int forks = 0;

void forks_are_seen(void**) {
  assert_true(dlx::sys::at_fork([] { ++forks; }, [] { forks += 10; }, [] { forks += 100; }));
  const pid_t child = fork();
  if (child == 0) _exit(forks);
  int status = 0;
  waitpid(child, &status, 0);

  assert_int_equal(WEXITSTATUS(status), 101);
  assert_int_equal(forks, 11);
}

void signals_are_blocked_in_the_scope(void**) {
  sigset_t inside;
  sigset_t after;
  {
    const dlx::sys::WithoutSignals blocked;
    pthread_sigmask(SIG_SETMASK, nullptr, &inside);
  }
  pthread_sigmask(SIG_SETMASK, nullptr, &after);

  assert_true(sigismember(&inside, SIGUSR1));
  assert_false(sigismember(&after, SIGUSR1));
}

void stems_of_file_names(void**) {
  using dlx::sys::has_stem;
  assert_true(has_stem("/opt/rocm/lib/libamdhip64.so.6", "libamdhip64"));
  assert_true(has_stem("libamdhip64-1a2b3c.so", "libamdhip64"));
  assert_false(has_stem("/libamdhip64.so.6/other.so", "libamdhip64"));
  assert_false(has_stem("libhiprtc-builtins.so.6", "libhiprtc"));
  assert_false(has_stem("libamdhip64x.so", "libamdhip64"));
  assert_false(has_stem("libamdhip64.txt", "libamdhip64"));
}

void the_loader_names_the_file_that_it_cannot_load(void**) {
  std::string error;
  assert_null(dlx::sys::load("libdlx_no_such_file.so.7", &error));
  assert_non_null(std::strstr(error.c_str(), "libdlx_no_such_file.so.7"));
  assert_null(dlx::sys::find_loaded("libdlx_no_such_file.so.7"));
}

void a_loaded_library_is_found(void**) {
  void* const program = dlx::sys::find_loaded(nullptr);
  assert_non_null(program);
  void* const function = dlx::sys::find_symbol(program, "malloc");
  assert_non_null(function);
  const std::string file = dlx::sys::file_around(function);
  assert_true(!file.empty());
  void* const library = dlx::sys::find_loaded(file.c_str());
  assert_non_null(library);
  assert_string_equal(dlx::sys::path_of(library).c_str(), file.c_str());
  dlx::sys::unload(library);
  dlx::sys::unload(program);
  assert_string_equal(dlx::sys::file_around(&forks + (1 << 28)).c_str(), "");
  assert_null(dlx::sys::find_symbol(program, "dlx_no_such_function"));
  assert_string_equal(dlx::sys::path_of(nullptr).c_str(), "");
}

void a_walk_over_the_libraries_ends_when_told(void**) {
  int seen[2] = {0, 0};
  dlx::sys::each_loaded(
      [](const char*, void* count) noexcept { return ++*static_cast<int*>(count) < 0; }, &seen[0]);
  dlx::sys::each_loaded(
      [](const char*, void* count) noexcept { return ++*static_cast<int*>(count) > 0; }, &seen[1]);

  assert_int_equal(seen[0], 1);
  assert_true(seen[1] > 1);
}

void a_file_that_cannot_be_mapped_has_the_systems_number(void**) {
  void* data = nullptr;
  assert_int_equal(dlx::sys::map_file(-1, 4096, false, &data), EBADF);
  assert_null(data);
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(the_processor_has_what_the_compiler_finds),
      cmocka_unit_test(pages_are_aligned),
      cmocka_unit_test(the_machine_is_known),
      cmocka_unit_test(an_environment_variable_is_read),
      cmocka_unit_test(forks_are_seen),
      cmocka_unit_test(signals_are_blocked_in_the_scope),
      cmocka_unit_test(stems_of_file_names),
      cmocka_unit_test(the_loader_names_the_file_that_it_cannot_load),
      cmocka_unit_test(a_loaded_library_is_found),
      cmocka_unit_test(a_walk_over_the_libraries_ends_when_told),
      cmocka_unit_test(a_file_that_cannot_be_mapped_has_the_systems_number),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
