#include "src/copy/threads/cores.h"

#include <cstdio>
#include <cstring>
#include <thread>

#ifdef __linux__
#include <sched.h>
#endif

#include "src/base/cancellation.h"

namespace dlx {
namespace {

#ifdef __linux__

/// The number of cores that a cpu.max file allows ("200000 100000": two); 0 if it sets no limit
/// ("max 100000").
int32_t quota_in(const char* path) noexcept {
  long long quota = 0;
  long long period = 0;
  std::FILE* file = std::fopen(path, "re");
  if (file == nullptr) return 0;
  const int read = std::fscanf(file, "%lld %lld", &quota, &period);
  std::fclose(file);
  if (read != 2 || quota <= 0 || period <= 0) return 0;
  return static_cast<int32_t>((quota + period - 1) / period);
}

/// The tightest quota of this process's group (version 2) and the groups around it; 0 if none.
int32_t group_quota() noexcept {
  char line[512];
  char group[512] = "/";
  if (std::FILE* file = std::fopen("/proc/self/cgroup", "re")) {
    while (std::fgets(line, sizeof line, file) != nullptr) {
      if (std::strncmp(line, "0::", 3) != 0) continue;
      line[std::strcspn(line, "\n")] = '\0';
      std::snprintf(group, sizeof group, "%s", line + 3);
    }
    std::fclose(file);
  }
  int32_t least = 0;
  for (;;) {
    char path[640];
    std::snprintf(path, sizeof path, "/sys/fs/cgroup%s/cpu.max", group);
    const int32_t quota = quota_in(path);
    if (quota > 0 && (least == 0 || quota < least)) least = quota;
    char* slash = std::strrchr(group, '/');
    if (slash == nullptr) return least;
    *slash = '\0';
  }
}

int32_t affinity() noexcept {
  cpu_set_t set;
  CPU_ZERO(&set);
  // Fails on machines with more than 1024 cores: use the number of cores then.
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
}

#else

int32_t group_quota() noexcept { return 0; }
int32_t affinity() noexcept { return 0; }

#endif

}  // namespace

int32_t available_cores() noexcept {
  const WithoutCancellation whole;  // files are read
  int32_t cores = affinity();
  if (cores <= 0) cores = static_cast<int32_t>(std::thread::hardware_concurrency());
  const int32_t quota = group_quota();
  if (quota > 0 && quota < cores) cores = quota;
  return cores > 0 ? cores : 1;
}

}  // namespace dlx
