// zig links its C++ runtime into a library for macOS, and would export the runtime's operators new and
// delete with it, which the loader then merges with those of the whole process. These here stay inside.
// By their symbols, because <new> declares the operators as exported.
#if defined(__APPLE__) && defined(DLX_OWN_OPERATORS_NEW)
#include <cstdlib>
#include <new>

#define OPERATOR(symbol) __asm__(symbol) __attribute__((visibility("hidden")))

namespace {

void* allocate(size_t size, size_t alignment) noexcept {
  void* memory = nullptr;
  if (alignment <= 16) return std::malloc(size > 0 ? size : 1);
  return posix_memalign(&memory, alignment, size) == 0 ? memory : nullptr;
}

void* allocate_or_throw(size_t size, size_t alignment) {
  void* const memory = allocate(size, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

#define OPERATORS(one, new_, delete_)                                                       \
  void* one##_new(size_t) OPERATOR(new_ "m");                                               \
  void* one##_new(size_t size) { return allocate_or_throw(size, 1); }                       \
  void* one##_new_aligned(size_t, size_t) OPERATOR(new_ "mSt11align_val_t");                \
  void* one##_new_aligned(size_t size, size_t to) { return allocate_or_throw(size, to); }   \
  void* one##_try(size_t, const void*) OPERATOR(new_ "mRKSt9nothrow_t");                    \
  void* one##_try(size_t size, const void*) { return allocate(size, 1); }                   \
  void* one##_try_aligned(size_t, size_t) OPERATOR(new_ "mSt11align_val_tRKSt9nothrow_t");  \
  void* one##_try_aligned(size_t size, size_t to) { return allocate(size, to); }            \
  void one##_delete(void*) OPERATOR(delete_ "Pv");                                          \
  void one##_delete(void* memory) { std::free(memory); }                                    \
  void one##_delete_sized(void*) OPERATOR(delete_ "Pvm");                                   \
  void one##_delete_sized(void* memory) { std::free(memory); }                              \
  void one##_delete_aligned(void*) OPERATOR(delete_ "PvSt11align_val_t");                   \
  void one##_delete_aligned(void* memory) { std::free(memory); }                            \
  void one##_delete_both(void*) OPERATOR(delete_ "PvmSt11align_val_t");                     \
  void one##_delete_both(void* memory) { std::free(memory); }                               \
  void one##_delete_try(void*) OPERATOR(delete_ "PvRKSt9nothrow_t");                        \
  void one##_delete_try(void* memory) { std::free(memory); }                                \
  void one##_delete_try_aligned(void*) OPERATOR(delete_ "PvSt11align_val_tRKSt9nothrow_t"); \
  void one##_delete_try_aligned(void* memory) { std::free(memory); }

extern "C" {
OPERATORS(single, "__Znw", "__Zdl")
OPERATORS(array, "__Zna", "__Zda")
}
#endif
