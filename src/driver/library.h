#ifndef DLX_SRC_DRIVER_LIBRARY_H_
#define DLX_SRC_DRIVER_LIBRARY_H_

#include <cstddef>
#include <string>

namespace dlx {

/// One function of a driver; `call` is NULL until it has been looked up. The tables (cuda.h …) are
/// made of these, from the driver's .inc.
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

/// A row of a driver's list, ready to be looked up.
struct DriverSymbol {
  const char* name;
  DriverNeed need;
  void* slot;  ///< the `call` of its DriverFunction
};

/// Where a driver may be.
struct DriverFiles {
  const char* variable;  ///< environment variable that names the one file to use instead; or NULL
  const char* mapped_stem;   ///< "libamdhip64": a mapped file of that name goes first; or NULL
  const char* const* names;  ///< sonames, the best first, NULL at the end
};

/// A driver's shared library. Never unloaded: what a driver starts does not end.
class DriverLibrary {
 public:
  explicit DriverLibrary(const DriverFiles& files) noexcept : files_(files) {}

  /// Opens it, from the environment's file, or what the process has mapped already, or by name.
  /// False: `reason` says in words what was tried, with the loader's own text for each file, or
  /// which two files are mapped (one process cannot work with both).
  bool open(std::string* reason);
  /// The same if it is in this process already; loads nothing. Cheap to ask again and again.
  bool open_if_mapped() noexcept;

  /// Looks the symbols up. False: `reason` names the file and the first one that is missing.
  bool resolve(const DriverSymbol* symbols, size_t count, std::string* reason) const;

  /// The file, as the loader knows it.
  std::string path() const;

 private:
  bool find_mapped(std::string* path, std::string* reason) const;

  DriverFiles files_;
  void* handle_ = nullptr;
  unsigned long long seen_loads_ = 0;  ///< open_if_mapped(): libraries loaded when it last looked
};

}  // namespace dlx

#endif  // DLX_SRC_DRIVER_LIBRARY_H_
