/* Operators of PyTorch that do nothing: what is left is the price of the call. */
#include <dlx/torch_operator.h>

static dlx_status nothing(void *context, const dlx_argument *arguments) {
  (void)context, (void)arguments;
  return DLX_OK;
}
#define A(name) #name ": float32[_]"
DLX_TORCH_OPERATOR(f1, "dlx_bench_c::f1", "f1(" A(a) ")", nothing, NULL)
DLX_TORCH_OPERATOR(f3, "dlx_bench_c::f3", "f3(" A(a) ", " A(b) ", " A(c) ")", nothing, NULL)
DLX_TORCH_OPERATOR(
    f8, "dlx_bench_c::f8",
    "f8(" A(a) ", " A(b) ", " A(c) ", " A(d) ", " A(e) ", " A(f) ", " A(g) ", " A(h) ")", nothing,
    NULL)
