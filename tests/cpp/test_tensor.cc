// dlx.hpp: ownership, views and copies. The functions themselves are tested through dlx.h.
#include <array>
#include <utility>
#include <vector>

#include "util.h"

namespace {

// A copy shares the tensor; the last handle releases the memory.
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

// adopt() takes ownership of a reference and release() gives it up, without counting.
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

// A tensor may be misaligned, but data<T>() refuses it.
void elements_have_to_be_aligned(void**) {
  const dlx::Tensor bytes = dlx::Tensor::empty({9}, "uint8");
  const dlx::Tensor floats = bytes.slice(0, 1).bitcast("float32");

  assert_throws<dlx::InvalidArgument>([&] { floats.elements<float, 1>(); }, "not aligned");
  assert_true(floats.clone().data<float>() != nullptr);
  assert_int_equal(floats.slice(0, 0, 0).span<float>().size(), 0);
}

// A failed wrap destroys the owner.
void failed_wrap_destroys_the_owner(void**) {
  int32_t value = 0;
  int released = 0;
  std::unique_ptr<int32_t, CountRelease> owner(&value, {&released});

  assert_throws<dlx::InvalidArgument>([&] { dlx::Tensor::wrap(&value, {-1}, std::move(owner)); },
                                      "negative extent");

  assert_int_equal(released, 1);
}

// Elements that do not move with their owner would be freed before the tensor.
void owner_must_bring_its_elements(void**) {
  const std::string words = "the elements did not move with their owner";
  std::vector<float> copied(3);
  std::array<float, 3> inside{};
  std::vector<float> nothing;
  nothing.reserve(3);

  assert_throws<dlx::InvalidArgument>([&] { dlx::Tensor::wrap(copied.data(), {3}, copied); },
                                      words);
  assert_throws<dlx::InvalidArgument>(
      [&] { dlx::Tensor::wrap(inside.data(), {3}, std::move(inside)); }, words);
  assert_int_equal(dlx::Tensor::wrap(nothing.data(), {0}, nothing).size(), 0);
  assert_int_equal(dlx::Tensor::wrap(inside.data(), {3}, nullptr).size(), 3);
}

// Strides and a device are optional; without strides the tensor is compact.
void wrap_takes_strides_and_device(void**) {
  std::vector<float> values(6);
  std::vector<int64_t> none;
  none.reserve(2);
  float* data = values.data();
  const dlx::Tensor columns = dlx::Tensor::wrap(data, {2, 3}, nullptr, {1, 2}, "cuda:1");

  assert_true(columns.strides() == std::vector<int64_t>({1, 2}));
  assert_true(columns.device() == dlx::Device(kDLCUDA, 1));
  assert_true(dlx::Tensor::wrap(data, {2, 3}, nullptr, none).strides() ==
              std::vector<int64_t>({3, 1}));
  assert_throws<dlx::InvalidArgument>([&] { dlx::Tensor::wrap(data, {2, 3}, nullptr, {1}); },
                                      "expected 2");
}

// A DLTensor may have an owner too, for a dtype without a C++ type.
void description_has_an_owner(void**) {
  Numbers numbers;
  {
    const dlx::Tensor source = numbers.wrap();
    DLTensor description = source.dltensor();
    description.dtype = dlx::DType("float32").get();
    const dlx::Tensor other =
        dlx::Tensor::wrap_with(description, source, DLPACK_FLAG_BITMASK_READ_ONLY);
    assert_true(other.readonly());
    assert_true(other.dtype() == dlx::DType::of<float>());
  }

  assert_int_equal(numbers.released, 1);
}

// wrap() of a DLTensor behaves as in dlx.h; its deleter is not called on failure.
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

// An export keeps the memory alive; it can be imported again, and is released if not.
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

// A failed import calls the deleter of the managed tensor once.
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

  assert_true(tensor.slice(1, 1).shape() == std::vector<int64_t>({2, 2}));
  assert_int_equal(*tensor.slice(1, DLX_SLICE_OPEN, DLX_SLICE_OPEN, -1).data<int32_t>(), 2);
  assert_int_equal(*tensor.select(0, -1).data<int32_t>(), 3);
  assert_true(tensor.permute({1, 0}).strides() == std::vector<int64_t>({1, 3}));
  assert_true(tensor.transpose().shape() == std::vector<int64_t>({3, 2}));
  assert_true(tensor.expand_dims(0).shape() == std::vector<int64_t>({1, 2, 3}));
  assert_int_equal(tensor.expand_dims(0).squeeze().ndim(), 2);
  assert_int_equal(tensor.expand_dims(0).squeeze({0}).ndim(), 2);
  assert_int_equal(tensor.expand_dims(0).squeeze(std::vector<int32_t>{}).ndim(), 3);
  assert_true(tensor.broadcast_to({4, 2, 3}).readonly());
  assert_true(tensor.bitcast("uint8").shape() == std::vector<int64_t>({2, 12}));
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

// A wrong number of axes is an error before anything is read.
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
      cmocka_unit_test(elements_have_to_be_aligned),
      cmocka_unit_test(failed_wrap_destroys_the_owner),
      cmocka_unit_test(owner_must_bring_its_elements),
      cmocka_unit_test(wrap_takes_strides_and_device),
      cmocka_unit_test(description_has_an_owner),
      cmocka_unit_test(descriptions_are_wrapped),
      cmocka_unit_test(managed_tensors_own_their_memory),
      cmocka_unit_test(legacy_managed_tensors_own_their_memory),
      cmocka_unit_test(failed_import_calls_the_deleter_once),
      cmocka_unit_test(managed_without_a_deleter_is_fine),
      cmocka_unit_test(views_are_those_of_the_c_interface),
      cmocka_unit_test(copies_are_those_of_the_c_interface),
      cmocka_unit_test(permute_needs_each_axis),
  };
  return cmocka_run_group_tests_name("cpp_tensor", tests, nullptr, nullptr);
}
