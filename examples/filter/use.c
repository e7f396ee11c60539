/* The filters called from C: prints the blurred image, and an error. */
#include <stdio.h>

#include "filter.h"

static dlx_status blur(dlx_tensor *image, int64_t radius, dlx_tensor **out) {
  dlx_contract *contract;
  dlx_tensor *const tensors[3] = {image, NULL, NULL};
  dlx_argument values[3] = {{NULL}, {NULL}, {NULL}};
  values[1].integer = radius;
  dlx_status status = dlx_contract_create(FILTER_BLUR, &contract);
  if (status != DLX_OK) return status;
  status = dlx_contract_call(contract, filter_blur_packed, NULL, tensors, values, out);
  dlx_contract_release(contract);
  return status;
}

int main(void) {
  const int64_t shape[] = {3, 4}, flat[] = {12};
  const DLDataType uint8 = {kDLUInt, 8, 1};
  dlx_tensor *image, *out, *wrong;
  if (dlx_tensor_empty(2, shape, &uint8, kDLCPU, 0, NULL, &image)) return 1;
  for (int i = 0; i < 12; ++i) ((uint8_t *)dlx_tensor_data(image))[i] = (uint8_t)(10 * i);
  if (blur(image, 1, &out)) return 1;
  for (int i = 0; i < 12; ++i) printf("%d ", ((uint8_t *)dlx_tensor_data(out))[i]);
  dlx_tensor_release(out);
  if (dlx_tensor_reshape(image, 1, flat, NULL, &wrong)) return 1;
  if (blur(wrong, 1, &out) == DLX_OK) return 1;
  printf("\n%s\n", dlx_last_error());
  dlx_tensor_release(image);
  dlx_tensor_release(wrong);
}
