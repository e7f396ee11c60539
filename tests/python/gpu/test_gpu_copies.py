"""Copies to, on and from a GPU against NumPy: every layout, every size of elements."""

from __future__ import annotations

import numpy
import pytest
from machine import CUDA

import dlx

NAMES = ["int8", "int16", "float16", "int32", "float64", "complex64", "complex128", "bool"]
SEED = 20


def values(shape, name):
    random = numpy.random.default_rng(SEED)
    return random.integers(0, 2 if name == "bool" else 100, shape).astype(name)


LAYOUTS = {
    "compact": ((37, 53), lambda a: a),
    "transposed": ((300, 257), lambda a: a.T),
    "thin": ((3, 5000), lambda a: a.T),
    "NCHW→NHWC": ((2, 3, 40, 50), lambda a: a.transpose(0, 2, 3, 1)),
    "NHWC→NCHW": ((2, 40, 50, 3), lambda a: a.transpose(0, 3, 1, 2)),
    "5-d": ((4, 6, 5, 7, 3), lambda a: a.transpose(4, 1, 3, 0, 2)),
    "every third": ((1000,), lambda a: a[::3]),
    "crop": ((100, 160), lambda a: a[3:90, 7:107]),
    "reversed": ((64, 65), lambda a: a[::-1, ::-1]),
    "broadcast": ((64, 1), lambda a: numpy.broadcast_to(a, (64, 33))),
    "0-d": ((3,), lambda a: a[1, ...]),
    "empty": ((0, 4), lambda a: a),
    "one": ((1, 1, 1), lambda a: a),
}


def on_device(array, view):
    """The same view of the same array, on the GPU."""
    whole = dlx.asarray(array, device=CUDA)
    here = view(array)
    low = array.__array_interface__["data"][0]
    offset = here.__array_interface__["data"][0] - low
    strides = tuple(step // array.itemsize for step in here.strides)
    return dlx.from_pointer(
        whole.data_ptr + offset, here.shape, array.dtype, strides=strides, device=CUDA, owner=whole
    )


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", NAMES)
def test_copies(layout, name):
    shape, view = LAYOUTS[layout]
    array = values(shape, name)
    expected = view(array)
    there = on_device(array, view)

    assert numpy.array_equal(there.contiguous().numpy(force=True), expected)
    assert numpy.array_equal(there.copy("F").numpy(force=True), expected)
    assert numpy.array_equal(there.to_device("cpu").numpy(), expected)  # strided, to the host
    assert numpy.array_equal(dlx.asarray(expected, device=CUDA).numpy(force=True), expected)
    target = dlx.empty((*expected.shape, 2), dtype=name, device=CUDA)
    dlx.copyto(target[..., 1], expected)  # from the host into gaps
    dlx.copyto(target[..., 0], there)
    assert numpy.array_equal(target[..., 0].numpy(force=True), expected)
    assert numpy.array_equal(target[..., 1].numpy(force=True), expected)


def test_random_copies():
    random = numpy.random.default_rng(SEED)
    for _ in range(100):
        ndim = int(random.integers(1, 6))
        shape = tuple(int(n) for n in random.integers(1, 12, ndim))
        array = values(shape, NAMES[int(random.integers(len(NAMES)))])
        axes = random.permutation(ndim)
        steps = tuple(slice(None, None, int(random.choice([-2, -1, 1, 3]))) for _ in shape)

        def view(a, steps=steps, axes=axes):
            return a[steps].transpose(axes)

        there = on_device(array, view)
        got = there.contiguous().numpy(force=True)
        assert numpy.array_equal(got, view(array)), (shape, axes, steps, array.dtype)


def test_overlapping_operands():
    array = numpy.arange(1000, dtype="i4")
    there = dlx.asarray(array, device=CUDA)
    dlx.copyto(there[1:], there[:-1])
    array[1:] = array[:-1].copy()
    assert numpy.array_equal(there.numpy(force=True), array)


def test_offsets_beyond_32_bits():
    size = (1 << 32) + (1 << 20)
    free = dlx.Device(CUDA).memory_free
    if free is None or free < size + (1 << 29):
        pytest.skip(f"needs {size >> 30} GiB of the GPU's memory (free: {free})")
    whole = dlx.empty(size, dtype="uint8", device=CUDA)
    part = whole.reshape((-1, 1 << 20))[-3:, ::1024]
    dlx.copyto(part, numpy.arange(3 * 1024, dtype="u1").reshape(3, 1024))
    got = part.contiguous().numpy(force=True)
    assert numpy.array_equal(got, numpy.arange(3 * 1024, dtype="u1").reshape(3, 1024))


def test_out_of_memory_leaves_everything_usable():
    total = dlx.Device(CUDA).memory_total
    with pytest.raises(MemoryError, match=CUDA):
        dlx.empty(2 * total, dtype="uint8", device=CUDA)
    assert dlx.asarray([1, 2], device=CUDA).numpy(force=True).tolist() == [1, 2]


@pytest.mark.parametrize("device", ["cuda_host", "cuda_managed"])
def test_pinned_and_managed_memory(device):
    there = dlx.empty((3, 4), dtype="int32", device=device)
    assert dlx.device_of(there.data_ptr) == f"{device}:0"
    there[...] = numpy.arange(12).reshape(3, 4).astype("i4")
    assert there.to_device(CUDA).T.contiguous().numpy(force=True)[1, 2] == 9
    if device == "cuda_host" or dlx.Device(CUDA).unified_memory:
        assert there.numpy().ctypes.data == there.data_ptr
    assert there.numpy(force=True)[2].tolist() == [8, 9, 10, 11]
