// Checks of the order between streams, shared by the files of the device suite.
#ifndef DLX_TESTS_DEVICE_STREAM_CHECKS_H_
#define DLX_TESTS_DEVICE_STREAM_CHECKS_H_

#include <functional>

#include "tests/device/suite.h"

namespace dlx_test {

inline constexpr int32_t kSevens = 0x07070707, kNines = 0x09090909;

/// All elements equal `value`.
inline bool holds(World& world, const Tensor& tensor, int32_t value) {
  for (const int32_t element : world.download(tensor)) {
    if (element != value) return false;
  }
  return true;
}

/// The current value of the memory's first byte, read without any synchronisation.
inline bool is_now(World& world, const Tensor& tensor, unsigned char value) {
  unsigned char got = 0;
  CHECK(world.fake->peek(reinterpret_cast<uint64_t>(tensor.data()), &got, 1));
  return got == value;
}

/// A consumer writes on its own stream, which `order` makes wait for all other work: its value
/// remains.
inline void consumer_writes_last(World& world, const Tensor& tensor,
                                 const std::function<void(int64_t consumer)>& order,
                                 int32_t device = 0) {
  void* consumer = nullptr;
  world.foreign(device, [&] { consumer = world.foreign_stream(); });
  order(number(consumer));
  world.foreign(device, [&] {
    world.foreign_set(tensor.data(), 9, 1024, consumer);
    world.foreign_wait(consumer);
  });
  world.finish();  // other work that was not waited for would come now
  CHECK(holds(world, tensor, kNines));
  world.foreign(device, [&] { world.foreign_destroy(consumer); });
}

}  // namespace dlx_test

#endif  // DLX_TESTS_DEVICE_STREAM_CHECKS_H_
