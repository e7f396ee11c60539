"""What the tests of whole systems share: arrays of every layout, and one check for all libraries.

`./dev test --systems` installs the systems into environments of their own and sets DLX_SYSTEMS to
the environment's name: there, a system that cannot be imported is a failure. Elsewhere its file is
skipped, with the reason shown.
"""

from __future__ import annotations

import gc
import importlib
import os
import sys
import weakref

import pytest

import dlx
import memory

numpy = pytest.importorskip("numpy", reason="makes the arrays of these tests")
REQUIRED = os.environ.get("DLX_SYSTEMS", "")

NUMPY_NAMES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
               "float16", "float32", "float64", "complex64", "complex128"]  # fmt: skip


def require(name):
    """The module of the system under test."""
    if REQUIRED:
        return importlib.import_module(name)
    return pytest.importorskip(
        name, reason=f"{name} is not installed here (./dev test --systems has it)"
    )


def aligned(*shape, dtype="float32", shift=0):
    """0, 1, 2 … at `shift` bytes beyond a multiple of 64."""
    dtype = numpy.dtype(dtype)
    count = int(numpy.prod(shape, dtype=int))
    raw = numpy.zeros(count * dtype.itemsize + 192, numpy.uint8)
    start = -raw.ctypes.data % 64 + shift
    result = raw[start : start + count * dtype.itemsize].view(dtype)
    result[:] = numpy.arange(count).astype(dtype)
    return result.reshape(shape)


def _frozen(array):
    array.flags.writeable = False
    return array


def _repeated(count, row):
    """Rows that are the same memory, writable, of any dtype: as_strided knows NumPy's only."""
    bytes_of_row = row.view(numpy.uint8)
    return numpy.ndarray((count, *row.shape), row.dtype, bytes_of_row, strides=(0, row.itemsize))


LAYOUTS = {
    "contiguous": lambda **kw: aligned(3, 4, **kw),
    "column-major": lambda **kw: aligned(4, 3, **kw).T,
    "permuted": lambda **kw: aligned(2, 3, 4, **kw).transpose(2, 0, 1),
    "rows": lambda **kw: aligned(32, 2, **kw)[16:32:8],
    "columns": lambda **kw: aligned(3, 32, **kw)[:, 16:20],
    "reversed": lambda **kw: aligned(3, 4, **kw)[::-1, ::-1],
    "broadcast": lambda **kw: _repeated(3, aligned(4, **kw)),
    "0-d": lambda **kw: aligned(1, **kw).reshape(()),
    "empty": lambda **kw: aligned(3, 4, **kw)[:0],
    "length 1, reversed": lambda **kw: aligned(1, 4, **kw)[::-1],
    "half aligned": lambda **kw: aligned(3, 4, shift=32, **kw),
    "element aligned": lambda **kw: aligned(3, 4, shift=aligned(1, **kw).itemsize, **kw),
    "unaligned": lambda **kw: aligned(3, 4, shift=1, **kw),
    "read-only": lambda **kw: _frozen(aligned(3, 4, **kw)),
    "5 axes": lambda **kw: aligned(1, 2, 1, 2, 1, **kw),
}

# For systems whose arrays have one axis.
LINES = {
    "contiguous": lambda **kw: aligned(12, **kw),
    "sliced": lambda **kw: aligned(24, **kw)[6:18],
    "every other": lambda **kw: aligned(24, **kw)[::2],
    "reversed": lambda **kw: aligned(12, **kw)[::-1],
    "broadcast": lambda **kw: numpy.broadcast_to(aligned(1, **kw), (4,)),
    "empty": lambda **kw: aligned(12, **kw)[:0],
    "unaligned": lambda **kw: aligned(12, shift=1, **kw),
    "read-only": lambda **kw: _frozen(aligned(12, **kw)),
}


