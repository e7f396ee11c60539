"""What the native code asks Python about objects of other libraries.

Nothing here imports an array library: a library whose object is at hand has been imported already,
so `sys.modules` and the class's own name tell what it is.
"""

from __future__ import annotations

import sys
from _weakref import CallableProxyType, ProxyType

from dlx._lib.classes import derives, has, is_ctypes_pointer, is_torch_tensor, loaded, packages_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Bits of classify()'s answer; src/python reads them.
NDARRAY = 1  # numpy.ndarray's struct, whose fields may be read directly
TABLE = 2  # its __dlpack_c_exchange_api__ may be used
TORCH = 4  # look at conj, neg and requires_grad
GUARD = 8  # call guard(x) before every import
IMMUTABLE = 16  # its legacy capsules are read-only data
ARROW = 64  # asarray takes it by __arrow_c_array__, whatever else it has
ARROW_STREAM = 128  # the same by __arrow_c_stream__
ARROW_NUMBERS = 256  # with ARROW: __dlpack__ is tried first, which is faster
PLAIN = 512  # guard() and asarray.py have nothing special to say about it
LATE_ARROW = 1024  # with PLAIN: it has __arrow_c(_device)_array__, after the array interfaces
LATE_ARROW_STREAM = 2048  # with PLAIN: likewise __arrow_c_stream__
BOOLEAN = 4096  # a truth value, although NumPy before 2.3 lets it pass for an int (__index__)
SCALAR = 8192  # a number, whose memory nobody may write: asarray copies it

# They pass every protocol on, and keep nothing alive.
PROXIES = (ProxyType, CallableProxyType)
# Packages whose classes wrap numbers with a meaning that a plain tensor loses.
# TensorFlow's strings abort the process when they are exported.
GUARDED_PACKAGES = frozenset(
    "astropy brian2 openmm pint pynbody quantities scipy sparse tensorflow unyt".split()
)
_ARROW_PACKAGES = frozenset({"nanoarrow", "polars", "pyarrow"})
# PyArrow's arrays that its __dlpack__ takes, unless they have nulls.
_NUMBER_ARRAYS = frozenset(
    [
        "Int8Array",
        "Int16Array",
        "Int32Array",
        "Int64Array",
        "UInt8Array",
        "UInt16Array",
        "UInt32Array",
        "UInt64Array",
        "HalfFloatArray",
        "FloatArray",
        "DoubleArray",
    ]
)
_IMMUTABLE_PACKAGES = frozenset({"jax", "jaxlib", "nanoarrow", "tensorflow"})
# Those that guard() or asarray.py know by name.
KNOWN_PACKAGES = (
    GUARDED_PACKAGES
    | _ARROW_PACKAGES
    | _IMMUTABLE_PACKAGES
    | {"dask", "ml_dtypes", "mxnet", "narwhals", "pandas", "xarray"}
)


def classify(cls: type, /) -> int:
    """How objects of class `cls` are imported: the sum of the bits above. Called once per class."""
    if cls in PROXIES:
        return GUARD
    numpy = loaded("numpy")
    packages = packages_of(cls)
    bits = 0
    if numpy is not None:
        if cls is numpy.ndarray or cls is numpy.memmap:
            return NDARRAY
        if issubclass(cls, numpy.ndarray):
            bits |= GUARD  # masked arrays, quantities, and whoever derives from them
            if _exports_as_ndarray(cls, numpy):
                return bits | NDARRAY  # matrix …: older NumPy exports no read-only ones
    if is_torch_tensor(cls):
        bits |= TORCH
        torch = sys.modules["torch"]
        if cls is torch.Tensor or cls is torch.nn.Parameter:
            return bits | TABLE
        # FakeTensor, DTensor and others inherit torch's exchange table without honouring it.
        bits |= GUARD
    if "__dlpack_c_exchange_api__" in cls.__dict__:
        bits |= TABLE
    if packages & GUARDED_PACKAGES or derives(cls, "jax", "Tracer"):
        bits |= GUARD
    if packages & _IMMUTABLE_PACKAGES or ("pyarrow" in packages and cls.__name__ != "Tensor"):
        bits |= IMMUTABLE
    if packages & _ARROW_PACKAGES:
        bits |= _arrow_bits(cls)
    if not bits & GUARD:
        bits |= _plain_bits(cls, packages, numpy)
    return bits


def _plain_bits(cls: type, packages: frozenset[str], numpy: Any) -> int:
    """For classes whose buffers and array interfaces the native code may take by itself."""
    if numpy is not None and issubclass(cls, numpy.generic):
        if cls is numpy.bool_:
            return PLAIN | SCALAR | BOOLEAN
        return PLAIN | SCALAR if cls.__module__ == "numpy" else 0
    if packages & KNOWN_PACKAGES or issubclass(cls, (type, int, float, complex, str, list, tuple)):
        return 0
    if hasattr(cls, "__cuda_array_interface__"):
        return 0  # memory of a device, whatever else copies it to the host
    if is_ctypes_pointer(cls):
        return 0
    if hasattr(cls, "columns") and hasattr(cls, "__array__"):
        return PLAIN  # a table: see arrow.py
    if has(cls, "__arrow_c_array__") or has(cls, "__arrow_c_device_array__"):
        return PLAIN | LATE_ARROW
    return PLAIN | LATE_ARROW_STREAM if has(cls, "__arrow_c_stream__") else PLAIN


def _exports_as_ndarray(cls: type, numpy: Any) -> bool:
    """Whether an ndarray's subclass left its protocols alone, so that its fields tell the truth."""
    return all(
        getattr(cls, name, None) is getattr(numpy.ndarray, name, None)
        for name in ("__dlpack__", "__dlpack_device__", "__array_interface__")
    )


def _arrow_bits(cls: type) -> int:
    """For classes whose columns asarray takes through Arrow at once; see arrow.py for the others."""
    if hasattr(cls, "columns") or hasattr(cls, "__array_interface__"):
        return 0  # tables, and what knows more than Arrow
    if hasattr(cls, "__arrow_c_array__"):
        return ARROW | ARROW_NUMBERS if cls.__name__ in _NUMBER_ARRAYS else ARROW
    return ARROW_STREAM if hasattr(cls, "__arrow_c_stream__") else 0


def legacy_signature(obj: Any, /) -> bool:
    """Whether `obj.__dlpack__` is older than the keywords of the 2023 standard.

    Called after it raised TypeError for them: if its signature names `max_version` then the
    TypeError is a real one and is shown; otherwise it is called again the old way. Where the
    signature cannot be read (compiled code), or where it swallows any keyword, the old way is
    tried: a real error then comes again.
    """
    import inspect

    try:
        parameters = inspect.signature(type(obj).__dlpack__).parameters
    except (AttributeError, TypeError, ValueError):
        return True
    return "max_version" not in parameters
