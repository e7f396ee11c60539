#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

#include "src/device/backend.h"
#include "src/system/system.h"

namespace dlx {
namespace {

/// From this size on, huge pages save more time than asking for them takes.
constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kHugeFrom = 2 * kHugePage;
/// From this size on, glibc returns freed blocks to the kernel; it keeps smaller ones for reuse.
constexpr size_t kNeverKept = size_t{32} << 20;

class CpuBackend final : public Backend {
 public:
  int32_t count() override { return 1; }
  const char* reason() override { return ""; }

  void describe(int32_t, dlx_device_properties* out) override {
    sys::read_cpu_name(out->name, sizeof out->name);
    const sys::MemorySizes memory = sys::memory_sizes();
    out->memory_total = memory.total;
    out->memory_free = memory.free;
  }

  // Uses malloc: posix_memalign splits a larger block, and the remainders keep glibc from reusing
  // the block after it is freed. Faulting in new pages then takes as long as a copy. The address of
  // the block is stored in front of the data.
  void* allocate(int32_t, int32_t, size_t size, size_t alignment) override {
    if (size >= kNeverKept) alignment = std::max(alignment, kHugePage);
    alignment = std::max(alignment, alignof(std::max_align_t));
    // not covered: an allocation of 2^64 bytes
    if (size > SIZE_MAX - alignment) return nullptr;
    void* const block = std::malloc(size + alignment);
    if (block == nullptr) return nullptr;
    const uintptr_t data = (reinterpret_cast<uintptr_t>(block) / alignment + 1) * alignment;
    reinterpret_cast<void**>(data)[-1] = block;
    // Optional: with 4 KiB pages, TLB misses make strided copies 10 % slower.
    if (size >= kHugeFrom) sys::prefer_huge_pages(data, size);
#ifdef __SANITIZE_ADDRESS__
    char* const end = reinterpret_cast<char*>(data) + size;
    ASAN_POISON_MEMORY_REGION(end, static_cast<char*>(block) + size + alignment - end);
#endif
    return reinterpret_cast<void*>(data);
  }

  void deallocate(int32_t, int32_t, void* data) noexcept override {
    if (data != nullptr) std::free(static_cast<void**>(data)[-1]);
  }
  void synchronize(int32_t) override {}

  // CPU work is synchronous: an event is done when it is recorded.
  EventHandle record(int32_t, StreamHandle) override { return this; }
  void wait(int32_t, StreamHandle, EventHandle) override {}
  void wait_on_host(int32_t, EventHandle) override {}
  bool is_done(int32_t, EventHandle) override { return true; }
  void release_event(int32_t, EventHandle) noexcept override {}

  void copy_from_host(int32_t, StreamHandle, DeviceAddress dst, const void* src,
                      size_t size) override {
    std::memcpy(static_cast<char*>(dst.data) + dst.offset, src, size);
  }
  void copy_to_host(int32_t, StreamHandle, void* dst, DeviceAddress src, size_t size) override {
    std::memcpy(dst, static_cast<const char*>(src.data) + src.offset, size);
  }
  void copy_on_device(int32_t, DeviceAddress dst, int32_t, DeviceAddress src, StreamHandle,
                      size_t size) override {
    std::memcpy(static_cast<char*>(dst.data) + dst.offset,
                static_cast<const char*>(src.data) + src.offset, size);
  }
};

}  // namespace

Backend& cpu_backend() noexcept {
  static CpuBackend backend;
  return backend;
}

}  // namespace dlx
