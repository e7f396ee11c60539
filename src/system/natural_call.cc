#include "src/system/natural_call.h"

namespace dlx::sys {
namespace {

using W = int64_t;

/// The words may have been written as another member of a union.
struct Words {
  const void* first;

  W operator[](int index) const noexcept {
    W word;
    std::memcpy(&word, static_cast<const char*>(first) + sizeof(W) * static_cast<size_t>(index),
                sizeof word);
    return word;
  }
};

#ifdef DLX_NATURAL_WINDOWS

/// Each of the first four arguments has an integer and a floating-point register of its own.
template <bool kReal>
auto as_argument(W word) noexcept {
  if constexpr (kReal) {
    double real;
    std::memcpy(&real, &word, sizeof real);
    return real;
  } else {
    return word;
  }
}

/// `is_real` has a bit for each of the first four arguments, as kBits once it is found.
template <typename Result, unsigned kBits = 0>
Result invoke_with(const void* function, Words w, unsigned is_real) {
  if constexpr (kBits < 15) {
    if (is_real != kBits) return invoke_with<Result, kBits + 1>(function, w, is_real);
  }
  auto call = [&](auto first, auto second, auto third, auto fourth) {
    using Function = Result (*)(decltype(first), decltype(second), decltype(third),
                                decltype(fourth), W, W, W, W, W, W, W, W, W, W);
    Function volatile called = reinterpret_cast<Function>(const_cast<void*>(function));
    return called(first, second, third, fourth, w[4], w[5], w[6], w[7], w[8], w[9], w[10], w[11],
                  w[12], w[13]);
  };
  return call(as_argument < (kBits & 1) != 0 > (w[0]), as_argument < (kBits & 2) != 0 > (w[1]),
              as_argument < (kBits & 4) != 0 > (w[2]), as_argument < (kBits & 8) != 0 > (w[3]));
}

template <typename Result>
Result invoke(const void* function, WordArguments a) {
  return invoke_with<Result>(function, Words{a.words}, 0);
}

template <typename Result>
Result invoke(const void* function, const NaturalArguments& a) {
  return invoke_with<Result>(function, Words{a.words}, a.is_real);
}

#elif defined(DLX_NATURAL_REGISTERS)

template <typename Result, typename... Arguments>
Result invoke_with(const void* function, Arguments... arguments) {
  using Function = Result (*)(Arguments...);
  // volatile: a compiler that saw the callee would take the other type for undefined behaviour.
  Function volatile called = reinterpret_cast<Function>(const_cast<void*>(function));
  return called(arguments...);
}

/// With the words in registers and on the stack. Those that the function does not have as parameters
/// may hold anything.
template <typename Result, typename... Reals>
[[gnu::noinline]] Result invoke_with_stack(const void* function, Words w, Reals... reals) {
#ifdef __aarch64__
  return invoke_with<Result>(function, reals..., w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7],
                             w[8], w[9], w[10], w[11], w[12], w[13], w[14], w[15]);
#else
  return invoke_with<Result>(function, reals..., w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7],
                             w[8], w[9], w[10], w[11], w[12], w[13]);
#endif
}

template <typename Result, typename... Reals>
Result invoke_with_words(const void* function, WordArguments a, Reals... reals) {
  const Words w{a.words};
  if (a.count > NaturalArguments::kRegisters) {
    return invoke_with_stack<Result>(function, w, reals...);
  }
#ifdef __aarch64__
  return invoke_with<Result>(function, reals..., w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7]);
#else
  return invoke_with<Result>(function, reals..., w[0], w[1], w[2], w[3], w[4], w[5]);
#endif
}

template <typename Result>
Result invoke(const void* function, WordArguments a) {
  return invoke_with_words<Result>(function, a);
}

template <typename Result>
Result invoke(const void* function, const NaturalArguments& a) {
  const WordArguments words{a.words, a.word_count};
  if (a.real_count == 0) return invoke_with_words<Result>(function, words);
  const double* r = a.reals;
  return invoke_with_words<Result>(function, words, r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7]);
}

#else

template <typename Result, typename Arguments>
Result invoke(const void*, const Arguments&) {
  return Result();
}

#endif

}  // namespace

int64_t call_for_word(const void* function, const NaturalArguments& arguments) {
  return invoke<int64_t>(function, arguments);
}

double call_for_real(const void* function, const NaturalArguments& arguments) {
  return invoke<double>(function, arguments);
}

int64_t call_for_word(const void* function, WordArguments arguments) {
  return invoke<int64_t>(function, arguments);
}

double call_for_real(const void* function, WordArguments arguments) {
  return invoke<double>(function, arguments);
}

}  // namespace dlx::sys
