"""The checks of a consumer: a `from_dlpack` function."""

from __future__ import annotations

import contextlib
import gc
import struct
import threading
from collections.abc import Callable
from typing import Any

from . import ending, reading, structs
from .outcomes import DeviationError, FindingError, LeakError, NotApplicableError, check, said
from .sources import Export, OldSource, Source
from .structs import EXT_DEV, USED, VERSIONED

ROLE = "consumer"
OBJECT, CAPSULE, LEGACY_CAPSULE = "object", "capsule", "legacy capsule"


class Consumers:
    """Calls the function that is checked.

    Attributes:
        takes: what the function takes: "object", "capsule" or "legacy capsule".
        read: turns a result into an object that can be read back.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        takes: str = OBJECT,
        read: Callable[[Any], Any] | None = None,
    ) -> None:
        self._function, self.takes, self._read = function, takes, read

    def take(self, source: Source, **keywords: Any) -> Any:
        if self.takes == OBJECT:
            return self._function(source, **keywords)
        if keywords:
            raise NotApplicableError("the function takes a capsule, no keywords")
        source.legacy = source.legacy or self.takes == LEGACY_CAPSULE
        return self._function(source.capsule())

    def view(self, result: Any) -> reading.View:
        try:
            return reading.read(self._read(result) if self._read else result)
        except NotApplicableError:
            raise
        except Exception as error:
            raise NotApplicableError(f"accepted, and cannot be read: {said(error)}") from error

    def accept(self, source: Source) -> str:
        """Import something legal: a proper refusal deviates, other values are a fault."""
        try:
            result = self.take(source)
        except Exception as error:
            reject_system_error(error)
            raise DeviationError(f"refused: {said(error)}") from error
        view = self.view(result)
        if view.shape != source.shape and 0 not in source.shape:
            raise FindingError(f"shape {source.shape} is read as {view.shape}")
        if b"".join(view.values()) != b"".join(source.values):
            raise FindingError(f"read with other values than {_numbers(source)}")
        return "shared" if view.pointer == source.address else "copied"

    def accept_and_use(self, source: Source) -> str:
        """Like accept; and let the library compute: what it cannot use may end the process then."""
        text = self.accept(source)
        result = self.take(source)
        with contextlib.suppress(Exception):
            result + result
        return text

    def refuse(self, source: Source) -> str:
        """Import something illegal: it has to raise."""
        try:
            self.take(source)
        except Exception as error:
            reject_system_error(error)
            return f"refused: {said(error)}"
        raise FindingError("accepted")

    def objects_only(self) -> None:
        if self.takes != OBJECT:
            raise NotApplicableError(f"the function takes a {self.takes}")


def _numbers(source: Source) -> str:
    values = source.values[:6]
    return ", ".join(str(value.hex()) for value in values) + (" …" if source.values[6:] else "")


def reject_system_error(error: Exception) -> None:
    if isinstance(error, SystemError):
        raise FindingError(f"fails without a reason: {said(error)}") from error


def check_deleted(source: Source) -> None:
    """Each deleter ran once for a capsule that was taken, and never for another."""
    for export in source.exports:
        _check_export(export)


def _check_export(export: Export) -> None:
    calls, taken = export.deleted, export.taken
    if calls > 1:
        raise FindingError(f"the deleter is called {calls} times")
    if taken and calls == 0:
        raise LeakError("the deleter is never called")
    if calls and not taken and not export.destructor_removed:
        raise FindingError("the deleter is called, and the capsule, not renamed, calls it again")


def result_of(ctx: Consumers, source: Source, **keywords: Any) -> Any:
    """The result of an import that other checks judge."""
    try:
        return ctx.take(source, **keywords)
    except NotApplicableError:
        raise
    except Exception as error:
        raise NotApplicableError(f"refused: {said(error)}") from error


@check(65, ROLE, "a plain tensor", gate=True)
def _plain(ctx: Consumers) -> str:
    source = Source()
    try:
        result = ctx.take(source)
    except Exception as error:
        raise FindingError(f"a float32 tensor of shape (2, 3) is refused: {said(error)}") from error
    try:
        values = ctx.view(result).values()
    except NotApplicableError as error:
        return f"accepted; {error}"
    if values != source.values:
        raise FindingError("a float32 tensor of shape (2, 3) is read with other values")
    return "accepted"


@check(65, ROLE, "keywords")
def _keywords(ctx: Consumers) -> str:
    if ctx.takes != OBJECT:
        raise DeviationError(f"the function takes a {ctx.takes}, not an object")
    missing = []
    for name in ("device", "copy"):
        try:
            ctx.take(Source(), **{name: None})
        except TypeError:
            missing.append(name)
        except Exception:
            continue
    if missing:
        raise FindingError(f"from_dlpack does not take {' and '.join(missing)}")
    return "device and copy are taken"


@check(2, ROLE, "version 2.0")
def _major(ctx: Consumers) -> str:
    source = Source(version=(2, 0))
    text = "accepted"
    try:
        ctx.take(source)
    except Exception as error:
        text = f"refused: {said(error)}"
    if not source.exports or not source.last.managed.versioned:
        raise NotApplicableError("the consumer asks for the legacy struct")
    if text == "accepted":
        raise FindingError("a tensor of version 2.0 is accepted and read as if it were 1")
    return text


@check(3, ROLE, "version 1.99")
def _minor(ctx: Consumers) -> str:
    return ctx.accept(Source(version=(1, 99)))


@check(5, ROLE, "a legacy capsule")
def _legacy(ctx: Consumers) -> str:
    try:
        ctx.take(Source(legacy=True))
    except Exception as error:
        raise FindingError(f"refused: {said(error)}") from error
    return "accepted"


@check(6, ROLE, "NULL deleter")
def _null_deleter(ctx: Consumers) -> str:
    source = Source(null_deleter=True)
    text = ctx.accept(source)
    gc.collect()
    return text


@check(6, ROLE, "NULL manager_ctx")
def _null_manager(ctx: Consumers) -> str:
    usual, source = Source(), Source(null_manager=True)
    ctx.accept(usual)
    text = ctx.accept(source)
    gc.collect()
    if _never_deleted(usual):
        raise NotApplicableError("the deleter is never called (item 7)")
    if _never_deleted(source):
        raise LeakError("the deleter is never called if manager_ctx is NULL")
    return text


def _never_deleted(source: Source) -> bool:
    return any(export.taken and not export.deleted for export in source.exports)


@check(7, ROLE, "dropped")
def _dropped(ctx: Consumers) -> str:
    source = Source()
    result = result_of(ctx, source)
    try:
        shared = ctx.view(result).pointer == source.address
    except NotApplicableError:
        shared = False
    if shared and source.last.deleted:
        raise FindingError("the deleter is called while the tensor is in use")
    del result
    gc.collect()
    check_deleted(source)
    return "one call of the deleter"


@check(7, ROLE, "dropped by another thread")
def _dropped_elsewhere(ctx: Consumers) -> str:
    source = Source()
    holder = [result_of(ctx, source)]
    thread = threading.Thread(target=holder.clear)
    thread.start()
    thread.join()
    gc.collect()
    check_deleted(source)
    return "one call of the deleter"


@check(7, ROLE, "in a reference cycle")
def _cycle(ctx: Consumers) -> str:
    source = Source()
    cycle: list[Any] = [result_of(ctx, source)]
    cycle.append(cycle)
    del cycle
    gc.collect()
    check_deleted(source)
    return "one call of the deleter"


@check(31, ROLE, "dropped while an exception is pending")
def _pending(ctx: Consumers) -> str:
    source = Source()
    kept = structs.drop_with_exception_pending([result_of(ctx, source)])
    gc.collect()
    if not kept:
        raise FindingError("dropping the result replaces or clears an exception that is pending")
    return "the exception stays"


@check(12, ROLE, "NULL shape and strides")
def _no_axes(ctx: Consumers) -> str:
    return ctx.accept(Source(shape=(), null_shape=True, null_strides=True))


@check(11, ROLE, "NULL strides before 1.2")
def _null_strides(ctx: Consumers) -> str:
    return ctx.accept(Source(null_strides=True))


@check(15, ROLE, "NULL data")
def _empty_null(ctx: Consumers) -> str:
    return _empty(ctx, Source(shape=(0, 3), null_data=True))


@check(15, ROLE, "data and odd strides")
def _empty_data(ctx: Consumers) -> str:
    return _empty(ctx, Source(shape=(0, 3), strides=(7, 2)))


def _empty(ctx: Consumers, source: Source) -> str:
    try:
        result = ctx.take(source)
    except Exception as error:
        reject_system_error(error)
        raise FindingError(f"refused: {said(error)}") from error
    view = ctx.view(result)
    if view.shape != source.shape:
        raise FindingError(f"shape {source.shape} is read as {view.shape}")
    return "accepted"


@check(20, ROLE, "FP6 of 8 bits")
def _wide_fp6(ctx: Consumers) -> str:
    return ctx.refuse(Source(dtype=(15, 8, 1)))


@check(28, ROLE, "renamed")
def _renamed(ctx: Consumers) -> str:
    source = Source()
    result = result_of(ctx, source)
    name = structs.capsule_name(source.last.capsule)
    del result
    if name != USED.get(source.last.name):
        raise FindingError(f"after the import the capsule is named {name!r}")
    return repr(name)


@check(33, ROLE, "a used capsule")
def _used(ctx: Consumers) -> str:
    return ctx.refuse(Source(capsule_name=USED[VERSIONED]))


@check(33, ROLE, "a capsule of another kind")
def _other_capsule(ctx: Consumers) -> str:
    return ctx.refuse(Source(capsule_name=b"tensor"))


def _failed(ctx: Consumers, source: Source) -> str:
    try:
        ctx.take(source)
    except Exception:
        gc.collect()
    else:
        raise NotApplicableError("this import does not fail")
    if not source.exports:
        raise NotApplicableError("__dlpack__ was not called")
    check_deleted(source)
    return "the deleter is called by the consumer" if source.deleted else "left to the capsule"


@check(32, ROLE, "failed, unknown dtype")
def _failed_dtype(ctx: Consumers) -> str:
    return _failed(ctx, Source(dtype=(99, 32, 1)))


@check(32, ROLE, "failed, other device")
def _failed_device(ctx: Consumers) -> str:
    return _failed(ctx, Source(device=(EXT_DEV, 0)))


@check(32, ROLE, "failed, version 2.0")
def _failed_version(ctx: Consumers) -> str:
    return _failed(ctx, Source(version=(2, 0)))


@check(41, ROLE, "stream")
def _stream(ctx: Consumers) -> str:
    ctx.objects_only()
    source = Source()
    result_of(ctx, source)
    streams = [call["stream"] for call in source.calls]
    if any(stream is not None for stream in streams):
        raise FindingError(f"__dlpack__ of data on the CPU is called with stream={streams[-1]}")
    return "no stream"


@check(67, ROLE, "the producer's device")
def _asks_device(ctx: Consumers) -> str:
    ctx.objects_only()
    source = Source()
    result_of(ctx, source)
    if not source.asked_device:
        raise DeviationError("__dlpack_device__ is not called")
    return "asked"


@check(69, ROLE, "a producer of 2022")
def _old(ctx: Consumers) -> str:
    ctx.objects_only()
    source = OldSource()
    try:
        result = ctx.take(source)
    except Exception as error:
        raise FindingError(f"refused: {said(error)}") from error
    del result
    return f"accepted after {len(source.calls)} calls"


@check(70, ROLE, "copy=True and a producer of 2022")
def _old_copy(ctx: Consumers) -> str:
    ctx.objects_only()
    source = OldSource()
    view = ctx.view(result_of(ctx, source, copy=True))
    if view.pointer == source.address:
        raise FindingError("copy=True gives the producer's own memory")
    return "copied"


@check(71, ROLE, "copy=True")
def _copy(ctx: Consumers) -> str:
    ctx.objects_only()
    source = Source()
    result_of(ctx, Source(), copy=None)
    try:
        result = ctx.take(source, copy=True)
    except Exception as error:
        raise DeviationError(f"copy=True is refused: {said(error)}") from error
    view = ctx.view(result)
    if view.pointer == source.address:
        raise FindingError("copy=True gives the producer's own memory")
    if view.values() != source.values:
        raise FindingError("copy=True gives other values")
    return "copied"


@check(71, ROLE, "copy=False")
def _share(ctx: Consumers) -> str:
    ctx.objects_only()
    source = Source()
    result_of(ctx, Source(), copy=None)
    try:
        result = ctx.take(source, copy=False)
    except (BufferError, ValueError) as error:
        raise DeviationError(f"copy=False is refused: {said(error)}") from error
    except Exception as error:
        raise FindingError(f"copy=False raises {said(error)}") from error
    if ctx.view(result).pointer != source.address:
        raise FindingError("copy=False copies")
    return "shared"


@check(60, ROLE, "the same memory")
def _no_copy(ctx: Consumers) -> str:
    source = Source()
    view = ctx.view(result_of(ctx, source))
    if view.pointer != source.address:
        raise FindingError("the data is copied although nothing asks for it")
    return "shared"


@check(60, ROLE, "writes are seen")
def _writes_are_seen(ctx: Consumers) -> str:
    source = Source()
    result = result_of(ctx, source)
    if ctx.view(result).pointer != source.address:
        raise NotApplicableError("the data is copied (see the same memory)")
    structs.overwrite(source.address)
    listed = reading.listed(result)
    if listed is None:
        raise NotApplicableError("the result does not list its values")
    if listed[0] != structs.WRITTEN:
        raise FindingError(f"the tensor begins with {structs.WRITTEN}, the result with {listed[0]}")
    return "the result shows what is written to the tensor"


class _WithTable(Source):
    """A producer whose type has an exchange table that is none."""

    __dlpack_c_exchange_api__: Any = 0x1000  # as old builds had it


_FUTURE = ending.bytes_for_good(
    struct.pack("II5Q", 2, 0, 0, 0, 0, 0, 0)
)  # major version 2, all NULL


class _WithFutureTable(Source):
    __dlpack_c_exchange_api__: Any = structs.new_capsule(_FUTURE, b"dlpack_exchange_api")


def _odd_table(ctx: Consumers, source: Source) -> str:
    ctx.objects_only()
    try:
        result = ctx.take(source)
    except Exception as error:
        raise FindingError(f"refused: {said(error)}") from error
    if not source.calls:
        raise FindingError("__dlpack__ is not called")
    del result
    return "the method is called"


@check(91, ROLE, "a table that is a number")
def _number_for_a_table(ctx: Consumers) -> str:
    return _odd_table(ctx, _WithTable())


@check(91, ROLE, "a table of major version 2")
def _future_table(ctx: Consumers) -> str:
    return _odd_table(ctx, _WithFutureTable())
