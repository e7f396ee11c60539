// Memory. A device address is in a range that the CPU cannot access; its content is in a second
// range, at a fixed distance, which only the fake uses.
#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "tests/stubs/engine.h"

namespace fake {
namespace {

// Size of the address range. No address is used twice (but see reuse_addresses). The thread
// sanitizer leaves less address space.
#if defined(__SANITIZE_THREAD__)
constexpr size_t kArena = size_t{1} << 36;
#else
constexpr size_t kArena = size_t{1} << 40;
#endif
constexpr size_t kPage = 4096;
constexpr size_t kFilled = size_t{1} << 20;  // new memory up to this size holds 0xCD

char* reserve(int protection) {
  void* result =
      mmap(nullptr, kArena, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (result == MAP_FAILED) die("cannot reserve addresses");
  return static_cast<char*>(result);
}

struct Arena {
  char* closed = reserve(PROT_NONE);
  char* open = reserve(PROT_READ | PROT_WRITE);
  size_t used = kPage;

  /// Addresses for `size` bytes, followed by an unused page.
  uint64_t take(size_t size) {
    const size_t rounded = (size + kPage - 1) / kPage * kPage + kPage;
    if (rounded > kArena - used) die("out of addresses");
    const uint64_t result = reinterpret_cast<uint64_t>(closed) + used;
    used += rounded;
    return result;
  }
  bool contains(uint64_t address) const {
    return address - reinterpret_cast<uint64_t>(closed) < kArena;
  }
  char* shadow(uint64_t address) const {
    return open + (address - reinterpret_cast<uint64_t>(closed));
  }
};

Arena& arena() {
  static auto* arena = new Arena;
  return *arena;
}

void* map_host(size_t size) {
  void* result = mmap(nullptr, size + kPage, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return result == MAP_FAILED ? nullptr : result;
}

void give_back(Allocation* allocation) {
  Engine& e = engine();
  allocation->live = false;
  allocation->freed = true;
  allocation->gone = true;
  void* data = reinterpret_cast<void*>(allocation->start);
  if (allocation->kind == Memory::kHost) {
    e.host_used -= allocation->size;
  } else {
    allocation->context->device->used -= allocation->size;
  }
  // The pages are freed; the addresses stay inaccessible, so that a use after free is detected.
  if (is_device_only(allocation)) {
    madvise(arena().shadow(allocation->start), allocation->size, MADV_DONTNEED);
  } else {
    mprotect(data, allocation->size, PROT_NONE);
    madvise(data, allocation->size, MADV_DONTNEED);
  }
}

bool concurrent(const Device* device) {
  const auto found = device->attributes.find(kConcurrentManaged);
  return found == device->attributes.end() || found->second != 0;
}

void protect_managed(Device* device, int protection) {
  if (concurrent(device)) return;
  for (auto& [start, allocation] : engine().memory) {
    if (allocation.kind == Memory::kManaged && allocation.live &&
        allocation.context->device == device) {
      mprotect(reinterpret_cast<void*>(start), allocation.size, protection);
    }
  }
}

/// Whether a copy may use that address: it must be in memory that was not freed.
bool is_usable(uint64_t address, size_t size) {
  const Allocation* allocation = find_memory(address);
  if (allocation == nullptr) return !arena().contains(address);
  return !allocation->freed && size <= allocation->size - (address - allocation->start);
}

}  // namespace

bool is_device_only(const Allocation* allocation) {
  return allocation->kind == Memory::kDevice || allocation->kind == Memory::kPool;
}

Allocation* find_memory(uint64_t address) {
  auto& memory = engine().memory;
  auto found = memory.upper_bound(address);
  if (found == memory.begin()) return nullptr;
  --found;
  Allocation* allocation = &found->second;
  return address - allocation->start < allocation->size ? allocation : nullptr;
}

int allocate(Context* context, Memory kind, size_t size, uint64_t* out) {
  Engine& e = engine();
  if (size == 0) return kInvalidValue;
  Device* device = context->device;
  size_t& used = kind == Memory::kHost ? e.host_used : device->used;
  const size_t limit = kind == Memory::kHost ? e.host_memory : device->memory;
  if (size > limit - used) return kOutOfMemory;
  char* data;
  if (kind == Memory::kHost || kind == Memory::kManaged) {
    data = static_cast<char*>(map_host(size));
    if (data == nullptr) return kOutOfMemory;
    *out = reinterpret_cast<uint64_t>(data);
  } else {
    *out = arena().take(size);
    data = arena().shadow(*out);
  }
  std::memset(data, 0xCD, std::min(size, kFilled));
  used += size;
  Allocation allocation;
  allocation.start = *out;
  allocation.size = size;
  allocation.kind = kind;
  allocation.context = context;
  e.memory[*out] = allocation;
  return kOk;
}

int release(uint64_t address, bool host) {
  if (address == 0) return kOk;
  Engine& e = engine();
  const auto found = e.memory.find(address);
  if (found == e.memory.end()) return kInvalidValue;
  Allocation* allocation = &found->second;
  if (host != (allocation->kind == Memory::kHost)) return kInvalidValue;
  if (allocation->freed) {
    ++e.mistakes.double_frees;
    return kInvalidValue;
  }
  // A real driver waits for more here. But dlx must not rely on that: with a pool, the memory could
  // already have another owner.
  const int error = wait_before_free(address, allocation->size);
  give_back(allocation);
  return error;
}

void reuse_addresses() {
  Engine& e = engine();
  if (!e.pending.empty()) die("fake_reuse_addresses: work is pending");
  for (auto each = e.memory.begin(); each != e.memory.end();) {
    if (!arena().contains(each->first)) {
      ++each;
      continue;
    }
    if (!each->second.freed) die("fake_reuse_addresses: memory is in use");
    each = e.memory.erase(each);
  }
  arena().used = kPage;
}

int pool_create(Device* device, Pool** out) {
  *out = engine().add<Pool>();
  (*out)->device = device;
  return kOk;
}

Pool* default_pool(Device* device) {
  if (device->default_pool == nullptr) {
    pool_create(device, &device->default_pool);
    device->default_pool->standard = true;
  }
  return device->default_pool;
}

int pool_destroy(Pool* pool) {
  if (pool->standard) return kInvalidValue;
  pool->alive = false;  // what it gave out lives on
  return kOk;
}

int allocate_async(Pool* pool, Stream* stream, size_t size, uint64_t* out) {
  if (pool->device != stream->context->device) return kInvalidValue;
  if (const int error = allocate(stream->context, Memory::kPool, size, out); error != kOk)
    return error;
  Allocation* allocation = find_memory(*out);
  allocation->pool = pool;
  allocation->live = false;
  return submit(stream, [allocation] {
    allocation->live = !allocation->gone;
    return static_cast<int>(kOk);
  });
}

int release_async(Stream* stream, uint64_t address) {
  if (address == 0) return kOk;
  Engine& e = engine();
  const auto found = e.memory.find(address);
  if (found == e.memory.end() || found->second.kind != Memory::kPool) return kInvalidValue;
  Allocation* allocation = &found->second;
  if (allocation->freed) {
    ++e.mistakes.double_frees;
    return kInvalidValue;
  }
  const int error = submit(stream, [allocation] {
    if (!allocation->live) {
      ++engine().mistakes.used_when_dead;
      return static_cast<int>(kIllegalAddress);
    }
    give_back(allocation);
    return static_cast<int>(kOk);
  });
  if (error == kOk) allocation->freed = true;
  return error;
}

int register_host(Context* context, void* address, size_t size) {
  const auto start = reinterpret_cast<uint64_t>(address);
  if (size == 0 || find_memory(start) != nullptr || find_memory(start + size - 1) != nullptr) {
    return 712;  // already registered
  }
  Allocation allocation;
  allocation.start = start;
  allocation.size = size;
  allocation.kind = Memory::kRegistered;
  allocation.context = context;
  engine().memory[start] = allocation;
  return kOk;
}

int unregister_host(void* address) {
  auto& memory = engine().memory;
  const auto found = memory.find(reinterpret_cast<uint64_t>(address));
  if (found == memory.end() || found->second.kind != Memory::kRegistered) return 713;
  memory.erase(found);
  return kOk;
}

// ---- reaching it ----------------------------------------------------------------------------------

Reach::Reach(uint64_t address, size_t size) : data_(reinterpret_cast<char*>(address)) {
  allocation_ = find_memory(address);
  auto& mistakes = engine().mistakes;
  if (allocation_ == nullptr) {
    if (arena().contains(address)) {
      ++mistakes.out_of_bounds;
      error_ = kIllegalAddress;
    }
    return;  // memory of the CPU, for copies
  }
  if (!allocation_->live) {
    ++mistakes.used_when_dead;
    error_ = kIllegalAddress;
  } else if (size > allocation_->size - (address - allocation_->start)) {
    ++mistakes.out_of_bounds;
    error_ = kIllegalAddress;
  } else if (is_device_only(allocation_)) {
    data_ = arena().shadow(address);
  } else if (allocation_->kind == Memory::kManaged) {
    mprotect(reinterpret_cast<void*>(allocation_->start), allocation_->size,
             PROT_READ | PROT_WRITE);
  }
}

Reach::~Reach() {
  if (allocation_ != nullptr && allocation_->kind == Memory::kManaged && allocation_->live) {
    close_managed(allocation_->context->device);
  }
}

void close_managed(Device* device) { protect_managed(device, PROT_NONE); }

void open_managed(Device* device) {
  for (const WorkPtr& work : engine().pending) {
    if (work->context->device == device && work->run) return;
  }
  protect_managed(device, PROT_READ | PROT_WRITE);
}

int copy(Stream* stream, uint64_t dst, uint64_t src, size_t size) {
  if (size == 0) return kOk;
  if (!is_usable(dst, size) || !is_usable(src, size)) return kInvalidValue;
  return submit(stream,
                [dst, src, size] {
                  const Reach to(dst, size), from(src, size);
                  if (to.error() != kOk || from.error() != kOk)
                    return static_cast<int>(kIllegalAddress);
                  std::memmove(to.data(), from.data(), size);
                  return static_cast<int>(kOk);
                },
                {dst, src});
}

int fill(Stream* stream, uint64_t dst, unsigned value, size_t width, size_t count) {
  if (count == 0) return kOk;
  if (!is_usable(dst, width * count)) return kInvalidValue;
  return submit(stream,
                [=] {
                  const Reach to(dst, width * count);
                  if (to.error() != kOk) return to.error();
                  for (size_t k = 0; k < count; ++k)
                    std::memcpy(to.data() + k * width, &value, width);
                  return static_cast<int>(kOk);
                },
                {dst});
}

}  // namespace fake
