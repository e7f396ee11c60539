"""The checks of what `__dlpack__` answers: values, dtypes, devices, and each keyword."""

from __future__ import annotations

import math
from typing import Any

from . import reading, structs
from .outcomes import DeviationError, FindingError, NotApplicableError, check, said
from .producing import DTYPES, ROLE, Producers
from .structs import CPU, CUDA, IS_COPIED, LEGACY, READ_ONLY, ROCM, VERSIONED


@check(11, ROLE, "a possible description", gate=True, struct=True)
def _possible(ctx: Producers) -> str:
    try:
        managed = ctx.export(ctx.make())[1]
    except NotApplicableError as error:
        return str(error)
    tensor, shape = managed.tensor, managed.shape
    if tensor.ndim < 0:
        raise FindingError(f"ndim is {tensor.ndim}")
    if tensor.ndim > 0 and not tensor.shape:
        raise FindingError(f"shape is NULL, and ndim is {tensor.ndim}")
    if min(shape, default=0) < 0:
        raise FindingError(f"shape is {shape}")
    count = math.prod(shape)
    size = count and structs.element_bytes(managed.dtype)
    if count * size >= 2**63:
        raise FindingError(f"shape is {shape}: the elements do not fit in memory")
    if count and not tensor.data:
        raise FindingError(f"data is NULL, and shape is {shape}")
    reach = [(extent - 1) * stride * size for extent, stride in zip(shape, managed.strides)]
    first = managed.pointer + sum(step for step in reach if step < 0)
    last = managed.pointer + sum(step for step in reach if step > 0)
    if count and managed.device[0] == CPU and not 0 <= first <= last <= 2**64 - size:
        raise FindingError(
            f"the elements reach beyond the address space (strides {managed.strides}, "
            f"byte_offset {tensor.byte_offset})"
        )
    return f"{tensor.ndim} axes"


@check(9, ROLE, "unknown flags", struct=True)
def _flags(ctx: Producers) -> str:
    _, managed = ctx.export(ctx.make())
    if not managed.versioned:
        raise NotApplicableError("there is no versioned struct")
    if managed.flags & ~7:
        raise FindingError(f"flags has bits that the header does not define: {managed.flags:#x}")
    return f"flags are {managed.flags}"


@check(11, ROLE, "strides", struct=True)
def _strides(ctx: Producers) -> str:
    _, managed = ctx.export(ctx.make())
    if managed.tensor.ndim == 0:
        raise NotApplicableError("the tensor has no axes")
    if not managed.tensor.strides and managed.version and managed.version >= (1, 2):
        raise FindingError(f"strides is NULL in a tensor of version {managed.version}")
    return f"strides are {managed.strides}" if managed.tensor.strides else "NULL, before 1.2"


@check(13, ROLE, "256 bytes", struct=True)
def _alignment(ctx: Producers) -> str:
    _, managed = ctx.export(ctx.make())
    data = managed.tensor.data or 0
    if data % 256:
        raise DeviationError(f"data is at a multiple of {data & -data} bytes, not of 256")
    return "at a multiple of 256"


def _check_values(ctx: Producers, case: str) -> str:
    obj = ctx.make(case)
    capsule, managed = ctx.export(obj)
    if managed.device[0] != CPU:
        raise NotApplicableError("the data is not on the CPU")
    view = reading.of_managed(managed, capsule)
    told = getattr(obj, "shape", None)
    if told is not None:
        try:
            shape = tuple(int(extent) for extent in told)
        except (TypeError, ValueError):
            shape = managed.shape
        if shape != managed.shape:
            raise FindingError(f"the object has shape {shape}, the tensor {managed.shape}")
    expected, found = reading.listed(obj), reading.decoded(view)
    if expected is None or found is None or len(str(expected)) > 10000:
        raise NotApplicableError("the object does not list its values")
    if [complex(value) for value in expected] != [complex(value) for value in found]:
        raise FindingError(f"the object holds {expected}, the tensor {found}")
    return "the values are the object's"


