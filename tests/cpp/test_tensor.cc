// dlx.hpp: ownership, conversions and exceptions. What the calls do is tested through dlx.h.
#include "dlx/dlx.hpp"

#include <complex>
#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

// CMocka needs <csetjmp>, <cstdarg>, <cstddef> and <cstdint> first, and does not say that it is C.
extern "C" {
#include <cmocka.h>
}

namespace {

/// The call throws exactly that class of error, and its words contain `words`.
template <typename Expected, typename Call>
void assert_throws(Call&& call, const std::string& words) {
  std::string message = "nothing was thrown";
  try {
    call();
  } catch (const Expected& error) {
    message = error.what();
  } catch (const std::exception& error) {
    message = std::string("another error: ") + error.what();
  }
  if (message.find(words) == std::string::npos || message.compare(0, 7, "another") == 0) {
    fail_msg("%s", message.c_str());
  }
}

struct CountRelease {
  void operator()(const int32_t*) const noexcept { ++*count; }
  int* count;
};

/// Six numbers, 2 x 3; `released` counts how often their memory is given back.
struct Numbers {
  int32_t values[6] = {0, 1, 2, 3, 4, 5};
  int released = 0;

  dlx::Tensor wrap() {
    return dlx::Tensor::wrap(values, {2, 3},
                             std::unique_ptr<int32_t, CountRelease>(values, {&released}));
  }
};

std::vector<int64_t> list(dlx::Extents extents) { return {extents.begin(), extents.end()}; }

// A copy shares the tensor; the last handle gives the memory back.
void copies_share_the_tensor(void**) {
  Numbers numbers;
  {
    dlx::Tensor first = numbers.wrap();
    dlx::Tensor second = first;
    assert_ptr_equal(first.get(), second.get());
    first = dlx::Tensor();
    assert_int_equal(numbers.released, 0);
  }

  assert_int_equal(numbers.released, 1);
}

// Moving leaves an empty handle.
void moves_leave_an_empty_handle(void**) {
  Numbers numbers;
  {
    dlx::Tensor first = numbers.wrap();
    dlx::Tensor second = std::move(first);
    assert_false(static_cast<bool>(first));
    assert_true(static_cast<bool>(second));
    first = std::move(second);
    assert_int_equal(numbers.released, 0);
  }

  assert_int_equal(numbers.released, 1);
}

// Assigning a handle to itself keeps it.
void self_assignment_keeps_the_tensor(void**) {
  Numbers numbers;
  dlx::Tensor tensor = numbers.wrap();
  dlx::Tensor& same = tensor;

  tensor = same;

  assert_int_equal(numbers.released, 0);
  assert_int_equal(tensor.size(), 6);
}

// adopt() takes a reference over and release() gives one up, without counting.
void references_go_to_and_from_the_c_interface(void**) {
  Numbers numbers;
  dlx::Tensor tensor = numbers.wrap();

  dlx_tensor* plain = tensor.release();
  assert_false(static_cast<bool>(tensor));
  tensor = dlx::Tensor::adopt(plain);
  assert_int_equal(numbers.released, 0);
  tensor = dlx::Tensor();

  assert_int_equal(numbers.released, 1);
}

// The owner may be the vector itself: its memory lives as long as any user.
void vector_is_its_own_owner(void**) {
  std::vector<double> values = {1.5, 2.5};
  const double* address = values.data();

  const dlx::Tensor tensor = dlx::Tensor::wrap(values.data(), {2}, std::move(values));
  const dlx::Tensor last = tensor.select(0, 1);

  assert_ptr_equal(tensor.data(), address);
  assert_true(*last.data<double>() == 2.5);
}

// Const elements make a read-only tensor.
void const_elements_are_read_only(void**) {
  auto values = std::make_shared<std::vector<float>>(3, 1.0f);
  const float* data = values->data();
  const dlx::Tensor tensor = dlx::Tensor::wrap(data, {3}, values);

  assert_true(tensor.readonly());
  assert_int_equal(values.use_count(), 2);
  assert_ptr_equal(tensor.data<const float>(), data);
  assert_throws<dlx::ReadOnly>([&] { tensor.data<float>(); }, "read-only");
}

// A wrap that fails destroys the owner that it was given.
void failed_wrap_destroys_the_owner(void**) {
  int32_t value = 0;
  int released = 0;
  std::unique_ptr<int32_t, CountRelease> owner(&value, {&released});

  assert_throws<dlx::InvalidArgument>([&] { dlx::Tensor::wrap(&value, {-1}, std::move(owner)); },
                                      "negative extent");

  assert_int_equal(released, 1);
}

// A description is wrapped as dlx.h says, its deleter not called on failure.
void descriptions_are_wrapped(void**) {
  Numbers numbers;
  DLTensor description = numbers.wrap().dltensor();
  numbers.released = 0;
  int64_t shape[] = {6};
  description.ndim = 1;
  description.data = numbers.values;
  description.shape = shape;
  description.strides = nullptr;
  const dlx_deleter_fn count = [](void*, void* user_data) { ++*static_cast<int*>(user_data); };

  assert_throws<dlx::Unsupported>(
      [&] { dlx::Tensor::wrap(description, 1 << 20, count, &numbers.released); }, "flags");
  assert_int_equal(numbers.released, 0);
  assert_int_equal(dlx::Tensor::wrap(description, 0, count, &numbers.released).size(), 6);

  assert_int_equal(numbers.released, 1);
}

// An export keeps the memory; it may come back, and is given back if nobody takes it.
void managed_tensors_own_their_memory(void**) {
  Numbers numbers;
  dlx::Tensor tensor = numbers.wrap();
  dlx::Managed unused = tensor.to_dlpack();
  dlx::Managed managed = tensor.to_dlpack();
  tensor = dlx::Tensor::from_dlpack(std::move(managed));
  assert_null(managed.get());
  assert_ptr_equal(tensor.data(), numbers.values);

  tensor = dlx::Tensor();
  assert_int_equal(numbers.released, 0);
  unused.reset();

  assert_int_equal(numbers.released, 1);
}

// The same for the struct of DLPack before 1.0, with the flags that it lacks.
void legacy_managed_tensors_own_their_memory(void**) {
  Numbers numbers;
  dlx::Tensor tensor = numbers.wrap();
  tensor = dlx::Tensor::from_dlpack(tensor.to_legacy_dlpack(), DLPACK_FLAG_BITMASK_READ_ONLY);
  assert_true(tensor.readonly());
  assert_int_equal(numbers.released, 0);
  tensor = dlx::Tensor();

  assert_int_equal(numbers.released, 1);
}

// An import that fails gives the managed tensor back to its producer, once.
void failed_import_calls_the_deleter_once(void**) {
  int released[3] = {0, 0, 0};
  DLManagedTensorVersioned malformed{}, foreign{};
  DLManagedTensor old{};
  malformed.version.major = 1;
  malformed.manager_ctx = &released[0];
  malformed.dl_tensor.ndim = -1;
  foreign.version.major = 2;
  foreign.manager_ctx = &released[1];
  old.manager_ctx = &released[2];
  old.dl_tensor.ndim = -1;
  malformed.deleter = foreign.deleter = [](DLManagedTensorVersioned* self) {
    ++*static_cast<int*>(self->manager_ctx);
  };
  old.deleter = [](DLManagedTensor* self) { ++*static_cast<int*>(self->manager_ctx); };

  assert_throws<dlx::InvalidArgument>([&] { dlx::Tensor::from_dlpack(dlx::Managed(&malformed)); },
                                      "ndim");
  assert_throws<dlx::Unsupported>([&] { dlx::Tensor::from_dlpack(dlx::Managed(&foreign)); }, "2.0");
  assert_throws<dlx::InvalidArgument>([&] { dlx::Tensor::from_dlpack(dlx::LegacyManaged(&old)); },
                                      "ndim");

  for (const int count : released) assert_int_equal(count, 1);
}

// A managed tensor without a deleter needs none.
void managed_without_a_deleter_is_fine(void**) {
  DLManagedTensorVersioned managed{};

  dlx::Managed(&managed).reset();
}

// Views share the memory.
void views_are_those_of_the_c_interface(void**) {
  Numbers numbers;
  const dlx::Tensor tensor = numbers.wrap();

  assert_true(list(tensor.slice(1, 1).shape()) == std::vector<int64_t>({2, 2}));
  assert_int_equal(*tensor.slice(1, DLX_SLICE_OPEN, DLX_SLICE_OPEN, -1).data<int32_t>(), 2);
  assert_int_equal(*tensor.select(0, -1).data<int32_t>(), 3);
  assert_true(list(tensor.permute({1, 0}).strides()) == std::vector<int64_t>({1, 3}));
  assert_true(list(tensor.transpose().shape()) == std::vector<int64_t>({3, 2}));
  assert_true(list(tensor.expand_dims(0).shape()) == std::vector<int64_t>({1, 2, 3}));
  assert_int_equal(tensor.expand_dims(0).squeeze().ndim(), 2);
  assert_int_equal(tensor.expand_dims(0).squeeze({0}).ndim(), 2);
  assert_int_equal(tensor.expand_dims(0).squeeze(std::vector<int32_t>{}).ndim(), 3);
  assert_true(tensor.broadcast_to({4, 2, 3}).readonly());
  assert_true(list(tensor.bitcast("uint8").shape()) == std::vector<int64_t>({2, 12}));
  assert_true(tensor.as_readonly().readonly());
  assert_int_equal(numbers.released, 0);
}

// Copies are those of the C interface, with their options.
void copies_are_those_of_the_c_interface(void**) {
  Numbers numbers;
  const dlx::Tensor tensor = numbers.wrap();
  dlx::CopyOptions never, always;
  never.copy = DLX_COPY_NEVER;
  always.copy = DLX_COPY_ALWAYS;

  assert_ptr_equal(tensor.contiguous().get(), tensor.get());
  assert_ptr_not_equal(tensor.contiguous(always).data(), tensor.data());
  assert_int_equal(tensor.transpose().clone().data<int32_t>()[1], 3);
  assert_int_equal(tensor.reshape({-1}).ndim(), 1);
  assert_ptr_equal(tensor.to_device("cpu").get(), tensor.get());
  assert_throws<dlx::CopyRefused>([&] { tensor.transpose().contiguous(never); }, "copy");
  dlx::Tensor zeros = dlx::Tensor::empty({2, 3}, "int32");
  zeros.copy_from(tensor.select(0, 1));
  assert_int_equal(zeros.data<int32_t>()[0], 3);
  assert_throws<dlx::ReadOnly>([&] { zeros.as_readonly().copy_from(tensor); }, "read-only");
}

// Options begin as the defaults.
void options_start_as_the_defaults(void**) {
  const dlx::EmptyOptions empty;
  const dlx::CopyOptions copy;
  const dlx::ExportOptions request;

  assert_int_equal(empty.struct_size, sizeof(dlx_empty_options));
  assert_int_equal(copy.struct_size, sizeof(dlx_copy_options));
  assert_int_equal(request.struct_size, sizeof(dlx_export_options));
  assert_int_equal(empty.order + copy.copy + request.copy, 0);
}

// Elements are typed, and the type is checked.
void data_checks_its_type(void**) {
  Numbers numbers;
  const dlx::Tensor tensor = numbers.wrap();

  assert_ptr_equal(tensor.data<int32_t>(), numbers.values);
  assert_throws<dlx::InvalidArgument>([&] { tensor.data<float>(); }, "int32, not float32");
}

// Memory that the CPU does not reach has an address, and no elements.
void data_checks_its_device(void**) {
  Numbers numbers;
  const dlx::Tensor tensor = numbers.wrap();
  DLTensor description = tensor.dltensor();
  description.device.device_type = kDLCUDA;
  const dlx::Tensor elsewhere = dlx::Tensor::wrap(description);

  assert_ptr_equal(elsewhere.data(), numbers.values);
  assert_throws<dlx::Unsupported>([&] { elsewhere.data<int32_t>(); }, "cuda:0");
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
  assert_string_equal(dlx::Device(kDLCUDA, 1).name().c_str(), "cuda:1");
  assert_true(dlx::Device().properties().memory_total > 0);
  assert_throws<dlx::Unavailable>([] { dlx::Device(kDLCPU, 1).properties(); }, "cpu:1");
  assert_throws<dlx::InvalidArgument>([] { dlx::Device("gpu"); }, "gpu");
}

// Each status has its class; a status of the future is a plain Error.
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

// A wrong number of axes is told before anything is read.
void permute_needs_each_axis(void**) {
  Numbers numbers;
  const dlx::Tensor tensor = numbers.wrap();

  assert_throws<dlx::InvalidArgument>([&] { tensor.permute({0}); }, "expected 2");
  assert_throws<dlx::InvalidArgument>([&] { tensor.permute({}); }, "expected 2");
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(copies_share_the_tensor),
      cmocka_unit_test(moves_leave_an_empty_handle),
      cmocka_unit_test(self_assignment_keeps_the_tensor),
      cmocka_unit_test(references_go_to_and_from_the_c_interface),
      cmocka_unit_test(vector_is_its_own_owner),
      cmocka_unit_test(const_elements_are_read_only),
      cmocka_unit_test(failed_wrap_destroys_the_owner),
      cmocka_unit_test(descriptions_are_wrapped),
      cmocka_unit_test(managed_tensors_own_their_memory),
      cmocka_unit_test(legacy_managed_tensors_own_their_memory),
      cmocka_unit_test(failed_import_calls_the_deleter_once),
      cmocka_unit_test(managed_without_a_deleter_is_fine),
      cmocka_unit_test(views_are_those_of_the_c_interface),
      cmocka_unit_test(copies_are_those_of_the_c_interface),
      cmocka_unit_test(options_start_as_the_defaults),
      cmocka_unit_test(data_checks_its_type),
      cmocka_unit_test(data_checks_its_device),
      cmocka_unit_test(dtypes_of_cpp_types),
      cmocka_unit_test(dtypes_are_values),
      cmocka_unit_test(devices_are_values),
      cmocka_unit_test(errors_carry_their_status),
      cmocka_unit_test(permute_needs_each_axis),
  };
  return cmocka_run_group_tests_name("cpp_tensor", tests, nullptr, nullptr);
}
