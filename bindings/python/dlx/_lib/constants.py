"""The constants of DLPack and dlx.h that the package uses. `dlx.raw` has all of them, but takes longer to
import. The codes of data types are in dtypes.py."""

from __future__ import annotations

# kDL*: types of devices.
CPU, CUDA, CUDA_HOST, ROCM, ROCM_HOST, CUDA_MANAGED, ONEAPI = 1, 2, 3, 10, 11, 13, 14
# DLPACK_FLAG_BITMASK_*.
READ_ONLY, PADDED = 1, 4
# DLX_*.
COPY_NEVER = 2
ERROR_OUT_OF_MEMORY = 2
FORMAT_TYPESTR = 1
HAS_STREAM = 1
MAX_NDIM = 4096
NAME_SIZE = 64
NEGATIVE_STRIDES_COPY, NEGATIVE_STRIDES_SHARE, NEGATIVE_STRIDES_ERROR = 1, 2, 3

THE_CPU = (CPU, 0)  # as a device: (type, id)
HOSTS = (CPU, CUDA_HOST, ROCM_HOST)  # the CPU can always read its own memory and pinned memory
