"""Masks and index arrays as keys, and the way from an ndarray back to the Tensor it came from."""

import gc
import os
import random
import weakref

import pytest

import dlx
from dlpack_ctypes import Producer

numpy = pytest.importorskip("numpy")


@pytest.fixture
def seeded():
    """A generator whose seed is printed, so that a failure can be repeated with DLX_TEST_SEED."""
    seed = int(os.environ.get("DLX_TEST_SEED") or random.randrange(1 << 32))
    print(f"DLX_TEST_SEED={seed}")
    return numpy.random.default_rng(seed)


def keys(rng, shape):
    """Keys that give no view, for an array of three axes."""
    mask = rng.random(shape) < 0.5
    rows = rng.integers(-shape[0], shape[0], 4)
    columns = rng.integers(0, shape[1], 4)
    return [
        mask,
        mask[:, 0, 0],
        (slice(None), mask[0, :, 0]),
        rows,
        rows.tolist(),
        (rows, columns),
        (rows.reshape(2, 2), slice(None), [0]),
        (..., rows % shape[2]),
        (None, rows, 0),
        True,
        numpy.True_,
        numpy.zeros(0, numpy.int64),
    ]


def as_tensors(key):
    if isinstance(key, tuple):
        return tuple(map(as_tensors, key))
    return dlx.asarray(key) if type(key) is numpy.ndarray else key


def test_masks_and_index_arrays_read_and_write_as_numpy_does(seeded):
    for _ in range(10):
        shape = tuple(seeded.integers(1, 4, 3))
        source = seeded.random(shape)
        for key in keys(seeded, shape):
            for mine in (key, as_tensors(key)):
                tensor = dlx.asarray(source)
                result = tensor[mine]
                assert type(result) is dlx.Tensor
                assert result.shape == source[key].shape
                numpy.testing.assert_array_equal(result.numpy(), source[key])
                expected, written = source.copy(), source.copy()
                expected[key] = 7
                target = dlx.asarray(written)
                target[mine] = 7
                numpy.testing.assert_array_equal(written, expected)
                expected[key] = source[key][..., None][..., 0]
                target[mine] = dlx.asarray(source[key])
                numpy.testing.assert_array_equal(written, expected)


def test_integers_that_are_arrays_of_no_axes_are_integers():
    tensor = dlx.asarray([[1, 2], [3, 4]])

    for one in (numpy.int64(1), numpy.asarray(1), dlx.asarray(1)):
        assert tensor[one].data_ptr == tensor[1].data_ptr  # a view, as with an int
        assert tensor[one, one].item() == 4
    assert tensor[dlx.asarray([1])].shape == (1, 2)  # an axis makes it an index array
    assert dlx.asarray(True) in tensor[dlx.asarray(True)].numpy().astype(bool)


@pytest.mark.parametrize(
    "key", [numpy.ma.array([0, 2], mask=[0, 1]), numpy.ma.array([True] * 3, mask=[0, 1, 0])]
)
def test_a_key_with_a_mask_of_its_own_is_refused(key):
    tensor = dlx.asarray([1.0, 2.0, 3.0])

    for call in (
        lambda: tensor[key],
        lambda: tensor[..., key],
        lambda: tensor.__setitem__(key, 0),
        lambda: tensor.__setitem__(key, tensor[: len(key)]),
        lambda: numpy.add.at(tensor, key, 1),
        lambda: numpy.add.reduceat(tensor, key),
    ):
        with pytest.raises(dlx.UnsupportedError, match=r"1 masked entries.*\.filled"):
            call()
    assert tensor.tolist() == [1, 2, 3]
    assert tensor[numpy.ma.array([0, 2])].tolist() == [1, 3]


@pytest.mark.parametrize("key", [1.0, "a", object(), [0.5], dlx.asarray([1.5]), [[0, 1], [2]]])
def test_keys_that_are_none(key):
    tensor = dlx.asarray([1, 2, 3])
    with pytest.raises((TypeError, IndexError, ValueError)):
        tensor[key]
    with pytest.raises((TypeError, IndexError, ValueError)):
        tensor[key] = 0


def test_a_read_only_tensor_is_not_written_through_a_mask():
    tensor = dlx.asarray([1, 2, 3]).as_readonly()
    with pytest.raises(dlx.ReadOnlyError):
        tensor[[True, False, True]] = 0
    assert tensor[[True, False, True]].tolist() == [1, 3]


@pytest.mark.parametrize("step", [1, -1])
def test_masks_in_the_memory_that_is_written_are_read_first(step):
    bits = dlx.asarray([True, False, False, True, False, False, False])
    expected = bits.numpy().copy()
    expected[1:][::step][expected[:-1].copy()] = True

    bits[1:][::step][bits[:-1]] = True  # NumPy would go on with what it has just written

    assert bits.tolist() == expected.tolist()
    counts = dlx.asarray([2, 1, 0])
    counts[counts] = counts[::-1]
    assert counts.tolist() == [2, 1, 0]


def test_the_way_back_is_a_view_of_the_array_at_hand():
    tensor = dlx.asarray([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    array = tensor.numpy()
    assert type(array) is numpy.ndarray

    view = array[::-1, 1:]
    back = dlx.asarray(view)
    assert back.data_ptr == view.ctypes.data
    assert back.strides == (-3, 1)
    assert back.tolist() == [[5, 6], [2, 3]]
    view.flags.writeable = False
    assert dlx.from_dlpack(view).readonly
    assert not dlx.from_dlpack(array).readonly
    assert dlx.asarray(tensor.as_readonly().numpy()).readonly
    halves = dlx.asarray(array.view(numpy.float32))
    assert halves.shape == (2, 6)
    assert str(halves.dtype) == "float32"


def test_the_way_back_needs_the_memory_and_not_the_array():
    producer = Producer()
    tensor = dlx.from_dlpack(producer)
    array = tensor.numpy()
    alive = weakref.ref(array)
    back = dlx.asarray(array[...])
    del array, tensor
    gc.collect()

    assert alive() is None  # `back` belongs to the producer's memory itself
    assert producer.deleted == 0
    assert back.tolist() == dlx.from_dlpack(Producer()).tolist()
    del back
    gc.collect()
    assert producer.deleted == 1


@pytest.mark.parametrize("dtype", ["float64", "bfloat16"])
def test_to_and_fro_makes_no_chain(dtype):
    if dtype == "bfloat16":
        pytest.importorskip("ml_dtypes")
    tensor = dlx.asarray([[1, 2], [3, 4]], dtype=dtype)
    address = tensor.data_ptr
    # A chain of owners of this length would overflow the stack when it is given back.
    for _ in range(100_000):
        tensor = dlx.asarray(tensor.numpy().T)
    assert tensor.data_ptr == address
    for _ in range(20_000):
        tensor = numpy.transpose(tensor)
    assert tensor.tolist() == [[1, 2], [3, 4]]
    del tensor
    gc.collect()


def test_an_array_of_its_own_keeps_its_owner():
    array = numpy.arange(3)
    tensor = dlx.asarray(array[1:])
    alive = weakref.ref(array)
    del array
    gc.collect()
    assert alive() is not None
    assert tensor.tolist() == [1, 2]
    foreign = dlx.asarray(numpy.asarray(memoryview(bytearray(b"abc"))))
    assert foreign.tolist() == [97, 98, 99]
    released = numpy.frombuffer(memoryview(b"xyz"), numpy.uint8)
    assert dlx.asarray(released).readonly
