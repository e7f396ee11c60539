#if defined(__APPLE__)
#include <mach/mach.h>
#include <sys/sysctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <thread>

#include "src/system/system.h"

namespace dlx::sys {
namespace {

/// 0 if the system does not know `name`.
int64_t number(const char* name) noexcept {
  int64_t value = 0;  // some have 32 bits: the lower half, on both architectures
  size_t size = sizeof value;
  return sysctlbyname(name, &value, &size, nullptr, 0) == 0 ? value : 0;
}

}  // namespace

bool is_mapped(uint64_t) noexcept { return false; }  // beyond the usual addresses nothing is

void prefer_huge_pages(uintptr_t, size_t) noexcept {}

MemorySizes memory_sizes() noexcept {
  MemorySizes out = {number("hw.memsize"), 0};
  vm_statistics64_data_t statistics;
  mach_msg_type_number_t count = HOST_VM_INFO64_COUNT;
  if (host_statistics64(mach_host_self(), HOST_VM_INFO64,
                        reinterpret_cast<host_info64_t>(&statistics), &count) == KERN_SUCCESS) {
    out.free = static_cast<int64_t>(statistics.free_count + statistics.inactive_count) *
               static_cast<int64_t>(vm_kernel_page_size);
  }
  return out;
}

void read_cpu_name(char* out, size_t capacity) noexcept {
  size_t size = capacity;
  if (sysctlbyname("machdep.cpu.brand_string", out, &size, nullptr, 0) == 0 && size > 0) return;
  std::snprintf(out, capacity, "CPU");
}

int64_t second_level_cache() noexcept {
  const int64_t fast = number("hw.perflevel0.l2cachesize");
  return fast > 0 ? fast : number("hw.l2cachesize");
}

int32_t cores() noexcept { return static_cast<int32_t>(std::thread::hardware_concurrency()); }

std::string environment(const char* variable) {
  const char* const value = issetugid() != 0 ? nullptr : std::getenv(variable);
  return value == nullptr ? std::string() : value;
}

}  // namespace dlx::sys
#endif
