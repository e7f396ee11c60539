"""`__cuda_array_interface__`, version 3, out of a Tensor and into `dlx.asarray`."""

from __future__ import annotations

import gc
import itertools
import weakref

import numpy
import pytest
from fake_driver import Memory, cuda, word

import dlx
from dlpack_ctypes import Export

CUDA = "cuda:0"


class Shows:
    """An object that has the interface and nothing else."""

    def __init__(self, interface):
        self.__cuda_array_interface__ = interface


# ---- out ----


def test_a_compact_tensor():
    tensor = dlx.asarray(numpy.arange(12, dtype="f4").reshape(3, 4), device="cuda:1")

    assert tensor.__cuda_array_interface__ == {
        "version": 3,
        "shape": (3, 4),
        "typestr": "<f4",
        "data": (tensor.data_ptr, False),
        "strides": None,
        "stream": 1,
    }


def test_strides_are_bytes_and_read_only_is_said():
    tensor = dlx.asarray(numpy.arange(12, dtype="c8").reshape(3, 4), device=CUDA)
    view = tensor.T[::-1].as_readonly()

    interface = view.__cuda_array_interface__

    assert interface["strides"] == (-8, 32)
    assert interface["data"] == (view.data_ptr, True)
    assert interface["shape"] == (4, 3)


def test_no_elements_have_no_address_and_nothing_to_wait_for():
    interface = dlx.empty((2, 0), device=CUDA).__cuda_array_interface__
    assert (interface["data"], interface["stream"]) == ((0, False), None)


def test_the_stream_is_the_current_one_and_finds_the_data_ready(driver):
    memory, stream = Memory(), dlx.Stream(device=CUDA)
    tensor = dlx.from_pointer(memory.address, 4, "int32", device=CUDA)
    driver.set_schedule(b"latest")
    memory.fill(0x11)
    dlx.Stream(memory.stream, device=CUDA).wrote(tensor)

    with dlx.stream(stream):
        interface = tensor.__cuda_array_interface__

    assert interface["stream"] == stream.handle
    driver.synchronize(interface["stream"])  # what a consumer does
    assert driver.bytes_at(memory.address, 16) == b"\x11" * 16
    del tensor
    memory.close()


def test_the_stream_lives_as_long_as_the_tensor(driver):
    tensor, other = dlx.empty(4, device=CUDA), dlx.empty(4, device=CUDA)
    before = driver.report().streams
    for _ in range(2):
        stream = dlx.Stream(device=CUDA)
        with dlx.Stream(stream.handle, device=CUDA):  # which is equal, and owns nothing
            assert tensor.__cuda_array_interface__["stream"] == stream.handle
        with stream:
            for _ in range(3):
                assert tensor.__cuda_array_interface__["stream"] == stream.handle
            assert other.__cuda_array_interface__["stream"] == stream.handle
        ends = weakref.ref(stream)
        del stream
        gc.collect()
        assert ends() is not None
    assert driver.report().streams == before + 2
    del tensor
    gc.collect()
    assert driver.report().streams == before + 2
    del other
    gc.collect()
    assert driver.report().streams == before
    assert ends() is None


@pytest.mark.parametrize("device", ["cuda:0", "cuda:1", "cuda_managed"])
def test_where_it_is(device):
    assert hasattr(dlx.empty(3, device=device), "__cuda_array_interface__")


@pytest.mark.parametrize("device", ["cpu", "cuda_host", "rocm:0"])
def test_where_it_is_not(device):
    tensor = dlx.empty(3, device=device)
    assert not hasattr(tensor, "__cuda_array_interface__")
    with pytest.raises(AttributeError, match=f"data on {dlx.Device(device)}"):
        _ = tensor.__cuda_array_interface__


def test_not_for_dtypes_without_a_typestr():
    with pytest.raises(AttributeError, match="no typestr for bfloat16"):
        _ = dlx.empty(3, dtype="bfloat16", device=CUDA).__cuda_array_interface__


# ---- in ----


