#include "filter.h"

#include <stdio.h>

static uint8_t mean_around(const DLTensor *image, int64_t row, int64_t column, int64_t radius) {
  const uint8_t *pixels = (const uint8_t *)image->data;
  const int64_t h = image->shape[0], w = image->shape[1];
  const int64_t top = row < radius ? 0 : row - radius, left = column < radius ? 0 : column - radius;
  const int64_t bottom = row >= h - radius ? h - 1 : row + radius;
  const int64_t right = column >= w - radius ? w - 1 : column + radius;
  int64_t sum = 0;
  for (int64_t i = top; i <= bottom; ++i) {
    for (int64_t j = left; j <= right; ++j) sum += pixels[i * w + j];
  }
  return (uint8_t)(sum / ((bottom - top + 1) * (right - left + 1)));
}

/* The callers have checked what FILTER_BLUR says: no line here is about dtypes or shapes. */
dlx_status filter_blur(const DLTensor *image, int64_t radius, DLTensor *out) {
  if (radius < 0) {
    char message[80];
    snprintf(message, sizeof message, "blur: `radius` is negative (got %lld)", (long long)radius);
    dlx_set_last_error(message);
    return DLX_ERROR_INVALID_ARGUMENT;
  }
  uint8_t *blurred = (uint8_t *)out->data;
  const int64_t h = image->shape[0], w = image->shape[1];
  for (int64_t i = 0; i < h; ++i) {
    for (int64_t j = 0; j < w; ++j) blurred[i * w + j] = mean_around(image, i, j, radius);
  }
  return DLX_OK;
}

dlx_status filter_brighten(DLTensor *image, double factor) {
  for (int64_t i = 0; i < image->shape[0]; ++i) {
    for (int64_t j = 0; j < image->shape[1]; ++j) {
      uint8_t *pixel = (uint8_t *)image->data + i * image->strides[0] + j * image->strides[1];
      const double bright = *pixel * factor;
      *pixel = (uint8_t)(bright < 0 ? 0 : bright > 255 ? 255 : bright);
    }
  }
  return DLX_OK;
}

dlx_status filter_blur_packed(void *context, const dlx_argument *arguments) {
  (void)context;
  return filter_blur(arguments[0].array, arguments[1].integer, arguments[2].array);
}

dlx_status filter_brighten_packed(void *context, const dlx_argument *arguments) {
  (void)context;
  return filter_brighten(arguments[0].array, arguments[1].real);
}
