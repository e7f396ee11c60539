"""What the native code asks Python about objects of other libraries.

Nothing here imports an array library: a library whose object is at hand has been imported already,
so `sys.modules` and the class's own name tell what it is.
"""

from __future__ import annotations

import sys
from _weakref import CallableProxyType, ProxyType

from dlx.dtypes import explain_numpy_dtype
from dlx.errors import UnsupportedError

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
PLAIN = 512  # guard() and _asarray.py have nothing special to say about it
LATE_ARROW = 1024  # with PLAIN: it has __arrow_c(_device)_array__, after the array interfaces
LATE_ARROW_STREAM = 2048  # with PLAIN: likewise __arrow_c_stream__
BOOLEAN = 4096  # a truth value, although NumPy before 2.3 lets it pass for an int (__index__)
SCALAR = 8192  # a number, whose memory nobody may write: asarray copies it

# They pass every protocol on, and keep nothing alive.
_PROXIES = (ProxyType, CallableProxyType)
# Packages whose classes wrap numbers with a meaning that a plain tensor loses.
# TensorFlow's strings abort the process when they are exported.
_GUARDED_PACKAGES = frozenset({"astropy", "pint", "scipy", "sparse", "tensorflow", "unyt"})
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
_IMMUTABLE_PACKAGES = frozenset({"jax", "jaxlib", "tensorflow"})
# Those that guard() or _asarray.py know by name.
_KNOWN_PACKAGES = (
    _GUARDED_PACKAGES
    | _ARROW_PACKAGES
    | _IMMUTABLE_PACKAGES
    | {"dask", "ml_dtypes", "mxnet", "pandas", "xarray"}
)


def package_of(cls: type) -> str:
    """The package that a class says it is from; classes may say anything, or nothing."""
    module = getattr(cls, "__module__", None)
    return module.partition(".")[0] if isinstance(module, str) else ""


def has(cls: type, name: str) -> bool:
    """Whether a class has a method; None is Python's way of saying that it has not."""
    return getattr(cls, name, None) is not None


def classify(cls: type, /) -> int:
    """How objects of class `cls` are imported: the sum of the bits above. Called once per class."""
    if cls in _PROXIES:
        return GUARD
    numpy = sys.modules.get("numpy")
    torch = sys.modules.get("torch")
    packages = {package_of(base) for base in cls.__mro__}
    bits = 0
    if numpy is not None:
        if cls is numpy.ndarray:
            return NDARRAY
        if issubclass(cls, numpy.ndarray):
            bits |= GUARD  # masked arrays, quantities, and whoever derives from them
            if _exports_as_ndarray(cls, numpy):
                return bits | NDARRAY  # memmap, matrix …: older NumPy exports no read-only ones
    if torch is not None and hasattr(torch, "Tensor") and issubclass(cls, torch.Tensor):
        bits |= TORCH
        if cls is torch.Tensor or cls is torch.nn.Parameter:
            return bits | TABLE
        # FakeTensor, DTensor and others inherit torch's exchange table without honouring it.
        bits |= GUARD
    if "__dlpack_c_exchange_api__" in cls.__dict__:
        bits |= TABLE
    if packages & _GUARDED_PACKAGES or _is_tracer(cls):
        bits |= GUARD
    if packages & _IMMUTABLE_PACKAGES or ("pyarrow" in packages and cls.__name__ != "Tensor"):
        bits |= IMMUTABLE
    if packages & _ARROW_PACKAGES:
        bits |= _arrow_bits(cls)
    if not bits & GUARD:
        bits |= _plain_bits(cls, packages, numpy)
    return bits


def _plain_bits(cls: type, packages: set[str], numpy: Any) -> int:
    """For classes whose buffers and array interfaces the native code may take by itself."""
    if numpy is not None and issubclass(cls, numpy.generic):
        if cls is numpy.bool_:
            return PLAIN | SCALAR | BOOLEAN
        return PLAIN | SCALAR if cls.__module__ == "numpy" else 0
    if packages & _KNOWN_PACKAGES or issubclass(cls, (type, int, float, complex, str, list, tuple)):
        return 0
    if hasattr(cls, "__cuda_array_interface__"):
        return 0  # memory of a device, whatever else copies it to the host
    if hasattr(cls, "columns") and hasattr(cls, "__array__"):
        return PLAIN  # a table: see _arrow.py
    if has(cls, "__arrow_c_array__") or has(cls, "__arrow_c_device_array__"):
        return PLAIN | LATE_ARROW
    return PLAIN | LATE_ARROW_STREAM if has(cls, "__arrow_c_stream__") else PLAIN


def _is_tracer(cls: type) -> bool:
    """What JAX passes to a function that it compiles: a description without data."""
    return any(base.__name__ == "Tracer" and package_of(base) == "jax" for base in cls.__mro__)


def _exports_as_ndarray(cls: type, numpy: Any) -> bool:
    """Whether an ndarray's subclass left its protocols alone, so that its fields tell the truth."""
    return all(
        getattr(cls, name, None) is getattr(numpy.ndarray, name, None)
        for name in ("__dlpack__", "__dlpack_device__", "__array_interface__")
    )


