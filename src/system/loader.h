// The loader of shared libraries: loader_posix.cc and loader_windows.cc. Paths are UTF-8.
#ifndef DLX_SRC_SYSTEM_LOADER_H_
#define DLX_SRC_SYSTEM_LOADER_H_

#include <string>

namespace dlx::sys {

/// "libNAME.so", "libNAME.dylib" or "NAME.dll".
std::string file_name(const char* name);

/// Loads a library. NULL: `error` has the loader's message, which names the file. Throws
/// std::bad_alloc if the loader ran out of memory, which says nothing about the file.
void* load(const char* path, std::string* error);

/// A library that the process has loaded already, the program itself if `path` is NULL; NULL if
/// there is none. Throws std::bad_alloc.
void* find_loaded(const char* path);

/// Gives back a handle of load() or find_loaded().
void unload(void* library) noexcept;

/// The address of a symbol; NULL if the library lacks it.
void* find_symbol(void* library, const char* name) noexcept;

/// The file of a library; empty if unknown.
std::string path_of(void* library);

/// The file that holds the address; empty if none does.
std::string file_around(const void* address);

/// Keeps the file that holds the address loaded until the process ends. Does nothing on failure.
void keep_loaded(const void* address) noexcept;

/// Calls `see` for each loaded file, until it returns false. `see` must not throw.
void each_loaded(bool (*see)(const char* path, void* data) noexcept, void* data);

/// A number that changes whenever a library is loaded. Cheap.
unsigned long long count_loads() noexcept;

/// Whether the file is a library with this stem, "libamdhip64": libamdhip64.so.6, a wheel's copy
/// libamdhip64-1a2b3c.so, amdhip64_6.dll. False for libhiprtc-builtins.so.6 if the stem is
/// "libhiprtc".
bool has_stem(const char* path, const char* stem) noexcept;

}  // namespace dlx::sys

#endif  // DLX_SRC_SYSTEM_LOADER_H_
