#ifndef DLX_SRC_PYTHON_LOCKLESS_H_
#define DLX_SRC_PYTHON_LOCKLESS_H_

#include <atomic>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace dlx::py {

/// Data that all threads of an interpreter read without a lock, at the same time where there is no
/// GIL.

/// The one lock of writers. Held for a few instructions, never around a call into the interpreter
/// that might stop the thread.
class WriteLock {
 public:
  WriteLock() noexcept;
  ~WriteLock();
  WriteLock(const WriteLock&) = delete;
  WriteLock& operator=(const WriteLock&) = delete;
};

/// A list that only grows.
template <typename T, int kSize>
class GrowingList {
 public:
  T* begin() noexcept { return items_; }
  T* end() noexcept { return items_ + count_.load(std::memory_order_acquire); }

  /// Appends an item, which `fill` writes. NULL, without calling `fill`, if the list is full.
  template <typename Fill>
  T* add(Fill&& fill) noexcept {
    const WriteLock lock;
    const int count = count_.load(std::memory_order_relaxed);
    // not covered: more than a table has room for
    if (count == kSize) return nullptr;
    fill(&items_[count]);
    count_.store(count + 1, std::memory_order_release);
    return &items_[count];
  }

  /// No other thread may use the list meanwhile.
  void clear() noexcept { count_.store(0, std::memory_order_relaxed); }

 private:
  T items_[kSize] = {};
  std::atomic<int> count_{0};
};

/// A rarely changed value of a few words, the first of which is its key (a seqlock): a reader that
/// meets a change reads again.
template <typename T>
class Published {
  static_assert(std::is_trivially_copyable<T>::value && sizeof(T) % sizeof(uint64_t) == 0,
                "must consist of whole words");

 public:
  /// False if the key differs; `out` is undefined then.
  bool find(const void* key, T* out) const noexcept {
    for (;;) {
      const uint32_t version = version_.load(std::memory_order_acquire);
      const bool found =
          words_[0].load(std::memory_order_acquire) == reinterpret_cast<uintptr_t>(key);
      if (found) copy(out);
      // not covered: another thread, at that moment
      if (version % 2 == 0 && version_.load(std::memory_order_relaxed) == version) return found;
    }
  }

  /// Both need a WriteLock.
  [[gnu::noinline]] T get() const noexcept {
    T value;
    copy(&value);
    return value;
  }
  [[gnu::noinline]] void set(const T& value) noexcept {
    uint64_t words[kWords];
    std::memcpy(words, &value, sizeof words);
    const uint32_t version = version_.load(std::memory_order_relaxed);
    // A reader of a new word also sees this version. (Fences would do, but ThreadSanitizer does not
    // support them.)
    version_.store(version + 1, std::memory_order_relaxed);
    for (size_t i = 0; i < kWords; ++i) words_[i].store(words[i], std::memory_order_release);
    version_.store(version + 2, std::memory_order_release);
  }

 private:
  static constexpr size_t kWords = sizeof(T) / sizeof(uint64_t);

  void copy(T* out) const noexcept {
    for (size_t i = 0; i < kWords; ++i) {
      const uint64_t word = words_[i].load(std::memory_order_acquire);
      std::memcpy(reinterpret_cast<char*>(out) + i * sizeof word, &word, sizeof word);
    }
  }

  std::atomic<uint32_t> version_{0};
  std::atomic<uint64_t> words_[kWords] = {};
};

}  // namespace dlx::py

#endif  // DLX_SRC_PYTHON_LOCKLESS_H_
