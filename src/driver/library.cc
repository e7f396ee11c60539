#include "src/driver/library.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/auxv.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>

namespace dlx {
namespace {

/// The value of an environment variable; NULL in a setuid program, whose caller must not choose the
/// code that it runs.
const char* environment(const char* variable) noexcept {
#if defined(__GLIBC__)
  return secure_getenv(variable);
#else
  return getauxval(AT_SECURE) != 0 ? nullptr : std::getenv(variable);
#endif
}

/// The file that the environment variable names, or NULL.
const char* chosen_file(const char* variable) noexcept {
  const char* path = variable == nullptr ? nullptr : environment(variable);
  return path == nullptr || *path == '\0' ? nullptr : path;
}

/// dlopen(). NULL: the loader's message for dlerror(). Throws std::bad_alloc if the loader ran out of
/// memory, which says nothing about the file.
void* open_file(const char* path, int mode) {
  errno = 0;
  void* handle = dlopen(path, mode);
  if (handle == nullptr && errno == ENOMEM) throw std::bad_alloc();
  return handle;
}

/// The loader's message for its last failure; it names the file.
std::string loader_error(const char* path) {
  const char* text = dlerror();
  if (text != nullptr && std::strstr(text, "annot allocate memory") != nullptr)
    throw std::bad_alloc();
  if (text == nullptr) return std::string(path) + ": unknown error";
  return std::strstr(text, path) != nullptr ? text : std::string(path) + ": " + text;
}

struct MappedFiles {
  const char* stem;
  std::vector<std::string> paths;
  bool complete;  ///< false: memory was exhausted
};

/// True for "libamdhip64.so.6" and for a wheel's copy, "libamdhip64-1a2b3c.so", if the stem is
/// "libamdhip64". False for "libhiprtc-builtins.so.6" if the stem is "libhiprtc".
bool has_stem(const char* path, const char* stem) noexcept {
  const char* slash = std::strrchr(path, '/');
  const char* name = slash == nullptr ? path : slash + 1;
  const size_t length = std::strlen(stem);
  if (std::strncmp(name, stem, length) != 0) return false;
  if (std::strncmp(name + length, "-builtins", 9) == 0) return false;
  return (name[length] == '.' || name[length] == '-') && std::strstr(name, ".so") != nullptr;
}

int collect(dl_phdr_info* info, size_t, void* data) {
  auto* found = static_cast<MappedFiles*>(data);
  if (info->dlpi_name != nullptr && has_stem(info->dlpi_name, found->stem)) {
    // The loader holds its lock, so no exception may pass it.
    try {
      found->paths.emplace_back(info->dlpi_name);
    } catch (const std::bad_alloc&) {
      found->complete = false;
      return 1;
    }
  }
  return 0;
}

int count_loads(dl_phdr_info* info, size_t, void* data) {
  *static_cast<unsigned long long*>(data) = info->dlpi_adds;
  return 1;
}

}  // namespace

bool DriverLibrary::find_mapped(std::string* path, std::string* reason) const {
  if (files_.mapped_stem == nullptr) return true;
  MappedFiles found = {files_.mapped_stem, {}, true};
  dl_iterate_phdr(collect, &found);
  if (!found.complete) throw std::bad_alloc();
  if (found.paths.size() > 1) {
    *reason = "two copies of it are loaded, " + found.paths[0] + " and " + found.paths[1] +
              ", and neither knows the other's memory";
    if (files_.variable != nullptr) {
      *reason += std::string("; set ") + files_.variable + " to choose one";
    }
    return false;
  }
  if (!found.paths.empty()) *path = found.paths[0];
  return true;
}

bool DriverLibrary::open(std::string* reason) {
  if (handle_ != nullptr) return true;
  if (const char* path = chosen_file(files_.variable)) {
    handle_ = open_file(path, RTLD_NOW | RTLD_LOCAL);
    if (handle_ == nullptr) *reason = std::string(files_.variable) + ": " + loader_error(path);
    return handle_ != nullptr;
  }
  std::string mapped;
  if (!find_mapped(&mapped, reason)) return false;
  if (!mapped.empty()) handle_ = open_file(mapped.c_str(), RTLD_NOW | RTLD_NOLOAD);
  std::string tried;
  for (const char* const* name = files_.names; handle_ == nullptr && *name != nullptr; ++name) {
    handle_ = open_file(*name, RTLD_NOW | RTLD_LOCAL);
    if (handle_ == nullptr) tried += (tried.empty() ? "" : "; ") + loader_error(*name);
  }
  if (handle_ == nullptr) *reason = tried;
  return handle_ != nullptr;
}

bool DriverLibrary::open_if_mapped() {
  if (handle_ != nullptr) return true;
  unsigned long long loads = 0;
  dl_iterate_phdr(count_loads, &loads);
  if (loads == seen_loads_) return false;
  std::string mapped, reason;
  if (const char* path = chosen_file(files_.variable)) {
    mapped = path;
  } else if (!find_mapped(&mapped, &reason)) {
    return false;
  }
  if (!mapped.empty()) handle_ = open_file(mapped.c_str(), RTLD_NOW | RTLD_NOLOAD);
  if (chosen_file(files_.variable) == nullptr) {
    for (const char* const* name = files_.names; handle_ == nullptr && *name != nullptr; ++name) {
      handle_ = open_file(*name, RTLD_NOW | RTLD_NOLOAD);
    }
  }
  seen_loads_ = loads;
  return handle_ != nullptr;
}

bool DriverLibrary::resolve(const std::vector<DriverSymbol>& symbols, std::string* reason) const {
  for (const DriverSymbol& symbol : symbols) {
    void* address = dlsym(handle_, symbol.name);
    if (address == nullptr && symbol.need == DriverNeed::kRequired) {
      *reason = path() + " lacks " + symbol.name;
      return false;
    }
    std::memcpy(symbol.slot, &address, sizeof address);
  }
  return true;
}

std::string DriverLibrary::path() const {
  link_map* map = nullptr;
  if (handle_ == nullptr || dlinfo(handle_, RTLD_DI_LINKMAP, &map) != 0) return {};
  return map->l_name;
}

}  // namespace dlx
