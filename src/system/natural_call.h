#ifndef DLX_SRC_SYSTEM_NATURAL_CALL_H_
#define DLX_SRC_SYSTEM_NATURAL_CALL_H_

#include <cstdint>
#include <cstring>

namespace dlx::sys {

/// Calls of C functions whose parameters are known at run time only: pointers and integers of up to
/// 64 bits, float and double. In the calling conventions below, every such argument has a register
/// or a word of the stack that depends on the arguments' order alone, so one C type of a function
/// serves all.

#if defined(_WIN32) && defined(__x86_64__)
#define DLX_NATURAL_WINDOWS 1  // a place has an integer and a floating-point register
#elif defined(__x86_64__) || defined(__aarch64__)
#define DLX_NATURAL_REGISTERS 1  // each kind fills its own registers: System V and AAPCS64
#endif

/// The arguments of one call, sorted into registers.
struct NaturalArguments {
#ifdef __aarch64__
  static constexpr int kRegisters = 8;
#else
  static constexpr int kRegisters = 6;
#endif
  static constexpr int kReals = 8;
  static constexpr int kWords = kRegisters + 8;  // and of the stack

  NaturalArguments() noexcept {  // not of the stack's words
    for (int i = 0; i < kRegisters; ++i) words[i] = 0;
  }

  int64_t words[kWords];
  double reals[kReals];
  int word_count = 0;
  int real_count = 0;
#ifdef DLX_NATURAL_WINDOWS
  unsigned is_real = 0;  ///< a bit for each of the first four arguments
#endif

  void add_word(int64_t word) noexcept { words[word_count++] = word; }
  void add_pointer(const void* pointer) noexcept {
    add_word(static_cast<int64_t>(reinterpret_cast<intptr_t>(pointer)));
  }
  void add_real(double real) noexcept {
#ifdef DLX_NATURAL_WINDOWS
    if (word_count < 4) is_real |= 1u << word_count;
    int64_t bits;
    std::memcpy(&bits, &real, sizeof bits);
    add_word(bits);
#else
    reals[real_count++] = real;
#endif
  }
  /// A float is the low half of the register of a double.
  void add_float(float value) noexcept {
    double real = 0;
    std::memcpy(&real, &value, sizeof value);
    add_real(real);
  }
};

/// How many arguments a function may have: words and floating-point numbers. 0 words: such calls are
/// not possible on this machine.
struct NaturalLimits {
  int words;
  int reals;  ///< 0: a floating-point number is a word too
};
constexpr NaturalLimits natural_limits() noexcept {
#if defined(DLX_NATURAL_WINDOWS)
  return {NaturalArguments::kWords, 0};
#elif defined(DLX_NATURAL_REGISTERS) && defined(__APPLE__) && defined(__aarch64__)
  return {NaturalArguments::kRegisters,
          NaturalArguments::kReals};  // small arguments are packed on the stack
#elif defined(DLX_NATURAL_REGISTERS)
  return {NaturalArguments::kWords, NaturalArguments::kReals};
#else
  return {0, 0};
#endif
}

int64_t call_for_word(const void* function, const NaturalArguments& arguments);
double call_for_real(const void* function, const NaturalArguments& arguments);

/// Arguments of which none is a floating-point number: in order they are sorted already.
struct WordArguments {
  const void*
      words;  ///< room for NaturalArguments::kWords, the first `count` of which are arguments
  int count;
};
int64_t call_for_word(const void* function, WordArguments arguments);
double call_for_real(const void* function, WordArguments arguments);

}  // namespace dlx::sys

#endif  // DLX_SRC_SYSTEM_NATURAL_CALL_H_
