"""Stream order, proven by races: a long kernel delays a write, and its reader must see it all the same."""

from __future__ import annotations

import gc
import os
import threading

import pytest
from machine import CUDA, ON_FAKE

import dlx

N = 1 << 20
warm = []  # the modules that have been warmed up


@pytest.fixture(scope="session", params=["latest", "random:1", "random:2"] if ON_FAKE else [None])
def schedule(request):
    """In which order the fake driver does its work."""
    return request.param


@pytest.fixture
def torch(request, schedule):
    """PyTorch; on the fake driver a stand-in."""
    if not ON_FAKE:
        yield request.getfixturevalue("real_torch")
        return
    import stand_in
    from fake_driver import cuda

    cuda().set_schedule(schedule.encode())
    yield stand_in.torch()
    gc.collect()
    cuda().finish()
    stand_in.end()
    cuda().set_schedule(b"eager")


@pytest.fixture
def busy(torch):
    """Keeps a stream busy for some tenths of a second."""
    if not ON_FAKE and not warm:
        warm_up(torch)
        warm.append(torch)

    def keep(stream, milliseconds=400):
        with torch.cuda.stream(stream):
            torch.cuda._sleep(int(milliseconds * 1_500_000))  # cycles of the GPU's clock

    return keep


def warm_up(torch):
    """Whatever is compiled, loaded or taken from the driver on first use, which may wait for the GPU."""
    with torch.cuda.stream(torch.cuda.Stream()):
        x = torch.zeros(N, device="cuda").fill_(7)
        float((x + 0).min() + (x * 1).max())
        torch.full((N,), 7.0, device="cuda")
        torch.cuda._sleep(1000)
        tensor = dlx.from_dlpack(x)
        tensor.copy()
        tensor.reshape((1024, -1)).T.contiguous().numpy(force=True)
        torch.as_tensor(tensor.to_device("cuda_managed"), device="cuda")
    torch.cuda.synchronize()


@pytest.fixture
def late(torch, busy):
    """(tensor, stream): zeros that become sevens at the end of a long kernel of that stream."""
    side = torch.cuda.Stream()
    x = torch.zeros(N, device="cuda")
    torch.cuda.synchronize()
    busy(side)
    with torch.cuda.stream(side):
        x.fill_(7)
    return x, side


def is_late(side):
    """The write is still to come, for nobody has waited. A random schedule of the fake may be early."""
    return not side.query() or (ON_FAKE and schedule_is_random())


def schedule_is_random():
    return os.environ.get("PYTEST_CURRENT_TEST", "").find("random") >= 0


def imports(torch, x, side):
    """dlx's Tensor on x, whose data is on its way."""
    with torch.cuda.stream(side):
        return dlx.from_dlpack(x)  # by the exchange table: ready behind torch's current stream


def test_the_host_sees_a_late_write(torch, late):
    x, side = late
    tensor = imports(torch, x, side)
    assert tensor.data_ptr == x.data_ptr()
    assert is_late(side)  # nobody has waited yet
    assert tensor.numpy(force=True).min() == 7


@pytest.mark.parametrize("how", ["copy", "contiguous", "managed", "dlpack", "interface"])
def test_work_on_other_streams_sees_a_late_write(torch, late, how):
    x, side = late
    tensor = imports(torch, x, side)
    other = torch.cuda.Stream()
    with torch.cuda.stream(other), dlx.stream(other):
        if how == "copy":
            y = torch.from_dlpack(tensor.copy())
        elif how == "contiguous":
            y = torch.from_dlpack(tensor.reshape((1024, -1)).T.contiguous())
        elif how == "managed":
            moved = tensor.to_device("cuda_managed", stream=other)
            y = torch.as_tensor(moved, device="cuda")
        elif how == "dlpack":
            y = torch.from_dlpack(tensor) + 0
        else:
            interface = tensor.__cuda_array_interface__
            assert interface["stream"] == other.cuda_stream
            y = x + 0  # on the stream that the interface named
    assert is_late(side)
    other.synchronize()
    assert float(y.min()) == 7


def test_minus_one_does_not_wait(torch, late):
    x, side = late
    tensor = imports(torch, x, side)
    other = torch.cuda.Stream()
    tensor.__dlpack__(stream=-1, max_version=(1, 3))
    other.synchronize()
    assert is_late(side)
    tensor.__dlpack__(stream=other.cuda_stream, max_version=(1, 3))
    other.synchronize()
    assert side.query()  # this one did


def test_dlpack_s_stream_of_the_consumer_waits(torch, late):
    """torch passes its current stream to `__dlpack__`."""
    x, side = late
    tensor = imports(torch, x, side)
    other = torch.cuda.Stream()
    with torch.cuda.stream(other):
        y = torch.from_dlpack(tensor) * 1
    other.synchronize()
    assert float(y.min()) == 7


def test_the_source_of_a_late_copy_is_held(torch, busy):
    """torch's pool reuses memory at once; what dlx still reads must not go back."""
    side = torch.cuda.Stream()
    x = torch.full((N,), 7.0, device="cuda")
    torch.cuda.synchronize()
    busy(side)
    with dlx.stream(side):
        copy = dlx.from_dlpack(x).copy()
    address = x.data_ptr()
    del x
    gc.collect()
    trash = [torch.zeros(N, device="cuda") for _ in range(8)]  # of the pool that x was taken from
    assert all(item.data_ptr() != address for item in trash)
    assert copy.numpy(force=True).min() == 7


