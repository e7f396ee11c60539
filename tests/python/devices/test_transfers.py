"""Data between devices: every way that Python has, what is refused, and what stays where it is."""

from __future__ import annotations

import copy as copy_module
import pickle

import numpy
import pytest
from fake_driver import Memory, cuda

import dlx
from dlpack_ctypes import Producer
from dlx import raw

CUDA = "cuda:0"
DEVICES = ["cuda:0", "cuda:1", "rocm:0", "cuda_host", "cuda_managed"]
NAMES = [
    "bool", "int8", "int16", "int32", "int64", "uint8", "float16", "float32", "float64",
    "complex64", "complex128",
]  # fmt: skip


def array(name="int32", shape=(4, 6)):
    return (numpy.arange(numpy.prod(shape)) % 7).reshape(shape).astype(name)


LAYOUTS = {
    "compact": lambda a: a,
    "transposed": lambda a: a.T,
    "every other": lambda a: a[::2, ::3],
    "reversed": lambda a: a[::-1, ::-1],
    "broadcast": lambda a: numpy.broadcast_to(a[:, :1], (4, 5)),
    "0-d": lambda a: a[1, 2, ...],
    "empty": lambda a: a[:0],
    "Fortran": numpy.asfortranarray,
}


# ---- there and back ----


@pytest.mark.parametrize("schedule", ["latest", "random:1"], indirect=True)
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_there_and_back(device, layout, schedule):
    source = LAYOUTS[layout](array())

    there = dlx.asarray(source, device=device)

    assert there.device == dlx.Device(device)
    assert there.shape == source.shape
    assert there.numpy(force=True).tolist() == source.tolist()


