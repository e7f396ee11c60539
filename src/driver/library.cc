#include "src/driver/library.h"

#include <cstring>
#include <new>

#include "src/system/loader.h"
#include "src/system/system.h"

namespace dlx {
namespace {

/// The file that the environment variable names; empty if it names none.
std::string chosen_file(const char* variable) {
  return variable == nullptr ? std::string() : sys::environment(variable);
}

struct MappedFiles {
  const char* stem;
  std::vector<std::string> paths;
  bool complete;  ///< false: memory was exhausted
};

/// Throws nothing, because the loader holds its lock.
bool collect(const char* path, void* data) noexcept {
  auto* found = static_cast<MappedFiles*>(data);
  if (!sys::has_stem(path, found->stem)) return true;
  try {
    found->paths.emplace_back(path);
  } catch (const std::bad_alloc&) {
    found->complete = false;  // not covered: memory has run out
  }
  return found->complete;
}

}  // namespace

bool DriverLibrary::find_mapped(std::string* path, std::string* reason) const {
  if (files_.mapped_stem == nullptr) return true;
  MappedFiles found = {files_.mapped_stem, {}, true};
  sys::each_loaded(collect, &found);
  // not covered: memory has run out
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
  std::string error;
  if (const std::string path = chosen_file(files_.variable); !path.empty()) {
    handle_ = sys::load(path.c_str(), &error);
    if (handle_ == nullptr) *reason = std::string(files_.variable) + ": " + error;
    return handle_ != nullptr;
  }
  std::string mapped;
  if (!find_mapped(&mapped, reason)) return false;
  if (!mapped.empty()) handle_ = sys::find_loaded(mapped.c_str());
  std::string tried;
  for (const char* const* name = files_.names; handle_ == nullptr && *name != nullptr; ++name) {
    handle_ = sys::load(*name, &error);
    if (handle_ == nullptr) tried += (tried.empty() ? "" : "; ") + error;
  }
  if (handle_ == nullptr) *reason = tried;
  return handle_ != nullptr;
}

bool DriverLibrary::open_if_mapped() {
  if (handle_ != nullptr) return true;
  const unsigned long long loads = sys::count_loads();
  if (loads == seen_loads_) return false;
  std::string reason;
  std::string path = chosen_file(files_.variable);
  const bool chosen = !path.empty();
  if (!chosen && !find_mapped(&path, &reason)) return false;
  if (!path.empty()) handle_ = sys::find_loaded(path.c_str());
  if (!chosen) {
    for (const char* const* name = files_.names; handle_ == nullptr && *name != nullptr; ++name) {
      handle_ = sys::find_loaded(*name);
    }
  }
  seen_loads_ = loads;
  return handle_ != nullptr;
}

bool DriverLibrary::resolve(const std::vector<DriverSymbol>& symbols, std::string* reason) const {
  for (const DriverSymbol& symbol : symbols) {
    void* address = sys::find_symbol(handle_, symbol.name);
    if (address == nullptr && symbol.need == DriverNeed::kRequired) {
      *reason = path() + " lacks " + symbol.name;
      return false;
    }
    std::memcpy(symbol.slot, &address, sizeof address);
  }
  return true;
}

std::string DriverLibrary::path() const { return sys::path_of(handle_); }

}  // namespace dlx
