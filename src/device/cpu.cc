#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "src/device/backend.h"

namespace dlx {
namespace {

/// From here on huge pages save more than aligning to them costs.
constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kHugeFrom = 2 * kHugePage;

void read_cpu_name(char* out, size_t capacity) {
  std::snprintf(out, capacity, "CPU");
  std::FILE* file = std::fopen("/proc/cpuinfo", "re");
  if (file == nullptr) return;
  char line[256];
  while (std::fgets(line, sizeof line, file) != nullptr) {
    if (std::strncmp(line, "model name", 10) != 0) continue;
    const char* colon = std::strchr(line, ':');
    if (colon == nullptr) continue;
    line[std::strcspn(line, "\n")] = '\0';
    std::snprintf(out, capacity, "%s", colon + 2);
    break;
  }
  std::fclose(file);
}

class CpuBackend final : public Backend {
 public:
  int32_t count() override { return 1; }
  const char* reason() override { return ""; }

  void describe(int32_t, dlx_device_properties* out) override {
    read_cpu_name(out->name, sizeof out->name);
    const int64_t page = sysconf(_SC_PAGESIZE);
    out->memory_total = page * sysconf(_SC_PHYS_PAGES);
    out->memory_free = page * sysconf(_SC_AVPHYS_PAGES);
  }

  void* allocate(int32_t, size_t size, size_t alignment) override {
    const bool huge = size >= kHugeFrom;
    if (huge && alignment < kHugePage) alignment = kHugePage;
    if (alignment < sizeof(void*)) alignment = sizeof(void*);
    void* data = nullptr;
    if (posix_memalign(&data, alignment, size) != 0) return nullptr;
    // Advice only: strided copies into 4 KiB pages lose a tenth of their speed to TLB misses.
    if (huge) madvise(data, size / kHugePage * kHugePage, MADV_HUGEPAGE);
    return data;
  }

  void deallocate(int32_t, void* data) noexcept override { std::free(data); }
  void synchronize(int32_t) override {}
};

}  // namespace

Backend& cpu_backend() {
  static CpuBackend backend;
  return backend;
}

}  // namespace dlx
