/* Aligned memory on every system; Windows frees it by a function of its own. */
#ifndef DLX_TESTS_CAPI_PORTABLE_H_
#define DLX_TESTS_CAPI_PORTABLE_H_

#include <stdlib.h>

#if defined(_WIN32)
#include <malloc.h>
#endif

static inline void *allocate_aligned(size_t alignment, size_t size) {
#if defined(_WIN32)
  return _aligned_malloc(size, alignment);
#else
  return aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
#endif
}

static inline void free_aligned(void *memory) {
#if defined(_WIN32)
  _aligned_free(memory);
#else
  free(memory);
#endif
}

#endif /* DLX_TESTS_CAPI_PORTABLE_H_ */
