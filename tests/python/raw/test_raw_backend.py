"""dlx.h, section backend: a device type that is added from Python, on either binding."""

from __future__ import annotations

from typing import Any

import pytest
from raw_support import CPU, Block, elements, refused, tensor

from dlx import raw
from late_device import DEFAULT_STREAM, SHIFT, LateDevice

INVALID = raw.DLX_ERROR_INVALID_ARGUMENT

# Numbers that DLPack does not use. What was registered stays: one kind of device for each number.
KINDS = {
    "plain": LateDevice(101, streams=False, strided=False),
    "strided": LateDevice(102, streams=False, strided=True),
    "streams": LateDevice(103, streams=True, strided=False),
    "strided streams": LateDevice(104, streams=True, strided=True),
}
for kind in KINDS.values():
    kind.register()

LAYOUTS: dict[str, tuple[list[int], list[int] | None]] = {
    "compact": ([3, 4], None),
    "transposed": ([4, 3], [1, 4]),
    "gaps": ([3, 2], [8, 3]),
    "0-d": ([], None),
    "empty": ([2, 0], None),
    "one": ([1, 1, 5], [7, 9, 2]),
}


@pytest.fixture(params=KINDS)
def late(request: pytest.FixtureRequest) -> Any:
    device = KINDS[request.param]
    device.calls.clear()
    yield device
    device.fail.clear()
    device.finish()
    raw.dlx_device_synchronize(device.device_type, 0)  # what was held for its work goes
    assert not device.blocks, "memory leaked"
    # Three staging buffers of each of two sizes are kept, with an event.
    assert len(device.events) <= 6, "events leaked"


@pytest.mark.parametrize("layout", LAYOUTS)
def test_data_goes_there_and_back(late: LateDevice, layout: str) -> None:
    shape, strides = LAYOUTS[layout]
    here = tensor(shape, strides)

    with raw.dlx_tensor_to_device(here, late.device_type, 1) as there:
        assert raw.dlx_tensor_device_type(there) == late.device_type
        assert raw.dlx_tensor_device_id(there) == 1
        assert raw.dlx_tensor_data(there) >= SHIFT or 0 in shape
        with raw.dlx_tensor_to_device(there, *CPU) as back:
            assert elements(back) == elements(here)


@pytest.mark.parametrize("other", [0, 1])
def test_views_are_copied_there_and_between_two_devices(late: LateDevice, other: int) -> None:
    here = tensor([4, 6])
    with raw.dlx_tensor_to_device(here, late.device_type, 0) as there:
        part = raw.dlx_tensor_slice(there, 1, 5, raw.DLX_SLICE_OPEN, -2)
        turned = raw.dlx_tensor_permute(part, [1, 0])
        always = raw.dlx_copy_options(copy=raw.DLX_COPY_ALWAYS)
        with raw.dlx_tensor_to_device(turned, late.device_type, other, always) as copy:
            assert raw.dlx_tensor_is_contiguous(copy, raw.DLX_ORDER_C) == 1
            with raw.dlx_tensor_to_device(copy, *CPU) as back:
                expected = [[row[i] for row in elements(here)] for i in (5, 3, 1)]
                assert elements(back) == expected
        for handle in (turned, part):
            handle.release()
    assert ("copy_strided" in late.calls) == ("copy_strided" in late.functions)


def test_late_work_is_done_when_somebody_needs_it() -> None:
    late = KINDS["strided streams"]
    here = tensor([64])
    with raw.dlx_tensor_to_device(here, late.device_type, 0) as there:
        late.finish()
        with raw.dlx_tensor_clone(there) as copy:
            assert late.pending > 0  # given to a stream, and nobody has waited
            with raw.dlx_tensor_to_device(copy, *CPU) as back:
                assert elements(back) == list(range(64))
    raw.dlx_device_synchronize(late.device_type, 0)
    assert not late.blocks


