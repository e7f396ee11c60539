// malloc and the others of the process, of which those that libdlx.so calls, and if wanted the loader,
// can fail; for no_memory.cc.
#ifndef DLX_TESTS_CAPI_NO_MEMORY_ALLOCATOR_H_
#define DLX_TESTS_CAPI_NO_MEMORY_ALLOCATOR_H_

#include <link.h>
#include <malloc.h>
#include <stdlib.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

namespace {

struct Code {
  uintptr_t first, last;
  bool has(const void* address) const {
    const auto at = reinterpret_cast<uintptr_t>(address);
    return at >= first && at < last;
  }
};
Code dlx_code, loader_code;

bool armed = false, with_loader = false, all_after = false;
long countdown = 0;  // allocations until the failing one
bool failed = false;

/// The blocks that libdlx.so allocated and nobody freed: a hash table, because it must not allocate.
constexpr size_t kSlots = size_t{1} << 16;
void* blocks[kSlots];
long live = 0;
char blocks_lock = 0;

struct BlocksLock {
  BlocksLock() {
    while (__atomic_test_and_set(&blocks_lock, __ATOMIC_ACQUIRE)) {
    }
  }
  ~BlocksLock() { __atomic_clear(&blocks_lock, __ATOMIC_RELEASE); }
};

size_t slot_of(const void* block) {
  return (reinterpret_cast<uintptr_t>(block) >> 4) * 0x9E3779B97F4A7C15 >> 48;
}

void* counted(const void* caller, void* block) {
  if (block == nullptr || !dlx_code.has(caller)) return block;
  const BlocksLock lock;
  size_t at = slot_of(block);
  while (blocks[at] != nullptr && blocks[at] != &blocks) at = (at + 1) % kSlots;
  blocks[at] = block;
  ++live;
  return block;
}

void forget(const void* block) {
  const BlocksLock lock;
  for (size_t at = slot_of(block); blocks[at] != nullptr; at = (at + 1) % kSlots) {
    if (blocks[at] != block) continue;
    blocks[at] = &blocks;  // was used: the search goes on behind it
    --live;
    return;
  }
}

bool refuse(const void* caller) {
  const bool own = dlx_code.has(caller);
  if (!armed || !(own || (with_loader && loader_code.has(caller)))) return false;
  if (countdown > 0) --countdown;
  if (countdown > 0 || (failed && !all_after)) return false;
  failed = true;
  errno = ENOMEM;
  return true;
}

int find_code(dl_phdr_info* info, size_t, void*) {
  Code* code = nullptr;
  if (std::strstr(info->dlpi_name, "libdlx") != nullptr) code = &dlx_code;
  if (std::strstr(info->dlpi_name, "ld-linux") != nullptr) code = &loader_code;
  if (code == nullptr) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    code->first = info->dlpi_addr + segment.p_vaddr;
    code->last = code->first + segment.p_memsz;
  }
  return 0;
}

}  // namespace

extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
void __libc_free(void*);

#define CALLER __builtin_extract_return_addr(__builtin_return_address(0))
void* malloc(size_t size) {
  return refuse(CALLER) ? nullptr : counted(CALLER, __libc_malloc(size));
}
void* calloc(size_t n, size_t size) {
  return refuse(CALLER) ? nullptr : counted(CALLER, __libc_calloc(n, size));
}
void* realloc(void* block, size_t size) {
  if (refuse(CALLER)) return nullptr;
  void* moved = __libc_realloc(block, size);
  if (moved != nullptr && block != nullptr) forget(block);
  return counted(CALLER, moved);
}
void* aligned_alloc(size_t alignment, size_t size) {
  return refuse(CALLER) ? nullptr : counted(CALLER, __libc_memalign(alignment, size));
}
void* memalign(size_t alignment, size_t size) {
  return refuse(CALLER) ? nullptr : counted(CALLER, __libc_memalign(alignment, size));
}
int posix_memalign(void** out, size_t alignment, size_t size) {
  if (refuse(CALLER)) return ENOMEM;
  *out = counted(CALLER, __libc_memalign(alignment, size));
  return *out == nullptr ? ENOMEM : 0;
}
void free(void* block) {
  if (block != nullptr) forget(block);
  __libc_free(block);
}
}

#endif  // DLX_TESTS_CAPI_NO_MEMORY_ALLOCATOR_H_