def _arrow_bits(cls: type) -> int:
    """For classes whose columns asarray takes through Arrow at once; see _arrow.py for the others."""
    if hasattr(cls, "columns") or hasattr(cls, "__array_interface__"):
        return 0  # tables, and what knows more than Arrow
    if hasattr(cls, "__arrow_c_array__"):
        return ARROW | ARROW_NUMBERS if cls.__name__ in _NUMBER_ARRAYS else ARROW
    return ARROW_STREAM if hasattr(cls, "__arrow_c_stream__") else 0


def guard(obj: Any, /) -> None:
    """Refuse an object whose meaning would be lost if only its numbers were imported.

    There is no flag that forces it: the message names the caller's own call, which says what is
    dropped.

    Raises:
        UnsupportedError: masked entries, a unit, a sparse layout, a torch tensor without plain
            memory, a NumPy dtype that DLPack has not, or a weak reference.
    """
    if type(obj) in _PROXIES:
        raise UnsupportedError(
            "a weakref.proxy keeps no memory alive: pass the array that it stands for"
        )
    # By type(), not isinstance(): proxies (wrapt's, unittest.mock's) say the class of what they wrap.
    torch = sys.modules.get("torch")
    if torch is not None and hasattr(torch, "Tensor") and issubclass(type(obj), torch.Tensor):
        from dlx import _guard_torch

        _guard_torch.guard(obj, torch)
        return
    _guard_sparse(obj)
    _guard_graph(obj)
    _guard_wrapped(obj)
    _guard_nulls(obj)
    numpy = sys.modules.get("numpy")
    if numpy is not None and issubclass(type(obj), numpy.ndarray):
        dtype = numpy.ndarray.dtype.__get__(obj)  # a subclass's own may be anything
        problem = explain_numpy_dtype(dtype)
        if problem is not None:
            raise UnsupportedError(problem)
    _guard_mask(obj)
    _guard_unit(obj)


def _name(obj: object) -> str:
    cls = type(obj)
    return f"{package_of(cls)}.{cls.__qualname__}"


def _guard_mask(obj: Any) -> None:
    """numpy.ma and astropy's Masked classes, also behind a proxy. Without a masked entry nothing is
    lost."""
    mask = getattr(obj, "mask", None) if hasattr(obj.__class__, "mask") else None
    if mask is None or isinstance(mask, bool) or not hasattr(mask, "any"):
        return
    if hasattr(obj, "filled") and bool(mask.any()):
        raise UnsupportedError(
            f"a {_name(obj)} with {int(mask.sum())} masked entries would lose its mask: call "
            "`.filled(value)` to say what stands for them, or export `.data` and `.mask` on "
            "their own"
        )


def _guard_unit(obj: Any) -> None:
    """Quantities of astropy (`unit`), unyt and pint (`units`); a pure number loses nothing."""
    packages = {package_of(base) for base in type(obj).__mro__}
    if not packages & {"astropy", "unyt", "pint"}:
        return
    unit = getattr(obj, "unit", None)
    if unit is None:
        unit = getattr(obj, "units", None)
    if unit is None or str(unit) in ("", "dimensionless"):
        return
    way = "magnitude" if "pint" in packages else "value"
    raise UnsupportedError(
        f"a {_name(obj)} in {unit} would lose its unit: export `.{way}`, or convert first with "
        f"`.to(unit).{way}`"
    )


def _guard_sparse(obj: Any) -> None:
    """scipy.sparse, PyData sparse, tf.SparseTensor: no single strided block of memory."""
    package = package_of(type(obj))
    if package == "scipy" and hasattr(obj, "nnz") and hasattr(obj, "toarray"):
        parts = [
            n for n in ("data", "indices", "indptr", "row", "col", "offsets") if hasattr(obj, n)
        ]
        listed = ", ".join(f"`.{part}`" for part in parts)
        raise UnsupportedError(
            f"a {_name(obj)} is sparse: export its parts ({listed or '`.tocsr()` has them'}) one "
            "by one, or call `.toarray()` to make it dense"
        )
    if package == "sparse" and hasattr(obj, "todense"):
        raise UnsupportedError(
            f"a {_name(obj)} is sparse: export `.data` and its indices (`.coords`, or `.indices` "
            "and `.indptr`) one by one, or call `.todense()`"
        )
    if package == "jax" and hasattr(obj, "todense"):
        raise UnsupportedError(
            f"a {_name(obj)} is sparse: export its parts (`.data` and `.indices`) one by one, or call "
            "`.todense()`"
        )
    if package == "paddle" and hasattr(obj, "is_sparse") and obj.is_sparse():
        raise UnsupportedError(
            f"a sparse {_name(obj)} is not one block of memory: export `.values()` and `.indices()` "
            "(or `.crows()` and `.cols()`) one by one, or call `.to_dense()`"
        )
    if package == "pandas" and type(getattr(obj, "dtype", None)).__name__ == "SparseDtype":
        way = ".sparse.to_dense()" if hasattr(obj, "sparse") else ".to_dense()"
        raise UnsupportedError(
            f"a {_name(obj)} of dtype {obj.dtype} is sparse: call `{way}` to make it dense"
        )
    if package == "pyarrow" and type(obj).__name__.startswith("Sparse"):
        raise UnsupportedError(
            f"a {_name(obj)} is sparse: export its parts, which `.to_numpy()` gives, one by one, or call "
            "`.to_tensor()` to make it dense"
        )
    if package == "tensorflow" and type(obj).__name__ in ("SparseTensor", "RaggedTensor"):
        way = "`.values` and `.indices`" if hasattr(obj, "indices") else "`.flat_values`"
        raise UnsupportedError(
            f"a {_name(obj)} is not one block of memory: export {way} one by one, or make it dense "
            "with `tf.sparse.to_dense(x)` or `x.to_tensor()`"
        )


