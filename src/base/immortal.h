#ifndef DLX_SRC_BASE_IMMORTAL_H_
#define DLX_SRC_BASE_IMMORTAL_H_

#include <new>
#include <utility>

namespace dlx {

/// An object in static storage that is never destroyed, because threads and deleters may use it after
/// exit() has begun. Making it allocates nothing unless its constructor does.
template <typename T>
class Immortal {
 public:
  template <typename... Arguments>
  explicit Immortal(Arguments&&... arguments) {
    new (place_) T(std::forward<Arguments>(arguments)...);
  }
  T& get() noexcept { return *std::launder(reinterpret_cast<T*>(place_)); }

 private:
  alignas(T) unsigned char place_[sizeof(T)];
};

}  // namespace dlx

#endif  // DLX_SRC_BASE_IMMORTAL_H_
