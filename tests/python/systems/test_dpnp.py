"""dpnp: arrays on a oneAPI device, which is another one than the CPU even where it runs on it.

dlx has no driver for it, so what needs a copy is left to the producer; all else is passed on.
"""

from __future__ import annotations

import os
import sys

import arrays
import pytest

import dlx

# The loader of OpenCL finds Intel's driver by this alone, when it comes from a wheel.
os.environ.setdefault("OCL_ICD_FILENAMES", os.path.join(sys.prefix, "lib", "libintelocl.so"))
dpnp = arrays.require("dpnp")


def on_device(source):
    return dpnp.asarray(source)


def address(x):
    return x.get_array()._pointer


def values(x):
    return dpnp.asnumpy(x).tolist()


def test_it_is_another_device():
    tensor = dlx.asarray(on_device(arrays.aligned(3)))

    assert tensor.device == "oneapi:0"
    assert tuple(tensor.__dlpack_device__()) == (14, 0)


# Made there: what goes to the device arrives compact and aligned.
LAYOUTS = {
    "contiguous": lambda x: x,
    "column-major": lambda x: x.T,
    "permuted": lambda x: dpnp.reshape(x, (2, 2, 3)).transpose(2, 0, 1),
    "rows": lambda x: x[::2],
    "columns": lambda x: x[:, 1:3],
    "reversed": lambda x: x[::-1, ::-1],
    "length 1, reversed": lambda x: x[:1][::-1],
    "broadcast": lambda x: dpnp.broadcast_to(x[0], (2, 4)),
    "0-d": lambda x: x[1, 2],
    "element aligned": lambda x: x[1:],
    "read-only": lambda x: _frozen(x),
    "5 axes": lambda x: dpnp.reshape(x, (1, 3, 1, 4, 1)),
}


def _frozen(x):
    x.get_array().flags.writable = False
    return x


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", arrays.NUMPY_NAMES)
def test_every_dtype_and_layout_goes_there_and_back(name, layout):
    source = LAYOUTS[layout](on_device(arrays.aligned(3, 4, dtype=name)))
    tensor = dlx.asarray(source)

    assert (str(tensor.dtype), tensor.shape) == (name, source.shape)
    assert tensor.data_ptr == address(source)
    assert tensor.readonly or layout != "read-only"
    assert dlx.asarray(source, device="cpu").tolist() == values(source)
    if layout == "reversed":  # dpnp 0.20 fails on that, and copies keep such strides there
        with pytest.raises(dlx.CopyRefusedError, match="negative strides"):
            dlx.convert(tensor, dpnp, copy=False)
        with pytest.raises(
            dlx.UnsupportedError, match=r"negative strides.*cannot be copied on its device"
        ):
            dlx.convert(tensor, dpnp)
        return
    back = dlx.convert(tensor, dpnp, copy=False)
    assert address(back) == address(source)
    assert type(back) is type(source)
    assert values(back) == values(source)
    if layout not in ("read-only", "broadcast"):
        source[...] = source[(-1,) * source.ndim]
        assert values(back) == values(source)


def test_empty_arrays_are_imported():
    """They are exported with a NULL address, as the standard asks; dpnp 0.20 fails on that."""
    source = on_device(arrays.aligned(3, 4))[:0]

    assert dlx.asarray(source).shape == (0, 4)
    with pytest.raises(TypeError, match="__cinit__"):
        dlx.convert(dlx.asarray(source), dpnp)


def test_views_of_a_tensor_on_the_device():
    tensor = dlx.asarray(on_device(arrays.aligned(3, 4)))

    assert values(dlx.convert(tensor[1:, ::2], dpnp)) == [[4, 6], [8, 10]]


def test_no_silent_transfer():
    source = on_device(arrays.aligned(3))

    for keywords in ({}, {"copy": True}, {"copy": False}):
        with pytest.raises(dlx.DeviceRefusedError, match=r"oneapi:0.*device='cpu' or force=True"):
            dlx.convert(source, "numpy", **keywords)


def test_consent_to_a_transfer():
    source = on_device(arrays.aligned(3))

    assert dlx.convert(source, "numpy", device="cpu").tolist() == [0, 1, 2]
    assert dlx.convert(source, "numpy", force=True).tolist() == [0, 1, 2]
    assert dlx.asarray(source, device="cpu").tolist() == [0, 1, 2]
    with pytest.raises(dlx.CopyRefusedError, match="copy=False"):
        dlx.convert(source, "numpy", force=True, copy=False)


def test_a_copy_on_the_device_is_made_by_its_producer():
    source = on_device(arrays.aligned(3))
    copy = dlx.convert(source, dpnp, copy=True)

    assert values(copy) == [0, 1, 2]
    assert address(copy) != address(source)


def test_reading_a_tensor_there_is_refused_with_the_way_out():
    tensor = dlx.asarray(on_device(arrays.aligned(3)))

    with pytest.raises(dlx.DeviceRefusedError, match="to_device"):
        tensor.tolist()
    with pytest.raises(BufferError, match="to_device"):
        memoryview(tensor)


@pytest.mark.parametrize(
    "to_cpu",
    [
        lambda x: dlx.from_dlpack(x, device="cpu"),
        lambda x: dlx.asarray(x, device="cpu"),
        lambda x: dlx.asarray(x, force=True),
        lambda x: dlx.asarray(dlx.convert(x, "numpy", force=True)),
        lambda x: dlx.asarray(dlx.convert(x, "numpy", device="cpu")),
    ],
)
def test_the_producer_brings_its_data_to_the_cpu(to_cpu):
    """By `__dlpack__(dl_device=(1, 0))`: dlx itself has no way to read oneAPI's memory."""
    for change in (lambda x: x, lambda x: x.T, lambda x: x[1:, ::2], lambda x: x[0, 1]):
        source = change(on_device(arrays.aligned(3, 4)))
        tensor = to_cpu(source)

        assert tensor.device == "cpu"
        assert tensor.tolist() == values(source)


def test_copy_false_is_no_consent_to_a_transfer():
    source = on_device(arrays.aligned(3))

    with pytest.raises(BufferError, match="copy"):
        dlx.asarray(source, device="cpu", copy=False)


def test_the_usm_array_inside():
    source = on_device(arrays.aligned(3, 4)).get_array()
    tensor = dlx.asarray(source)

    assert tensor.device == "oneapi:0"
    assert tensor.data_ptr == source._pointer
    assert dlx.asarray(source, device="cpu").tolist() == arrays.aligned(3, 4).tolist()


def test_data_of_the_cpu_is_not_brought_there():
    """`dpnp.from_dlpack` would give a numpy.ndarray for it."""
    with pytest.raises(dlx.DeviceRefusedError, match="dpnp cannot use data on cpu"):
        dlx.convert([1.0, 2.0], dpnp)


def test_lifetimes():
    tensor = dlx.asarray(on_device(arrays.aligned(1000)))
    back = dlx.convert(tensor, dpnp)
    del tensor

    assert values(back) == list(range(1000))


@pytest.mark.heavy
def test_no_leak():
    """Memory of a device that is the processor counts as the process's, as the last lines show."""
    arrays.check_no_leak(lambda x: dlx.asarray(on_device(x)))
    arrays.check_no_leak(lambda x: dlx.asarray(on_device(x), device="cpu"))
    arrays.check_no_leak(lambda x: dlx.convert(dlx.asarray(on_device(x)), dpnp))

    kept = []
    with pytest.raises(AssertionError, match=r"bytes for 400 arrays"):
        arrays.check_no_leak(lambda x: kept.append(dlx.asarray(on_device(x))))
