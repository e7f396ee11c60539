"""The examples of the pages that define the field, with dlx in their middle, run as doctests.

Pages: NumPy's "Interoperability with NumPy", Arrow's "The DLPack Protocol", the array API standard's
"Data interchange mechanisms", and DLPack's "Python Specification". Each example is the page's own,
in its order; where it names a library's array, the Tensor of the same data stands beside it.
"""

from __future__ import annotations

import doctest

import arrays
import numpy
import pytest

import dlx

NUMPY_PAGE = {}
NUMPY_PAGE["the array interface, in place"] = """
>>> arr = np.array([1, 2, 3, 4])
>>> t = dlx.asarray(arr)
>>> buf = t.__array_interface__
>>> buf["data"] == arr.__array_interface__["data"], buf["typestr"], buf["shape"], buf["version"]
(True, '<i8', (4,), 3)
>>> class wrapper():
...     pass
>>> w = wrapper()
>>> w.__array_interface__ = {**buf, "shape": (2, 2), "strides": None}
>>> new_arr = dlx.asarray(w, copy=False)
>>> new_arr.tolist()
[[1, 2], [3, 4]]
>>> new_arr[0, 0] = 1000
>>> arr
array([1000,    2,    3,    4])
>>> np.asarray(new_arr)
array([[1000,    2],
       [   3,    4]])
"""
NUMPY_PAGE["a function of any array"] = """
>>> def f(x):
...     return np.mean(np.exp(x))
>>> x = np.array([1, 2, 3, 4])
>>> result = f(dlx.asarray(x))
>>> type(result).__name__, result.item() == float(f(x))
('Tensor', True)
"""
NUMPY_PAGE["pandas Series"] = """
>>> import pandas as pd
>>> ser = pd.Series([1, 2, 3, 4])
>>> t = dlx.asarray(ser)
>>> np.asarray(np.exp(t)).round(6)
array([ 2.718282,  7.389056, 20.085537, 54.59815 ])
>>> np.sin(t).tolist() == np.sin(ser).tolist()
True
>>> np.add(t, np.array([5, 6, 7, 8]))
Tensor([ 6,  8, 10, 12], shape=(4,), dtype=int64, device=cpu)
>>> np.add(ser, dlx.asarray(np.array([5, 6, 7, 8]))).tolist()
[6, 8, 10, 12]
>>> result = t.__array__()
>>> type(result)
<class 'numpy.ndarray'>
"""
NUMPY_PAGE["PyTorch, two kinds of objects"] = """
>>> import torch
>>> data = [[1, 2],[3, 4]]
>>> x_np = np.array(data)
>>> x_tensor = torch.tensor(data)
>>> dlx.asarray(x_np).tolist() == dlx.asarray(x_tensor).tolist() == dlx.asarray(data).tolist()
True
>>> np.exp(dlx.asarray(x_tensor)).numpy().round(4)
array([[ 2.7183,  7.3891],
       [20.0855, 54.5982]])
>>> dlx.convert(np.exp(dlx.asarray(x_tensor)), torch)
tensor([[ 2.7183,  7.3891],
        [20.0855, 54.5982]], dtype=torch.float64)
>>> t = torch.arange(4)
>>> np.abs(dlx.asarray(-t)).tolist()
[0, 1, 2, 3]
"""
NUMPY_PAGE["CuPy: NumPy's functions return the same kind"] = """
>>> arr = dlx.asarray(np.random.default_rng(0).normal(size=(1, 2, 3, 4)), dtype="float32")
>>> result = np.sum(arr)
>>> print(type(result))
<class 'dlx.Tensor'>
>>> a = np.random.default_rng(0).normal(size=(100, 100))
>>> q, r = np.linalg.qr(dlx.asarray(a))
>>> type(q).__name__, type(r).__name__, np.allclose(q @ r, a)
('Tensor', 'Tensor', True)
"""
NUMPY_PAGE["Dask"] = """
>>> import dask.array as da
>>> x = da.from_array(dlx.asarray(np.random.default_rng(0).normal(1, 0.1, size=(20, 20))), chunks=(10, 10))
>>> np.mean(np.exp(x))
dask.array<mean_agg-aggregate, shape=(), dtype=float64, chunksize=(), chunktype=dlx.Tensor>
>>> 2.5 < np.mean(np.exp(x)).compute().item() < 3
True
"""
NUMPY_PAGE["DLPack from PyTorch"] = """
>>> import torch
>>> x_torch = torch.arange(5)
>>> t = dlx.from_dlpack(x_torch)
>>> x_np = np.from_dlpack(t)
>>> x_np
array([0, 1, 2, 3, 4])
>>> x_torch[1] = 100
>>> x_np
array([  0, 100,   2,   3,   4])
>>> t.tolist()
[0, 100, 2, 3, 4]
>>> x_np = np.from_dlpack(t.as_readonly())
>>> x_np.flags.writeable
False
>>> x_np[1] = 1
Traceback (most recent call last):
ValueError: assignment destination is read-only
>>> x_np_copy = x_np.copy()
>>> x_np_copy.sort()
>>> x_np_copy
array([  0,   2,   3,   4, 100])
"""
NUMPY_PAGE["DLPack into PyTorch"] = """
>>> import torch
>>> x_np = np.arange(5)
>>> x_torch = torch.from_dlpack(dlx.from_dlpack(x_np))
>>> x_np[0] = 7
>>> x_torch
tensor([7, 1, 2, 3, 4])
"""
NUMPY_PAGE["read-only arrays"] = """
>>> import torch
>>> x_np = np.arange(5)
>>> x_np.flags.writeable = False
>>> t = dlx.from_dlpack(x_np)
>>> t.readonly, dlx.convert(t, "torch")
(True, tensor([0, 1, 2, 3, 4]))
>>> t.__dlpack__()
Traceback (most recent call last):
dlx.errors.ReadOnlyError: ...
"""
GPU = """
>>> import torch
>>> x_torch = torch.arange(5, device='cuda')
>>> t = dlx.from_dlpack(x_torch)
>>> str(t.device)
'cuda:0'
>>> t.numpy()
Traceback (most recent call last):
dlx.errors.DeviceRefusedError: ...
>>> t.numpy(force=True)
array([0, 1, 2, 3, 4])
>>> dlx.convert(t, "cupy")
array([0, 1, 2, 3, 4])
"""
ARROW_PAGE = {}
ARROW_PAGE["into NumPy"] = """
>>> import pyarrow as pa
>>> array = pa.array([2, 0, 2, 4])
>>> np.from_dlpack(dlx.from_dlpack(array))
array([2, 0, 2, 4])
>>> dlx.asarray(array).data_ptr == array.buffers()[1].address
True
"""
ARROW_PAGE["into PyTorch"] = """
>>> import pyarrow as pa
>>> import torch
>>> dlx.convert(pa.array([2, 0, 2, 4]), torch)
tensor([2, 0, 2, 4])
"""
ARROW_PAGE["into JAX"] = """
>>> import pyarrow as pa
>>> import jax
>>> t = dlx.from_dlpack(pa.array([2, 0, 2, 4], pa.int32()))
>>> jax.numpy.from_dlpack(t)  # asks for the legacy struct, which cannot say "read-only"
Traceback (most recent call last):
dlx.errors.ReadOnlyError: ...ask for a versioned one (max_version >= 1.0) or for a copy; ...dlx.convert()...
>>> jax.numpy.from_dlpack(t.copy())
Array([2, 0, 2, 4], dtype=int32)
>>> dlx.convert(pa.array([2, 0, 2, 4], pa.int32()), "jax")
Array([2, 0, 2, 4], dtype=int32)
"""
ARROW_PAGE["what the page supports, and what not"] = """
>>> import pyarrow as pa
>>> for kind in (pa.int8(), pa.uint16(), pa.int64(), pa.float16(), pa.float32(), pa.float64()):
...     assert dlx.from_dlpack(pa.array([1, 2], kind)).dtype == kind.to_pandas_dtype()
>>> dlx.asarray(pa.array([1, None, 3]))
Traceback (most recent call last):
dlx.errors.UnsupportedError: ...null...
"""
STANDARD = {}
STANDARD["a single constructor, and force"] = """
>>> t = dlx.asarray([1.0, 2.0])
>>> dlx.asarray(t) is t or dlx.asarray(t).data_ptr == t.data_ptr
True
>>> far = dlx.from_pointer(4096, 2, "float32", device="cuda:0")
>>> far.numpy()
Traceback (most recent call last):
dlx.errors.DeviceRefusedError: ...`.to_device('cpu')` first, or `.numpy(force=True)`
>>> dlx.convert(far, "numpy")
Traceback (most recent call last):
dlx.errors.DeviceRefusedError: ...force=True...
>>> isinstance(dlx.DeviceRefusedError(), TypeError)
True
"""
STANDARD["the device of an import"] = """
>>> t = dlx.asarray([1.0, 2.0])
>>> t.__dlpack_device__()
(1, 0)
>>> dlx.from_dlpack(t).device
dlx.Device('cpu')
"""
STANDARD["names of the capsule, taken once"] = """
>>> t = dlx.asarray([1.0, 2.0])
>>> capsule = t.__dlpack__()
>>> '"dltensor"' in repr(capsule)
True
>>> class Holder:
...     __dlpack__ = lambda self, **kw: capsule
...     __dlpack_device__ = lambda self: (1, 0)
>>> y = np.from_dlpack(Holder())
>>> '"used_dltensor"' in repr(capsule), y
(True, array([1., 2.]))
>>> '"dltensor_versioned"' in repr(t.__dlpack__(max_version=(1, 0)))
True
"""
STANDARD["both sides go on being used"] = """
>>> x = np.arange(3)
>>> y = dlx.from_dlpack(x)
>>> x[0], y[1] = 5, 6
>>> x, y.tolist()
(array([5, 6, 2]), [5, 6, 2])
"""
STANDARD["all dtypes of the standard"] = """
>>> names = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128".split()
>>> all(np.from_dlpack(dlx.from_dlpack(np.ones(2, name))).dtype == name for name in names)
True
"""

EXAMPLES = {
    **{f"NumPy: {name}": text for name, text in NUMPY_PAGE.items()},
    **{f"Arrow: {name}": text for name, text in ARROW_PAGE.items()},
    **{f"standard: {name}": text for name, text in STANDARD.items()},
}


def run(text, name):
    example = doctest.DocTestParser().get_doctest(text, {"np": numpy, "dlx": dlx}, name, None, 0)
    said = []
    flags = doctest.ELLIPSIS | doctest.REPORT_NDIFF
    doctest.DocTestRunner(optionflags=flags).run(example, out=said.append)
    assert not said, "".join(said)


@pytest.mark.parametrize("name", EXAMPLES)
def test_example(name):
    for library in ("pandas", "torch", "dask.array", "pyarrow", "jax"):
        if f"import {library}" in EXAMPLES[name]:
            arrays.require(library)
    run(EXAMPLES[name], name)


def test_examples_with_a_gpu():
    torch = arrays.require("torch")
    if not torch.cuda.is_available():
        pytest.skip("this machine has no CUDA device")
    run(GPU, "GPU")