def _add_values() -> None:
    for case in ("plain", "scalar", "strided", "reversed", "broadcast", "offset", "lazy"):

        def run(ctx: Producers, case: str = case) -> str:
            return _check_values(ctx, case)

        check(14, ROLE, f"values, {case}")(run)


_add_values()


@check(15, ROLE, "no elements", struct=True)
def _empty(ctx: Producers) -> str:
    _, managed = ctx.export(ctx.make("empty"))
    if 0 not in managed.shape:
        raise FindingError(f"an array without elements has shape {managed.shape}")
    if managed.tensor.data:
        raise FindingError("data is not NULL although there are no elements")
    return "data is NULL"


@check(17, ROLE, "other byte order")
def _byte_order(ctx: Producers) -> str:
    obj = ctx.make("byte-swapped")
    try:
        obj.__dlpack__()
    except Exception as error:
        return f"refused: {said(error)}"
    raise FindingError("an array of the other byte order is exported as if it were native")


def _check_dtype(ctx: Producers, case: str, boolean: bool) -> str:
    obj = ctx.make(case)
    _, managed = ctx.export(obj)
    expected = reading.named_dtype(str(reading.attribute(obj, "dtype")))
    if expected is None:
        raise NotApplicableError(f"the dtype {obj.dtype} has no name that is known here")
    if (expected[0] == 6) != boolean:
        raise NotApplicableError("the other item is about this dtype")
    if managed.dtype != expected:
        raise FindingError(f"{obj.dtype} is exported as (code, bits, lanes) {managed.dtype}")
    return f"{obj.dtype} is {managed.dtype}"


def _add_dtypes() -> None:
    for case in ("plain", *DTYPES):
        for boolean in (False, True):
            if case != "plain" and (case == "bool") != boolean:
                continue

            def run(ctx: Producers, case: str = case, boolean: bool = boolean) -> str:
                return _check_dtype(ctx, case, boolean)

            check(18 if boolean else 21, ROLE, case)(run)


_add_dtypes()


# What the bits of a code can be; any number for integers and opaque handles.
_BITS = {
    2: (16, 32, 64, 128), 4: (16,), 5: (32, 64, 128), 6: (8,),
    **dict.fromkeys(range(7, 15), (8,)), 15: (6,), 16: (6,), 17: (4,),
}  # fmt: skip


@check(21, ROLE, "a known dtype", struct=True)
def _known_dtype(ctx: Producers) -> str:
    code, bits, lanes = ctx.export(ctx.make())[1].dtype
    if code > 17 or bits not in _BITS.get(code, range(1, 256)) or lanes == 0:
        raise FindingError(f"(code, bits, lanes) ({code}, {bits}, {lanes}) is not in dlpack.h 1.3")
    return f"({code}, {bits}, {lanes})"


@check(22, ROLE, "device id", struct=True)
def _device_id(ctx: Producers) -> str:
    device = ctx.export(ctx.make())[1].device
    if device[0] == CPU and device[1] != 0:
        raise FindingError(f"the tensor is on device {device}")
    return str(device)


@check(41, ROLE, "stream=1 on the CPU")
def _cpu_stream(ctx: Producers) -> str:
    obj = ctx.make()
    ctx.on_cpu(obj)
    ctx.capsule(obj, stream=None)
    try:
        obj.__dlpack__(stream=1)
    except Exception as error:
        return f"refused: {said(error)}"
    raise FindingError("stream=1 is accepted for data on the CPU")


def _refuses_streams(ctx: Producers, device_type: int, streams: tuple[int, ...]) -> str:
    obj = ctx.make()
    if ctx.export(obj)[1].device[0] != device_type:
        raise NotApplicableError("the data is on another device")
    for stream in streams:
        try:
            obj.__dlpack__(stream=stream)
        except Exception:
            continue
        raise FindingError(f"stream={stream} is accepted")
    return f"refused: {streams}"


