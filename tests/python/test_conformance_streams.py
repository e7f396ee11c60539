"""docs/conformance.md, items 45, 46, 48 and 57: streams.

Without a driver dlx cannot make one stream wait for another. What it must not do then is ignore a stream:
these tests hold it to a refusal. With a driver it orders them: devices/test_streams.py.
The memory of these "devices" is the host's, and nobody looks at it.
"""

import pytest

import dlx
from dlpack_ctypes import VERSIONED, Imported, Producer, name_of

CUDA, ROCM = (2, 0), (10, 0)


@pytest.mark.parametrize(("device", "streams"), [(CUDA, [2, 1 << 40]), (ROCM, [3, 1 << 40])])
def test_items_45_46_a_stream_that_cannot_be_made_to_wait_is_refused(device, streams):
    producer = Producer(device=device)
    tensor = dlx.from_dlpack(producer)

    for stream in streams:
        with pytest.raises(BufferError, match="stream") as caught:
            tensor.__dlpack__(stream=stream, max_version=(1, 3))
        assert not isinstance(caught.value, TypeError)
    del tensor, caught
    assert producer.deleted == 1


@pytest.mark.parametrize(("device", "streams"), [(CUDA, [None, -1, 1]), (ROCM, [None, -1, 0])])
def test_item_46_streams_for_which_the_data_is_safe_already_are_served(device, streams):
    tensor = dlx.from_dlpack(Producer(device=device))

    for stream in streams:  # -1 asks for no order; the others are the stream it was imported for
        capsule = tensor.__dlpack__(stream=stream, max_version=(1, 3))
        assert name_of(capsule) == VERSIONED
        got = Imported(capsule)
        assert (got.device, got.data) == (device, tensor.data_ptr)
        got.free()


@pytest.mark.parametrize(("device", "stream"), [((1, 0), None), (CUDA, 1), ((13, 0), 1), (ROCM, 0)])
def test_item_48_the_producer_is_told_the_legacy_default_stream_by_its_number(device, stream):
    producer = Producer(device=device)

    dlx.from_dlpack(producer)

    assert [call["stream"] for call in producer.calls] == [stream]


@pytest.mark.parametrize("device", [CUDA, ROCM])
@pytest.mark.parametrize("stream", [None, -1, 1 << 40])
def test_item_57_no_copy_runs_on_another_stream_than_the_consumer_s(device, stream):
    tensor = dlx.from_dlpack(Producer(device=device))

    with pytest.raises(BufferError):  # a copy on the host or on a stream of dlx's choice is neither
        tensor.__dlpack__(stream=stream, copy=True, max_version=(1, 3))


def test_item_57_a_copy_on_the_cpu_has_no_stream():
    with pytest.raises(ValueError, match="stream"):
        dlx.empty(3).__dlpack__(stream=1, copy=True, max_version=(1, 3))