@pytest.mark.parametrize("version", [0, 1, 2, 3])
@pytest.mark.parametrize("device", [0, 1])
def test_memory_is_shared_and_the_driver_says_where_it_is(device, version):
    memory = Memory(device)
    cuda().poke(memory.address, numpy.arange(4, dtype="i4").tobytes(), 16)
    source = Shows(memory.interface(version=version))

    tensor = dlx.asarray(source)

    assert (tensor.device, tensor.data_ptr) == (f"cuda:{device}", memory.address)
    assert (tensor.shape, tensor.dtype, tensor.readonly) == ((4,), "int32", False)
    assert tensor.numpy(force=True).tolist() == [0, 1, 2, 3]
    alive = weakref.ref(source)
    del source
    gc.collect()
    assert alive() is not None  # the object owns the memory
    del tensor
    gc.collect()
    assert alive() is None
    memory.close()


def test_managed_memory_keeps_its_kind():
    memory = Memory(1, managed=True)
    cuda().poke(memory.address, bytes(16), 16)
    tensor = dlx.asarray(Shows(memory.interface(stream=None)))
    assert tensor.device == "cuda_managed:0"
    assert tensor.tolist() == [0, 0, 0, 0]
    del tensor
    memory.close()


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"shape": (2, 2), "strides": (8, 4)}, [[0, 1], [2, 3]]),
        ({"shape": (2, 2), "strides": (4, 8)}, [[0, 2], [1, 3]]),
        ({"shape": (2,), "strides": (8,)}, [0, 2]),
        ({"shape": (2, 4), "strides": (0, 4)}, [[0, 1, 2, 3]] * 2),
        ({"shape": (1, 4), "strides": (3, 4)}, [[0, 1, 2, 3]]),  # means nothing for one element
        ({"shape": ()}, 0),
        ({"shape": (8,), "typestr": "<i2"}, [0, 0, 1, 0, 2, 0, 3, 0]),
    ],
)
def test_layouts(fields, expected):
    memory = Memory()
    cuda().poke(memory.address, numpy.arange(4, dtype="i4").tobytes(), 16)
    assert dlx.asarray(Shows(memory.interface(**fields))).numpy(force=True).tolist() == expected
    memory.close()


def test_read_only_data_stays_so():
    memory = Memory()
    tensor = dlx.asarray(Shows(memory.interface(data=(memory.address, True))))
    with pytest.raises(dlx.ReadOnlyError):
        tensor[0] = 1
    del tensor
    memory.close()


def test_no_elements():
    memory = Memory(1)
    behind = memory.address + 16  # where the last slice of an array begins
    for address, device in ((0, CUDA), (None, CUDA), (behind, CUDA), (memory.address, "cuda:1")):
        fields = {"version": 3, "shape": (0, 3), "typestr": "<f8", "data": (address, False)}
        tensor = dlx.asarray(Shows(fields))
        assert (tensor.shape, tensor.device) == ((0, 3), device)
    del tensor
    memory.close()


def test_the_stream_is_honoured(driver, schedule):
    """Whatever reads the data is behind the work that the producer's stream has."""
    memory = Memory()
    memory.fill(0x11)
    tensor = dlx.asarray(Shows(memory.interface()))
    assert tensor.numpy(force=True).tolist() == [word(0x11)] * 4
    with dlx.Stream(device=CUDA) as stream:
        copy = tensor.copy()
        driver.clear_log()
        stream.synchronize()
    assert copy.numpy(force=True).tolist() == [word(0x11)] * 4
    del tensor
    memory.close()


def test_the_host_does_not_wait_for_the_stream(driver):
    memory = Memory()
    driver.set_schedule(b"latest")
    memory.fill(0x11)
    tensor = dlx.asarray(Shows(memory.interface()))
    assert driver.bytes_at(memory.address, 4) != b"\x11" * 4
    del tensor
    memory.close()