@check(42, ROLE, "stream=-1")
def _no_sync(ctx: Producers) -> str:
    obj = ctx.make()
    if ctx.export(obj)[1].device[0] not in (CUDA, ROCM):
        raise NotApplicableError("the device has no streams")
    try:
        obj.__dlpack__(stream=-1)
    except Exception as error:
        raise FindingError(f"stream=-1 raises {said(error)}") from error
    return "accepted"


@check(43, ROLE, "stream=0")
def _cuda_stream(ctx: Producers) -> str:
    return _refuses_streams(ctx, CUDA, (0,))


@check(44, ROLE, "streams 1 and 2")
def _rocm_streams(ctx: Producers) -> str:
    return _refuses_streams(ctx, ROCM, (1, 2))


@check(50, ROLE, "no max_version")
def _legacy(ctx: Producers) -> str:
    try:
        capsule = ctx.make().__dlpack__()
    except BufferError as error:
        return f"refused: {said(error)}"
    except Exception as error:
        raise FindingError(f"__dlpack__() raises {said(error)}") from error
    if structs.is_capsule(capsule) and structs.capsule_name(capsule) == VERSIONED:
        raise FindingError("__dlpack__() gives a versioned capsule to a consumer of before 1.0")
    return "legacy capsule"


@check(51, ROLE, "max_version=(1, 0)")
def _versioned(ctx: Producers) -> str:
    for version in ((1, 0), (1, 3)):
        capsule = ctx.capsule(ctx.make(), max_version=version)
        if not structs.is_capsule(capsule) or structs.capsule_name(capsule) == LEGACY:
            raise FindingError(f"max_version={version} is answered with the legacy struct")
    return "versioned capsules"


@check(61, ROLE, "major version", struct=True)
def _major(ctx: Producers) -> str:
    managed = reading.fresh(ctx.capsule(ctx.make()))
    if managed.version and managed.version[0] != 1:
        raise FindingError(f"max_version=(1, 3) is answered with version {managed.version}")
    return f"version {managed.version or 'legacy'}"


@check(52, ROLE, "old and new versions")
def _any_version(ctx: Producers) -> str:
    ctx.capsule(ctx.make(), max_version=(1, 0))
    for version in ((0, 8), (1, 99), (2, 0)):
        try:
            ctx.make().__dlpack__(max_version=version)
        except BufferError:
            continue
        except Exception as error:
            raise FindingError(f"max_version={version} raises {said(error)}") from error
    return "all are answered"


def _asked(obj: Any, device: tuple[int, int]) -> list[tuple[str, dict[str, Any]]]:
    """Keywords that ask for a device, as a consumer of today and as one from before 1.0, and words."""
    ways: list[tuple[str, dict[str, Any]]] = [(f"dl_device={device}", {"dl_device": device})]
    try:
        obj.__dlpack__(max_version=(1, 3))
    except TypeError:
        return ways
    except Exception:
        pass
    ways[0] = (f"dl_device={device} without max_version", ways[0][1])
    both = {"dl_device": device, "max_version": (1, 3)}
    return [(f"dl_device={device} with max_version=(1, 3)", both), *ways]


@check(53, ROLE, "a device that is not here")
def _other_device(ctx: Producers) -> str:
    obj = ctx.make()
    device = ctx.export(obj)[1].device
    ctx.capsule(obj, dl_device=device)
    for words, keywords in _asked(obj, (structs.HEXAGON, 0)):
        try:
            capsule = obj.__dlpack__(**keywords)
        except BufferError as error:
            text = f"refused: {said(error)}"
        except Exception as error:
            raise FindingError(f"{words} raises {said(error)}, no BufferError") from error
        else:
            raise FindingError(f"{words} is answered with data on {reading.fresh(capsule).device}")
    return text


