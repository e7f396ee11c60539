// The code that frees memory when it is exhausted allocates nothing.
#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "src/device/readiness.h"
#include "src/device/registry.h"

extern "C" {
#include <cmocka.h>
}

namespace {

bool none_left = false;

// A failed allocation releases the objects of finished work and tries again.
void giving_back_takes_no_memory(void**) {
  none_left = true;
  dlx::release_all_held(*dlx::find_backend(kDLCPU));
  none_left = false;
}

}  // namespace

void* operator new(std::size_t size) {
  void* memory = none_left ? nullptr : std::malloc(size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

int main() {
  const CMUnitTest tests[] = {cmocka_unit_test(giving_back_takes_no_memory)};
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
