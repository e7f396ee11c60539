"""`dlx.Stream`, `dlx.stream`, `dlx.current_stream`, and every place that takes `stream=`."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import itertools
import sys
import threading
import types

import numpy
import pytest
from fake_driver import Memory, cuda, word

import dlx
from dlpack_ctypes import Imported, Producer

CUDA, ROCM = "cuda:0", "rocm:0"


def named(module, name, **attributes):
    """An object of a class that looks as if a library had it."""
    cls = type(name, (), {"__module__": module})
    made = cls()
    for attribute, value in attributes.items():
        setattr(made, attribute, value)
    return made


# ---- wrapping ----


@pytest.mark.parametrize(
    ("number", "device"), [(1, CUDA), (2, CUDA), (0x5500, "cuda:1"), (0, ROCM), (0x5500, "rocm:1")]
)
def test_a_number_is_a_stream_of_a_device(number, device):
    stream = dlx.Stream(number, device=device)

    assert (stream.handle, stream.device) == (number, device)
    assert stream == dlx.Stream(stream)
    assert hash(stream) == hash(dlx.Stream(number, device=device))
    assert stream != dlx.Stream(0x77, device=device)
    assert repr(stream) == f"dlx.Stream({number:#x}, device='{device}')"


@pytest.mark.parametrize(
    ("number", "device"),
    [(0, CUDA), (-1, CUDA), (-2, CUDA), (1, ROCM), (2, ROCM), (-1, ROCM), (1, "cpu"), (0, "cpu")],
)
def test_numbers_that_the_standard_forbids(number, device):
    with pytest.raises(ValueError, match=r"`stream`|`handle`"):
        dlx.Stream(number, device=device)


def test_what_is_no_stream():
    with pytest.raises(TypeError, match="`device` is missing"):
        dlx.Stream(1)
    with pytest.raises(TypeError, match="device="):
        dlx.Stream()
    for other in ("cuda", 1.5, object(), True, int):
        with pytest.raises(TypeError, match="is not a stream"):
            dlx.Stream(other, device=CUDA)
    with pytest.raises(dlx.UnavailableError, match="there are 2"):
        dlx.Stream(device="cuda:2")
    with pytest.raises(ValueError, match="no streams"):
        dlx.Stream(device="cpu")


OBJECTS = {
    "torch": lambda handle, index: named(
        "torch.cuda.streams", "Stream", cuda_stream=handle, device=types.SimpleNamespace(index=index)
    ),
    "torch, any accelerator": lambda handle, index: named(
        "torch", "Stream", native_handle=handle,
        device=types.SimpleNamespace(type="cuda", index=index),
    ),
    "cupy": lambda handle, index: named(
        "cupy.cuda.stream", "Stream", ptr=handle, device_id=index
    ),
    "protocol": lambda handle, index: named(
        "cuda.core", "Stream", __cuda_stream__=lambda: (0, handle),
        device=types.SimpleNamespace(device_id=index),
    ),
    "warp": lambda handle, index: named(
        "warp._src.context", "Stream", cuda_stream=handle,
        device=types.SimpleNamespace(ordinal=index),
    ),
    "protocol as a property": lambda handle, index: named(
        "cuda.core", "Stream", __cuda_stream__=(0, handle),
        device=types.SimpleNamespace(device_id=index),
    ),
}  # fmt: skip


@pytest.mark.parametrize("library", OBJECTS)
def test_stream_objects_of_libraries(library):
    stream = dlx.Stream(OBJECTS[library](0x1230, 1))
    assert (stream.handle, stream.device) == (0x1230, "cuda:1")

    legacy = dlx.Stream(OBJECTS[library](0, 0))  # of an object, 0 can only be the legacy stream
    assert (legacy.handle, legacy.device) == (1, CUDA)

    with pytest.raises(ValueError, match=r"cuda:1.*expected.*cuda:0"):
        dlx.Stream(OBJECTS[library](0x1230, 1), device=CUDA)


def test_streams_of_libraries_that_were_built_for_rocm(monkeypatch):
    version, runtime = types.SimpleNamespace(hip="6.2"), types.SimpleNamespace(is_hip=True)
    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(version=version))
    monkeypatch.setitem(
        sys.modules, "cupy", types.SimpleNamespace(cuda=types.SimpleNamespace(runtime=runtime))
    )
    for library in ("torch", "cupy"):
        stream = dlx.Stream(OBJECTS[library](0x1230, 1))
        assert (stream.handle, stream.device) == (0x1230, "rocm:1")
        assert dlx.Stream(OBJECTS[library](0, 0)).handle == 0  # the default one


@pytest.mark.parametrize("handle", [-5, -1, 2**64])
def test_handles_of_libraries_that_are_none_are_refused(handle):
    with pytest.raises(ValueError, match=r"stream|handle"):
        dlx.Stream(OBJECTS["warp"](handle, 0))


def test_numba_s_streams_have_no_device():
    handle = ctypes.c_void_p(0x1230)
    stream = named("numba.cuda.cudadrv.driver", "Stream", handle=handle)
    assert dlx.Stream(stream).device == CUDA  # the current one
    assert dlx.Stream(stream, device="cuda:1").device == "cuda:1"
    assert dlx.Stream(stream).handle == 0x1230
    stream.handle = ctypes.c_void_p(0)
    assert dlx.Stream(stream).handle == 1


def test_cupy_s_null_stream_is_of_the_current_device():
    driver = cuda()
    stream = named("cupy.cuda.stream", "Stream", ptr=0, device_id=-1)
    driver.call("cuCtxPushCurrent_v2", driver.context(1))
    try:
        assert dlx.Stream(stream).device == "cuda:1"
    finally:
        driver.call("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))
    assert dlx.Stream(stream).device == CUDA


@pytest.mark.parametrize("answer", [(1, 0x1230), 5, (0,), ("0", "x"), None])
def test_a_stream_protocol_that_is_not_understood(answer):
    with pytest.raises((ValueError, TypeError), match=r"__cuda_stream__"):
        dlx.Stream(named("cuda.core", "Stream", __cuda_stream__=lambda: answer), device=CUDA)


def test_torch_s_streams_of_other_devices():
    torch = pytest.importorskip("torch", reason="makes the stream")
    with pytest.raises(ValueError, match="torch stream of cpu"):
        dlx.Stream(torch.Stream(device="cpu"))
    with pytest.raises(TypeError, match="is not a stream"):
        dlx.Stream(1, device=CUDA).wait(torch.zeros(3))
    with pytest.raises(TypeError, match="is not a stream"):
        dlx.Stream(torch.device("cpu"))


def test_dlx_speaks_the_stream_protocol():
    assert dlx.Stream(0x1230, device=CUDA).__cuda_stream__() == (0, 0x1230)
    with pytest.raises(AttributeError, match="is not a CUDA stream"):
        dlx.Stream(0, device=ROCM).__cuda_stream__()


# ---- life and order ----


@pytest.mark.parametrize("device", [CUDA, "cuda:1"])
def test_a_new_stream_goes_with_its_object(driver, device):
    before = driver.report().streams
    stream = dlx.Stream.create(device)
    assert stream.device == device
    assert stream.handle > 2
    assert driver.report().streams == before + 1
    wrapped = dlx.Stream(stream)
    del stream
    gc.collect()
    assert driver.report().streams == before + 1  # what is wrapped is kept alive
    del wrapped
    gc.collect()
    assert driver.report().streams == before


def test_synchronize_waits_for_what_the_stream_has(driver):
    memory = Memory()
    driver.set_schedule(b"latest")
    memory.fill(0x11)
    assert driver.bytes_at(memory.address, 4) != b"\x11" * 4

    dlx.Stream(memory.stream, device=CUDA).synchronize()

    assert driver.bytes_at(memory.address, 4) == b"\x11" * 4
    memory.close()


def test_a_stream_waits_for_another_without_the_host(driver):
    memory, other = Memory(), dlx.Stream(device=CUDA)
    driver.set_schedule(b"latest")
    memory.fill(0x11)

    other.wait(dlx.Stream(memory.stream, device=CUDA))
    assert driver.bytes_at(memory.address, 4) != b"\x11" * 4  # nobody on the host has waited
    other.synchronize()

    assert driver.bytes_at(memory.address, 4) == b"\x11" * 4
    with pytest.raises(ValueError, match="cuda:1"):
        other.wait(dlx.Stream(device="cuda:1"))
    memory.close()


def test_own_kernels_are_told_by_wrote(driver, schedule):
    """Whoever reads the tensor, or a view of it, is behind the work that `wrote` was told of."""
    tensor = dlx.asarray([1, 2, 3, 4], device=CUDA)
    view = tensor[1:]
    stream = dlx.Stream(device=CUDA)
    cuda().write(tensor.data_ptr, 0x11, stream.handle)

    stream.wrote(tensor)

    assert view.to_device("cpu").tolist() == [0x1111111111111111, 3, 4]
    with pytest.raises(ValueError, match=r"cpu.*cuda:0"):
        stream.wrote(dlx.empty(3))
    with pytest.raises(ValueError, match=r"cuda:0.*cuda:1"):
        dlx.Stream(1, device="cuda:1").wait(tensor)
    for other in (3, None, numpy.zeros(3)):
        with pytest.raises(TypeError, match=r"is not a dlx\.Tensor"):
            stream.wrote(other)


@pytest.mark.parametrize("kind", ["cuda_host", "cuda_managed", "cuda_managed:1"])
def test_pinned_and_managed_memory_has_streams_of_every_device(driver, kind, schedule):
    for origin, target in ((CUDA, "cuda:1"), ("cuda:1", CUDA)):
        tensor = dlx.empty(4, dtype="int32", device=kind)
        writer, reader = dlx.Stream(device=origin), dlx.Stream(device=target)
        driver.write(tensor.data_ptr, 0x11, writer.handle, writer.device.id)

        writer.wrote(tensor)
        reader.wait(tensor)
        Imported(tensor.__dlpack__(stream=reader, max_version=(1, 3))).free()
        reader.synchronize()

        assert driver.bytes_at(tensor.data_ptr, 16) == b"\x11" * 16


def test_a_stream_waits_for_a_tensor(driver, schedule):
    memory, other = Memory(), dlx.Stream(device=CUDA)
    tensor = dlx.from_pointer(memory.address, 4, "int32", device=CUDA)
    memory.fill(0x11)
    dlx.Stream(memory.stream, device=CUDA).wrote(tensor)

    other.wait(tensor)
    other.synchronize()

    assert driver.bytes_at(memory.address, 16) == b"\x11" * 16
    del tensor
    memory.close()


# ---- the current stream ----


def test_with_blocks_nest_and_restore():
    assert dlx.current_stream(CUDA) == dlx.Stream(1, device=CUDA)
    assert dlx.current_stream(ROCM) == dlx.Stream(0, device=ROCM)
    a, b = dlx.Stream(device=CUDA), dlx.Stream(device=CUDA)
    with dlx.stream(a) as entered:
        assert entered is a
        assert dlx.current_stream(CUDA) is a
        assert dlx.current_stream("cuda:1").handle == 1  # each device has its own
        with b, dlx.stream(2, device=CUDA):
            assert dlx.current_stream(CUDA).handle == 2
            with a:
                assert dlx.current_stream("cuda_managed") is a
            assert dlx.current_stream(CUDA).handle == 2
        assert dlx.current_stream(CUDA) is a
        with pytest.raises(ZeroDivisionError), b:
            _ = 1 // 0
        assert dlx.current_stream(CUDA) is a
    assert dlx.current_stream(CUDA).handle == 1


def test_each_thread_has_its_own_current_stream():
    seen = []
    with dlx.Stream(device=CUDA) as stream:
        thread = threading.Thread(target=lambda: seen.append(dlx.current_stream(CUDA).handle))
        thread.start()
        thread.join()
        assert dlx.current_stream(CUDA) is stream
    assert seen == [1]


def test_one_block_object_can_be_entered_again():
    stream = dlx.Stream(device=CUDA)
    block = dlx.stream(stream)
    with block:
        with block:
            assert dlx.current_stream(CUDA) is stream
        assert dlx.current_stream(CUDA) is stream
    assert dlx.current_stream(CUDA).handle == 1


def test_threads_may_share_one_block_object():
    """Each is back at what was current in it, whichever ends first."""
    block, seen = dlx.stream(dlx.Stream(device=CUDA)), []
    inside, out = threading.Event(), threading.Event()

    def other():
        with block:
            inside.set()
            out.wait()
        seen.append(dlx.current_stream(CUDA).handle)

    thread = threading.Thread(target=other)
    with dlx.stream(2, device=CUDA):
        with block:
            thread.start()
            inside.wait()
        assert dlx.current_stream(CUDA).handle == 2
        out.set()
        thread.join()
    assert seen == [1]


def test_a_block_ends_in_the_thread_that_it_began_in():
    seen = []

    def end(block):
        with pytest.raises(RuntimeError, match="not in a `with` block"):
            block.__exit__(None, None, None)
        seen.append(dlx.current_stream(CUDA).handle)

    stream = dlx.Stream(device=CUDA)
    for block in (stream, dlx.stream(stream)):
        with block:
            thread = threading.Thread(target=end, args=(block,))
            thread.start()
            thread.join()
            assert dlx.current_stream(CUDA) is stream
    assert seen == [1, 1]


def test_blocks_may_end_in_any_order():
    def generator(stream):
        with stream:
            yield

    a, b = dlx.Stream(device=CUDA), dlx.Stream(device="cuda:1")
    first, second = generator(a), generator(b)
    next(first), next(second)
    first.close()
    assert dlx.current_stream(CUDA).handle == 1
    assert dlx.current_stream("cuda:1") is b
    second.close()
    assert dlx.current_stream("cuda:1").handle == 1


def test_blocks_of_one_device_may_end_in_any_order():
    """The innermost one that goes on is current, and none that has ended."""
    streams = [dlx.Stream(device=CUDA) for _ in range(3)]
    for order in itertools.permutations(range(3)):
        with contextlib.ExitStack() as outer:
            outer.enter_context(dlx.stream(2, device=CUDA))
            blocks = [contextlib.ExitStack() for _ in streams]
            for block, stream in zip(blocks, streams):
                block.enter_context(stream)
            going = [*range(3)]
            for i in order:
                blocks[i].close()
                going.remove(i)
                expected = streams[going[-1]].handle if going else 2
                assert dlx.current_stream(CUDA).handle == expected
        assert dlx.current_stream(CUDA).handle == 1


def test_what_c_has_set_is_restored_too():
    from dlx import raw

    stream = raw.dlx_stream_create(2, 0)
    raw.dlx_stream_set_current(2, 0, stream)
    with dlx.Stream(device=CUDA):
        pass
    assert dlx.current_stream(CUDA).handle == stream
    raw.dlx_stream_reset_current(2, 0)
    raw.dlx_stream_destroy(2, 0, stream)


def test_a_stream_of_a_device_that_is_not_there_does_not_become_current():
    with pytest.raises(dlx.UnavailableError), dlx.stream(1, device="cuda:7"):
        pass
    with pytest.raises(dlx.UnavailableError):
        dlx.current_stream("cuda:7")
    with pytest.raises(ValueError, match="no streams"):
        dlx.current_stream("cpu")
    with dlx.Stream(device=CUDA) as stream:  # nor does it disturb the block that it is tried in
        with pytest.raises(dlx.UnavailableError), dlx.Stream(1, device="cuda:7"):
            pass
        assert dlx.current_stream(CUDA) is stream
    assert dlx.current_stream(CUDA).handle == 1


def test_copies_run_on_the_current_stream(driver):
    source = dlx.asarray([1, 2, 3], device=CUDA)
    stream = dlx.Stream(device=CUDA)
    driver.set_schedule(b"latest")
    with dlx.stream(stream):
        copy = source.copy()
    assert driver.report().pending > 0  # nobody has waited
    stream.synchronize()
    assert driver.report().pending == 0  # it was all there
    assert copy.to_device("cpu").tolist() == [1, 2, 3]


def test_imports_ask_for_data_that_is_safe_on_the_current_stream():
    producer = Producer(shape=(4,), dtype=(0, 32, 1), device=(2, 0))
    with dlx.Stream(device=CUDA) as stream:
        dlx.from_dlpack(producer)
    dlx.from_dlpack(producer)
    assert [call["stream"] for call in producer.calls] == [stream.handle, 1]


def test_a_current_stream_of_one_device_does_for_managed_memory_of_another():
    """DLPack has no number for that one: its producer is given the stream of device 0."""
    memory = Memory(1, managed=True)
    owner = type("Managed", (Producer,), {"address": memory.address})
    producer = owner(shape=(4,), dtype=(0, 32, 1), device=(13, 0))
    with dlx.Stream(device=CUDA) as stream:
        tensor = dlx.from_dlpack(producer)
    assert producer.calls[0]["stream"] == stream.handle
    tensor.synchronize()
    del tensor
    memory.close()


# ---- stream= ----


def streams_of(stream):
    """The same stream in every form."""
    return {
        "number": stream.handle,
        "dlx": stream,
        "torch": OBJECTS["torch"](stream.handle, stream.device.id),
        "cupy": OBJECTS["cupy"](stream.handle, stream.device.id),
    }


@pytest.mark.parametrize("form", ["number", "dlx", "torch", "cupy"])
def test_stream_arguments_take_every_form(driver, form, schedule):
    stream = dlx.Stream(device=CUDA)
    given = streams_of(stream)[form]

    there = dlx.asarray([1, 2, 3]).to_device(CUDA, stream=given)
    assert there.to_device("cpu", stream=given).tolist() == [1, 2, 3]
    other = dlx.empty(3, dtype="int64", device=CUDA)
    dlx.copyto(other, there, stream=given)
    back = dlx.empty(3, dtype="int64")
    dlx.copyto(back, other, stream=given)
    assert back.tolist() == [1, 2, 3]
    for copy in (None, True):
        capsule = other.__dlpack__(stream=given, max_version=(1, 3), copy=copy)
        imported = Imported(capsule)
        stream.synchronize()
        assert driver.bytes_at(imported.data, 1) == b"\x01"
        imported.free()


def test_a_stream_lives_as_long_as_the_call_that_it_is_given_to(schedule):
    """The fake ends a process that uses one which is gone."""
    there = dlx.asarray([1, 2, 3]).to_device(CUDA, stream=dlx.Stream(device=CUDA))
    assert there.to_device("cpu", stream=dlx.Stream(device=CUDA)).tolist() == [1, 2, 3]
    dlx.copyto(there, [4, 5, 6], stream=dlx.Stream(device=CUDA))
    Imported(there.__dlpack__(stream=dlx.Stream(device=CUDA), max_version=(1, 3))).free()
    with dlx.stream(dlx.Stream(device=CUDA)):
        assert there.copy().to_device("cpu").tolist() == [4, 5, 6]


@pytest.mark.parametrize("form", ["dlx", "torch", "cupy"])
def test_a_stream_of_another_device_is_refused(form):
    given = streams_of(dlx.Stream(device="cuda:1"))[form]
    there = dlx.asarray([1, 2, 3], device=CUDA)

    for call in (
        lambda: there.to_device("cpu", stream=given),
        lambda: dlx.asarray([1]).to_device(CUDA, stream=given),
        lambda: dlx.copyto(there, [4, 5, 6], stream=given),
        lambda: there.__dlpack__(stream=given, max_version=(1, 3)),
    ):
        with pytest.raises(ValueError, match=r"cuda:1.*expected.*cuda:0"):
            call()
    assert there.to_device("cpu").tolist() == [1, 2, 3]


def test_what_is_no_stream_is_refused_everywhere():
    there = dlx.asarray([1, 2, 3], device=CUDA)
    for given in ("1", 1.5, object(), numpy.zeros(3)):
        for call in (
            lambda given=given: there.to_device("cpu", stream=given),
            lambda given=given: dlx.copyto(there, there, stream=given),
            lambda given=given: there.__dlpack__(stream=given, max_version=(1, 3)),
        ):
            with pytest.raises(TypeError, match="`stream` is not a stream"):
                call()
    for given in (0, -2, 2**63, 2**64 + 1, -(2**64) + 2):  # ctypes would keep the lower 64 bits
        with pytest.raises(ValueError, match="`stream`"):
            there.to_device("cpu", stream=given)
        with pytest.raises(ValueError, match="`stream`"):
            dlx.Stream(1, device=CUDA).wait(given)
        with pytest.raises(ValueError, match="`stream`"):
            there.__dlpack__(stream=given, max_version=(1, 3))
    with pytest.raises(ValueError, match="-1"):
        there.to_device("cpu", stream=-1)  # names no stream that a copy could run on
    with pytest.raises(ValueError, match="`stream`"):
        dlx.empty(3).__dlpack__(stream=dlx.Stream(1, device=CUDA))


def test_items_42_46_minus_one_does_not_wait_and_others_do(driver):
    memory = Memory()
    tensor = dlx.from_pointer(memory.address, 4, "int32", device=CUDA)
    memory.fill(0x11)
    dlx.Stream(memory.stream, device=CUDA).wrote(tensor)
    driver.clear_log()
    Imported(tensor.__dlpack__(stream=-1, max_version=(1, 3))).free()
    assert driver.waits() == 0

    for stream in (None, 1, 2, memory.stream):
        driver.clear_log()
        Imported(tensor.__dlpack__(stream=stream, max_version=(1, 3))).free()
        assert driver.calls(b"cuStreamWaitEvent") == 1
    del tensor
    memory.close()


def test_item_47_the_cpu_gets_finished_data(driver, schedule):
    memory = Memory()
    tensor = dlx.from_pointer(memory.address, 4, "int32", device=CUDA)
    memory.fill(0x11)
    dlx.Stream(memory.stream, device=CUDA).wrote(tensor)

    capsule = tensor.__dlpack__(dl_device=(1, 0), max_version=(1, 3))

    assert dlx.from_dlpack(types.SimpleNamespace(
        __dlpack__=lambda **_: capsule, __dlpack_device__=lambda: (1, 0)
    )).tolist() == [word(0x11)] * 4  # fmt: skip
    with pytest.raises(ValueError, match="`stream`"):
        tensor.__dlpack__(dl_device=(1, 0), stream=1, max_version=(1, 3))
    del tensor
    memory.close()
