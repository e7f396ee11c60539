"""`dlx.asarray` of lists of arrays, which native code puts one behind the other."""

import functools
import random

import pytest

import dlx
from dlpack_ctypes import Forwarding

numpy = pytest.importorskip("numpy", reason="is the oracle")


def array(rng, dtype, shape):
    """An array with gaps, negative strides or another order of axes."""
    wide = numpy.arange(9 * max(1, int(numpy.prod(shape))) + 9).astype(dtype)
    kind = rng.randrange(4)
    size = int(numpy.prod(shape))
    if kind == 0:
        return wide[:size].reshape(shape)
    if kind == 1:
        return wide[: 2 * size : 2].reshape(shape)
    if kind == 2:
        return wide[:size].reshape(shape)[(slice(None, None, -1),) * len(shape)]
    return wide[:size].reshape(shape[::-1]).T


def nest(rng, extents, leaf):
    """Nested lists and tuples of what `leaf` makes."""
    if not extents:
        return leaf()
    return rng.choice([list, tuple])(nest(rng, extents[1:], leaf) for _ in range(extents[0]))


@pytest.mark.parametrize("wrap", [lambda a: a, dlx.asarray], ids=["ndarray", "Tensor"])
@pytest.mark.parametrize("name", ["?", "i1", "u2", "f2", "i4", "f4", "i8", "f8", "c8", "c16"])
def test_lists_of_arrays_are_what_numpy_makes_of_them(name, wrap):
    rng = random.Random(name)
    dtype = numpy.dtype(name)
    for _ in range(40):
        shape = tuple(rng.choice([0, 1, 2, 3, 5]) for _ in range(rng.randrange(4)))
        outer = [rng.choice([1, 2, 3]) for _ in range(rng.randrange(1, 4))]
        nested = nest(rng, outer, functools.partial(lambda s: wrap(array(rng, dtype, s)), shape))

        tensor, expected = dlx.asarray(nested), numpy.asarray(nested)

        assert (tensor.dtype, tensor.shape) == (expected.dtype, expected.shape)
        assert numpy.array_equal(tensor.numpy(), expected)
        assert dlx.asarray(nested, dtype=dtype).tolist() == expected.tolist()
        assert not tensor.readonly
        assert tensor.is_contiguous()


def test_arrays_that_are_not_put_byte_behind_byte():
    small = dlx.asarray([1, 2, 3], dtype="int4")
    assert dlx.asarray([small, small]).tolist() == [[1, 2, 3]] * 2
    assert dlx.asarray([dlx.empty((1,) * 64)]).ndim == 65
    other = dlx.asarray([numpy.ones(2, "f4")] * 2, dtype="float64")
    assert (other.dtype.name, other.tolist()) == ("float64", [[1, 1]] * 2)


def test_arrays_above_the_size_of_one_piece():
    parts = [numpy.arange(i, i + 40_000.0)[:: (-1) ** i] for i in range(5)]

    assert numpy.array_equal(dlx.asarray(parts).numpy(), numpy.asarray(parts))


def test_arrays_of_other_classes_may_be_mixed():
    items = [numpy.arange(3.0), dlx.asarray([3.0, 4, 5]), Forwarding(numpy.arange(6.0, 9))]

    assert dlx.asarray(items).tolist() == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
    assert dlx.asarray([items, items]).shape == (2, 3, 3)


class Own:
    """An array that runs a function when it is imported."""

    def __init__(self, run):
        self.run = run

    def __dlpack__(self, **options):
        self.run()
        return numpy.arange(2.0).__dlpack__()

    def __dlpack_device__(self):
        return 1, 0


@pytest.mark.parametrize("at", [0, 1, 2])
def test_a_list_that_loses_its_items_during_an_import(at):
    items = [numpy.arange(2.0), numpy.arange(2.0), numpy.arange(2.0)]
    items[at] = Own(items.clear)

    assert dlx.asarray(items).shape == (0,)


@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
@pytest.mark.parametrize("at", [0, 1])
def test_exceptions_of_an_array_pass_on(error, at):
    runs = []

    def fail():
        runs.append(at)
        raise error("from the array")

    items = [numpy.arange(2.0), numpy.arange(2.0)]
    items[at] = Own(fail)

    with pytest.raises(error, match="from the array"):
        dlx.asarray(items)
    assert runs == [at]


@pytest.mark.parametrize("shape", [(2,), (2, 3, 1), (2, 2), ()])
def test_arrays_of_other_shapes_are_ragged(shape):
    with pytest.raises(ValueError, match="ragged"):
        dlx.asarray([numpy.zeros((2, 3)), numpy.zeros(shape)])


