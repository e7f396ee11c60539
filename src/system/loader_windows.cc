#if defined(_WIN32)
#include <atomic>
#include <cstdio>
#include <cstring>
#include <vector>

#include "src/system/loader.h"
#include "src/system/windows.h"

namespace dlx::sys {
namespace {

std::string message(DWORD code) {
  wchar_t text[512];
  DWORD length = FormatMessageW(FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS, nullptr,
                                code, 0, text, sizeof text / sizeof *text, nullptr);
  while (length > 0 && (text[length - 1] <= L' ' || text[length - 1] == L'.')) --length;
  char number[32];
  std::snprintf(number, sizeof number, " (error %lu)", code);
  return to_utf8(text, static_cast<int>(length)) + number;
}

std::string path_of_module(HMODULE module) {
  wchar_t path[1024];
  const DWORD length = GetModuleFileNameW(module, path, sizeof path / sizeof *path);
  return to_utf8(path, static_cast<int>(length));
}

}  // namespace

void* load(const char* path, std::string* error) {
  const std::wstring wide = to_wide(path);
  const bool whole = wide.find_first_of(L"\\/:") != std::wstring::npos;
  DWORD before = 0;
  SetThreadErrorMode(SEM_FAILCRITICALERRORS | SEM_NOOPENFILEERRORBOX, &before);
  // Neither the current folder nor PATH is searched; the folder of a whole path is.
  const HMODULE module = LoadLibraryExW(
      wide.c_str(), nullptr,
      LOAD_LIBRARY_SEARCH_DEFAULT_DIRS | (whole ? LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR : 0));
  const DWORD code = GetLastError();
  SetThreadErrorMode(before, nullptr);
  if (module == nullptr) {
    if (code == ERROR_NOT_ENOUGH_MEMORY || code == ERROR_OUTOFMEMORY) throw std::bad_alloc();
    *error = std::string(path) + ": " + message(code);
  }
  return module;
}

void* find_loaded(const char* path) {
  HMODULE module = nullptr;
  if (path == nullptr) {
    GetModuleHandleExW(0, nullptr, &module);
  } else {
    GetModuleHandleExW(0, to_wide(path).c_str(), &module);
  }
  return module;
}

void unload(void* library) noexcept { FreeLibrary(static_cast<HMODULE>(library)); }

void* find_symbol(void* library, const char* name) noexcept {
  return reinterpret_cast<void*>(GetProcAddress(static_cast<HMODULE>(library), name));
}

std::string path_of(void* library) {
  return library == nullptr ? std::string() : path_of_module(static_cast<HMODULE>(library));
}

std::string file_around(const void* address) {
  HMODULE module = nullptr;
  constexpr DWORD kFlags =
      GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT;
  if (!GetModuleHandleExW(kFlags, static_cast<LPCWSTR>(address), &module)) return {};
  return path_of_module(module);
}

void keep_loaded(const void* address) noexcept {
  HMODULE module = nullptr;
  GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_PIN,
                     static_cast<LPCWSTR>(address), &module);
}

void each_loaded(bool (*see)(const char* path, void* data) noexcept, void* data) {
  std::vector<HMODULE> modules(256);
  for (;;) {
    const auto size = static_cast<DWORD>(modules.size() * sizeof(HMODULE));
    DWORD needed = 0;
    if (!K32EnumProcessModules(GetCurrentProcess(), modules.data(), size, &needed)) return;
    modules.resize(needed / sizeof(HMODULE));
    if (needed <= size) break;
  }
  for (const HMODULE module : modules) {
    if (!see(path_of_module(module).c_str(), data)) return;
  }
}

namespace {

std::atomic<unsigned long long> loads{1};

void CALLBACK note(ULONG reason, const void*, void*) {
  constexpr ULONG kLoaded = 1;  // LDR_DLL_NOTIFICATION_REASON_LOADED
  if (reason == kLoaded) loads.fetch_add(1, std::memory_order_relaxed);
}

bool start_counting() noexcept {
  using Callback = void(CALLBACK*)(ULONG, const void*, void*);
  using Register = LONG(NTAPI*)(ULONG, Callback, void*, void**);
  const HMODULE ntdll = GetModuleHandleW(L"ntdll.dll");
  const auto function = reinterpret_cast<Register>(
      reinterpret_cast<void*>(GetProcAddress(ntdll, "LdrRegisterDllNotification")));
  static void* cookie = nullptr;
  return function != nullptr && function(0, note, nullptr, &cookie) == 0;
}

}  // namespace

unsigned long long count_loads() noexcept {
  static const bool counting = start_counting();
  // Without notifications every call looks like a load.
  if (!counting) return loads.fetch_add(1, std::memory_order_relaxed);
  return loads.load(std::memory_order_relaxed);
}

std::string file_name(const char* name) { return std::string(name) + ".dll"; }

bool has_stem(const char* path, const char* stem) noexcept {
  const char* name = path;
  for (const char* c = path; *c != '\0'; ++c) {
    if (*c == '\\' || *c == '/') name = c + 1;
  }
  if (std::strncmp(stem, "lib", 3) == 0) stem += 3;
  const size_t length = std::strlen(stem);
  if (_strnicmp(name, stem, length) != 0) return false;
  name += length;  // amdhip64.dll, amdhip64_6.dll, hiprtc0602.dll
  return _stricmp(name + std::strspn(name, "_0123456789"), ".dll") == 0;
}

}  // namespace dlx::sys
#endif
