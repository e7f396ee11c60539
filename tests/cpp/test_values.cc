// dlx.hpp: typed elements, dtypes, devices, shapes, options and exceptions.
#include <array>
#include <complex>
#include <vector>

#include "util.h"

namespace {

// Elements are typed, and the type is checked.
void data_checks_its_type(void**) {
  Numbers numbers;
  const dlx::Tensor tensor = numbers.wrap();

  assert_ptr_equal(tensor.data<int32_t>(), numbers.values);
  assert_throws<dlx::InvalidArgument>([&] { tensor.data<float>(); }, "int32, not float32");
}

// Memory that the CPU cannot access has an address, but no accessible elements.
void data_checks_its_device(void**) {
  Numbers numbers;
  const dlx::Tensor tensor = numbers.wrap();
  DLTensor description = tensor.dltensor();
  description.device.device_type = kDLCUDA;
  const dlx::Tensor elsewhere = dlx::Tensor::wrap(description);

  assert_ptr_equal(elsewhere.data(), numbers.values);
  assert_throws<dlx::Unsupported>([&] { elsewhere.data<int32_t>(); }, "cuda:0");
}

// On the CPU there is nothing to wait for; an empty handle is refused.
void what_waits_calls_the_c_interface(void**) {
  Numbers numbers;
  dlx::Tensor tensor = numbers.wrap();

  tensor.synchronize();
  assert_throws<dlx::InvalidArgument>([&] { tensor.wait_on_stream(1); },
                                      "dlx_tensor_wait_on_stream: ");
  assert_throws<dlx::InvalidArgument>([&] { tensor.written_on_stream(1); },
                                      "dlx_tensor_written_on_stream: ");
  assert_throws<dlx::InvalidArgument>([&] { dlx::Tensor().synchronize(); }, "`tensor` is NULL");
}

// Compact elements are a span; others are refused.
void span_needs_compact_elements(void**) {
  Numbers numbers;
  const dlx::Tensor tensor = numbers.wrap();
  int32_t sum = 0;
  for (const int32_t value : tensor.span<const int32_t>()) sum += value;

  assert_int_equal(sum, 15);
  assert_int_equal(dlx::Tensor::empty({0, 3}, "int32").span<int32_t>().size(), 0);
  assert_throws<dlx::InvalidArgument>([&] { tensor.transpose().span<int32_t>(); }, "not compact");
  assert_throws<dlx::InvalidArgument>([&] { tensor.span<float>(); }, "int32, not float32");
  assert_throws<dlx::ReadOnly>([&] { tensor.as_readonly().span<int32_t>(); }, "read-only");
}

// Elements are found by their indices, whatever the strides.
void elements_follow_the_strides(void**) {
  Numbers numbers;
  const dlx::Tensor tensor = numbers.wrap();
  const auto turned = tensor.transpose().elements<int32_t, 2>();
  turned(2, size_t{1}) = 9;

  assert_int_equal(numbers.values[5], 9);
  assert_int_equal(turned.extent(0), 3);
  assert_int_equal(
      (tensor.slice(1, DLX_SLICE_OPEN, DLX_SLICE_OPEN, -1).elements<const int32_t, 2>()(1, 2)), 3);
  assert_int_equal((tensor.select(0, 0).select(0, 1).elements<int32_t, 0>()()), 1);
  assert_throws<dlx::InvalidArgument>([&] { tensor.elements<int32_t, 3>(); }, "2 axes, not 3");
}

// Shapes compare as values, and are accepted as arguments like vectors, arrays and lists.
void shapes_are_values(void**) {
  Numbers numbers;
  const dlx::Tensor tensor = numbers.wrap();
  const dlx::Tensor other = dlx::Tensor::empty(tensor.shape(), tensor.dtype(), tensor.device());

  assert_true(other.shape() == tensor.shape());
  assert_true(other.shape() != tensor.transpose().shape());
  assert_true(other.shape() != std::vector<int64_t>({2}));
  assert_int_equal(tensor.reshape(std::array<int64_t, 1>{6}).ndim(), 1);
  assert_int_equal(tensor.select(0, 0).select(0, 0).reshape({}).ndim(), 0);
  assert_true(tensor.permute(std::array<int32_t, 2>{1, 0}).shape() == tensor.transpose().shape());
}

// C++ types have their dtypes.
void dtypes_of_cpp_types(void**) {
  assert_string_equal(dlx::DType::of<bool>().name().c_str(), "bool");
  assert_string_equal(dlx::DType::of<signed char>().name().c_str(), "int8");
  assert_string_equal(dlx::DType::of<uint16_t>().name().c_str(), "uint16");
  assert_string_equal(dlx::DType::of<long long>().name().c_str(), "int64");
  assert_string_equal(dlx::DType::of<const float>().name().c_str(), "float32");
  assert_string_equal(dlx::DType::of<double>().name().c_str(), "float64");
  assert_string_equal(dlx::DType::of<std::complex<float>>().name().c_str(), "complex64");
  assert_string_equal(dlx::DType::of<std::complex<double>>().name().c_str(), "complex128");
}

// A dtype compares as a value, and comes from its name.
void dtypes_are_values(void**) {
  const dlx::DType dtype = std::string("float32x4");

  assert_true(dtype == dlx::DType(DLDataType{kDLFloat, 32, 4}));
  assert_true(dtype != dlx::DType("float32"));
  static_assert(dlx::DType::of<float>() == dlx::DType(DLDataType{kDLFloat, 32, 1}));
  assert_int_equal(dtype.code(), kDLFloat);
  assert_int_equal(dtype.bits(), 32);
  assert_int_equal(dtype.lanes(), 4);
  assert_throws<dlx::InvalidArgument>([] { dlx::DType("float33"); }, "float33");
}

// A device compares as a value, and comes from its name.
void devices_are_values(void**) {
  assert_true(dlx::Device() == dlx::Device("cpu"));
  assert_true(dlx::Device(kDLCUDA, 1) == dlx::Device(std::string("cuda:1")));
  assert_true(dlx::Device(kDLCUDA, 1) != dlx::Device("cuda:0"));
  assert_true(dlx::Device(DLDevice{kDLCUDA, 1}) == dlx::Device(kDLCUDA, 1));
  assert_int_equal(dlx::Device("cuda:1").get().device_id, 1);
  assert_string_equal(dlx::Device(kDLCUDA, 1).name().c_str(), "cuda:1");
  assert_true(dlx::Device().properties().memory_total > 0);
  assert_throws<dlx::Unavailable>([] { dlx::Device(kDLCPU, 1).properties(); }, "cpu:1");
  assert_throws<dlx::InvalidArgument>([] { dlx::Device("gpu"); }, "gpu");
}

// Each status has its class; an unknown status is a plain Error.
void errors_carry_their_status(void**) {
  for (const dlx_status status : {1, 2, 3, 4, 5, 6, 7, 8, 77, 255}) {
    dlx_status caught = 0;
    try {
      dlx::check(status);
    } catch (const dlx::Error& error) {
      caught = error.status();
    }
    assert_int_equal(caught, status);
  }
  dlx::check(DLX_OK);
  assert_throws<dlx::OutOfMemory>([] { dlx::check(DLX_ERROR_OUT_OF_MEMORY); }, "");
  assert_throws<dlx::DeviceRefused>([] { dlx::check(DLX_ERROR_DEVICE_REFUSED); }, "");
}

// Options start with the defaults.
void options_start_as_the_defaults(void**) {
  const dlx::EmptyOptions empty;
  const dlx::CopyOptions copy;
  const dlx::ExportOptions request;

  assert_int_equal(empty.struct_size, sizeof(dlx_empty_options));
  assert_int_equal(copy.struct_size, sizeof(dlx_copy_options));
  assert_int_equal(request.struct_size, sizeof(dlx_export_options));
  assert_int_equal(empty.order + copy.copy + request.copy, 0);
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(data_checks_its_type),
      cmocka_unit_test(data_checks_its_device),
      cmocka_unit_test(what_waits_calls_the_c_interface),
      cmocka_unit_test(span_needs_compact_elements),
      cmocka_unit_test(elements_follow_the_strides),
      cmocka_unit_test(shapes_are_values),
      cmocka_unit_test(dtypes_of_cpp_types),
      cmocka_unit_test(dtypes_are_values),
      cmocka_unit_test(devices_are_values),
      cmocka_unit_test(errors_carry_their_status),
      cmocka_unit_test(options_start_as_the_defaults),
  };
  return cmocka_run_group_tests_name("cpp_values", tests, nullptr, nullptr);
}