def check_layout(layout, to, shared, address, values, *, refused=()):
    """Convert one layout to a library: shared or copied as expected, right values, writes seen.

    Args:
        shared: the layouts that the library shares; all others are copied.
        address, values: of an array of the library: its address, and its elements as nested lists.
        refused: layouts that the library has no form for.
    """
    source = LAYOUTS[layout]()
    if layout in refused:
        with pytest.raises(dlx.UnsupportedError):
            dlx.convert(source, to)
        return
    result = dlx.convert(source, to)
    assert values(result) == source.tolist()
    copy = dlx.convert(source, to, copy=True)
    assert values(copy) == source.tolist()
    if source.size == 0:
        return
    assert address(copy) != source.ctypes.data
    if layout in shared:
        assert address(result) == source.ctypes.data
        same = dlx.convert(source, to, copy=False)
        if source.flags.writeable:
            source[...] = 7
            assert values(same) == values(result) == source.tolist()
            assert values(copy) != source.tolist()
    else:
        assert address(result) != source.ctypes.data
        with pytest.raises(dlx.CopyRefusedError):
            dlx.convert(source, to, copy=False)
    back = dlx.asarray(result)
    assert back.data_ptr == address(result)
    assert back.tolist() == values(result)


def check_dtype(name, to, address):
    """A dtype goes to the library under its own name, and comes back, on the same memory."""
    source = numpy_array(name)
    tensor = dlx.asarray(source)
    result = dlx.convert(source, to, copy=False)
    assert address(result) == source.ctypes.data
    back = dlx.asarray(result)
    assert str(dlx.dtype(back.dtype)) == str(dlx.dtype(tensor.dtype)) == name
    assert back.data_ptr == source.ctypes.data
    assert repr(back.tolist()) == repr(tensor.tolist())
    return result


def numpy_array(name):
    """0, 1, 1, 0 as an aligned array of a dtype of NumPy or ml_dtypes."""
    if not hasattr(numpy, name) and name != "bool":
        import ml_dtypes

        dtype = numpy.dtype(getattr(ml_dtypes, name))
    else:
        dtype = numpy.dtype(name)
    result = aligned(4, dtype=dtype)
    result[:] = numpy.array([0, 1, 1, 0]).astype(dtype)
    return result


def check_lifetimes(make, convert_back):
    """Memory of either side lives as long as the other side's array, and no longer.

    Args:
        make: () -> an array of the library that weakrefs can watch, or its owner with it.
        convert_back: (tensor) -> an array of the library.
    """
    source, watched = make()
    gone = weakref.ref(watched)
    tensor = dlx.asarray(source)
    expected = tensor.tolist()
    del source, watched
    gc.collect()
    assert tensor.tolist() == expected
    del tensor
    gc.collect()
    assert gone() is None

    released = []
    base = aligned(64)
    wrapped = dlx.from_pointer(
        base.ctypes.data, (64,), "float32", owner=base, on_release=lambda: released.append(1)
    )
    result = convert_back(wrapped)
    del wrapped
    gc.collect()
    assert not released
    del result
    for _ in range(3):  # some libraries free later, from another thread or with the next call
        gc.collect()
        dlx.asarray([0])
    assert released == [1]


def check_release(to, values, end=None, wait=None):
    """An array of the library keeps the memory that dlx shares with it, and releases it when it ends.

    Args:
        values: of an array of the library: its elements as nested lists.
        end: called with the array before its last reference goes.
        wait: called with the list of releases, before the check that there was one.
    """
    released = []
    base = aligned(4)
    tensor = dlx.from_pointer(
        base.ctypes.data, (4,), "float32", on_release=lambda: released.append(1)
    )
    result = dlx.convert(tensor, to, copy=False)
    del tensor
    assert values(result) == [0, 1, 2, 3]
    assert not released
    if end:
        end(result)
    del result
    if wait:
        wait(released)
    dlx.asarray([0])
    assert released == [1]


def check_no_leak(convert, count=400, size=1 << 18):
    """Converting again and again does not grow the process by what is converted."""
    source = aligned(size // 4)
    for _ in range(20):
        convert(source)
    before = memory.resident()
    for _ in range(count):
        convert(source)
    grown = memory.resident() - before
    assert grown < count * size / 4, f"{grown} bytes for {count} arrays of {size}"


def run_alone(code):
    """Run code in a process of its own, for what might end one."""
    import subprocess

    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)


def check_own(source, to):
    """convert hands back what is the library's own already; returns the copy that copy=True makes."""
    assert dlx.convert(source, to) is source
    assert dlx.convert(source, to, copy=False) is source
    copy = dlx.convert(source, to, copy=True)
    assert type(copy) is type(source)
    assert copy is not source
    return copy
