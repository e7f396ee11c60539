/* The filters inside compiled programs: as operators of PyTorch and as handlers of XLA. */
#include <dlx/torch_operator.h>
#include <dlx/xla_ffi.h>

#include "filter.h"

DLX_TORCH_OPERATOR(blur_torch, "filter::blur", FILTER_BLUR, filter_blur_packed, NULL)
DLX_TORCH_OPERATOR(brighten_torch, "filter::brighten", FILTER_BRIGHTEN, filter_brighten_packed,
                   NULL)

DLX_XLA_HANDLER(blur_xla, FILTER_BLUR, filter_blur_packed, NULL)
DLX_XLA_HANDLER(brighten_xla, FILTER_BRIGHTEN, filter_brighten_packed, NULL)
