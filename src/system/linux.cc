#if defined(__linux__)
#include <sched.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "src/system/system.h"

namespace dlx::sys {

void prefer_huge_pages(uintptr_t data, size_t size) noexcept {
  madvise(reinterpret_cast<void*>(data & -uintptr_t{kPage}), size, MADV_HUGEPAGE);
}

bool is_mapped(uint64_t address) noexcept {
  const int before = errno;
  unsigned char resident = 0;
  const auto page = address & -static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const bool mapped = mincore(reinterpret_cast<void*>(page), 1, &resident) == 0 || errno != ENOMEM;
  errno = before;
  return mapped;
}

MemorySizes memory_sizes() noexcept {
  const int64_t page = sysconf(_SC_PAGESIZE);
  return {page * sysconf(_SC_PHYS_PAGES), page * sysconf(_SC_AVPHYS_PAGES)};
}

void read_cpu_name(char* out, size_t capacity) noexcept {
  std::snprintf(out, capacity, "CPU");
  std::FILE* file = std::fopen("/proc/cpuinfo", "re");
  if (file == nullptr) return;  // not covered: Linux without /proc
  char line[256];
  while (std::fgets(line, sizeof line, file) != nullptr) {  // not covered: x86-64 has the name
    if (std::strncmp(line, "model name", 10) != 0) continue;
    const char* colon = std::strchr(line, ':');
    if (colon == nullptr) continue;  // not covered: Linux writes one
    line[std::strcspn(line, "\n")] = '\0';
    std::snprintf(out, capacity, "%s", colon + 1 + std::strspn(colon + 1, " "));
    break;
  }
  std::fclose(file);
}

int64_t second_level_cache() noexcept {
#ifdef _SC_LEVEL2_CACHE_SIZE
  return sysconf(_SC_LEVEL2_CACHE_SIZE);
#else
  return 0;
#endif
}

namespace {

/// The number of cores that a cpu.max file allows ("200000 100000": two); 0 if it sets no limit
/// ("max 100000").
int32_t quota_in(const char* path) noexcept {
  long long quota = 0;
  long long period = 0;
  std::FILE* file = std::fopen(path, "re");
  if (file == nullptr) return 0;  // not covered: a machine whose groups have no quotas
  // not covered from here: a machine whose groups have no quotas
  const int read = std::fscanf(file, "%lld %lld", &quota, &period);
  std::fclose(file);
  if (read != 2 || quota <= 0 || period <= 0) return 0;
  return static_cast<int32_t>((quota + period - 1) / period);
  // covered again
}

/// The tightest quota of this process's group (version 2) and the groups around it; 0 if none.
int32_t group_quota() noexcept {
  char line[512];
  char group[512] = "/";
  if (std::FILE* file = std::fopen("/proc/self/cgroup", "re")) {  // not covered: without /proc
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
    if (quota > 0 && (least == 0 || quota < least)) least = quota;  // not covered: no quotas
    char* slash = std::strrchr(group, '/');
    if (slash == nullptr) return least;
    *slash = '\0';
  }
}

}  // namespace

int32_t cores() noexcept {
  cpu_set_t set;
  CPU_ZERO(&set);  // not covered: a macro with a loop of its own
  // Fails on machines with more than 1024 cores: use the number of cores then.
  // not covered: more than 1024 cores
  int32_t cores = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
  if (cores <= 0)  // not covered: more than 1024 cores
    cores = static_cast<int32_t>(std::thread::hardware_concurrency());  // not covered: the same
  const int32_t quota = group_quota();
  return quota > 0 && quota < cores ? quota : cores;  // not covered: no quotas
}

std::string environment(const char* variable) {
#if defined(__GLIBC__)
  const char* const value = secure_getenv(variable);
#else
  const char* const value = getauxval(AT_SECURE) != 0 ? nullptr : std::getenv(variable);
#endif
  return value == nullptr ? std::string() : value;
}

}  // namespace dlx::sys
#endif
