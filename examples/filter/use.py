"""The filters called from Python, one way after the other: python use.py ./libfilter.so"""

import ctypes
import importlib.util
import sys

import numpy as np

import dlx

# As filter.h has them.
BLUR = "blur(image: uint8[h, w], radius: int = 1, out: uint8[h, w] result)"
BRIGHTEN = "brighten(image: uint8[h, w] writable strided, factor: float = 1.5)"

path = sys.argv[1]
lib = ctypes.CDLL(path)
image = (10 * np.arange(12, dtype=np.uint8)).reshape(3, 4)


def show(door, result):
    print(f"{door}: {dlx.asarray(result).tolist()}")


# dlx.function: contracts, defaults, and results of the caller's library.
blur = dlx.function(lib.filter_blur, BLUR)
brighten = dlx.function(lib.filter_brighten, BRIGHTEN)
show("dlx.function", blur(image))

# ctypes alone: the contract of each argument.
lib.filter_blur.argtypes = [
    dlx.Array("uint8", ndim=2, dltensor=True),
    ctypes.c_int64,
    dlx.Array("uint8", ndim=2, dltensor=True, writable=True),
]
out = np.empty_like(image)
if lib.filter_blur(image, 1, out) == 0:
    show("ctypes", out)

if importlib.util.find_spec("cffi"):
    import cffi

    ffi = cffi.FFI()
    ffi.cdef("int32_t filter_blur(const void *image, int64_t radius, void *out);")
    library = ffi.dlopen(path)
    show("cffi", dlx.function(library.filter_blur, BLUR)(image))

if importlib.util.find_spec("torch"):
    import torch

    blur_torch = dlx.torch_operator(lib.blur_torch)
    brighten_torch = dlx.torch_operator(lib.brighten_torch)

    @torch.compile(fullgraph=True, backend="aot_eager")
    def twice(x):
        y = blur_torch(x)
        brighten_torch(y, 1.0)
        return y

    show("torch", twice(torch.from_numpy(image)))

if importlib.util.find_spec("jax"):
    import jax

    blur_jax = dlx.jax_function(lib.blur_xla)
    show("jax", jax.jit(lambda x: blur_jax(x, radius=1))(image))
