"""What test_gpu_order.py uses of PyTorch, on the fake driver: so that those tests have run before there is a
GPU, and fail where dlx leaves out a wait.

As in PyTorch, work is asynchronous on the current stream, memory goes back to a pool of the stream that it
was taken on, at once, and arrays have DLPack's exchange table. Only fills and plain copies are work of the
device; what computes waits for the current stream, and computes on the host.
"""

from __future__ import annotations

import contextlib
import ctypes
import types

import numpy
from fake_driver import cuda

from dlpack_ctypes import (
    ALLOCATOR,
    BORROW,
    FROM_OBJECT,
    STREAM,
    TO_OBJECT,
    DLPackVersion,
    ExchangeAPI,
    Export,
    Imported,
    make_capsule,
)

NOT_READY = 600
FLOAT = (2, 32, 1)


class Stream:
    """A stream of the one device; 0 is the legacy default stream."""

    device = types.SimpleNamespace(type="cuda", index=0)

    def __init__(self, handle=None):
        self.cuda_stream = cuda().make_stream() if handle is None else handle

    def synchronize(self):
        cuda().synchronize(self.cuda_stream)

    def query(self):
        driver = cuda()
        driver.call("cuCtxPushCurrent_v2", driver.context(0))
        code = driver.library.cuStreamQuery(ctypes.c_void_p(self.cuda_stream))
        driver.call("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))
        assert code in (0, NOT_READY)
        return code == 0


DEFAULT = Stream(0)
entered = [DEFAULT]
made = []  # streams that a test made


def current_stream():
    return entered[-1]


@contextlib.contextmanager
def use_stream(stream):
    entered.append(stream)
    try:
        yield
    finally:
        entered.pop()


def make_stream():
    made.append(Stream())
    return made[-1]


def end():
    """Nothing of a test is left: its streams, and the memory at rest."""
    for stream in made:
        cuda().destroy_stream(stream.cuda_stream)
    made.clear()
    for blocks in pool.values():
        for address in blocks:
            cuda().free(address)
    pool.clear()


pool = {}  # (stream, size) -> addresses at rest


class Block:
    """Memory of the pool; back there when nobody refers to it, whatever work is still to be done."""

    def __init__(self, size):
        self.key = current_stream().cuda_stream, size
        resting = pool.setdefault(self.key, [])
        self.address = resting.pop() if resting else cuda().allocate(size)

    def __del__(self):
        pool.setdefault(self.key, []).append(self.address)


class Tensor:
    """Compact floats on the device."""

    def __init__(self, shape, address=None, owner=None):
        self.shape = shape
        self.size = int(numpy.prod(shape, dtype=int))
        self.owner = Block(4 * self.size) if address is None else owner
        self.address = self.owner.address if address is None else address

    def data_ptr(self):
        return self.address

    # ---- work on the current stream ----

    def fill_(self, value):
        word = int.from_bytes(numpy.float32(value).tobytes(), "little")
        give("cuMemsetD32Async", ctypes.c_uint64(self.address), ctypes.c_uint(word), self.size)
        return self

    def copy_(self, other):
        addresses = ctypes.c_uint64(self.address), ctypes.c_uint64(other.address)
        give("cuMemcpyDtoDAsync_v2", *addresses, 4 * self.size)
        return self

    def __add__(self, number):
        assert number == 0, "only copies are work of the device"
        return Tensor(self.shape).copy_(self)

    def __mul__(self, number):
        assert number == 1, "only copies are work of the device"
        return Tensor(self.shape).copy_(self)

    # ---- what waits for the current stream ----

    def values(self):
        current_stream().synchronize()
        out = numpy.empty(self.shape, "f4")
        assert cuda().peek(self.address, out.ctypes.data, out.nbytes)
        return out

    def put(self, values):
        current_stream().synchronize()
        data = numpy.ascontiguousarray(values, "f4")
        assert cuda().poke(self.address, data.ctypes.data_as(ctypes.c_char_p), data.nbytes)
        return self

    def min(self):
        return self.values().min()

    def add_(self, number):
        return self.put(self.values() + number)

    def tolist(self):
        return self.values().tolist()

    def cpu(self):
        return self.values()

    def reshape(self, *shape):
        return Tensor(shape, self.address, self)

    # ---- handing over ----

    def export(self):
        made = Export(self.address, self.shape, dtype=FLOAT, device=(2, 0))
        made.owner = self
        return made

    def __dlpack__(self, **keywords):
        raise AssertionError("the exchange table goes first")

    def __dlpack_device__(self):
        return 2, 0


def give(name, address, *args):
    """Work for the current stream. A number is a size."""
    sizes = (ctypes.c_size_t(a) if isinstance(a, int) else a for a in args)
    cuda().within(0, name, address, *sizes, ctypes.c_void_p(current_stream().cuda_stream))


def from_object(address, out):
    tensor = ctypes.cast(address, ctypes.py_object).value
    out[0] = ctypes.pointer(tensor.export().struct)
    return 0


def work_stream(device_type, device_id, out):
    out[0] = current_stream().cuda_stream
    return 0


TABLE = ExchangeAPI(
    DLPackVersion(1, 3), None, ALLOCATOR(), FROM_OBJECT(from_object), TO_OBJECT(), BORROW(),
    STREAM(work_stream),
)  # fmt: skip
Tensor.__dlpack_c_exchange_api__ = make_capsule(ctypes.addressof(TABLE), b"dlpack_exchange_api")


class Held:
    """A capsule's memory, until nobody refers to it."""

    def __init__(self, capsule):
        self.imported = Imported(capsule)

    def __del__(self):
        self.imported.free()


def from_dlpack(x):
    stream = current_stream().cuda_stream or 1
    held = Held(x.__dlpack__(stream=stream, max_version=(1, 3)))
    return Tensor(tuple(x.shape), held.imported.data, held)


def as_tensor(x, device):
    interface = x.__cuda_array_interface__
    return Tensor(interface["shape"], interface["data"][0], x)


def full(shape, value, device):
    return Tensor(shape if isinstance(shape, tuple) else (shape,)).fill_(value)


# ---- graphs ----


class CUDAGraph:
    executable = None

    def replay(self):
        cuda().within(0, "cuGraphLaunch", self.executable, ctypes.c_void_p(0))


@contextlib.contextmanager
def graph(made):
    stream, driver, captured = make_stream(), cuda(), ctypes.c_void_p()
    with use_stream(stream):
        handle = ctypes.c_void_p(stream.cuda_stream)
        driver.within(0, "cuStreamBeginCapture_v2", handle, ctypes.c_int(0))
        yield
        driver.within(0, "cuStreamEndCapture", handle, ctypes.byref(captured))
    made.executable = ctypes.c_void_p()
    driver.within(
        0,
        "cuGraphInstantiateWithFlags",
        ctypes.byref(made.executable),
        captured,
        ctypes.c_uint64(0),
    )


def torch():
    """The stand-in for the module."""
    return types.SimpleNamespace(
        from_dlpack=from_dlpack,
        as_tensor=as_tensor,
        full=full,
        zeros=lambda shape, device: full(shape, 0, device),
        ones=lambda shape, device: full(shape, 1, device),
        empty=lambda *shape, device: Tensor(shape),
        arange=lambda end, device: Tensor((int(end),)).put(numpy.arange(end)),
        cuda=types.SimpleNamespace(
            Stream=make_stream,
            ExternalStream=Stream,
            stream=use_stream,
            current_stream=current_stream,
            default_stream=lambda: DEFAULT,
            synchronize=lambda: cuda().within(0, "cuCtxSynchronize"),
            CUDAGraph=CUDAGraph,
            graph=graph,
            _sleep=lambda cycles: None,  # the fake does no work before somebody waits for it
        ),
    )
