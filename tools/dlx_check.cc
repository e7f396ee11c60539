// dlx-check LIBRARY SYMBOL: checks a C function that returns a managed tensor of DLPack.
//
// All that may crash or hang happens in a child process, so both are findings.

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>

#include "dlx/dlx.h"

namespace {

constexpr char kUsage[] =
    "usage: dlx-check [--legacy] [--fail-on must|should] LIBRARY SYMBOL\n"
    "Checks the tensors of a C function in a shared object against DLPack:\n"
    "  DLManagedTensorVersioned *SYMBOL(void);   with --legacy: DLManagedTensor *SYMBOL(void);\n"
    "Exit status: 0, all is well; 1, a rule is broken (--fail-on should: there is a warning), or "
    "the\n"
    "function leaks, crashes or hangs; 2, there is nothing to check.\n"
    "For example: dlx-check ./libmine.so make_tensor\n";
constexpr int kWell = 0, kBroken = 1, kNothing = 2;
constexpr rlim_t kProcessorSeconds = 20;  // a loaded machine does not reach these two
constexpr unsigned kSeconds = 300;
constexpr int kTimes = 200;

struct Arguments {
  const char* library = nullptr;
  const char* symbol = nullptr;
  bool legacy = false;
  bool fail_on_should = false;
};

// What the child tells its parent, in shared memory.
struct Progress {
  char doing[128];
  bool made;  // there was a tensor
  int32_t errors, warnings;
};

void finding(const char* line, int32_t* counter) {
  std::printf("%s\n", line);
  std::fflush(stdout);  // the process may die
  ++*counter;
}

// Bytes that malloc has given out. A sanitizer has a malloc of its own. 0 before glibc 2.33.
size_t bytes_in_use() {
  using Allocated = size_t (*)();
  void* const sanitizer = dlsym(RTLD_DEFAULT, "__sanitizer_get_current_allocated_bytes");
  if (sanitizer != nullptr) return reinterpret_cast<Allocated>(sanitizer)();
  struct Info {
    size_t arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;
  };
  void* const mallinfo2 = dlsym(RTLD_DEFAULT, "mallinfo2");
  if (mallinfo2 == nullptr) return 0;
  const Info info = reinterpret_cast<Info (*)()>(mallinfo2)();
  return info.uordblks + info.hblkhd;
}

// The sum of all bytes: reading them shows whether the memory is there.
uint64_t sum_of(const DLTensor& tensor) {
  int64_t index[DLX_MAX_NDIM] = {};
  for (int32_t axis = 0; axis < tensor.ndim; ++axis) {
    if (tensor.shape[axis] == 0) return 0;
  }
  const int64_t item = (int64_t{tensor.dtype.bits} * tensor.dtype.lanes + 7) / 8;
  const auto* const first = static_cast<const unsigned char*>(tensor.data) + tensor.byte_offset;
  uint64_t sum = 0;
  while (true) {
    int64_t place = 0, compact = 1;
    for (int32_t axis = tensor.ndim - 1; axis >= 0; --axis) {
      place += index[axis] * (tensor.strides != nullptr ? tensor.strides[axis] : compact);
      compact *= tensor.shape[axis];
    }
    for (int64_t byte = 0; byte < item; ++byte) sum = sum * 31 + first[place * item + byte];
    int32_t axis = tensor.ndim - 1;
    while (axis >= 0 && ++index[axis] == tensor.shape[axis]) index[axis--] = 0;
    if (axis < 0) return sum;
  }
}

bool can_be_read(const DLTensor& tensor) {
  constexpr int64_t kMost = int64_t{1} << 22;
  int64_t count = 1;
  for (int32_t axis = 0; axis < tensor.ndim; ++axis) {
    if (tensor.shape[axis] > kMost / std::max<int64_t>(count, 1)) return false;
    count *= tensor.shape[axis];
  }
  return tensor.device.device_type == kDLCPU && tensor.ndim <= DLX_MAX_NDIM;
}

void print_description(const DLTensor& tensor) {
  char dtype[DLX_NAME_SIZE], device[DLX_NAME_SIZE];
  if (dlx_dtype_name(&tensor.dtype, dtype, sizeof dtype) != DLX_OK) std::strcpy(dtype, "?");
  if (dlx_device_name(tensor.device.device_type, tensor.device.device_id, device, sizeof device) !=
      DLX_OK) {
    std::strcpy(device, "?");
  }
  std::string shape;
  for (int32_t axis = 0; axis < tensor.ndim; ++axis) {
    shape += (axis != 0 ? ", " : "") + std::to_string(tensor.shape[axis]);
  }
  std::printf("%s of shape (%s) on %s\n", dtype, shape.c_str(), device);
}

bool readable_version(const DLManagedTensorVersioned& managed) {
  return managed.version.major == 1;
}
bool readable_version(const DLManagedTensor&) { return true; }
int32_t kind_of(const DLManagedTensorVersioned&) { return DLX_MANAGED_VERSIONED; }
int32_t kind_of(const DLManagedTensor&) { return DLX_MANAGED_LEGACY; }

int counted = 0;

template <typename Managed>
void count(Managed*) {
  ++counted;
}

template <typename Managed>
void remove(Managed* managed) {
  if (managed->deleter != nullptr) managed->deleter(managed);
}

template <typename Managed>
void* remove_in_thread(void* managed) {
  remove(static_cast<Managed*>(managed));
  return nullptr;
}

// Holds one tensor while another is made and deleted: they must not know of each other.
template <typename Managed>
void check_two(Managed* (*make)(), Managed* first, bool read, uint64_t sum, Progress* progress) {
  auto* const deleter = first->deleter;
  first->deleter = count<Managed>;
  Managed* const second = make();
  if (second == first) {
    first->deleter = deleter;
    finding("warning: two calls give one managed tensor, whose deleter each consumer calls",
            &progress->warnings);
    return;
  }
  if (second != nullptr) remove(second);
  if (counted != 0) {
    finding("error: the deleter is called by its own producer", &progress->errors);
  } else if (read && sum_of(first->dl_tensor) != sum) {
    finding("error: the values change when another tensor is made and deleted", &progress->errors);
  }
  first->deleter = deleter;
}

template <typename Managed>
void check_growth(Managed* (*make)(), Progress* progress) {
  size_t least = SIZE_MAX;
  for (int round = 0; round < 4; ++round) {
    const size_t before = bytes_in_use();
    for (int i = 0; i < kTimes; ++i) {
      if (Managed* const managed = make()) remove(managed);
    }
    const size_t after = bytes_in_use();
    if (round > 0) least = std::min(least, after > before ? after - before : 0);
  }
  if (least < 16 * kTimes) return;
  char line[96];
  std::snprintf(line, sizeof line, "leak: %zu bytes stay behind after each deleter",
                least / kTimes);
  finding(line, &progress->errors);
}

template <typename Managed>
void check_tensors(Managed* (*make)(), Progress* progress) {
  const auto doing = [progress](const char* what) {
    std::snprintf(progress->doing, sizeof progress->doing, "%s", what);
  };
  doing("the first call");
  Managed* const first = make();
  if (first == nullptr) {
    std::fprintf(stderr, "dlx-check: the function returned NULL\n");
    return;
  }
  progress->made = true;
  doing("the check of the struct");
  char report[8192];
  if (dlx_dlpack_check(first, kind_of(*first), report, sizeof report, &progress->errors,
                       &progress->warnings) != DLX_OK) {
    finding(dlx_last_error(), &progress->errors);
  }
  const bool well = progress->errors == 0;
  if (well) print_description(first->dl_tensor);
  std::printf("%s", report);
  std::fflush(stdout);
  if (well && readable_version(*first)) {
    const bool read = can_be_read(first->dl_tensor);
    doing("reading the elements");
    const uint64_t sum = read ? sum_of(first->dl_tensor) : 0;
    doing("a second call and its deleter");
    check_two(make, first, read, sum, progress);
  }
  doing("the deleter in another thread");
  pthread_t thread;
  if (pthread_create(&thread, nullptr, remove_in_thread<Managed>, first) == 0) {
    pthread_join(thread, nullptr);
  }
  doing("making and deleting many tensors");
  check_growth(make, progress);
}

// The child.
void check(const Arguments& arguments, Progress* progress) {
  const rlimit seconds = {kProcessorSeconds, kProcessorSeconds + 1}, no_core = {0, 0};
  setrlimit(RLIMIT_CPU, &seconds);
  setrlimit(RLIMIT_CORE, &no_core);
  alarm(kSeconds);
  std::strcpy(progress->doing, "opening the library");
  void* const library = dlopen(arguments.library, RTLD_NOW | RTLD_LOCAL);
  void* const symbol = library != nullptr ? dlsym(library, arguments.symbol) : nullptr;
  if (symbol == nullptr) {
    std::fprintf(stderr, "dlx-check: %s\n", dlerror());
  } else if (arguments.legacy) {
    check_tensors(reinterpret_cast<DLManagedTensor* (*)()>(symbol), progress);
  } else {
    check_tensors(reinterpret_cast<DLManagedTensorVersioned* (*)()>(symbol), progress);
  }
}

bool parse(int count, char** words, Arguments* arguments) {
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    if (word == "--legacy") {
      arguments->legacy = true;
    } else if (word == "--fail-on" && i + 1 < count) {
      const std::string level = words[++i];
      if (level != "must" && level != "should") return false;
      arguments->fail_on_should = level == "should";
    } else if (word[0] == '-' || arguments->symbol != nullptr) {
      return false;
    } else {
      (arguments->library == nullptr ? arguments->library : arguments->symbol) = words[i];
    }
  }
  return arguments->symbol != nullptr;
}

