/* A library of image filters that takes any array: two functions in C, and what each demands. */
#ifndef FILTER_H_
#define FILTER_H_

#include <dlx/call.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The mean of the pixels around each one, at most `radius` away. */
#define FILTER_BLUR "blur(image: uint8[h, w], radius: int = 1, out: uint8[h, w] result)"
DLX_API dlx_status filter_blur(const DLTensor *image, int64_t radius, DLTensor *out);

/* Multiplies the pixels in place; 255 is the most. */
#define FILTER_BRIGHTEN "brighten(image: uint8[h, w] writable strided, factor: float = 1.5)"
DLX_API dlx_status filter_brighten(DLTensor *image, double factor);

/* The same with all arguments in one array, as other languages, torch and XLA call them. */
DLX_API dlx_status filter_blur_packed(void *context, const dlx_argument *arguments);
DLX_API dlx_status filter_brighten_packed(void *context, const dlx_argument *arguments);

#ifdef __cplusplus
}
#endif

#endif /* FILTER_H_ */