def test_without_a_stream_nothing_is_waited_for(driver):
    memory = Memory()
    memory.fill(0x11)
    driver.clear_log()
    tensor = dlx.asarray(Shows(memory.interface(stream=None)))
    assert driver.waits() == 0
    assert driver.calls(b"cuEventRecord") == 0
    del tensor
    memory.close()


@pytest.mark.parametrize("stream", [1, 2])
def test_default_streams(stream, schedule):
    memory = Memory()
    memory.fill(0x11, stream)
    tensor = dlx.asarray(Shows(memory.interface(stream=stream)))
    assert tensor.numpy(force=True).tolist() == [word(0x11)] * 4
    del tensor
    memory.close()


BAD = [
    ({"stream": 0}, ValueError, "stream 0"),
    ({"stream": -1}, ValueError, "stream -1"),
    ({"stream": "1"}, TypeError, "'stream'.*integer .got str"),
    ({"mask": object()}, BufferError, "mask.*fill the masked"),
    ({"version": 4}, BufferError, "version 4"),
    ({"version": "3"}, TypeError, "'version'.*integer .got str"),
    ({"typestr": ">i4"}, BufferError, "byte order|typestr|format"),
    ({"typestr": "|O8"}, BufferError, "O8|object"),
    ({"typestr": 4}, TypeError, "typestr"),
    ({"strides": (6,)}, BufferError, "not multiples of the element size"),
    ({"strides": (4, 4)}, ValueError, "2 strides"),
    ({"shape": (4.0,)}, TypeError, "'shape'.*integer .got float"),
    ({"shape": (-1,)}, ValueError, "shape|extent"),
    ({"shape": 4}, TypeError, "'shape'.*is not a tuple of integers .got int"),
    ({"strides": 4}, TypeError, "'strides'.*is not a tuple of integers .got int"),
    ({"shape": itertools.count()}, ValueError, "too many numbers"),
    ({"shape": (2**62, 4)}, ValueError, "more than 2.63-1 elements"),
    ({"data": 5}, TypeError, "'data'.*pair .address, read-only. .got int"),
    ({"data": ("x", False)}, TypeError, "address"),
    ({"data": (0, False)}, ValueError, "no memory"),
    ({"data": (-5, False)}, ValueError, "driver does not know"),
]


@pytest.mark.parametrize(("fields", "error", "words"), BAD)
def test_a_bad_interface_says_what_is_wrong(fields, error, words):
    memory = Memory()
    with pytest.raises(error, match=f"Shows: .*({words})|({words}).*Shows"):
        dlx.asarray(Shows(memory.interface(**fields)))
    memory.close()


@pytest.mark.parametrize("key", ["shape", "typestr", "data", "version"])
def test_a_missing_field_is_named(key):
    interface = {"version": 3, "shape": (1,), "typestr": "<i4", "data": (1, False)}
    del interface[key]
    with pytest.raises(ValueError, match=f"Shows.*.{key}. is missing"):
        dlx.asarray(Shows(interface))
    with pytest.raises(TypeError, match=r"not a dict.*list.*Shows"):
        dlx.asarray(Shows([1]))


def test_host_memory_is_not_taken_for_a_device_s():
    array = numpy.arange(4, dtype="i4")
    shown = {"version": 3, "shape": (4,), "typestr": "<i4", "data": (array.ctypes.data, False)}
    with pytest.raises(ValueError, match="does not know"):
        dlx.asarray(Shows(shown))


def test_it_goes_before_what_would_copy_to_the_host():
    """numba's device arrays have an `__array__` that does."""
    memory = Memory()

    class DeviceArray:
        __cuda_array_interface__ = memory.interface()

        def __array__(self, *args, **kwargs):
            pytest.fail("copied to the host")

    assert dlx.asarray(DeviceArray()).device == CUDA
    memory.close()


def test_there_and_back_is_the_same_memory():
    tensor = dlx.asarray(numpy.arange(12).reshape(3, 4), device="cuda:1")[::2, ::-1]
    again = dlx.asarray(Shows(tensor.__cuda_array_interface__))
    assert (again.data_ptr, again.strides, again.device) == (
        tensor.data_ptr, tensor.strides, tensor.device,
    )  # fmt: skip


