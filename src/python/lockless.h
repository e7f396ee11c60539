#ifndef DLX_SRC_PYTHON_LOCKLESS_H_
#define DLX_SRC_PYTHON_LOCKLESS_H_

#include <atomic>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace dlx::py {

/// What is kept about an interpreter and read by all of its threads, at once where there is no GIL.

/// Held by the one thread that changes something: for some instructions, and never around a call
/// into the interpreter that might stop the thread.
class Changing {
 public:
  Changing() noexcept;
  ~Changing();
  Changing(const Changing&) = delete;
  Changing& operator=(const Changing&) = delete;
};

/// A list that only grows, read without a lock.
template <typename T, int kSize>
class GrowingList {
 public:
  T* begin() noexcept { return items_; }
  T* end() noexcept { return items_ + count_.load(std::memory_order_acquire); }

  /// Lets `fill` write one more item; NULL, and nothing happens, if there is no room.
  template <typename Fill>
  T* add(Fill&& fill) noexcept {
    const Changing changing;
    const int count = count_.load(std::memory_order_relaxed);
    if (count == kSize) return nullptr;
    fill(&items_[count]);
    count_.store(count + 1, std::memory_order_release);
    return &items_[count];
  }

  /// Nobody else may use the list meanwhile.
  void clear() noexcept { count_.store(0, std::memory_order_relaxed); }

 private:
  T items_[kSize] = {};
  std::atomic<int> count_{0};
};

/// A value of some words, the first of which is its key: read without a lock, and seldom changed. A
/// reader that meets a change reads again.
template <typename T>
class Published {
  static_assert(std::is_trivially_copyable<T>::value && sizeof(T) % sizeof(uint64_t) == 0,
                "read by words");

 public:
  /// False if the key is another; what `out` holds means nothing then.
  bool find(const void* key, T* out) const noexcept {
    for (;;) {
      const uint32_t version = version_.load(std::memory_order_acquire);
      const bool found =
          words_[0].load(std::memory_order_acquire) == reinterpret_cast<uintptr_t>(key);
      if (found) copy(out);
      if (version % 2 == 0 && version_.load(std::memory_order_relaxed) == version) return found;
    }
  }

  /// Both need a Changing.
  [[gnu::noinline]] T get() const noexcept {
    T value;
    copy(&value);
    return value;
  }
  [[gnu::noinline]] void set(const T& value) noexcept {
    uint64_t words[kWords];
    std::memcpy(words, &value, sizeof words);
    const uint32_t version = version_.load(std::memory_order_relaxed);
    // Whoever reads one of the new words finds this version, too. (Fences would say the same, but
    // ThreadSanitizer knows none.)
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
