#ifndef DLX_SRC_BASE_MEMORY_H_
#define DLX_SRC_BASE_MEMORY_H_

#include <cstdlib>

namespace dlx {

/// Deleter of a std::unique_ptr to memory from malloc() or posix_memalign().
struct Free {
  void operator()(void* data) const noexcept { std::free(data); }
};

}  // namespace dlx

#endif  // DLX_SRC_BASE_MEMORY_H_
