// What differs between operating systems, except the loader (loader.h) and processors (cpu.h). The
// implementations are linux.cc, macos.cc and windows.cc; posix.cc is what the first two share. Each
// file is empty on the other systems, so that every build compiles all of them.
#ifndef DLX_SRC_SYSTEM_SYSTEM_H_
#define DLX_SRC_SYSTEM_SYSTEM_H_

#include <cstddef>
#include <cstdint>
#include <string>

namespace dlx::sys {

constexpr size_t kPage = 4096;

/// Memory aligned to kPage, for free_pages(); NULL if there is not enough.
void* allocate_pages(size_t size) noexcept;
void free_pages(void* pages) noexcept;

/// Whether the process has memory at an address; true if the system does not say.
bool is_mapped(uint64_t address) noexcept;

/// Asks for huge pages for `size` bytes at `data`; the system may not have any.
void prefer_huge_pages(uintptr_t data, size_t size) noexcept;

struct MemorySizes {
  int64_t total;
  int64_t free;
};
/// Bytes of main memory; 0 for what is unknown.
MemorySizes memory_sizes() noexcept;

/// The processor's name; "CPU" if it is unknown.
void read_cpu_name(char* out, size_t capacity) noexcept;

/// Bytes of a second-level cache; 0 if unknown.
int64_t second_level_cache() noexcept;

/// Cores that this process may use, by its affinity and its group's quota; 0 if unknown.
int32_t cores() noexcept;

/// The value of an environment variable in UTF-8; empty if it is not set. A setuid program has none:
/// its caller must not choose the code that it runs. Throws std::bad_alloc.
std::string environment(const char* variable);

/// pthread_atfork(); does nothing on a system without fork(). False: not enough memory.
bool at_fork(void (*prepare)(), void (*parent)(), void (*child)()) noexcept;

/// Delays pthread_cancel() of the calling thread. The result is for restore_cancellation().
int delay_cancellation() noexcept;
void restore_cancellation(int before) noexcept;

/// Maps all of a file, shared with other processes. Returns 0, or errno with `*out` unset; ENOSYS where
/// dlx has no shared memory.
int map_file(int descriptor, size_t size, bool writable, void** out) noexcept;
void unmap_file(void* data, size_t size) noexcept;

/// Blocks all signals in the calling thread, and so in threads that it starts, until the end of the
/// scope.
class WithoutSignals {
 public:
  WithoutSignals() noexcept;
  ~WithoutSignals();
  WithoutSignals(const WithoutSignals&) = delete;
  WithoutSignals& operator=(const WithoutSignals&) = delete;

 private:
  [[maybe_unused]] alignas(8) unsigned char before_[128];  ///< a sigset_t
};

/// Ends neither the thread nor the process.
[[noreturn]] void sleep_for_ever() noexcept;

}  // namespace dlx::sys

#endif  // DLX_SRC_SYSTEM_SYSTEM_H_