def test_dlx_s_copies_are_ordered_for_torch(torch, busy):
    side = torch.cuda.Stream()
    host = dlx.asarray([7.0] * N, dtype="float32")
    busy(side)
    with dlx.stream(side):
        tensor = host.to_device(CUDA)
    y = torch.from_dlpack(tensor) + 0  # on torch's current stream
    torch.cuda.current_stream().synchronize()
    assert float(y.min()) == 7


def test_current_streams_follow_torch(torch):
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        dlx.from_dlpack(torch.zeros(1, device="cuda"))
        assert dlx.current_stream(CUDA).handle == side.cuda_stream
    assert dlx.current_stream(CUDA).handle == (torch.cuda.current_stream().cuda_stream or 1)
    assert dlx.Stream(side).handle == side.cuda_stream
    assert dlx.Stream(torch.cuda.default_stream()).handle == 1


def test_own_streams_serve_torch(torch):
    stream = dlx.Stream(device=CUDA)
    external = torch.cuda.ExternalStream(stream.handle)
    with torch.cuda.stream(external):
        y = torch.full((N,), 7.0, device="cuda")
    stream.synchronize()
    assert float(y.min()) == 7


def test_graphs_capture_dlx_s_copies(torch):
    x = torch.arange(6.0, device="cuda").reshape(2, 3)
    out = torch.empty(3, 2, device="cuda")
    source, target = dlx.from_dlpack(x), dlx.from_dlpack(out)
    dlx.copyto(target, source.T)  # kernels are loaded before the capture
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        dlx.copyto(target, source.T, stream=torch.cuda.current_stream())
    x.add_(10)
    graph.replay()
    torch.cuda.synchronize()
    assert out.cpu().tolist() == [[10, 13], [11, 14], [12, 15]]


def test_other_threads_captures_are_not_broken(torch):
    """Allocations, events and copies of one thread while another captures."""
    graph, x = torch.cuda.CUDAGraph(), torch.full((8,), 3.0, device="cuda")
    y = torch.zeros(8, device="cuda")
    torch.cuda.synchronize()
    errors = []

    def work():
        try:
            with dlx.Stream(device=CUDA):
                for _ in range(20):
                    there = dlx.asarray([1, 2, 3], device=CUDA)
                    assert there[::-1].numpy(force=True).tolist() == [3, 2, 1]
        except Exception as error:
            errors.append(error)

    with torch.cuda.graph(graph):
        y.fill_(1)
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        y.copy_(x)
    assert not errors
    graph.replay()
    torch.cuda.synchronize()
    assert y.tolist() == [3] * 8


def test_cupy_s_streams(cupy):
    stream = cupy.cuda.Stream(non_blocking=True)
    assert dlx.Stream(stream).handle == stream.ptr
    assert dlx.Stream(cupy.cuda.Stream.null).handle == 1
    x = cupy.zeros(N)
    with stream:
        for _ in range(200):
            x += 1
        tensor = dlx.asarray(x)
    with dlx.stream(stream):
        stream_of = tensor.__cuda_array_interface__["stream"]
    assert stream_of == stream.ptr
    assert tensor.numpy(force=True).min() == 200


def test_numba_s_streams(numba_cuda):
    stream = numba_cuda.stream()
    assert dlx.Stream(stream, device=CUDA).handle > 2
    assert dlx.Stream(numba_cuda.default_stream(), device=CUDA).handle == 1


@pytest.fixture
def numba(numba_cuda, schedule):
    if not ON_FAKE:
        yield numba_cuda
        return
    from fake_driver import cuda

    cuda().set_schedule(schedule.encode())
    yield numba_cuda
    gc.collect()
    cuda().finish()
    cuda().set_schedule(b"eager")


def test_late_writes_of_numba_are_seen(numba):
    pinned = numba.pinned_array((512, 512), "f4")
    pinned[...] = 7
    side = dlx.Stream(device=CUDA)  # does not wait for the default stream, unlike Numba's own
    stream = numba.external_stream(side.handle)
    x = numba.device_array(pinned.shape, pinned.dtype, stream=stream)
    for _ in range(20):
        x.copy_to_device(pinned, stream=stream)
    tensor = dlx.asarray(x)  # whose interface names the stream
    assert tensor.data_ptr == x.__cuda_array_interface__["data"][0]
    assert tensor.numpy(force=True).min() == 7


def test_numba_sees_late_writes(numba):
    pinned = numba.pinned_array((512, 512), "f4")
    pinned[...] = 0
    with dlx.Stream(device=CUDA):  # which the Tensor, and so `x`, keeps
        tensor = dlx.asarray(5.0, dtype="float32", device=CUDA).broadcast_to((512, 512))
        x = numba.as_cuda_array(tensor.contiguous())
    x.copy_to_host(pinned, stream=x.stream)
    x.stream.synchronize()
    assert pinned.min() == 5


def test_cuda_core_s_streams(numba_cuda):
    if ON_FAKE:
        pytest.skip("cuda.core needs a real driver")
    core = pytest.importorskip("cuda.core")
    device_class = getattr(core, "Device", None) or core.experimental.Device
    device = device_class(0)
    device.set_current()
    stream = device.create_stream()
    assert dlx.Stream(stream).handle == stream.__cuda_stream__()[1]
    other = device.create_stream(dlx.Stream(device=CUDA))
    assert other.__cuda_stream__()[0] == 0
