// Opens a driver's shared library at run time and looks up its functions.
#ifndef DLX_SRC_DRIVER_LIBRARY_H_
#define DLX_SRC_DRIVER_LIBRARY_H_

#include <string>
#include <vector>

namespace dlx {

/// One function of a driver; `call` is NULL until resolve() sets it. The tables (cuda.h …) consist
/// of these, one for each row of the driver's .inc file.
template <typename Signature>
struct DriverFunction;
template <typename Result, typename... Arguments>
struct DriverFunction<Result(Arguments...)> {
  const char* symbol;
  Result (*call)(Arguments...);

  Result operator()(Arguments... arguments) const { return call(arguments...); }
  explicit operator bool() const noexcept { return call != nullptr; }
};

enum class DriverNeed { kRequired, kOptional };

/// A symbol to look up.
struct DriverSymbol {
  const char* name;
  DriverNeed need;
  void* slot;  ///< address of the `call` of its DriverFunction
};

/// Where to find a driver.
struct DriverFiles {
  const char* variable;  ///< environment variable that names the only file to use (setuid programs
                         ///< ignore it); or NULL
  const char* mapped_stem;   ///< "libamdhip64": prefer a mapped file with that name; or NULL
  const char* const* names;  ///< sonames, the best first; the last entry is NULL
};

/// A driver's shared library. Never unloaded, because drivers start threads that never end.
class DriverLibrary {
 public:
  explicit DriverLibrary(const DriverFiles& files) noexcept : files_(files) {}

  /// Opens the file of the environment variable, else a file that the process has mapped, else the
  /// first soname that loads. False: `reason` has the loader's message for each file that was
  /// tried, or names two mapped copies (a process cannot work with both). Throws std::bad_alloc, also
  /// if the loader runs out of memory: a later call can succeed.
  bool open(std::string* reason);
  /// Opens the library only if this process has mapped it; loads nothing. Cheap to call repeatedly.
  /// Throws std::bad_alloc.
  bool open_if_mapped();

  /// Looks up the symbols. False: `reason` names the file and the first missing symbol.
  bool resolve(const std::vector<DriverSymbol>& symbols, std::string* reason) const;

  /// The path of the file, from the loader.
  std::string path() const;

 private:
  bool find_mapped(std::string* path, std::string* reason) const;

  DriverFiles files_;
  void* handle_ = nullptr;
  unsigned long long seen_loads_ = 0;  ///< number of loads at the last open_if_mapped()
};

}  // namespace dlx

#endif  // DLX_SRC_DRIVER_LIBRARY_H_
