// What every exported function needs around its body: exceptions become statuses, and arguments and
// options are checked.
#ifndef DLX_CAPI_GUARD_H_
#define DLX_CAPI_GUARD_H_

#include <cstring>
#include <new>

#include "dlx/dlx.h"
#include "src/base/cancellation.h"
#include "src/base/error.h"
#include "src/base/last_error.h"

namespace dlx::capi {

/// Runs the body of an exported function. The only place that turns an exception into a status:
/// other handlers clean up, add to a message, or protect functions that must not throw.
template <typename Body>
dlx_status guard(const char* function, Body&& body) {
  try {
    body();
    return DLX_OK;
  } catch (const Error& error) {
    set_last_error(function, error.what());
    return error.status();
  } catch (const std::bad_alloc&) {
    set_last_error(function, "out of memory");
    return DLX_ERROR_OUT_OF_MEMORY;
  } catch (const std::exception& error) {
    set_last_error(function, error.what());
    return DLX_ERROR_INTERNAL;
  } catch (...) {
    if (thread_is_being_ended()) throw;
    set_last_error(function, "an unknown exception");
    return DLX_ERROR_INTERNAL;
  }
}

/// Throws Error(INVALID_ARGUMENT) if `pointer` is NULL; `name` is the name of the parameter.
inline void require(const void* pointer, const char* name) {
  if (pointer == nullptr) fail(DLX_ERROR_INVALID_ARGUMENT, "`%s` is NULL", name);
}

/// Copies the caller's options into the current version of the struct. Fields that an older caller
/// does not have are zero (the default); fields of a newer caller that dlx does not have must be
/// zero.
template <typename Options>
Options read_options(const Options* options, const char* name) {
  Options out{};
  if (options == nullptr) return out;
  const size_t size = options->struct_size;
  // A size that ends inside a field is wrong: dlx would read half of a pointer.
  if (size < sizeof options->struct_size || size > 4096 || size % alignof(Options) != 0) {
    fail(DLX_ERROR_INVALID_ARGUMENT, "`%s` has a struct_size of %zu (expected %zu, its sizeof)",
         name, size, sizeof out);
  }
  const auto* bytes = reinterpret_cast<const unsigned char*>(options);
  for (size_t i = sizeof out; i < size; ++i) {
    if (bytes[i] == 0) continue;
    fail(DLX_ERROR_UNSUPPORTED,
         "`%s` sets a field that this version of dlx does not have (byte %zu of %zu)", name, i,
         size);
  }
  std::memcpy(&out, options, size < sizeof out ? size : sizeof out);
  return out;
}

inline void require_flags(uint64_t flags, uint64_t known, const char* name) {
  if ((flags & ~known) == 0) return;
  fail(DLX_ERROR_UNSUPPORTED, "`%s` has unknown flags (got 0x%llx, expected at most 0x%llx)", name,
       static_cast<unsigned long long>(flags), static_cast<unsigned long long>(known));
}

inline void require_range(int32_t value, int32_t last, const char* name) {
  if (value >= 0 && value <= last) return;
  fail(DLX_ERROR_INVALID_ARGUMENT, "`%s` is unknown (got %d, expected 0 to %d)", name, value, last);
}

/// For a reserved field: another value requests something that this version does not have.
inline void require_zero(int32_t value, const char* name) {
  if (value == 0) return;
  fail(DLX_ERROR_UNSUPPORTED, "`%s` must be 0 (got %d)", name, value);
}

inline void require_power_of_two(uint64_t value, const char* name) {
  if ((value & (value - 1)) == 0 && value <= (uint64_t{1} << 30)) return;  // 0: the default
  fail(DLX_ERROR_INVALID_ARGUMENT, "`%s` is not a power of two up to 2^30 (got %llu)", name,
       static_cast<unsigned long long>(value));
}

/// Checks the allocator and copies it into `storage`; returns `storage`, or NULL for NULL.
const dlx_allocator* read_allocator(const dlx_allocator* allocator, dlx_allocator* storage);

}  // namespace dlx::capi

#endif  // DLX_CAPI_GUARD_H_
