"""Memory stays flat over 100,000 rounds of everything that makes and frees something."""

import struct

import pytest

import dlx
import memory
from dlpack_ctypes import ALIVE, LegacyProducer, Producer
from memory import ROUNDS, failing, stays_flat

pytestmark = [pytest.mark.heavy, memory.READABLE]

SOURCE = dlx.asarray([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
BYTES = bytes(64)
STEPS = {
    "legacy capsule, unconsumed": lambda: SOURCE.__dlpack__(),
    "versioned capsule, unconsumed": lambda: SOURCE.__dlpack__(max_version=(1, 3)),
    "copied capsule, unconsumed": lambda: SOURCE.__dlpack__(max_version=(1, 3), copy=True),
    "own tensor": lambda: dlx.from_dlpack(SOURCE),
    "views": lambda: SOURCE[::-1, 1:].mT.expand_dims(0).reshape((2, 2), copy=None)[0, 1],
    "assignment": lambda: SOURCE.__setitem__((0, 0), 1.0),
    "sub-tensor assignment": lambda: SOURCE.__setitem__(0, [1.0, 2.0, 3.0]),
    "attributes": lambda: (SOURCE.shape, SOURCE.strides, SOURCE.dtype, SOURCE.device, SOURCE.nbytes),
    "buffer": lambda: memoryview(SOURCE).release(),
    "buffer import": lambda: dlx.asarray(BYTES),
    "tolist": lambda: SOURCE.tolist(),
    "repr": lambda: repr(SOURCE),
    "empty": lambda: dlx.empty((16, 16)),
    "copy": lambda: SOURCE.copy(),
    "copyto": lambda: dlx.copyto(SOURCE, SOURCE),
    "from_pointer": lambda: dlx.from_pointer(
        SOURCE.data_ptr, (6,), "float64", owner=SOURCE, on_release=int
    ),
    "failing index": lambda: failing(lambda: SOURCE[7]),
    "failing reshape": lambda: failing(SOURCE.reshape, (5,)),
    "failing export": lambda: failing(SOURCE.__dlpack__, dl_device=(2, 0)),
    "failing legacy export": lambda: failing(SOURCE[::-1].__dlpack__),
    "failing arguments": lambda: failing(SOURCE.__dlpack__, max_version=(1, 2, 3)),
    "failing import": lambda: failing(dlx.from_dlpack, 3),
    "failing dtype": lambda: failing(dlx.asarray, SOURCE, dtype="float33"),
    "to_device": lambda: SOURCE.to_device("cpu"),
    "new classes": lambda: failing(dlx.from_dlpack, type("New", (), {})()),
}  # fmt: skip


@pytest.mark.parametrize("name", STEPS)
def test_own_operations_leak_nothing(name):
    slow = name in ("repr", "tolist", "new classes")
    stays_flat(STEPS[name], ROUNDS // 10 if slow else ROUNDS)


@pytest.mark.parametrize("kind", [Producer, LegacyProducer])
@pytest.mark.parametrize("bad", [{}, {"dtype": (99, 8, 1)}, {"shape": (-1, 3)}])
def test_foreign_structs_leak_nothing(kind, bad):
    data = struct.pack("=6f", *range(6))

    def step():
        producer = kind(data, **bad)
        if bad:
            failing(dlx.from_dlpack, producer)
        else:
            dlx.from_dlpack(producer)

    left = len(ALIVE)
    stays_flat(step, ROUNDS // 10)
    assert len(ALIVE) == left


def test_numpy_as_consumer_and_producer():
    numpy = pytest.importorskip("numpy", reason="is the consumer here")
    array = numpy.arange(1024.0)
    for step in (
        lambda: numpy.from_dlpack(SOURCE),
        lambda: numpy.asarray(SOURCE),
        lambda: numpy.array(SOURCE, copy=True),
        lambda: dlx.from_dlpack(array),
        lambda: dlx.asarray(array, dtype="float32"),
        lambda: SOURCE.numpy(),
        lambda: SOURCE.__array_interface__,
        lambda: numpy.from_dlpack(SOURCE, copy=True),
    ):
        stays_flat(step)


def test_numpy_that_refuses_capsules():
    # Each failed import leaves a capsule that dies with an exception pending.
    numpy = pytest.importorskip("numpy", reason="is the consumer here")
    large = dlx.empty(1 << 17, dtype="bfloat16")

    stays_flat(lambda: failing(numpy.from_dlpack, large))
    stays_flat(lambda: failing(numpy.from_dlpack, large, copy=True), ROUNDS // 100)


def test_torch_as_consumer_and_producer():
    torch = pytest.importorskip("torch", reason="is the consumer here")
    source = torch.arange(1024.0)
    lazy = torch.view_as_complex(torch.ones(4, 2)).conj()
    for step in (
        lambda: torch.from_dlpack(SOURCE),
        lambda: torch.from_dlpack(SOURCE.__dlpack__()),
        lambda: dlx.from_dlpack(source),
        lambda: dlx.from_dlpack(lazy),
        lambda: failing(dlx.from_dlpack, lazy, copy=False),
        lambda: torch.from_dlpack(SOURCE[::-1]),
    ):
        stays_flat(step)


def test_pyarrow_as_consumer_and_producer():
    pyarrow = pytest.importorskip("pyarrow", reason="is the consumer here")
    source = pyarrow.array(range(1024))
    for step in (
        lambda: pyarrow.py_buffer(SOURCE),
        lambda: pyarrow.Array.from_buffers(pyarrow.float64(), 6, [None, pyarrow.py_buffer(SOURCE)]),
        lambda: dlx.from_dlpack(source),
    ):
        stays_flat(step)