@check(54, ROLE, "dl_device=(1, 0)")
def _to_cpu(ctx: Producers) -> str:
    obj = ctx.make()
    try:
        obj.__dlpack__(dl_device=None)
    except Exception as error:
        raise NotApplicableError(f"dl_device is not taken (item 40): {said(error)}") from error
    for words, keywords in _asked(obj, (CPU, 0)):
        try:
            capsule = obj.__dlpack__(**keywords)
        except Exception as error:
            if isinstance(error, BufferError) and "max_version" not in keywords:
                continue  # legacy capsules may be refused altogether (item 50)
            raise FindingError(f"{words} raises {said(error)}") from error
        device = reading.fresh(capsule).device
        if device[0] != CPU:
            raise FindingError(f"{words} is answered with data on {device}")
    return "on the CPU"


@check(10, ROLE, "a copy is written to")
def _copy_is_ones_own(ctx: Producers) -> str:
    obj = ctx.make()
    keep, own = ctx.export(obj)
    copies = [ctx.export(obj, copy=True, max_version=(1, 3)) for _ in range(2)]
    first, second = (managed for _, managed in copies)
    if not first.versioned or not first.flags & IS_COPIED or first.device[0] != CPU:
        raise NotApplicableError("there is no marked copy on the CPU (items 55, 56)")
    before = reading.read_managed(second)
    structs.overwrite(first.pointer)
    if own.device[0] == CPU and reading.read_managed(own) != before:
        raise FindingError("what is written to a copy is seen in the object")
    if reading.read_managed(second) != before:
        raise FindingError("two copies are the same memory")
    del keep
    return "neither the object nor another copy changes"


@check(55, ROLE, "copy=True")
def _copies(ctx: Producers) -> str:
    obj = ctx.make()
    capsule, own = ctx.export(obj)
    try:
        obj.__dlpack__(copy=None)
    except TypeError as error:
        raise NotApplicableError("copy is not taken (item 40)") from error
    except Exception as error:
        raise NotApplicableError(said(error)) from error
    for keywords in ({"max_version": (1, 3)}, {}):
        try:
            copied = obj.__dlpack__(copy=True, **keywords)
            break
        except BufferError as error:
            problem: FindingError = DeviationError(f"copy=True is refused: {said(error)}")
        except Exception as error:
            problem = FindingError(f"copy=True raises {said(error)}, no BufferError")
    else:
        raise problem
    other = reading.fresh(copied)
    if other.pointer == own.pointer and own.pointer:
        raise FindingError("copy=True gives the object's own memory")
    if own.device[0] == CPU and reading.read_managed(other) != reading.read_managed(own):
        raise FindingError("the copy has other values")
    del capsule
    return "copied"


@check(55, ROLE, "copy=False")
def _shares(ctx: Producers) -> str:
    obj = ctx.make()
    keep, own = ctx.export(obj)
    capsule = ctx.capsule(obj, copy=False)
    again = ctx.capsule(obj, copy=False)
    pointers = reading.fresh(capsule).pointer, reading.fresh(again).pointer
    if pointers[0] != pointers[1]:
        raise FindingError("copy=False gives other memory each time")
    del keep, own
    return "shared"


@check(56, ROLE, "the mark of a copy")
def _marks_copies(ctx: Producers) -> str:
    obj = ctx.make()
    keep, own = ctx.export(obj)
    capsule = ctx.capsule(obj, copy=True, max_version=(1, 3))
    copied = reading.fresh(capsule)
    if not copied.versioned or copied.pointer == own.pointer:
        raise NotApplicableError("there is no versioned copy (items 51, 55)")
    if not copied.flags & IS_COPIED:
        raise FindingError("copy=True copies, and IS_COPIED is not set")
    del keep
    return "a copy is marked"


@check(56, ROLE, "no mark without a copy")
def _marks_no_view(ctx: Producers) -> str:
    obj = ctx.make()
    (first, one), (second, two) = ctx.export(obj), ctx.export(obj)
    if one.pointer == two.pointer and one.flags & IS_COPIED:
        raise FindingError("IS_COPIED is set, and two exports share their memory")
    del first, second
    return "not marked"


