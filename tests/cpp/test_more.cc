// dlx.hpp and arrow.hpp: empty handles, text, streams, std::mdspan and Arrow.
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <thread>
#include <vector>

#include "dlx/arrow.hpp"
#include "util.h"

namespace {

template <typename T>
std::string text(const T& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

// Each thread reads its own errors, and the last one releases the memory.
void threads_share_a_tensor(void**) {
  Numbers numbers;
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  {
    const dlx::Tensor tensor = numbers.wrap();
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&right, i, own = tensor] {
        const std::string got = "got " + std::to_string(100 + i);
        for (int turn = 0; turn < 200; ++turn) {
          try {
            own.select(0, i % 2).transpose().select(0, 100 + i);
          } catch (const dlx::InvalidArgument& error) {
            right += std::string(error.what()).find(got) != std::string::npos;
          }
        }
      });
    }
  }
  for (std::thread& thread : threads) thread.join();

  assert_int_equal(right.load(), 8 * 200);
  assert_int_equal(numbers.released, 1);
}

// The getters of an empty handle return nothing; its other functions throw.
void empty_handles_do_not_crash(void**) {
  dlx::Tensor none;
  Numbers numbers;

  assert_null(none.dltensor().data);
  assert_int_equal(none.ndim() + none.size() + none.nbytes() + none.dtype().bits(), 0);
  assert_true(none.shape().empty() && none.strides().empty());
  assert_false(none.readonly() || none.is_contiguous());
  assert_int_equal(none.device().type(), 0);
  assert_null(none.data());
  assert_throws<dlx::InvalidArgument>([&] { none.data<float>(); }, "empty");
  assert_throws<dlx::InvalidArgument>([&] { none.span<float>(); }, "empty");
  assert_throws<dlx::InvalidArgument>([&] { none.transpose(); }, "NULL");
  assert_throws<dlx::InvalidArgument>([&] { none.permute({}); }, "NULL");
  assert_throws<dlx::InvalidArgument>([&] { none.to_dlpack(); }, "NULL");
  assert_throws<dlx::InvalidArgument>([&] { none.copy_from(numbers.wrap()); }, "NULL");
  assert_throws<dlx::InvalidArgument>([&] { numbers.wrap().copy_from(none); }, "NULL");
  assert_throws<dlx::InvalidArgument>([&] { none.synchronize(); }, "NULL");
  assert_throws<dlx::InvalidArgument>([&] { dlx::to_arrow(none); }, "NULL");
}

void values_are_printed(void**) {
  Numbers numbers;
  const dlx::Tensor tensor = numbers.wrap();

  assert_string_equal(text(tensor).c_str(), "Tensor(int32, (2, 3), cpu)");
  assert_string_equal(text(tensor.select(0, 0).as_readonly()).c_str(),
                      "Tensor(int32, (3,), cpu, read-only)");
  assert_string_equal(text(dlx::Tensor()).c_str(), "Tensor()");
  assert_string_equal(text(dlx::Device(kDLCUDA, 1)).c_str(), "cuda:1");
  assert_string_equal(text(dlx::DType("uint8x4")).c_str(), "uint8x4");
}

void arrow_shares_the_memory(void**) {
  Numbers numbers;
  {
    dlx::Arrow arrow = dlx::to_arrow(numbers.wrap().select(0, 1));
    assert_int_equal(arrow.array.length, 3);
    const dlx::Tensor back = dlx::from_arrow(std::move(arrow));
    assert_null(arrow.array.release);  // NOLINT(bugprone-use-after-move): what the move left
    assert_ptr_equal(back.data(), numbers.values + 3);
    assert_true(back.readonly());
    dlx::Arrow unused = dlx::to_arrow(back);
    assert_throws<dlx::InvalidArgument>([] { dlx::from_arrow(dlx::Arrow()); }, "release");
    assert_int_equal(numbers.released, 0);
  }

  assert_int_equal(numbers.released, 1);
}

