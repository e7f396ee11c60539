#ifndef DLX_TESTS_SRC_GPU_GUARDED_H_
#define DLX_TESTS_SRC_GPU_GUARDED_H_

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>

namespace dlx_test {

/// Memory between two pages without access.
class Guarded {
 public:
  explicit Guarded(size_t size) : size_((size + kPage - 1) / kPage * kPage) {
    void* all = mmap(nullptr, size_ + 2 * kPage, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED) throw std::runtime_error("no memory");
    base_ = static_cast<char*>(all) + kPage;
    mprotect(base_, size_, PROT_READ | PROT_WRITE);
  }
  ~Guarded() { munmap(base_ - kPage, size_ + 2 * kPage); }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;

  char* begin() const { return base_; }
  char* end() const { return base_ + size_; }

 private:
  static constexpr size_t kPage = 4096;
  size_t size_;
  char* base_;
};

}  // namespace dlx_test

#endif  // DLX_TESTS_SRC_GPU_GUARDED_H_