def test_an_array_that_is_refused_is_named():
    masked = numpy.ma.array([1.0, 2.0], mask=[0, 1])

    with pytest.raises(BufferError, match=r"obj`\[1\].*mask"):
        dlx.asarray([numpy.arange(2.0), masked])


class Shown(bytearray):
    """A stand-in for an array of JAX: its buffer is faster than `__dlpack__`."""

    __module__ = "jax"
    dtype = numpy.dtype("u1")
    imports = 0

    def __dlpack__(self, **options):
        Shown.imports += 1
        return numpy.frombuffer(self, "u1").__dlpack__()

    def __dlpack_device__(self):
        return 1, 0


def test_buffers_are_read_once_they_are_known_to_be_the_array():
    items = [Shown([i, i + 1]) for i in range(20)]

    assert dlx.asarray(items).tolist() == [[i, i + 1] for i in range(20)]
    assert dlx.asarray(items).tolist() == [[i, i + 1] for i in range(20)]
    assert Shown.imports == 1
    for item in items:
        item.append(0)  # a BufferError while its buffer is in use


@pytest.mark.parametrize("at", [0, 1])
def test_a_buffer_of_another_dtype_or_shape_is_not_read(at):
    other = type("Shown", (Shown,), {"dtype": numpy.dtype("i1"), "__module__": "jax"})
    other.__dlpack__ = lambda self, **options: numpy.frombuffer(self, "i1").__dlpack__()
    items = [other([255, 1]), other([254, 2])]

    assert dlx.asarray(items).tolist() == [[-1, 1], [-2, 2]]
    items[at] = Shown([255, 1])
    with pytest.raises(BufferError, match="different dtypes"):
        dlx.asarray(items)
    items = [Shown([1, 2]), Shown([1, 2])]
    items[at] = Shown([1])
    with pytest.raises(ValueError, match="ragged"):
        dlx.asarray(items)


class Mixed(Shown):
    """Of several dtypes. The buffer is always of unsigned bytes."""

    __module__ = "jax"

    def __new__(cls, data, dtype):
        made = super().__new__(cls, data)
        made.dtype = numpy.dtype(dtype)
        return made

    def __init__(self, data, dtype):
        super().__init__(data)

    def __dlpack__(self, **options):
        return numpy.frombuffer(self, self.dtype).__dlpack__()


class Shifted(Shown):
    """The buffer is other memory than the array's."""

    __module__ = "jax"

    def __dlpack__(self, **options):
        return (numpy.frombuffer(self, "u1") + 100).__dlpack__()


class Interrupting(Shown):
    __module__ = "jax"

    @property
    def dtype(self):
        raise KeyboardInterrupt


def test_what_is_known_of_buffers_is_known_of_one_class_and_dtype():
    assert dlx.asarray([Shown([1, 2]), Shown([3, 4])]).tolist() == [[1, 2], [3, 4]]
    assert dlx.asarray([Shifted([1, 2]), Shifted([3, 4])]).tolist() == [[101, 102], [103, 104]]
    assert dlx.asarray([Mixed([1, 2], "u1"), Mixed([3, 4], "u1")]).tolist() == [[1, 2], [3, 4]]
    assert dlx.asarray([Mixed([255, 1], "i1"), Mixed([254, 2], "i1")]).tolist() == [
        [-1, 1],
        [-2, 2],
    ]


def test_an_interruption_while_a_buffer_is_looked_at_passes_on():
    with pytest.raises(KeyboardInterrupt):
        dlx.asarray([Interrupting([1, 2]), Interrupting([3, 4])])


class Placed(Shown):
    """A stand-in for a tensor of TensorFlow, whose buffer on a device is a copy."""

    __module__ = "tensorflow"
    device = "CPU"

    def __dlpack__(self, **options):
        memory = numpy.frombuffer(self, "u1")
        return (memory if self.device is Placed.device else memory + 100).__dlpack__()


class Incomparable:
    def __eq__(self, other):
        raise ZeroDivisionError


@pytest.mark.parametrize("device", ["GPU", Incomparable()])
def test_buffers_of_another_device_are_not_read(device):
    far = Placed([5, 6])
    far.device = device

    assert dlx.asarray([Placed([1, 2]), Placed([3, 4])]).tolist() == [[1, 2], [3, 4]]
    assert dlx.asarray([Placed([1, 2]), far]).tolist() == [[1, 2], [105, 106]]
    assert dlx.asarray([far, far]).tolist() == [[105, 106], [105, 106]]