@pytest.mark.parametrize("name", NAMES)
def test_dtypes_there_and_back(name):
    source = array(name)
    there = dlx.asarray(source).to_device(CUDA)
    assert there.dtype == source.dtype
    assert there.T.contiguous().to_device("cpu").tolist() == source.T.tolist()


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float4_e2m1fn", "int4"])
def test_dtypes_that_numpy_lacks(name):
    dtype = dlx.dtype(name)
    data = bytes(range(24 * dtype.bits // 8))
    source = dlx.from_dlpack(Producer(data, (4, 6), (dtype.code, dtype.bits, 1)))
    there = source.to_device(CUDA)
    assert there.to_device("cpu").tolist() == source.tolist()


@pytest.mark.parametrize("schedule", ["latest", "random:1"], indirect=True)
@pytest.mark.parametrize("target", DEVICES)
@pytest.mark.parametrize("origin", DEVICES)
def test_between_any_two_devices(origin, target, schedule):
    source = array()[:, ::2]
    there = dlx.asarray(array(), device=origin)[:, ::2]

    moved = there.to_device(target)

    assert moved.device == dlx.Device(target)
    assert moved.to_device("cpu").tolist() == source.tolist()
    assert (moved is there) == (origin == target)


@pytest.mark.parametrize("schedule", ["latest"], indirect=True)
@pytest.mark.parametrize("origin", ["cpu", *DEVICES])
@pytest.mark.parametrize("target", ["cpu", *DEVICES])
def test_copyto_between_any_two_devices(origin, target, schedule):
    source = dlx.asarray(array(), device=origin).T
    whole = dlx.empty((6, 8), dtype="int32", device=target)

    dlx.copyto(whole[:, ::2], source)

    assert whole[:, ::2].to_device("cpu").tolist() == array().T.tolist()


@pytest.mark.parametrize("schedule", ["latest"], indirect=True)
@pytest.mark.parametrize("side", [False, True])
@pytest.mark.parametrize("target", DEVICES)
@pytest.mark.parametrize("origin", DEVICES)
def test_a_source_may_be_written_to_at_once(origin, target, side, schedule):
    """The copy that still has to read it comes first, on whatever stream and device."""
    source = dlx.asarray(array(), device=origin)
    with dlx.Stream(device=CUDA if target == "cuda_host" or not side else target):
        copy = source.to_device(target).copy()
    if origin in ("cuda_host", "cuda_managed"):
        source.numpy()[...] = 99
    else:
        source[...] = 99
    source.synchronize()
    assert copy.to_device("cpu").tolist() == array().tolist()


@pytest.mark.parametrize("origin", ["cuda_host", "cuda_managed"])
@pytest.mark.parametrize("target", ["cuda:0", "cuda:1"])
def test_an_array_of_memory_that_is_read_may_be_written_to_after_synchronize(
    origin, target, schedule
):
    source = dlx.asarray(array(), device=origin)
    view = source.numpy()
    there = source.to_device(target, stream=dlx.Stream(device=target))
    source.synchronize()
    view[...] = 99
    assert there.to_device("cpu").tolist() == array().tolist()


def test_views_on_a_device_share_its_memory():
    there = dlx.asarray(array(), device=CUDA)
    there[1:3, ::-2][...] = 99
    expected = array()
    expected[1:3, ::-2] = 99
    assert there.numpy(force=True).tolist() == expected.tolist()


@pytest.mark.parametrize("value", [7, 7.0, [1, 2, 3, 4, 5, 6], array()[2], dlx.asarray(array()[1])])
def test_assignment_from_the_host(value, schedule):
    there = dlx.asarray(array(), device=CUDA)
    expected = array()
    there[1] = value
    expected[1] = value
    assert there.numpy(force=True).tolist() == expected.tolist()


def test_copies_stay_where_they_are(schedule):
    there = dlx.asarray(array(), device="cuda:1")
    for made in (
        there.T.contiguous(),
        there.copy(),
        there.copy("F"),
        copy_module.deepcopy(there),
        there.reshape(-1, copy=True),
        dlx.asarray(there, copy=True),
        dlx.from_dlpack(there, copy=True),
    ):
        assert made.device == "cuda:1"
        assert made.data_ptr != there.data_ptr
    assert there.T.contiguous().numpy(force=True).tolist() == array().T.tolist()
    assert copy_module.copy(there) is there


def test_a_tensor_that_is_there_already_is_returned():
    there = dlx.asarray(array(), device=CUDA)
    assert there.to_device(CUDA) is there
    assert dlx.asarray(there, device=CUDA) is there
    assert dlx.asarray(there, force=True) is there


# ---- consent ----


def refusals(there):
    return {
        "numpy": there.numpy,
        "asarray": lambda: numpy.asarray(there),
        "tolist": there.tolist,
        "item": there[:1].item,
        "float": lambda: float(there[:1]),
        "bool": lambda: bool(there[:1]),
        "pickle": lambda: pickle.dumps(there, protocol=5),
        "dtype": lambda: dlx.asarray(there, dtype="float64"),
        "convert": lambda: dlx.convert(there, "numpy"),
    }


@pytest.mark.parametrize("what", refusals(dlx.empty(1)))
@pytest.mark.parametrize("device", ["cuda:0", "rocm:1"])
def test_data_does_not_move_unasked(what, device):
    there = dlx.asarray(array().ravel(), device=device)
    with pytest.raises(dlx.DeviceRefusedError, match=rf"{device}|to_device") as caught:
        refusals(there)[what]()
    assert isinstance(caught.value, BufferError)
    assert isinstance(caught.value, TypeError)
    assert "cpu" in str(caught.value)


def test_other_protocols_of_the_host_are_refused():
    there = dlx.asarray(array(), device=CUDA)
    with pytest.raises(BufferError, match=r"\.to_device\('cpu'\) or \.numpy\(force=True\)"):
        memoryview(there)
    assert not hasattr(there, "__array_interface__")
    with pytest.raises(BufferError, match="must be in CPU memory"):
        there.__arrow_c_array__()
    text = repr(there)
    assert text == "Tensor(<values on cuda:0>, shape=(4, 6), dtype=int32, device=cuda:0)"
    assert str(there) == text
    assert "cuda:0" in there._repr_html_()


def test_force_is_consent():
    there = dlx.asarray(array(), device=CUDA)

    assert there.numpy(force=True).tolist() == array().tolist()
    converted = dlx.asarray(there, dtype="float64", force=True)
    assert (converted.device, converted.dtype) == ("cpu", "float64")
    assert converted.tolist() == array().tolist()
    assert dlx.convert(there, "numpy", force=True).tolist() == array().tolist()
    assert dlx.convert(there, "numpy", device="cpu").tolist() == array().tolist()
    assert dlx.convert(there, "dlx", force=True) is there
    with pytest.raises(dlx.CopyRefusedError):
        dlx.convert(there, "numpy", force=True, copy=False)


@pytest.mark.parametrize("function", [dlx.from_dlpack, dlx.asarray])
def test_device_is_consent(function):
    there = function(array(), device="cuda:1")
    assert there.device == "cuda:1"
    back = function(there, device="cpu")
    assert back.tolist() == array().tolist()
    with pytest.raises(dlx.CopyRefusedError) as caught:
        function(there, device="cpu", copy=False)
    assert isinstance(caught.value, ValueError)
    with pytest.raises(dlx.UnavailableError, match="there are 2"):
        function(array(), device="cuda:2")
    assert dlx.asarray([1, 2], device=CUDA, dtype="float32").numpy(force=True).tolist() == [1, 2]
    assert dlx.empty(3, device="cuda").device == "cuda:0"


def test_a_conversion_is_done_before_the_data_goes_to_a_device():
    for data in (array(), array().tolist(), memoryview(array()), dlx.asarray(array())):
        for device in DEVICES:
            there = dlx.asarray(data, dtype="float64", device=device)
            assert (there.device, there.dtype) == (dlx.Device(device), "float64")
            assert there.numpy(force=True).tolist() == array().tolist()
    there = dlx.asarray(array(), device="cuda:1")
    with pytest.raises(dlx.DeviceRefusedError, match="on cuda:1"):
        dlx.asarray(there, dtype="float64", device=CUDA)
    moved = dlx.asarray(there, dtype="float64", device=CUDA, force=True)
    assert (moved.device, moved.numpy(force=True).tolist()) == (CUDA, array().tolist())
    assert dlx.asarray(there, dtype="float64", device="cpu").tolist() == array().tolist()
    assert dlx.asarray(there, dtype="int32", device="cuda:1") is there
    with pytest.raises(dlx.CopyRefusedError, match="on another device"):
        dlx.asarray(array(), dtype="int32", device=CUDA, copy=False)


def test_the_array_api_s_from_dlpack_asks_dlx_to_move():
    there = dlx.asarray(array(), device=CUDA)
    assert numpy.from_dlpack(there, device="cpu", copy=True).tolist() == array().tolist()


@pytest.mark.parametrize("copy", [None, True])
def test_producers_whose_device_dlx_knows_are_asked_for_a_view(copy):
    """dlx moves what it can move; only of other devices does the producer have to."""
    memory = Memory()
    cuda().poke(memory.address, bytes(range(16)), 16)
    producer = Producer(shape=(16,), dtype=(1, 8, 1), device=(2, 0))
    export = producer.export

    def on_device(**extra):
        made = export(**extra)
        made.struct.dl_tensor.data = memory.address
        return made

    producer.export = on_device

    assert dlx.from_dlpack(producer, device="cpu", copy=copy).tolist() == list(range(16))

    assert producer.calls == [{"stream": 1, "max_version": (1, 3), "dl_device": None, "copy": None}]
    elsewhere = Producer(shape=(16,), dtype=(1, 8, 1), device=(14, 0))
    with pytest.raises(dlx.UnsupportedError, match="oneapi"):  # this one does not do as it is told
        dlx.from_dlpack(elsewhere, device="cpu", copy=copy)
    assert elsewhere.calls == [
        {"stream": None, "max_version": (1, 3), "dl_device": (1, 0), "copy": copy}
    ]
    memory.close()


# ---- memory that the CPU can use where it lies ----


@pytest.mark.parametrize("device", ["cuda_host", "rocm_host", "cuda_managed"])
def test_pinned_and_managed_memory_is_used_in_place(device):
    there = dlx.asarray(array(), device=device)

    view = there.numpy()
    assert view.ctypes.data == there.data_ptr
    view[0, 0] = 41
    assert there.tolist()[0][0] == 41
    assert memoryview(there).tolist()[0][0] == 41
    assert numpy.from_dlpack(there, device="cpu").ctypes.data == there.data_ptr
    assert there[0, 0].item() == 41
    assert there.tobytes() == view.tobytes()
    assert there.__array_interface__["data"][0] == there.data_ptr
    assert there.to_device("cpu").data_ptr == there.data_ptr
    assert pickle.loads(pickle.dumps(there)).tolist() == view.tolist()
    assert dlx.asarray(there, dtype="float64").tolist() == view.tolist()


@pytest.mark.parametrize("device", ["cuda_host", "rocm_host"])
def test_numpy_computes_with_pinned_memory(device):
    there, here = dlx.asarray(array(), device=device), dlx.asarray(array())

    assert (there + here).tolist() == (array() + array()).tolist()
    assert numpy.sum(there).item() == array().sum()
    assert there[there > 2].tolist() == array()[array() > 2].tolist()
    assert (there == here).all().item() is True
    assert there.astype("float32").dtype == numpy.float32
    assert dlx.asarray([there, here]).shape == (2, 4, 6)
    there += 1  # in place, and it stays where it is
    there[there > 5] = 0
    there[0] = numpy.arange(6, dtype="int16")
    assert there.device == dlx.Device(device)
    assert numpy.add(here, 1, out=there) is there
    assert there.tolist() == (array() + 1).tolist()
    with pytest.raises(dlx.DeviceRefusedError, match=CUDA):
        there + dlx.asarray(array(), device=CUDA)


def test_managed_memory_is_moved_where_the_cpu_may_not_touch_it(driver):
    there = dlx.asarray(array(), device="cuda_managed")
    concurrent = 89  # CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS
    driver.set_attribute(0, concurrent, 0)
    try:
        with pytest.raises(dlx.DeviceRefusedError):
            there.numpy()
        with pytest.raises(BufferError):
            memoryview(there)
        assert not hasattr(there, "__array_interface__")
        moved = there.to_device("cpu")
        assert moved.data_ptr != there.data_ptr
        assert moved.tolist() == array().tolist()
    finally:
        driver.set_attribute(0, concurrent, 1)


def test_managed_memory_is_ready_before_the_cpu_reads_it(driver, schedule):
    memory = Memory(managed=True)
    tensor = dlx.from_pointer(memory.address, 16, "uint8", device="cuda_managed")
    for value, read in enumerate(
        [
            lambda: tensor.tolist(),
            lambda: tensor.numpy().tolist(),
            lambda: memoryview(tensor).tolist(),
            lambda: numpy.from_dlpack(tensor, device="cpu").tolist(),
            lambda: tensor.to_device("cpu").tolist(),
            lambda: dlx.from_pointer(
                tensor.__array_interface__["data"][0], 16, "uint8", owner=tensor
            ).tolist(),
        ],
        1,
    ):
        memory.fill(value)
        dlx.Stream(memory.stream, device=CUDA).wrote(tensor)
        assert read() == [value] * 16
    tensor = None
    memory.close()


# ---- the rest ----


def test_out_of_memory():
    with pytest.raises(MemoryError, match=r"cuda:0"):
        dlx.empty(1 << 44, dtype="uint8", device=CUDA)
    with pytest.raises(MemoryError):
        dlx.asarray(numpy.broadcast_to(numpy.uint8(1), 1 << 44), device=CUDA)


def test_a_gpu_without_an_index_is_the_current_one():
    """torch exports its "cuda" as (2, 255)."""
    import ctypes

    torch = pytest.importorskip("torch")
    assert dlx.Device((2, 255)) == dlx.Device(torch.device("cuda")) == "cuda:0"
    there = dlx.asarray(array(), device="cuda:1")
    driver = cuda()
    driver.call("cuCtxPushCurrent_v2", driver.context(1))
    try:
        assert dlx.Device((2, 255)) == dlx.Device(torch.device("cuda")) == "cuda:1"
        assert dlx.empty(1, device=torch.device("cuda")).device == "cuda:1"
        assert dlx.from_dlpack(there, device=(2, 255)).data_ptr == there.data_ptr
        moved = dlx.from_dlpack(Holder(there, (2, 255)))
        assert moved.data_ptr == there.data_ptr
        imported = dlx.from_dlpack(Producer(shape=(4,), dtype=(0, 32, 1), device=(2, 255)))
        assert imported.device == dlx.Device(imported.__dlpack_device__()) == "cuda:1"
        imported.__dlpack__(stream=2)  # there is such a device
    finally:
        driver.call("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))
    moved = dlx.from_dlpack(Holder(there, (2, 255)))
    assert moved.device == "cuda:0"
    assert moved.numpy(force=True).tolist() == array().tolist()


def test_a_gpu_of_rocm_without_an_index_is_the_current_one():
    import ctypes
    import os

    hip = ctypes.CDLL(os.environ["DLX_HIP_PATH"])
    dlx.empty(1, device="rocm:1")  # somebody uses HIP
    try:
        for current in (1, 0):
            assert hip.hipSetDevice(current) == 0
            imported = dlx.from_dlpack(Producer(shape=(4,), dtype=(0, 32, 1), device=(10, 255)))
            assert imported.device == dlx.Device((10, 255)) == f"rocm:{current}"
    finally:
        hip.hipSetDevice(0)


class Holder:
    """Hands a Tensor over by the device that its consumer names."""

    def __init__(self, tensor, device):
        self.tensor, self.device = tensor, device

    def __dlpack__(self, **keywords):
        return self.tensor.__dlpack__(max_version=(1, 3), dl_device=self.device)

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()


def test_synchronize_waits_for_a_tensor(driver):
    memory = Memory()
    tensor = dlx.from_pointer(memory.address, 4, "int32", device=CUDA)
    driver.set_schedule(b"latest")
    memory.fill(0x11)
    dlx.Stream(memory.stream, device=CUDA).wrote(tensor)

    tensor.synchronize()

    assert driver.bytes_at(memory.address, 16) == b"\x11" * 16
    dlx.empty(3).synchronize()  # always ready
    del tensor
    memory.close()


def test_the_caller_s_context_is_left_alone(driver):
    import ctypes

    driver.call("cuCtxPushCurrent_v2", driver.context(1))
    try:
        there = dlx.asarray(array(), device="cuda:0")
        there[0] = 1
        there.T.contiguous().to_device("cuda:1").numpy(force=True)
        current = ctypes.c_void_p()
        driver.call("cuCtxGetCurrent", ctypes.byref(current))
        assert current.value == driver.context(1).value
    finally:
        driver.call("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))


def test_exports_to_a_device_that_is_not_there():
    there = dlx.asarray([1, 2], device="cuda:1")
    for device in ((2, 5), (1, 1), (10, 7)):
        with pytest.raises(BufferError, match="does not exist"):
            there.__dlpack__(dl_device=device, max_version=(1, 3))
    with pytest.raises(BufferError, match="has no backend for it"):
        there.__dlpack__(dl_device=(8, 0), max_version=(1, 3))


@pytest.mark.parametrize("legacy", [False, True])
def test_a_copy_for_another_device_has_the_alignment_that_was_asked_for(legacy):
    export = raw.dlx_tensor_to_dlpack if legacy else raw.dlx_tensor_to_dlpack_versioned
    with raw.from_tensor(dlx.asarray(array(), device=CUDA)) as tensor:
        for alignment in (4096, 1 << 16, 1 << 20):
            with export(tensor, raw.dlx_export_options(
                flags=raw.DLX_HAS_DEVICE, device_type=raw.kDLCPU, min_alignment=alignment
            )) as out:  # fmt: skip
                assert out.dl_tensor.device == raw.DLDevice(1, 0)
                assert out.dl_tensor.data % alignment == 0


def test_lists_may_have_arrays_on_a_device():
    here, there = array("float32"), dlx.asarray(array("float32"), device=CUDA)

    for items in ([here, there], [there, here], [there, there]):
        assert dlx.asarray(items).tolist() == [here.tolist()] * 2
