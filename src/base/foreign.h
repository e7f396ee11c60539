// Calls of foreign functions: deleters, releases, and other callbacks.
#ifndef DLX_SRC_BASE_FOREIGN_H_
#define DLX_SRC_BASE_FOREIGN_H_

#include <atomic>
#include <type_traits>

namespace dlx {

/// How a language that reports errors by a state of the thread, such as Python, keeps the error that is
/// pending. Foreign functions run code of that language, which must not see the error and could clear it.
struct ErrorKeeper {
  static constexpr int kWords = 4;
  /// Moves the thread's error, if it has one, to `room`; false if the thread does not run the language.
  bool (*put_aside)(void** room) noexcept;
  /// Puts it back. An error that was left meanwhile is dropped: nobody called what left it.
  void (*put_back)(void** room) noexcept;
};
extern std::atomic<const ErrorKeeper*> error_keeper;  ///< NULL without a language

/// The pending error, put aside until put_back(). Not by a destructor: a foreign function may end the
/// thread, which then runs the language no more.
class PendingError {
 public:
  PendingError() noexcept {
    const ErrorKeeper* const keeper = error_keeper.load(std::memory_order_acquire);
    if (keeper != nullptr && keeper->put_aside(room_)) keeper_ = keeper;
  }
  void put_back() noexcept {
    if (keeper_ != nullptr) keeper_->put_back(room_);
  }

 private:
  const ErrorKeeper* keeper_ = nullptr;
  void* room_[ErrorKeeper::kWords];
};

/// Calls a foreign function. No other way is allowed (tests/dev/test_rules.py).
template <typename Result, typename... Parameters, typename... Arguments>
Result call_foreign(Result (*function)(Parameters...), Arguments... arguments) {
  PendingError pending;
  if constexpr (std::is_void_v<Result>) {
    function(arguments...);
    pending.put_back();
  } else {
    const Result result = function(arguments...);
    pending.put_back();
    return result;
  }
}

/// The same inside a root's release_memory, which runs with the error put aside.
template <typename Result, typename... Parameters, typename... Arguments>
Result call_with_error_aside(Result (*function)(Parameters...), Arguments... arguments) {
  return function(arguments...);
}

}  // namespace dlx

#endif  // DLX_SRC_BASE_FOREIGN_H_