// Says how a child died, if it did: the exit status.
int judge(int status, const Arguments& arguments, Progress* progress) {
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    const int death = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    const bool late = death == SIGALRM || death == SIGXCPU || death == SIGKILL;
    std::fprintf(progress->made ? stdout : stderr, "%s: %s, during %s\n", late ? "hang" : "crash",
                 late        ? "it does not end"
                 : death > 0 ? strsignal(death)
                             : "it ends the process",
                 progress->doing);
    ++progress->errors;
  }
  if (!progress->made) return kNothing;
  std::printf("%s: %d broken, %d warnings\n", arguments.symbol, progress->errors,
              progress->warnings);
  const bool bad = progress->errors != 0 || (arguments.fail_on_should && progress->warnings != 0);
  return bad ? kBroken : kWell;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--help") == 0) return std::printf("%s", kUsage), kWell;
  Arguments arguments;
  if (!parse(argc, argv, &arguments)) return std::fprintf(stderr, "%s", kUsage), kNothing;
  void* const shared =
      mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return std::perror("dlx-check: mmap"), kNothing;
  auto* const progress = static_cast<Progress*>(shared);
  const pid_t child = fork();
  if (child < 0) return std::perror("dlx-check: fork"), kNothing;
  if (child == 0) {
    check(arguments, progress);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return judge(status, arguments, progress);
}
