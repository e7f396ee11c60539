// tvm-ffi's way, with the checks of the contract "a: float32[n]" written by hand.
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/function.h>

using A = tvm::ffi::TensorView;

static void check(A a) {
  if (a.dtype().code != kDLFloat || a.dtype().bits != 32 || a.dtype().lanes != 1) {
    TVM_FFI_THROW(TypeError) << "`a` must be float32";
  }
  if (a.ndim() != 1) TVM_FFI_THROW(ValueError) << "`a` must have one axis (got " << a.ndim() << ")";
  if (a.device().device_type != kDLCPU) TVM_FFI_THROW(ValueError) << "`a` must be on the CPU";
  if (!a.IsContiguous()) TVM_FFI_THROW(ValueError) << "`a` must be compact";
}
template <typename... Arrays>
void check_all(Arrays... arrays) {
  (check(arrays), ...);
}

void f0() {}
void f1(A a) { check(a); }
void f3(A a, A b, A c) { check_all(a, b, c); }
void f8(A a, A b, A c, A d, A e, A f, A g, A h) { check_all(a, b, c, d, e, f, g, h); }

TVM_FFI_DLL_EXPORT_TYPED_FUNC(f0, f0);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(f1, f1);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(f3, f3);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(f8, f8);
