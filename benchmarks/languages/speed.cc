// Prints the nanoseconds of an exchange and of a copy.
#include <chrono>
#include <cstdio>
#include <dlx/dlx.hpp>

namespace {

template <typename Call>
double best(int count, Call&& call) {
  using Clock = std::chrono::steady_clock;
  double least = 1e30;
  for (int round = 0; round < 6; ++round) {
    const Clock::time_point start = Clock::now();
    for (int i = 0; i < count; ++i) call();
    const std::chrono::duration<double, std::nano> spent = Clock::now() - start;
    if (spent.count() / count < least) least = spent.count() / count;
  }
  return least;
}

}  // namespace

int main() {
  float small[6] = {};
  const double exchange = best(200000, [&] {
    dlx::Tensor tensor = dlx::Tensor::wrap(small, {2, 3}, nullptr);
    const dlx::Managed managed = tensor.to_dlpack();
    tensor = {};
  });
  const dlx::Tensor columns = dlx::Tensor::empty({512, 512}, "float32").transpose();
  dlx::Tensor packed = dlx::Tensor::empty({512, 512}, "float32");
  std::printf("%.0f %.0f\n", exchange, best(200, [&] { packed.copy_from(columns); }));
}
