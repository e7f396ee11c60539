// dlx-check: what it says of functions with one fault each, and its exit statuses.

#include <sys/wait.h>

#include <cstdio>
#include <string>

namespace {

struct Case {
  const char* arguments;  // %s: the shared object
  int status;
  const char* words;
};

constexpr Case kCases[] = {
    {"%s good", 0, "float32 of shape (2, 3) on cpu\ngood: 0 broken, 0 warnings\n"},
    {"--fail-on should %s good", 0, "good: 0 broken"},
    {"--legacy %s old", 0, "old: 0 broken, 1 warnings"},
    {"%s has_a_byte_offset", 0, "warning: byte_offset is 4"},
    {"--fail-on should %s has_a_byte_offset", 1, "1 warnings"},
    {"%s has_no_strides", 1, "error: strides is NULL with ndim 2"},
    {"%s leaks", 1, "bytes stay behind after each deleter"},
    {"%s gives_one_only", 0, "warning: two calls give one managed tensor"},
    {"%s shares_its_memory", 1, "error: the values change when another tensor is made"},
    {"%s deletes_the_last", 1, "error: the deleter is called by its own producer"},
    {"%s is_bound_to_a_thread", 1, "crash: Aborted, during the deleter in another thread"},
    {"%s hangs", 1, "hang: it does not end, during a second call and its deleter"},
    {"%s returns_null", 2, "dlx-check: the function returned NULL"},
    {"%s aborts", 2, "crash: Aborted, during the first call"},
    {"%s nothing", 2, "undefined symbol: nothing"},
    {"./nothing.so make", 2, "cannot open shared object file"},
    {"", 2, "usage: dlx-check"},
    {"%s", 2, "usage: dlx-check"},
    {"--fail-on may %s good", 2, "usage: dlx-check"},
    {"--help", 0, "For example: dlx-check ./libmine.so make_tensor"},
    {"%s points_nowhere", 1, ", during reading the elements\npoints_nowhere: 1 broken"},
};

std::string said;

int run(const std::string& command) {
  said.clear();
  FILE* const pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return -1;
  char part[256];
  while (std::fgets(part, sizeof part, pipe) != nullptr) said += part;
  const int status = pclose(pipe);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

int main(int, char** argv) {
  int failed = 0;
  for (const Case& one : kCases) {
    std::string arguments = one.arguments;
    const size_t place = arguments.find("%s");
    if (place != std::string::npos) arguments.replace(place, 2, std::string("./") + argv[2]);
    const int status = run(std::string(argv[1]) + " " + arguments);
    if (status == one.status && said.find(one.words) != std::string::npos) continue;
    std::printf("dlx-check %s: status %d (expected %d), no \"%s\" in:\n%s\n", one.arguments, status,
                one.status, one.words, said.c_str());
    failed = 1;
  }
  return failed;
}