def _guard_graph(obj: Any) -> None:
    """Descriptions of a computation, and TensorFlow's tensors that are no numbers."""
    if _is_tracer(type(obj)):
        raise UnsupportedError(
            f"a {_name(obj)} is JAX's stand-in for data that is not there yet: convert outside the "
            "function that JAX transforms, or inside a `jax.pure_callback`"
        )
    if package_of(type(obj)) in ("jax", "jaxlib"):
        _guard_jax(obj)
    if package_of(type(obj)) != "tensorflow":
        return
    dtype = getattr(getattr(obj, "dtype", None), "name", "")
    if dtype in ("string", "resource", "variant"):
        raise UnsupportedError(
            f"a {_name(obj)} of dtype {dtype} holds no numbers: decode it first, e.g. with "
            "`tf.strings.to_number(x)` or `tf.io.decode_raw(x, tf.uint8)`"
        )
    if dtype.startswith(("qint", "quint")):
        raise UnsupportedError(
            f"a {_name(obj)} of dtype {dtype} has no DLPack form: call `tf.bitcast(x, "
            f"tf.{dtype[1:]})` for its numbers, without their scale"
        )
    if dtype.startswith(("float8", "float4", "int2", "int4", "uint2", "uint4")):
        raise UnsupportedError(
            f"a {_name(obj)} of dtype {dtype} is one that TensorFlow cannot export: pass `x.numpy()`"
        )
    if type(obj).__name__ == "SymbolicTensor":
        raise UnsupportedError(
            f"a {_name(obj)} is a stand-in for data that is not there yet: convert outside the "
            "`tf.function`, or inside a `tf.py_function`"
        )


def _guard_jax(obj: Any) -> None:
    """JAX's arrays without memory, and of dtypes that JAX cannot export."""
    if hasattr(obj, "is_deleted") and obj.is_deleted():
        raise UnsupportedError(
            f"a {_name(obj)} that has been deleted has no data any more: it was donated to a jitted "
            "function, whose result to take instead, or `.delete()` was called"
        )
    dtype = str(getattr(obj, "dtype", ""))
    if dtype in ("int2", "int4", "uint2", "uint4"):
        raise UnsupportedError(
            f"a {_name(obj)} of dtype {dtype} is one that JAX cannot export: call "
            f"`.astype('{dtype[:-1]}8')`"
        )


def _guard_wrapped(obj: Any) -> None:
    """xarray and Dask hold arrays of others, whose meaning their `__array__` drops in silence."""
    package = package_of(type(obj))
    if package == "xarray" and type(obj).__name__ in ("DataArray", "Variable", "IndexVariable"):
        guard(obj.data)
    if package == "dask" and hasattr(obj, "_meta"):
        meta = type(obj._meta)
        known = {package_of(base) for base in meta.__mro__}
        if known & _GUARDED_PACKAGES or meta.__module__.startswith("numpy.ma"):
            raise UnsupportedError(
                f"a {_name(obj)} whose chunks are of {meta.__module__}.{meta.__qualname__} would "
                "lose what these say beyond their numbers: import `.compute()`"
            )


def _guard_nulls(obj: Any) -> None:
    """pandas' nullable dtypes, whose `__array__` makes a NaN of a null."""
    if package_of(type(obj)) != "pandas" or not hasattr(obj, "isna"):
        return
    numpy = sys.modules["numpy"]
    columns = obj.items() if hasattr(obj, "columns") else [(None, obj)]
    for label, column in columns:
        if isinstance(column.dtype, numpy.dtype) or column.dtype.kind not in "biufc":
            continue
        count = int(column.isna().sum())
        if count:
            where = "" if label is None else f" in column {label!r}"
            raise UnsupportedError(
                f"a {_name(obj)} of dtype {column.dtype} with {count} nulls{where} would lose them: "
                "call `.fillna(value)`, or `.to_numpy(dtype, na_value=value)`, to say what stands "
                "for them, and export `.isna()` on its own"
            )


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
