"""The checks of a backend that was added to dlx: through `dlx` itself, which calls it."""

from __future__ import annotations

import random
from typing import Any

import dlx
from dlx import raw
from dlx.testing._referee.outcomes import FindingError, NotApplicableError, check, said

ROLE = "backend"
_SIZES = (1, 3, 64, 255, 4096, 100_001)


class Backend:
    """A device of the backend."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.device = dlx.Device(name)
        self.code = (self.device.device_type, self.device.device_id)

    def bytes(self, size: int) -> dlx.Tensor:
        """Random bytes on the CPU, the same each time."""
        return dlx.asarray(bytearray(random.Random(size).randbytes(size)))

    def there(self, tensor: dlx.Tensor) -> dlx.Tensor:
        return tensor.to_device(self.name)

    def numbers(self) -> dlx.Tensor:
        """A 3-d array whose elements are all different."""
        return dlx.asarray(list(range(6 * 5 * 4)), dtype="int32").reshape((6, 5, 4))


def contexts(name: str) -> dict[str, Any]:
    """What `check_backend` checks."""
    return {ROLE: Backend(name)}


@check(108, ROLE, "count", gate=True)
def _count(ctx: Backend) -> str:
    count = raw.dlx_device_count(ctx.code[0])
    if not 0 <= ctx.code[1] < count:
        reason = raw.dlx_backend_reason(ctx.code[0])
        raise FindingError(f"{ctx.name} is not there: there are {count} devices. {reason}".strip())
    return f"{count} devices"


@check(108, ROLE, "description")
def _describe(ctx: Backend) -> str:
    try:
        info = raw.dlx_device_info(*ctx.code)
    except dlx.Error as error:
        raise FindingError(f"raises {said(error)}") from error
    return f"{info.name}"


@check(101, ROLE, "separate blocks")
def _blocks(ctx: Backend) -> str:
    alive = [ctx.there(ctx.bytes(size)) for size in _SIZES]
    spans = sorted((tensor.data_ptr, tensor.nbytes) for tensor in alive)
    for (start, size), (following, _) in zip(spans, spans[1:]):
        if start + size > following and start != following:
            raise FindingError("two blocks overlap")
        if start == following:
            raise FindingError("two blocks have one address")
    odd = [start for start, size in spans if size >= 64 and start % 64]
    if odd:
        raise FindingError(
            f"a block is at {odd[0]:#x}, not at the multiple of 64 that was asked for"
        )
    return f"{len(spans)} blocks"


@check(101, ROLE, "freed and had again")
def _again(ctx: Backend) -> str:
    source = ctx.bytes(1 << 20)
    for turn in range(300):
        try:
            ctx.there(source)
        except dlx.Error as error:
            raise FindingError(f"after {turn} blocks of 1 MiB, all freed: {said(error)}") from error
    return "300 blocks of 1 MiB"


@check(102, ROLE, "there and back")
def _round_trip(ctx: Backend) -> str:
    for size in _SIZES:
        source = ctx.bytes(size)
        if ctx.there(source).to_device("cpu").tobytes() != source.tobytes():
            raise FindingError(f"{size} bytes come back as others")
    return f"{len(_SIZES)} sizes"


@check(102, ROLE, "at offsets")
def _offsets(ctx: Backend) -> str:
    source = ctx.bytes(4096)
    there = ctx.there(source)
    for start, stop in ((1, 4096), (7, 8), (64, 4000), (4095, 4096)):
        part = there[start:stop].to_device("cpu").tobytes()
        if part != source[start:stop].tobytes():
            raise FindingError(f"bytes {start} to {stop} come back as others")
    new = ctx.bytes(100)
    there[33:133] = new
    expected = bytearray(source.tobytes())
    expected[33:133] = new.tobytes()
    if there.to_device("cpu").tobytes() != bytes(expected):
        raise FindingError("bytes that are written at offset 33 are elsewhere")
    return "read and written at offsets"


@check(103, ROLE, "copies on the device")
def _on_device(ctx: Backend) -> str:
    source = ctx.bytes(10_000)
    there = ctx.there(source)
    copy = there.copy()
    if copy.data_ptr == there.data_ptr:
        raise FindingError("a copy has the address of the original")
    there[0:10] = ctx.bytes(10)
    if copy.to_device("cpu").tobytes() != source.tobytes():
        raise FindingError("a copy has other values")
    return "copied"


@check(104, ROLE, "views")
def _strided(ctx: Backend) -> str:
    here = ctx.numbers()
    there = ctx.there(here)
    views: dict[str, Any] = {
        "transposed": lambda x: x.permute_dims((2, 0, 1)),
        "reversed": lambda x: x[::-1, :, ::-1],
        "every second": lambda x: x[::2, 1::2],
        "broadcast": lambda x: x[:1].broadcast_to((6, 5, 4)),
    }
    for name, view in views.items():
        if view(there).contiguous().to_device("cpu").tolist() != view(here).tolist():
            raise FindingError(f"{name}: the compact copy has other values")
        if view(there).to_device("cpu").tolist() != view(here).tolist():
            raise FindingError(f"{name}: the values come back as others")
    return ", ".join(views)


def _stream(ctx: Backend) -> int:
    try:
        return int(raw.dlx_stream_create(*ctx.code))
    except dlx.InvalidArgumentError as error:
        raise NotApplicableError("the device has no streams") from error
    except dlx.UnsupportedError as error:
        raise NotApplicableError("the device has no streams") from error
    except dlx.Error as error:
        raise FindingError(f"no stream is made: {said(error)}") from error


@check(105, ROLE, "a stream of ours")
def _streams(ctx: Backend) -> str:
    stream = _stream(ctx)
    source = ctx.bytes(50_000)
    try:
        raw.dlx_stream_set_current(*ctx.code, stream)
        there = ctx.there(source)
        copy = there.copy()
        raw.dlx_stream_synchronize(*ctx.code, stream)
        back = copy.to_device("cpu").tobytes()
    finally:
        raw.dlx_stream_reset_current(*ctx.code)
    del there, copy
    raw.dlx_device_synchronize(*ctx.code)
    raw.dlx_stream_destroy(*ctx.code, stream)
    if back != source.tobytes():
        raise FindingError("what is copied on a new stream has other values")
    return "made, used and destroyed"


@check(106, ROLE, "two streams")
def _events(ctx: Backend) -> str:
    first, second = _stream(ctx), _stream(ctx)
    here = ctx.bytes(50_000)
    try:
        for _ in range(20):
            raw.dlx_stream_set_current(*ctx.code, first)
            there = ctx.there(here)
            copy = there.copy()
            raw.dlx_stream_wait(*ctx.code, second, first)
            raw.dlx_stream_set_current(*ctx.code, second)
            if copy.copy().to_device("cpu").tobytes() != here.tobytes():
                raise FindingError("the second stream does not wait for the first")
    finally:
        raw.dlx_stream_reset_current(*ctx.code)
    del there, copy
    raw.dlx_device_synchronize(*ctx.code)
    for stream in (first, second):
        raw.dlx_stream_destroy(*ctx.code, stream)
    return "one waits for the other"


@check(107, ROLE, "more memory than there is")
def _no_room(ctx: Backend) -> str:
    try:
        raw.dlx_tensor_empty(1, [1 << 50], raw.DLDataType(raw.kDLUInt, 8, 1), *ctx.code)
    except dlx.OutOfMemoryError as error:
        return said(error)
    except Exception as error:
        raise FindingError(f"raises {said(error)}, no OutOfMemoryError") from error
    raise FindingError("2^50 bytes are allocated")


@check(107, ROLE, "a device that is not there")
def _no_device(ctx: Backend) -> str:
    beyond = raw.dlx_device_count(ctx.code[0])
    try:
        raw.dlx_device_info(ctx.code[0], beyond)
    except dlx.Error as error:
        return said(error)
    raise FindingError(f"device {beyond} of {beyond} is described")