// A backend whose streams are numbers.
constexpr int32_t kType = kDLHexagon;
int64_t created = 0, destroyed = 0, waits = 0;

void register_backend() {
  dlx_backend backend{};
  backend.struct_size = sizeof backend;
  backend.device_count = [](void*) { return 1; };
  backend.allocate = [](int32_t, size_t size, size_t, void*) { return std::malloc(size); };
  backend.deallocate = [](int32_t, void* data, void*) { std::free(data); };
  backend.copy_from_host = [](int32_t, void*, uint64_t, const void*, size_t, int64_t, void*) {
    return 0;
  };
  backend.copy_to_host = [](int32_t, void*, const void*, uint64_t, size_t, int64_t, void*) {
    return 0;
  };
  backend.copy_on_device = [](int32_t, void*, uint64_t, int32_t, const void*, uint64_t, size_t,
                              int64_t, void*) { return 0; };
  backend.synchronize = [](int32_t, void*) { return 0; };
  backend.default_stream = 7;
  backend.stream_create = [](int32_t, int64_t* out, void*) {
    *out = 100 + ++created;
    return 0;
  };
  backend.stream_destroy = [](int32_t, int64_t, void*) { ++destroyed; };
  backend.stream_synchronize = [](int32_t, int64_t, void*) { return 0; };
  backend.event_record = [](int32_t, int64_t, void** out, void*) {
    *out = nullptr;
    return 0;
  };
  backend.event_wait = [](int32_t, int64_t, void*, void*) {
    ++waits;
    return 0;
  };
  backend.event_wait_on_host = [](int32_t, void*, void*) { return 0; };
  backend.event_query = [](int32_t, void*, int32_t* out, void*) {
    *out = 1;
    return 0;
  };
  backend.event_release = [](int32_t, void*, void*) {};
  dlx::check(dlx_register_backend(kType, &backend));
}

int64_t current() {
  int64_t stream = 0;
  dlx::check(dlx_stream_get_current(kType, 0, &stream));
  return stream;
}

void streams_are_destroyed_and_restored(void**) {
  register_backend();
  {
    const dlx::Device device(kType);
    dlx::Stream first(device), second(device);
    dlx::Stream moved = std::move(first);
    assert_int_equal(moved.get(), 101);
    second.wait(moved.get());
    assert_int_equal(waits, 1);
    moved.synchronize();
    {
      const dlx::CurrentStream outer(moved);
      assert_int_equal(current(), 101);
      {
        const dlx::CurrentStream inner(device, second.get());
        assert_int_equal(current(), 102);
      }
      assert_int_equal(current(), 101);
    }
    assert_int_equal(current(), 7);
  }

  assert_int_equal(destroyed, 2);
  assert_throws<dlx::InvalidArgument>([] { dlx::Stream cpu{dlx::Device()}; }, "stream");
}

#if defined(__cpp_lib_mdspan)
void elements_as_mdspan(void**) {
  Numbers numbers;
  const dlx::Tensor columns = numbers.wrap().transpose();
  const auto view = columns.mdspan<int32_t, 2>();

  assert_int_equal(view.extent(0), 3);
  assert_int_equal((view[2, 1]), 5);
  assert_ptr_equal(view.data_handle(), numbers.values);
  assert_throws<dlx::InvalidArgument>(
      [&] { columns.slice(0, DLX_SLICE_OPEN, DLX_SLICE_OPEN, -1).mdspan<int32_t, 2>(); }, "stride");
}
#endif

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(threads_share_a_tensor),
      cmocka_unit_test(empty_handles_do_not_crash),
      cmocka_unit_test(values_are_printed),
      cmocka_unit_test(arrow_shares_the_memory),
      cmocka_unit_test(streams_are_destroyed_and_restored),
#if defined(__cpp_lib_mdspan)
      cmocka_unit_test(elements_as_mdspan),
#endif
  };
  return cmocka_run_group_tests_name("cpp_more", tests, nullptr, nullptr);
}
