#ifndef DLX_TESTS_SRC_DRIVER_ABI_H_
#define DLX_TESTS_SRC_DRIVER_ABI_H_

#include <cstddef>
#include <type_traits>

/// Two declarations of a function are compatible: the same number of arguments, of the same sizes,
/// and pointers to numbers and handles of the same size. (One side may declare an address as a
/// number.)
template <typename Ours, typename Theirs>
constexpr bool same_value() {
  if constexpr (std::is_pointer_v<Ours> && std::is_pointer_v<Theirs>) {
    using OurTarget = std::remove_pointer_t<Ours>;
    using TheirTarget = std::remove_pointer_t<Theirs>;
    if constexpr ((std::is_scalar_v<OurTarget>) && (std::is_scalar_v<TheirTarget>)) {
      return sizeof(OurTarget) == sizeof(TheirTarget);
    }
    return std::is_scalar_v<OurTarget> == std::is_scalar_v<TheirTarget>;
  } else {
    return std::is_scalar_v<Ours> && std::is_scalar_v<Theirs> && sizeof(Ours) == sizeof(Theirs);
  }
}

template <typename Ours, typename Theirs>
struct SameCall : std::false_type {};
template <typename R, typename... A, typename S, typename... B>
struct SameCall<R(A...), S(B...)> {
  static constexpr bool value = [] {
    if constexpr (sizeof...(A) == sizeof...(B)) {
      return same_value<R, S>() && (same_value<A, B>() && ...);
    } else {
      return false;
    }
  }();
};
template <typename Ours, typename Theirs>
constexpr bool same_call = SameCall<Ours, Theirs>::value;

#define SAME_LAYOUT(ours, theirs) static_assert(sizeof(ours) == sizeof(theirs), #ours)
#define SAME_FIELD(ours, our_field, theirs, their_field)                                   \
  static_assert(offsetof(ours, our_field) == offsetof(theirs, their_field) &&              \
                    sizeof(ours::our_field) == sizeof(std::declval<theirs>().their_field), \
                #ours "::" #our_field)

#endif  // DLX_TESTS_SRC_DRIVER_ABI_H_
