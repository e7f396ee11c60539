// The unpacking of the embedded kernels: what is damaged is refused, and nothing is touched outside.
#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "src/gpu/lzma.h"
#include "tests/src/copy/random_copy.h"

extern "C" {
#include <cmocka.h>
}

namespace {

#include "src/gpu/images_source.inc"

using dlx_test::Choices;

/// A bundle of sources: OpenCL C, with literals, copies and repeated copies of all lengths.
struct Packed {
  explicit Packed(const uint64_t* bundle) : ends(bundle[0]), in(bundle[1 + bundle[0]]) {
    for (size_t k = 0; k < ends.size(); ++k) ends[k] = size += bundle[1 + k];
    std::memcpy(in.data(), bundle + 2 + bundle[0], in.size());
  }

  /// In memory of exactly the sizes, for sanitizers.
  bool unpack(size_t in_size, size_t out_size) {
    const std::vector<unsigned char> packed(in.begin(),
                                            in.begin() + static_cast<ptrdiff_t>(in_size));
    out.assign(out_size, 0);
    out.shrink_to_fit();
    return dlx::gpu::unpack_lzma(packed.data(), in_size, out.data(), out_size);
  }

  size_t size = 0;
  std::vector<size_t> ends;  // of the images
  std::vector<unsigned char> in, out;
};

void images_are_unpacked(void**) {
  Packed packed(k_source[0]);
  assert_true(packed.unpack(packed.in.size(), packed.size));
  size_t begin = 0;
  for (const size_t end : packed.ends) {
    assert_int_equal(std::strlen(reinterpret_cast<char*>(&packed.out[begin])), end - begin - 1);
    begin = end;
  }
}

void other_sizes_are_refused(void**) {
  Packed packed(k_source[0]);
  for (const size_t size :
       {size_t{0}, size_t{1}, packed.size / 2, packed.size - 1, packed.size + 1})
    assert_false(packed.unpack(packed.in.size(), size));
}

void truncated_images_are_refused(void**) {
  Packed packed(k_source[0]);
  for (size_t less = 1; less <= packed.in.size(); less += 1 + less / 16)
    assert_false(packed.unpack(packed.in.size() - less, packed.size));
  packed.in.push_back(0);
  assert_false(packed.unpack(packed.in.size(), packed.size));
}

void damaged_images_are_refused(void**) {
  Choices choices(1);
  const Packed whole(k_source[0]);
  for (size_t at = 0; at < whole.in.size(); at += static_cast<size_t>(1 + choices.below(32))) {
    Packed packed = whole;
    packed.in[at] ^= static_cast<unsigned char>(1 << choices.below(8));
    assert_false(packed.unpack(packed.in.size(), packed.size));
  }
  for (size_t back = 1; back <= 5; ++back) {  // what the decoder is left with at the end
    Packed packed = whole;
    packed.in[packed.in.size() - back] ^= 1;
    assert_false(packed.unpack(packed.in.size(), packed.size));
  }
  for (int round = 0; round < 200; ++round) {
    Packed packed = whole;
    for (unsigned char& byte : packed.in) byte = static_cast<unsigned char>(choices.next());
    packed.in[0] = 0;
    assert_false(packed.unpack(packed.in.size(), packed.size));
  }
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(images_are_unpacked),
      cmocka_unit_test(other_sizes_are_refused),
      cmocka_unit_test(truncated_images_are_refused),
      cmocka_unit_test(damaged_images_are_refused),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
