"""Structured arrays: fields of one dtype that lie at even distances become one more axis, as a view.

Number and order of the elements are those of numpy.lib.recfunctions.structured_to_unstructured, which
copies.
"""

from __future__ import annotations

import types

from dlx import _native
from dlx._lib.classes import an, loaded, name_of
from dlx.errors import UnsupportedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

    # Elements at even distances: dtype, offset of the first, bytes from one to the next, their number.
    Run = tuple[Any, int, int, int]
    Found = Optional[Run]


def array_of_memory(obj: Any) -> Any:
    """An ndarray on the memory of an object that shows it; None for a part of an object of ctypes.

    ctypes' classes say more than their buffers, whose formats hide bit fields and unions.

    Raises:
        TypeError: the object is no buffer, or has bit fields.
        InvalidArgumentError: its array interface reaches beyond its buffer, or has no valid address.
    """
    import numpy

    if isinstance(obj, numpy.ndarray):
        return obj
    if isinstance(obj, numpy.void):  # numpy.asarray would copy it
        return numpy.ndarray((), obj.dtype, obj)
    if isinstance(obj, numpy.generic):
        return numpy.asarray(obj)
    owner = obj.obj if isinstance(obj, memoryview) else obj
    if not is_of_ctypes(owner):
        return _array_of_other(obj)
    dtype, memory = numpy.dtype(type(owner)), memoryview(obj)
    whole = memory.nbytes == dtype.itemsize and memory.c_contiguous
    return numpy.ndarray((), dtype, obj) if whole else None


def _array_of_other(obj: Any) -> Any:
    """By the way that NumPy would take. It gets the buffer, or what dlx has checked: another call of the
    object may say something else."""
    import numpy

    try:
        return numpy.asarray(memoryview(obj))
    except Exception:  # whatever an exporter raises
        pass
    if hasattr(obj, "__array_interface__"):
        return _array_of_interface(obj)
    if hasattr(obj, "__array_struct__"):
        raise UnsupportedError(
            f"{an(name_of(obj))} shows memory of a type that DLPack lacks by `__array_struct__` alone, in "
            "which NumPy would not look for faults: if you trust it, pass `numpy.asarray(x)`"
        )
    return numpy.asarray(obj)


def _array_of_interface(obj: Any) -> Any:
    """NumPy believes an array interface, and dlx checks its address, and that it lies inside its buffer. So
    the bytes come from dlx, and their dtype from NumPy."""
    import numpy

    interface = dict(obj.__array_interface__)
    dtype = numpy.dtype(interface["typestr"])
    if dtype.kind == "V" and interface.get("descr") is not None:
        dtype = numpy.dtype(interface["descr"])
    bytes_of = {**interface, "typestr": "|u1", "shape": (*interface["shape"], dtype.itemsize)}
    if interface.get("strides") is not None:
        bytes_of["strides"] = (*interface["strides"], 1)
    raw = _native.asarray(types.SimpleNamespace(__array_interface__=bytes_of, owner=obj))
    return numpy.asarray(raw).view(dtype)[..., 0]


def is_of_ctypes(obj: Any) -> bool:
    ctypes = loaded("_ctypes")
    return ctypes is not None and isinstance(obj, (ctypes.Structure, ctypes.Union, ctypes.Array))


def name_of_array(obj: Any) -> str:
    """For a message: the structured ndarray of an object `x`."""
    import numpy

    if isinstance(obj, (numpy.ndarray, numpy.void)):
        return "x"
    part = isinstance(obj, memoryview) and is_of_ctypes(obj.obj)
    return "numpy.asarray(x.obj)" if part else "numpy.asarray(x)"


def with_fields_as_axis(array: Any) -> Any:
    """A view of a structured ndarray with one more axis, over its fields; None if no strides fit."""
    import numpy

    run = _run_of(array.dtype, 0)
    if run is None:
        return None
    _, _, step, count = run
    first = array
    while first.dtype.names is not None:
        first = first[first.dtype.names[0]]
    return numpy.lib.stride_tricks.as_strided(
        first, (*array.shape, count), (*array.strides, step), writeable=first.flags.writeable
    )


def _run_of(dtype: Any, offset: int) -> Found:
    """The run of all elements of a dtype; None if they have several dtypes or uneven distances."""
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        number = 1
        for extent in shape:
            number *= extent
        return _repeated(_run_of(base, offset), base.itemsize, number)
    if dtype.names is None:
        return (dtype, offset, dtype.itemsize, 1) if dtype.itemsize else None
    run: Found = None
    for i, name in enumerate(dtype.names):
        field, place = dtype.fields[name][:2]
        found = _run_of(field, offset + place)
        run = _joined(run, found) if i else found
        if run is None:
            return None
    return run


def _joined(run: Found, following: Found) -> Found:
    if run is None or following is None:
        return None
    dtype, first, step, count = run
    other, start, next_step, more = following
    gap = start - (first + (count - 1) * step)
    even = (count == 1 or step == gap) and (more == 1 or next_step == gap)
    if dtype != other or not even or gap <= 0 or gap % dtype.itemsize:
        return None
    return dtype, first, gap, count + more


def _repeated(run: Found, size: int, number: int) -> Found:
    """The run of an array of `number` items of `size` bytes."""
    if run is None or number == 0:
        return None
    dtype, first, step, count = run
    if number == 1:
        return run
    if count == 1:
        step = size
    even = step * count == size and step % dtype.itemsize == 0
    return (dtype, first, step, count * number) if even else None
