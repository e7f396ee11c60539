#if !defined(_WIN32)
#include <dlfcn.h>

#include <cerrno>
#include <cstring>
#include <new>

#include "src/system/loader.h"
#if defined(__APPLE__)
#include <mach-o/dyld.h>

#include <atomic>
#else
#include <link.h>
#endif

namespace dlx::sys {
namespace {

void* open_file(const char* path, int mode) {
  errno = 0;
  void* library = dlopen(path, mode);
  if (library == nullptr && errno == ENOMEM) throw std::bad_alloc();
  return library;
}

/// The loader's message for its last failure, which names the file.
std::string message(const char* path) {
  const char* text = dlerror();
  // not covered from here: the loader has words, and memory has not run out
  if (text != nullptr && std::strstr(text, "annot allocate memory") != nullptr) {
    throw std::bad_alloc();
  }
  if (text == nullptr) return std::string(path) + ": unknown error";
  // covered again
  // not covered: the loader names it
  return std::strstr(text, path) != nullptr ? text : std::string(path) + ": " + text;
}

}  // namespace

void* load(const char* path, std::string* error) {
  void* const library = open_file(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) *error = message(path);
  return library;
}

void* find_loaded(const char* path) {
  return open_file(path, path == nullptr ? RTLD_LAZY : RTLD_LAZY | RTLD_NOLOAD);
}

void unload(void* library) noexcept { dlclose(library); }

void* find_symbol(void* library, const char* name) noexcept { return dlsym(library, name); }

std::string file_around(const void* address) {
  Dl_info info;
  // not covered: it has a name
  if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) return {};
  return info.dli_fname;
}

void keep_loaded(const void* address) noexcept {
  Dl_info info;
  // not covered: an address in no file
  if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) return;
  dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

#if defined(__APPLE__)

/// There is no dlinfo(): the file for which the loader gives the same handle.
std::string path_of(void* library) {
  for (uint32_t k = _dyld_image_count(); k-- > 0;) {
    const char* const name = _dyld_get_image_name(k);
    void* const same = name == nullptr ? nullptr : dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
    if (same == nullptr) continue;
    dlclose(same);
    if (same == library) return name;
  }
  return {};
}

void each_loaded(bool (*see)(const char* path, void* data) noexcept, void* data) {
  for (uint32_t k = 0; k < _dyld_image_count(); ++k) {
    const char* const name = _dyld_get_image_name(k);
    if (name != nullptr && !see(name, data)) return;
  }
}

namespace {
std::atomic<unsigned long long> loads{0};
void note_load(const mach_header*, intptr_t) { loads.fetch_add(1, std::memory_order_relaxed); }
constexpr const char* kSuffix = ".dylib";
}  // namespace

unsigned long long count_loads() noexcept {
  static const bool registered = (_dyld_register_func_for_add_image(note_load), true);
  (void)registered;
  return loads.load(std::memory_order_relaxed);
}

#else

std::string path_of(void* library) {
  link_map* map = nullptr;
  // not covered: the loader has a map
  if (library == nullptr || dlinfo(library, RTLD_DI_LINKMAP, &map) != 0) return {};
  return map->l_name;
}

namespace {

struct Call {
  bool (*see)(const char* path, void* data) noexcept;
  void* data;
};

int see_one(dl_phdr_info* info, size_t, void* data) noexcept {
  const auto* call = static_cast<const Call*>(data);
  // not covered: the loader's entry without a name
  return info->dlpi_name == nullptr || call->see(info->dlpi_name, call->data) ? 0 : 1;
}

int read_adds(dl_phdr_info* info, size_t, void* data) noexcept {
  *static_cast<unsigned long long*>(data) = info->dlpi_adds;
  return 1;
}

constexpr const char* kSuffix = ".so";

}  // namespace

void each_loaded(bool (*see)(const char* path, void* data) noexcept, void* data) {
  Call call = {see, data};
  dl_iterate_phdr(see_one, &call);
}

unsigned long long count_loads() noexcept {
  unsigned long long loads = 0;
  dl_iterate_phdr(read_adds, &loads);
  return loads;
}

#endif

std::string file_name(const char* name) { return std::string("lib") + name + kSuffix; }

bool has_stem(const char* path, const char* stem) noexcept {
  const char* slash = std::strrchr(path, '/');
  const char* name = slash == nullptr ? path : slash + 1;
  const size_t length = std::strlen(stem);
  if (std::strncmp(name, stem, length) != 0) return false;
  if (std::strncmp(name + length, "-builtins", 9) == 0) return false;
  return (name[length] == '.' || name[length] == '-') && std::strstr(name, kSuffix) != nullptr;
}

}  // namespace dlx::sys
#endif