def test_copy_and_device_and_dtype():
    memory = Memory()
    cuda().poke(memory.address, numpy.arange(4, dtype="i4").tobytes(), 16)
    source = Shows(memory.interface())
    copy = dlx.asarray(source, copy=True)
    assert (copy.device, copy.data_ptr == memory.address) == (CUDA, False)
    assert dlx.asarray(source, device="cpu").tolist() == [0, 1, 2, 3]
    assert dlx.asarray(source, copy=False).data_ptr == memory.address
    with pytest.raises(dlx.DeviceRefusedError, match="force=True"):
        dlx.asarray(source, dtype="float32")
    assert dlx.asarray(source, dtype="float32", force=True).tolist() == [0, 1, 2, 3]
    memory.close()


# ---- negative strides, which CuPy divides as unsigned numbers for DLPack ----


class Reversed(Shows):
    """A `cupy_array[::-1]` of four int32; reversed rows of two if `rows`."""

    def __init__(self, memory, *, rows=False, **fields):
        shape, steps = ((2, 2), (-8, 4)) if rows else ((4,), (-4,))
        last = memory.address + (8 if rows else 12)
        self.exported = Export(
            last,
            shape,
            tuple(step % 2**64 // 4 for step in steps),
            dtype=(0, 32, 1),
            device=(2, 0),
        )
        super().__init__(
            memory.interface(**{"shape": shape, "strides": steps, "data": (last, False), **fields})
        )

    @property
    def __cuda_array_interface__(self):
        return self.interface

    @__cuda_array_interface__.setter
    def __cuda_array_interface__(self, interface):
        self.interface = interface

    def __dlpack__(self, **keywords):
        return self.exported.capsule()

    def __dlpack_device__(self):
        return (2, 0)


@pytest.fixture
def numbers():
    memory = Memory()
    cuda().poke(memory.address, numpy.arange(4, dtype="i4").tobytes(), 16)
    yield memory
    gc.collect()
    memory.close()


@pytest.mark.parametrize(("rows", "expected"), [(False, [3, 2, 1, 0]), (True, [[2, 3], [0, 1]])])
def test_asarray_takes_negative_strides_from_the_interface(numbers, rows, expected):
    source = Reversed(numbers, rows=rows)

    tensor = dlx.asarray(source)

    assert tensor.strides == ((-2, 1) if rows else (-1,))
    assert (tensor.device, tensor.data_ptr) == (CUDA, source.interface["data"][0])
    assert tensor.numpy(force=True).tolist() == expected
    assert source.exported.deleted == 1


def test_copy_device_and_dtype_hold_there_too(numbers):
    assert dlx.asarray(Reversed(numbers), copy=False).strides == (-1,)
    copy = dlx.asarray(Reversed(numbers), copy=True)
    assert not numbers.address <= copy.data_ptr < numbers.address + 16
    assert copy.numpy(force=True).tolist() == [3, 2, 1, 0]
    assert dlx.asarray(Reversed(numbers), device="cpu").tolist() == [3, 2, 1, 0]
    with pytest.raises(dlx.DeviceRefusedError, match="force=True"):
        dlx.asarray(Reversed(numbers), dtype="float32")
    assert dlx.asarray(Reversed(numbers), dtype="float32", force=True).tolist() == [3, 2, 1, 0]


def test_from_dlpack_says_which_way_is_left(numbers):
    with pytest.raises(
        dlx.UnsupportedError, match=r"unsigned.*dlx\.asarray reads.*cuda_array_inter"
    ):
        dlx.from_dlpack(Reversed(numbers))


@pytest.mark.parametrize("interface", [None, {}, {"strides": None}, {"strides": (4,)}])
def test_other_interfaces_do_not_hide_the_refusal(numbers, interface):
    source = Reversed(numbers)
    source.interface = interface
    with pytest.raises(dlx.UnsupportedError, match="unsigned numbers"):
        dlx.asarray(source)
