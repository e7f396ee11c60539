#if defined(_WIN32)
#include "src/system/windows.h"

#include <malloc.h>

#include <cerrno>
#include <cstdio>

#include "src/system/system.h"

namespace dlx::sys {

std::string to_utf8(const wchar_t* text, int length) {
  const int size = WideCharToMultiByte(CP_UTF8, 0, text, length, nullptr, 0, nullptr, nullptr);
  std::string out(static_cast<size_t>(size), '\0');
  WideCharToMultiByte(CP_UTF8, 0, text, length, out.data(), size, nullptr, nullptr);
  return out;
}

std::wstring to_wide(const char* text) {
  const int size = MultiByteToWideChar(CP_UTF8, 0, text, -1, nullptr, 0);
  std::wstring out(static_cast<size_t>(size > 0 ? size : 1), L'\0');
  MultiByteToWideChar(CP_UTF8, 0, text, -1, out.data(), size);
  out.pop_back();
  return out;
}

void* allocate_pages(size_t size) noexcept { return _aligned_malloc(size, kPage); }

void free_pages(void* pages) noexcept { _aligned_free(pages); }

bool is_mapped(uint64_t address) noexcept {
  MEMORY_BASIC_INFORMATION found;
  return VirtualQuery(reinterpret_cast<void*>(address), &found, sizeof found) != 0 &&
         found.State != MEM_FREE;
}

void prefer_huge_pages(uintptr_t, size_t) noexcept {}  // they need a privilege

MemorySizes memory_sizes() noexcept {
  MEMORYSTATUSEX status = {};
  status.dwLength = sizeof status;
  if (!GlobalMemoryStatusEx(&status)) return {0, 0};
  return {static_cast<int64_t>(status.ullTotalPhys), static_cast<int64_t>(status.ullAvailPhys)};
}

void read_cpu_name(char* out, size_t capacity) noexcept {
  auto size = static_cast<DWORD>(capacity);
  const LSTATUS status =
      RegGetValueA(HKEY_LOCAL_MACHINE, "HARDWARE\\DESCRIPTION\\System\\CentralProcessor\\0",
                   "ProcessorNameString", RRF_RT_REG_SZ, nullptr, out, &size);
  if (status != ERROR_SUCCESS || size <= 1) std::snprintf(out, capacity, "CPU");
}

int64_t second_level_cache() noexcept {
  SYSTEM_LOGICAL_PROCESSOR_INFORMATION all[256];
  DWORD size = sizeof all;
  if (!GetLogicalProcessorInformation(all, &size)) return 0;
  for (DWORD k = 0; k < size / sizeof *all; ++k) {
    if (all[k].Relationship == RelationCache && all[k].Cache.Level == 2) return all[k].Cache.Size;
  }
  return 0;
}

int32_t cores() noexcept {
  DWORD_PTR process = 0;
  DWORD_PTR system = 0;
  int32_t cores = 0;
  // Both masks are 0 if the process has threads in several groups of 64 cores.
  if (GetProcessAffinityMask(GetCurrentProcess(), &process, &system)) {
    cores = __builtin_popcountll(process);
  }
  return cores > 0 ? cores : static_cast<int32_t>(GetActiveProcessorCount(ALL_PROCESSOR_GROUPS));
}

/// By the wide function: the other one replaces characters outside the code page.
std::string environment(const char* variable) {
  const std::wstring name = to_wide(variable);
  std::wstring value(32768, L'\0');  // the longest that there can be
  const DWORD length =
      GetEnvironmentVariableW(name.c_str(), value.data(), static_cast<DWORD>(value.size()));
  return length == 0 ? std::string() : to_utf8(value.data(), static_cast<int>(length));
}

bool at_fork(void (*)(), void (*)(), void (*)()) noexcept { return true; }

int map_file(int, size_t, bool, void**) noexcept { return ENOSYS; }
void unmap_file(void*, size_t) noexcept {}

int delay_cancellation() noexcept { return 0; }
void restore_cancellation(int) noexcept {}

WithoutSignals::WithoutSignals() noexcept {}
WithoutSignals::~WithoutSignals() {}

void sleep_for_ever() noexcept {
  for (;;) Sleep(INFINITE);
}

}  // namespace dlx::sys
#endif
