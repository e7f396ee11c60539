"""Warp: 1 to 4 axes, legacy capsules without byte_offset or read-only."""

from __future__ import annotations

import arrays
import numpy
import pytest

import dlx

warp = arrays.require("warp")
warp.config.quiet = True
warp.init()

SHARED = {"contiguous", "column-major", "permuted", "rows", "columns", "broadcast", "half aligned",
          "length 1, reversed", "element aligned", "unaligned"}  # fmt: skip
NAMES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
         "float32", "float64"]  # fmt: skip


def address(x):
    return x.ptr


def values(x):
    return x.numpy().tolist()


@pytest.mark.parametrize("layout", arrays.LAYOUTS)
def test_layouts(layout):
    source = arrays.LAYOUTS[layout]()
    if layout in ("0-d", "5 axes"):
        with pytest.raises(dlx.UnsupportedError, match=r"1 to 4 axes.*reshape"):
            dlx.convert(source, "warp")
        return
    result = dlx.convert(source, "warp")
    assert values(result) == source.tolist()
    if source.size == 0:
        return
    assert (address(result) == source.ctypes.data) == (layout in SHARED)
    if layout in SHARED:
        assert address(dlx.convert(source, warp, copy=False)) == source.ctypes.data
        source[...] = 7
        assert values(result) == source.tolist()
    else:
        with pytest.raises(dlx.CopyRefusedError):
            dlx.convert(source, "warp", copy=False)


@pytest.mark.parametrize("name", NAMES)
def test_dtypes(name):
    source = arrays.numpy_array(name)
    result = dlx.convert(source, "warp", copy=False)

    assert address(result) == source.ctypes.data
    assert values(result) == source.tolist()
    assert result.dtype.__name__ == name
    back = dlx.asarray(result)
    assert str(back.dtype) == name
    assert back.data_ptr == source.ctypes.data


@pytest.mark.parametrize("name", NAMES)
def test_its_dtype_objects_are_read(name):
    own = getattr(warp, name)

    assert dlx.dtype(own) == name
    assert dlx.asarray([1, 1], dtype=own).tolist() == [1, 1]


@pytest.mark.parametrize("name", ["complex64", "float8_e4m3fn"])
def test_dtypes_that_it_has_not_are_refused(name):
    with pytest.raises(dlx.UnsupportedError, match="warp takes no"):
        dlx.convert(arrays.numpy_array(name), warp)


def test_an_offset_is_not_lost():
    base = dlx.asarray(arrays.aligned(8))

    assert values(dlx.convert(base[3:], "warp")) == [3, 4, 5, 6, 7]


def test_imports_of_its_own_layouts():
    source = warp.array(numpy.arange(12.0, dtype="float32").reshape(3, 4))
    for part in (source, source[1:], source.transpose()):
        assert dlx.asarray(part).tolist() == part.numpy().tolist()
        assert dlx.asarray(part).data_ptr == part.ptr


def test_a_kernel_runs_on_shared_memory():
    source = arrays.aligned(4)
    result = dlx.convert(source, "warp", copy=False)
    result.fill_(3.0)

    assert source.tolist() == [3, 3, 3, 3]


def test_lifetimes():
    released = []
    base = arrays.aligned(4)
    tensor = dlx.from_pointer(
        base.ctypes.data, (4,), "float32", on_release=lambda: released.append(1)
    )
    result = dlx.convert(tensor, "warp", copy=False)
    del tensor
    assert values(result) == [0, 1, 2, 3]
    assert not released
    del result
    dlx.asarray([0])
    assert released == [1]
