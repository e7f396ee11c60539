// The rules that the fake libcuda models, one by one: calls, contexts and kernels.
#include "tests/stubs/fake_cuda_fixture.h"

namespace {

using namespace dlx_test;

// ---- initialisation, contexts -----------------------------------------------------------------------

/// 3 before cuInit and in a forked child, 4 after shutdown, 34 from the stub.
void calls_need_an_initialised_driver(void**) {
  passes([](Cuda& cuda) {
    int count = 0;
    CHECK_EQUAL(cuda.device_count(&count), 3);
    CHECK_EQUAL(cuda.init(0), 0);
    CHECK_EQUAL(cuda.device_count(&count), 0);
    CHECK_EQUAL(count, 1);
    CHECK(run_forked([&] {
            CHECK_EQUAL(cuda.device_count(&count), 3);
            CHECK_EQUAL(cuda.init(0), 3);
          }).passed());
    cuda.shutdown();
    CHECK_EQUAL(cuda.device_count(&count), 4);
    cuda.set_stub(1);
    CHECK_EQUAL(cuda.init(0), 34);
  });
}

/// Each thread has a stack of contexts. Calls without a context fail, and so do launches and
/// records in the wrong context.
void contexts_are_of_the_thread(void**) {
  passes([](Cuda& cuda) {
    const cu::Context first = cuda.start("eager", 2);
    cu::DevicePointer data = 0;
    std::thread([&] { CHECK_EQUAL(cuda.allocate(&data, 8), 201); }).join();
    const cu::Stream stream = cuda.stream();
    const cu::Context second = cuda.retain(1);
    cu::Context current = nullptr;
    CHECK_EQUAL(cuda.context_current(&current), 0);
    CHECK(current == second && current != first);
    cu::Event event = nullptr;
    CHECK_EQUAL(cuda.event_create(&event, cu::kEventDisableTiming), 0);
    CHECK_EQUAL(cuda.event_record(event, stream), 400);  // of the first device
    CHECK_EQUAL(cuda.context_pop(&current), 0);
    CHECK_EQUAL(cuda.event_record(event, number(1)), 400);
    CHECK_EQUAL(cuda.context_pop(&current), 0);
    CHECK_EQUAL(cuda.context_pop(&current), 201);
    CHECK_EQUAL(cuda.report().primary_retains, 2);
  });
}

void superseded_symbols_abort(void**) {
  aborts("cuMemAlloc is the ABI of CUDA 3", [](Cuda& cuda) {
    void (*old)() = nullptr;
    cuda.load("cuMemAlloc", &old);
    old();
  });
}

void stale_handles_abort(void**) {
  aborts("was destroyed", [](Cuda& cuda) {
    cuda.start("eager");
    const cu::Stream stream = cuda.stream();
    CHECK_EQUAL(cuda.stream_destroy(stream), 0);
    cuda.stream_synchronize(stream);
  });
  aborts("is no event", [](Cuda& cuda) {
    cuda.start("eager");
    cuda.event_query(reinterpret_cast<cu::Event>(cuda.stream()));
  });
}

// ---- calls ------------------------------------------------------------------------------------------

void calls_can_be_made_to_fail(void**) {
  passes([](Cuda& cuda) {
    cuda.start("eager");
    cuda.fail_nth_call(2, 999);
    const cu::DevicePointer data = cuda.memory(64);
    CHECK_EQUAL(cuda.free(data), 999);
    CHECK(std::strcmp(cuda.failed_call(), "cuMemFree_v2") == 0);
    CHECK_EQUAL(cuda.report().allocations, 1);
    CHECK_EQUAL(cuda.free(data), 0);
    CHECK_EQUAL(cuda.calls("cuMemFree_v2"), 2);
    const char* text = nullptr;
    CHECK_EQUAL(cuda.error_name(999, &text), 0);
    CHECK(std::strcmp(text, "CUDA_ERROR_UNKNOWN") == 0);
  });
}

// ---- kernels ----------------------------------------------------------------------------------------

/// The kernel declares its arguments with the size of the struct.
std::string ptx() {
  return ".version 5.0\n.target sm_50\n.address_size 64\n"
         ".visible .entry other(\n\t.param .u64 a\n)\n{ ret; }\n"
         ".visible .entry copy(\n\t.param .u64 .ptr .global copy_param_0,\n"
         "\t.param .u64 copy_param_1,\n\t.param .align 8 .b8 copy_param_2[" +
         std::to_string(sizeof(dlx_strided_copy)) + "]\n)\n{ ret; }\n";
}

struct Launched {
  cu::Function function = nullptr;
  cu::DevicePointer dst = 0, src = 0;
  dlx_strided_copy copy{};
  int launch(Cuda& cuda, cu::Stream stream, unsigned threads = 32) {
    void* arguments[] = {&dst, &src, &copy};
    const int result = cuda.launch(function, 1, 1, 1, threads, 1, 1, 0, stream, arguments, nullptr);
    copy = {};  // the driver has its own
    return result;
  }
};

/// A transpose of 3 x 2 items of two bytes.
Launched transpose(Cuda& cuda) {
  Launched launched;
  cu::Module module = nullptr;
  CHECK_EQUAL(cuda.module_load(&module, ptx().c_str()), 0);
  CHECK_EQUAL(cuda.module_function(&launched.function, module, "cop"), 500);
  CHECK_EQUAL(cuda.module_function(&launched.function, module, "copy"), 0);
  launched.src = cuda.memory(12);
  launched.dst = cuda.memory(12);
  launched.copy.axes = 2;
  launched.copy.item = 2;
  const int64_t extent[] = {3, 2}, dst_step[] = {2, 6}, src_step[] = {4, 2};
  for (int k = 0; k < 2; ++k) {
    launched.copy.extent[k] = extent[k];
    launched.copy.dst_step[k] = dst_step[k];
    launched.copy.src_step[k] = src_step[k];
  }
  return launched;
}

void kernels_do_what_their_parameters_say(void**) {
  passes([](Cuda& cuda) {
    cuda.start("latest");
    Launched launched = transpose(cuda);
    const uint16_t items[] = {1, 2, 3, 4, 5, 6};
    CHECK(cuda.poke(launched.src, items, sizeof items));
    CHECK_EQUAL(launched.launch(cuda, nullptr, 0), 1);
    CHECK_EQUAL(launched.launch(cuda, nullptr, 2000), 1);
    launched = transpose(cuda);
    CHECK(cuda.poke(launched.src, items, sizeof items));
    CHECK_EQUAL(launched.launch(cuda, nullptr), 0);
    CHECK_EQUAL(cuda.stream_synchronize(nullptr), 0);
    uint16_t out[6] = {};
    CHECK(cuda.peek(launched.dst, out, sizeof out));
    const uint16_t expected[] = {1, 3, 5, 2, 4, 6};
    CHECK(std::memcmp(out, expected, sizeof out) == 0);
    launched = transpose(cuda);
    launched.copy.src_step[0] = -4;
    CHECK_EQUAL(launched.launch(cuda, nullptr), 0);
    CHECK_EQUAL(cuda.stream_synchronize(nullptr), 700);
    CHECK_EQUAL(cuda.report().out_of_bounds, 1);
  });
  aborts("does not take a dlx_strided_copy", [](Cuda& cuda) {
    cuda.start("latest");
    Launched launched = transpose(cuda);
    cu::Module module = nullptr;
    CHECK_EQUAL(cuda.module_load(&module, ptx().c_str()), 0);
    CHECK_EQUAL(cuda.module_function(&launched.function, module, "other"), 0);
    launched.launch(cuda, nullptr);
  });
}

/// Copies always work between devices, kernels only with peer access.
void peers(void**) {
  const auto reads = [](bool enabled) {
    passes([enabled](Cuda& cuda) {
      const cu::Context first = cuda.start("eager", 2);
      const cu::DevicePointer there = cuda.memory(12);
      const cu::Context second = cuda.retain(1);
      Launched launched = transpose(cuda);
      CHECK_EQUAL(cuda.copy_peer(launched.dst, second, there, first, 12, nullptr), 0);
      CHECK_EQUAL(cuda.copy_peer(launched.dst, first, there, first, 12, nullptr), 1);
      launched.src = there;
      if (enabled) CHECK_EQUAL(cuda.context_enable_peer(first, 0), 0);
      CHECK_EQUAL(launched.launch(cuda, nullptr), 0);
      CHECK_EQUAL(cuda.stream_synchronize(nullptr), enabled ? 0 : 700);
    });
  };
  reads(true);
  reads(false);
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(calls_need_an_initialised_driver),
      cmocka_unit_test(contexts_are_of_the_thread),
      cmocka_unit_test(superseded_symbols_abort),
      cmocka_unit_test(stale_handles_abort),
      cmocka_unit_test(calls_can_be_made_to_fail),
      cmocka_unit_test(kernels_do_what_their_parameters_say),
      cmocka_unit_test(peers),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
