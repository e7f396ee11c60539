"""Indexing and assignment against NumPy on random shapes."""

import math
import os
import random

import pytest

import dlx

ROUNDS = 300


@pytest.fixture
def seeded():
    """A generator whose seed is printed, so that a failure can be repeated with DLX_TEST_SEED."""
    seed = int(os.environ.get("DLX_TEST_SEED") or random.randrange(1 << 32))
    print(f"DLX_TEST_SEED={seed}")
    return random.Random(seed)


def random_index(rng, shape):
    index, axes = [], list(shape)
    ellipsis_at = rng.choice([None, rng.randrange(len(axes) + 1)])
    for axis, extent in enumerate(axes):
        if axis == ellipsis_at:
            index.append(Ellipsis)
        if rng.random() < 0.15:
            index.append(None)
        kind = rng.random()
        if kind < 0.3 and extent:
            index.append(rng.randrange(-extent, extent))
        elif kind < 0.9 or ellipsis_at is not None:
            bounds = [rng.choice([None, rng.randint(-extent - 2, extent + 2)]) for _ in range(2)]
            index.append(slice(*bounds, rng.choice([None, 1, 2, 3, -1, -2, 10])))
        else:
            break
    return tuple(index)


def test_indexing_is_numpy_s_on_random_shapes(seeded):
    numpy = pytest.importorskip("numpy", reason="is the oracle")
    for _ in range(ROUNDS):
        shape = tuple(seeded.randint(0, 5) for _ in range(seeded.randint(0, 5)))
        array = numpy.arange(math.prod(shape), dtype="i4").reshape(shape)
        if seeded.random() < 0.5:
            array = array.transpose(seeded.sample(range(len(shape)), len(shape)))
        tensor = dlx.from_dlpack(array)
        index = random_index(seeded, array.shape)
        expected = array[index]
        got = tensor[index]

        assert got.shape == expected.shape, index
        assert got.tolist() == expected.tolist(), index
        if expected.size and isinstance(expected, numpy.ndarray):
            assert got.data_ptr == expected.ctypes.data, index


def test_assignment_is_numpy_s_on_random_shapes(seeded):
    numpy = pytest.importorskip("numpy", reason="is the oracle")
    for round_number in range(ROUNDS):
        shape = tuple(seeded.randint(1, 5) for _ in range(seeded.randint(1, 4)))
        array = numpy.zeros(shape, dtype="i8")
        tensor = dlx.asarray(numpy.zeros(shape, dtype="i8"))
        index = random_index(seeded, shape)
        value = numpy.arange(array[index].size).reshape(array[index].shape)
        if value.ndim and seeded.random() < 0.3:
            value = value[:1]
        array[index] = value
        tensor[index] = numpy.ascontiguousarray(value).reshape(value.shape)

        assert tensor.tolist() == array.tolist(), (round_number, index)


def test_the_longest_axis_is_turned_and_cut_as_any_other():
    most, lowest = 2**63 - 1, -(2**63)
    t = dlx.from_pointer(dlx.empty(1, dtype="uint8").data_ptr, most, "uint8", strides=[0])

    for key in (
        slice(None, None, -1),
        slice(None, lowest, -1),
        slice(lowest, None),
        slice(lowest, None, -1),
        slice(None, lowest),
        slice(lowest, lowest, -2),
        slice(most, None, -2),
        slice(-most, None, -1),
    ):
        start, stop, step = key.indices(most)
        length = max((stop - start + step - (1 if step > 0 else -1)) // step, 0)
        assert t[key].shape == (length,), key


@pytest.mark.parametrize("index", [5, -6, (0, 0), (..., ...), "x", 1.0, (slice(None, None, 0),)])
def test_indexing_refuses_what_it_cannot_do(index):
    with pytest.raises((IndexError, TypeError, ValueError)):
        dlx.empty(5)[index]


def test_indexing_error_names_axis_and_extent():
    with pytest.raises(IndexError, match=r"7.*(axis|extent|size)"):
        dlx.empty((3, 4))[1, 7]


EDGES = [None, 0, 2, -2, 2**63 - 1, -(2**63), 2**63, -(2**63) - 1, 2**70, -(2**70)]


@pytest.mark.parametrize("step", [None, 1, -1, 2, 2**62, -(2**62), 2**70, -(2**70)])
def test_slices_beyond_64_bits_are_python_s(step):
    numpy = pytest.importorskip("numpy")
    array = numpy.arange(5, dtype="int32")
    for start in EDGES:
        for stop in EDGES:
            key = slice(start, stop, step)
            view, expected = dlx.asarray(array)[key], array[key]
            numpy.testing.assert_array_equal(view.numpy(), expected)
            view[...] = view.copy()  # its strides are within the address space, too
            assert dlx.asarray(array.reshape(1, 5)).T[key].tolist() == [[x] for x in expected]
