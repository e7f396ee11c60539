/* A program that uses an installed dlx. Prints the version and the sum of a column. */
#include <dlx/dlx.h>
#include <stdio.h>

int consume(void) {
  float values[] = {1, 2, 3, 4, 5, 6};
  int64_t shape[] = {3, 2};
  DLTensor description = {0};
  dlx_tensor *tensor = NULL, *column = NULL;
  DLManagedTensorVersioned *managed = NULL;
  float sum = 0;
  int64_t i;

  description.data = values;
  description.device.device_type = kDLCPU;
  description.ndim = 2;
  description.dtype.code = kDLFloat;
  description.dtype.bits = 32;
  description.dtype.lanes = 1;
  description.shape = shape;
  if (dlx_tensor_wrap(&description, 0, NULL, NULL, &tensor) != DLX_OK ||
      dlx_tensor_select(tensor, 1, -1, &column) != DLX_OK ||
      dlx_tensor_to_dlpack_versioned(column, NULL, &managed) != DLX_OK) {
    fprintf(stderr, "%s\n", dlx_last_error());
    return 1;
  }
  dlx_tensor_release(column);
  dlx_tensor_release(tensor);

  for (i = 0; i < managed->dl_tensor.shape[0]; ++i)
    sum += ((const float *)managed->dl_tensor.data)[i * managed->dl_tensor.strides[0]];
  managed->deleter(managed);
  printf("dlx %s, sum %g\n", dlx_version(), sum);
  return sum == 12 ? 0 : 1;
}

int main(void) { return consume(); }
