"""Classifies the classes of other libraries for the native code.

Nothing here imports an array library: the library of an object at hand is imported already, so
`sys.modules` and the names of the class and its bases suffice.
"""

from __future__ import annotations

import sys
from _weakref import CallableProxyType, ProxyType

from dlx._lib.classes import derives, has, is_ctypes_pointer, is_torch_tensor, loaded, packages_of
from dlx._take import for_torch
from dlx._take.generated_bits import (
    ARROW,
    ARROW_NUMBERS,
    ARROW_STREAM,
    BOOLEAN,
    BUFFER,
    BUFFER_OF_DEVICE,
    CUDA_ARRAY,
    GUARD,
    IMMUTABLE,
    LATE_ARROW,
    LATE_ARROW_STREAM,
    NDARRAY,
    PLAIN,
    SCALAR,
    TABLE,
    TORCH,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Proxies forward every protocol, but keep nothing alive.
PROXIES = (ProxyType, CallableProxyType)
# Packages whose classes add a meaning to numbers that a plain tensor would lose; and TensorFlow,
# whose strings abort the process when they are exported.
GUARDED_PACKAGES = frozenset(
    "astropy brian2 openmm physipy pint pynbody quantities scipy sparse tensorflow unyt".split()
)
_ARROW_PACKAGES = frozenset({"nanoarrow", "polars", "pyarrow"})
# The arrays that PyArrow's __dlpack__ can export if they have no nulls.
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
_BUFFER_PACKAGES = frozenset({"jax", "jaxlib", "tensorflow"})
_IMMUTABLE_PACKAGES = _BUFFER_PACKAGES | {"nanoarrow"}
# Packages that guards.py or asarray.py know by name.
KNOWN_PACKAGES = (
    GUARDED_PACKAGES
    | _ARROW_PACKAGES
    | _IMMUTABLE_PACKAGES
    | {"dask", "ibis", "ml_dtypes", "mxnet", "narwhals", "pandas", "xarray"}
)


def classify(cls: type, /) -> int:
    """How to import objects of a class: a sum of the bits in generated_bits.py. Called once per class."""
    for_torch.extend_collate()  # from time to time: PyTorch may be imported after dlx
    if cls in PROXIES:
        return GUARD
    numpy = loaded("numpy")
    packages = packages_of(cls)
    bits = 0
    if numpy is not None:
        if cls is numpy.ndarray or cls is numpy.memmap:
            return NDARRAY
        if issubclass(cls, numpy.ndarray):
            bits |= GUARD  # masked arrays, quantities and their subclasses
            if _exports_as_ndarray(cls, numpy):
                return bits | NDARRAY  # matrix …: older NumPy cannot export read-only arrays
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
    if packages & _BUFFER_PACKAGES:
        bits |= BUFFER
    if (
        "tensorflow" in packages
    ):  # buffers of a GPU's tensors are copies; JAX's are those of the CPU
        bits |= BUFFER_OF_DEVICE
    if packages & _ARROW_PACKAGES:
        bits |= _arrow_bits(cls)
    if not bits & GUARD:
        bits |= _plain_bits(cls, packages, numpy)
    return bits


def _plain_bits(cls: type, packages: frozenset[str], numpy: Any) -> int:
    """The bits of classes whose buffers and array interfaces the native code may take by itself."""
    if numpy is not None and issubclass(cls, numpy.generic):
        if cls is numpy.bool_:
            return PLAIN | SCALAR | BOOLEAN
        return PLAIN | SCALAR if cls.__module__ == "numpy" else 0
    if packages & KNOWN_PACKAGES or issubclass(cls, (type, int, float, complex, str, list, tuple)):
        return 0
    if hasattr(cls, "__jax_array__"):
        return 0  # may be memory of a device; the other protocols would copy it to the host
    if hasattr(cls, "__cuda_array_interface__"):
        return PLAIN | CUDA_ARRAY
    if is_ctypes_pointer(cls):
        return 0
    if has(cls, "__arrow_c_array__") or has(cls, "__arrow_c_device_array__"):
        return PLAIN | LATE_ARROW
    return PLAIN | LATE_ARROW_STREAM if has(cls, "__arrow_c_stream__") else PLAIN


def _exports_as_ndarray(cls: type, numpy: Any) -> bool:
    """Whether a subclass of ndarray does not override the protocols, so that its fields are right."""
    return all(
        getattr(cls, name, None) is getattr(numpy.ndarray, name, None)
        for name in ("__dlpack__", "__dlpack_device__", "__array_interface__")
    )


def _arrow_bits(cls: type) -> int:
    """The bits of classes that asarray takes through Arrow first; see arrow.py for the others."""
    if hasattr(cls, "columns") or hasattr(cls, "__array_interface__"):
        return 0  # tables, and classes with a better protocol
    if hasattr(cls, "__arrow_c_array__"):
        return ARROW | ARROW_NUMBERS if cls.__name__ in _NUMBER_ARRAYS else ARROW
    return ARROW_STREAM if hasattr(cls, "__arrow_c_stream__") else 0


def legacy_signature(obj: Any, /) -> bool:
    """Whether `obj.__dlpack__` is older than the keywords of the 2023 standard.

    Called after `__dlpack__` raised TypeError for the keywords. If its signature has `max_version`,
    the TypeError has another cause and is raised. Otherwise, also if the signature cannot be read
    (compiled code) or takes any keyword, the caller tries again without keywords.
    """
    import inspect

    try:
        parameters = inspect.signature(type(obj).__dlpack__).parameters
    except (AttributeError, TypeError, ValueError):
        return True
    return "max_version" not in parameters
