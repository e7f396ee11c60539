/* The filters called from C: prints the blurred image, and an error. */
#include <stdio.h>

#include "filter.h"

static int blur(const DLTensor *image, DLTensor *out) {
  dlx_contract *contract;
  const dlx_argument arguments[] = {{.array = (DLTensor *)image}, {.integer = 1}, {.array = out}};
  if (dlx_contract_create(FILTER_BLUR, &contract)) return 1;
  dlx_status status = dlx_contract_check(contract, arguments, NULL);
  dlx_contract_release(contract);
  return status ? status : filter_blur(image, 1, out);
}

int main(void) {
  const int64_t shape[] = {3, 4}, flat[] = {12};
  const DLDataType uint8 = {kDLUInt, 8, 1};
  dlx_tensor *image, *out, *wrong;
  if (dlx_tensor_empty(2, shape, &uint8, kDLCPU, 0, NULL, &image) ||
      dlx_tensor_empty(2, shape, &uint8, kDLCPU, 0, NULL, &out) ||
      dlx_tensor_empty(1, flat, &uint8, kDLCPU, 0, NULL, &wrong)) {
    return 1;
  }
  for (int i = 0; i < 12; ++i) ((uint8_t *)dlx_tensor_data(image))[i] = (uint8_t)(10 * i);
  if (blur(dlx_tensor_dltensor(image), (DLTensor *)dlx_tensor_dltensor(out))) return 1;
  for (int i = 0; i < 12; ++i) printf("%d ", ((uint8_t *)dlx_tensor_data(out))[i]);
  if (blur(dlx_tensor_dltensor(wrong), (DLTensor *)dlx_tensor_dltensor(out)) == 0) return 1;
  printf("\n%s\n", dlx_last_error());
  dlx_tensor_release(image);
  dlx_tensor_release(out);
  dlx_tensor_release(wrong);
}