@check(58, ROLE, "an array that cannot be exported")
def _unexportable(ctx: Producers) -> str:
    obj = ctx.make("unexportable")
    versioned = reading.fresh(ctx.capsule(ctx.make())).versioned
    try:
        obj.__dlpack__(**({"max_version": (1, 3)} if versioned else {}))
    except BufferError as error:
        return f"refused: {said(error)}"
    except Exception as error:
        raise FindingError(f"raises {said(error)}, no BufferError") from error
    raise FindingError("an array that DLPack has no form for is exported")


@check(59, ROLE, "marked read-only")
def _read_only(ctx: Producers) -> str:
    obj = ctx.make("read-only")
    try:
        managed = reading.fresh(obj.__dlpack__(max_version=(1, 3)))
    except BufferError as error:
        return f"refused: {said(error)}"
    except TypeError as error:
        raise NotApplicableError(said(error)) from error
    if not managed.versioned:
        raise NotApplicableError("the legacy struct cannot be marked")
    if not managed.flags & (READ_ONLY | IS_COPIED):
        raise FindingError("data that must not be written to is exported without READ_ONLY")
    return "marked"


@check(59, ROLE, "read-only data as a legacy capsule")
def _read_only_legacy(ctx: Producers) -> str:
    obj = ctx.make("read-only")
    try:
        capsule = obj.__dlpack__()
    except Exception as error:
        return f"refused: {said(error)}"
    managed = reading.fresh(capsule)
    if managed.versioned:
        raise NotApplicableError("the capsule is versioned (item 50)")
    raise FindingError("data that must not be written to is exported as a legacy capsule, "
                       "which cannot say so")  # fmt: skip


@check(60, ROLE, "the same memory")
def _no_copy(ctx: Producers) -> str:
    obj = ctx.make()
    (first, one), (second, two) = ctx.export(obj), ctx.export(obj)
    if one.pointer != two.pointer:
        raise FindingError("each export is a copy: its memory is at another address")
    del first, second
    return "two exports are the same memory"


@check(60, ROLE, "writes are seen")
def _writes_are_seen(ctx: Producers) -> str:
    obj = ctx.make()
    capsule, managed = ctx.export(obj)
    if not managed.versioned or managed.flags & (READ_ONLY | IS_COPIED) or managed.device[0] != CPU:
        raise NotApplicableError("the tensor is not the object's writable memory on the CPU")
    if managed.dtype != (2, 32, 1) or not managed.pointer:
        raise NotApplicableError("the tensor is not of float32")
    structs.overwrite(managed.pointer)
    if (listed := reading.listed(obj)) is None:
        raise NotApplicableError("the object does not list its values")
    if listed[0] != structs.WRITTEN:
        raise FindingError(f"the tensor begins with {structs.WRITTEN}, the object with {listed[0]}")
    del capsule
    return "the object shows what is written to the tensor"


@check(63, ROLE, "__dlpack_device__")
def _device_pair(ctx: Producers) -> str:
    obj = ctx.make()
    try:
        device = obj.__dlpack_device__()
    except Exception as error:
        raise FindingError(f"__dlpack_device__ raises {said(error)}") from error
    good = isinstance(device, tuple) and len(device) == 2
    if not good or not all(isinstance(number, int) for number in device):
        raise FindingError(f"__dlpack_device__ gives {device!r}, not a tuple of two integers")
    if not 1 <= device[0] <= 21 or device[0] in (5, 6):
        raise FindingError(f"device type {device[0]} is not in dlpack.h")
    return str(tuple(int(number) for number in device))


@check(64, ROLE, "one device")
def _same_device(ctx: Producers) -> str:
    obj = ctx.make()
    try:
        told = tuple(int(number) for number in obj.__dlpack_device__())
    except Exception as error:
        raise NotApplicableError(f"__dlpack_device__ (item 63): {said(error)}") from error
    found = ctx.export(obj)[1].device
    if told != found:
        raise FindingError(f"__dlpack_device__ is {told}, the capsule's device {found}")
    return str(found)