def test_streams_of_such_a_device() -> None:
    late = KINDS["streams"]
    device = (late.device_type, 0)
    assert raw.dlx_stream_get_current(*device) == DEFAULT_STREAM
    stream = raw.dlx_stream_create(*device)
    raw.dlx_stream_set_current(*device, stream)
    assert raw.dlx_stream_get_current(*device) == stream
    there = raw.dlx_tensor_to_device(tensor([8]), *device)
    with there, raw.dlx_tensor_clone(there) as copy:
        assert late.queues[stream]  # it runs there, …
        raw.dlx_tensor_wait_on_stream(copy, DEFAULT_STREAM)
        raw.dlx_stream_synchronize(*device, DEFAULT_STREAM)
        assert not late.queues[stream]  # … and who waits behind it waits for it
        raw.dlx_stream_wait(*device, stream, DEFAULT_STREAM)
        raw.dlx_tensor_written_on_stream(copy, stream)
        raw.dlx_tensor_synchronize(copy)
    raw.dlx_stream_reset_current(*device)
    assert raw.dlx_stream_get_current(*device) == DEFAULT_STREAM
    raw.dlx_stream_destroy(*device, stream)
    with refused(INVALID, "dlx_stream_destroy", "default stream"):
        raw.dlx_stream_destroy(*device, DEFAULT_STREAM)
    raw.dlx_device_synchronize(*device)


def test_what_it_says_about_itself(late: LateDevice) -> None:
    assert raw.dlx_device_count(late.device_type) == 2
    assert raw.dlx_backend_reason(late.device_type) == ""
    info = raw.dlx_device_info(late.device_type, 1)
    assert (info.name, info.architecture) == ("Late device 1", "late_1")
    assert (info.memory_total, info.memory_free) == (late.room, -1)
    with refused(raw.DLX_ERROR_UNAVAILABLE, "dlx_device_info", "there are 2"):
        raw.dlx_device_info(late.device_type, 2)
    with pytest.raises(ValueError, match="`name` is too small for 200 bytes"):
        info.name = "x" * 200


@pytest.mark.parametrize("name", ["copy_from_host", "describe", "allocate"])
def test_its_failures_are_told_in_its_words(late: LateDevice, name: str) -> None:
    late.fail[name] = "the cat is on it"
    if name == "describe":
        with refused(raw.DLX_ERROR_DRIVER, "dlx_device_info", name, "the cat is on it"):
            raw.dlx_device_info(late.device_type, 0)
        return
    status = raw.DLX_ERROR_OUT_OF_MEMORY if name == "allocate" else raw.DLX_ERROR_DRIVER
    words = () if name == "allocate" else (name, "the cat is on it")
    with refused(status, "dlx_tensor_to_device", *words):
        raw.dlx_tensor_to_device(tensor([3]), late.device_type, 0)


def test_an_exception_in_it_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    late = KINDS["plain"]
    seen: list[Any] = []
    monkeypatch.setattr("sys.unraisablehook", seen.append)
    for name in ("describe", "device_count"):
        monkeypatch.setitem(late.fail, name, ZeroDivisionError(name))

    with refused(raw.DLX_ERROR_UNAVAILABLE, "dlx_device_info", "reports no devices"):
        raw.dlx_device_info(late.device_type, 0)  # a count is no status: none are counted
    del late.fail["device_count"]
    with refused(raw.DLX_ERROR_DRIVER, "dlx_device_info", "describe", "failed: -1"):
        raw.dlx_device_info(late.device_type, 0)

    assert {str(item.exc_value) for item in seen} == {"describe", "device_count"}


def test_a_table_that_is_not_whole_is_refused() -> None:
    whole = KINDS["streams"].functions
    for name in ("allocate", "copy_on_device", "device_count", "synchronize"):
        table = raw.dlx_backend(**{k: v for k, v in whole.items() if k != name})
        with refused(INVALID, "dlx_register_backend", name):
            raw.dlx_register_backend(105, table)
    table = raw.dlx_backend(**{k: v for k, v in whole.items() if k != "event_wait"})
    with refused(INVALID, "dlx_register_backend", "all or none"):
        raw.dlx_register_backend(105, table)
    assert raw.dlx_device_count(105) == 0


@pytest.mark.parametrize("device_type", [0, -1, raw.kDLCPU, raw.kDLCUDA, 101])
def test_no_backend_takes_the_place_of_another(device_type: int) -> None:
    table = raw.dlx_backend(**KINDS["plain"].functions)
    with refused(INVALID, "dlx_register_backend", "`device_type`"):
        raw.dlx_register_backend(device_type, table)


def test_a_host_pointer_is_not_of_it() -> None:
    assert raw.dlx_device_of_pointer(Block(1).address) == CPU
