// Cases that run in their own process, because a process initialises a driver only once and some
// cases end it.
#ifndef DLX_TESTS_STUBS_FORKED_H_
#define DLX_TESTS_STUBS_FORKED_H_

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>

/// Ends the case.
#define CHECK(condition)                                                             \
  do {                                                                               \
    if (!(condition)) {                                                              \
      std::fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
      std::fflush(nullptr);                                                          \
      _exit(1);                                                                      \
    }                                                                                \
  } while (0)
#define CHECK_EQUAL(left, right)                                                            \
  do {                                                                                      \
    const long long left_value = static_cast<long long>(left);                              \
    const long long right_value = static_cast<long long>(right);                            \
    if (left_value != right_value) {                                                        \
      std::fprintf(stderr, "%s:%d: %s is %lld, not %s = %lld\n", __FILE__, __LINE__, #left, \
                   left_value, #right, right_value);                                        \
      std::fflush(nullptr);                                                                 \
      _exit(1);                                                                             \
    }                                                                                       \
  } while (0)

namespace dlx_test {

struct Outcome {
  int status;          ///< of waitpid
  std::string output;  ///< standard error
  bool passed() const { return WIFEXITED(status) && WEXITSTATUS(status) == 0; }
  bool aborted() const { return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT; }
};

/// Runs the case in a child, waits for it and collects its output.
inline Outcome run_forked(const std::function<void()>& body) {
  int ends[2];
  if (pipe(ends) != 0) std::abort();
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    // CMocka would treat a crash as the end of one case, and run the next cases in the child.
    for (const int signal_number : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGSYS}) {
      signal(signal_number, SIG_DFL);
    }
    dup2(ends[1], 2);
    close(ends[0]);
    close(ends[1]);
    body();
    std::fflush(nullptr);
    _exit(0);
  }
  close(ends[1]);
  Outcome outcome{0, ""};
  char buffer[4096];
  for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0;) {
    outcome.output.append(buffer, static_cast<size_t>(n));
  }
  close(ends[0]);
  waitpid(child, &outcome.status, 0);
  return outcome;
}

}  // namespace dlx_test

#endif  // DLX_TESTS_STUBS_FORKED_H_
