#include "src/copy/ways/buffers.h"

#include <atomic>

#include "src/system/system.h"

namespace dlx {
namespace {

constexpr size_t kBytes = Buffers::kFirstBytes + Tiling::kBufferBytes + 2 * Block::kBytes +
                          Shapes::kMax * sizeof(TileLists) + sizeof(Buffers::Offsets) +
                          2 * Buffers::kPlanBytes;

std::atomic<char*> shelves[16];

}  // namespace

Buffers::Buffers() noexcept {
  for (std::atomic<char*>& shelf : shelves) {
    data_ = shelf.exchange(nullptr, std::memory_order_acquire);
    if (data_ != nullptr) return;
  }
  data_ = static_cast<char*>(sys::allocate_pages(kBytes));
}

Buffers::~Buffers() {
  for (std::atomic<char*>& shelf : shelves) {
    char* empty = nullptr;
    if (shelf.compare_exchange_strong(empty, data_, std::memory_order_release)) return;
  }
  sys::free_pages(data_);
}

}  // namespace dlx
