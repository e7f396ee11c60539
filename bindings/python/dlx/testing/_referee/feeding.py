"""The checks of a consumer with many tensors: legal, illegal, of all dtypes, and many at once."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any, NoReturn

from . import ending, growth, sources
from .consuming import ROLE, Consumers, reject_system_error, result_of
from .outcomes import DeviationError, FindingError, NotApplicableError, check, in_threads, said
from .sources import Export, Source
from .structs import CUDA, EXT_DEV, READ_ONLY, ROCM


def _elsewhere(ctx: Consumers, device: tuple[int, int]) -> str:
    """Data on a device that this machine does not have: refused, or carried as it is."""
    result = ctx.take(Source(device=device))
    try:
        told = result.__dlpack_device__()
    except Exception:
        told = "unknown"
    if told != "unknown" and tuple(int(number) for number in told) != device:
        raise FindingError(f"data on {device} is taken for data on {tuple(told)}")
    return f"carried, as {told}"


@check(24, ROLE, "kDLExtDev")
def _ext_dev(ctx: Consumers) -> str:
    try:
        return _elsewhere(ctx, (EXT_DEV, 0))
    except FindingError:
        raise
    except Exception as error:
        return f"refused: {said(error)}"


@check(72, ROLE, "a GPU that is not here")
def _no_gpu(ctx: Consumers) -> str:
    there = os.path.exists("/dev/nvidiactl") or os.path.exists("/dev/dxg")
    device = (ROCM if there else CUDA, 0)
    try:
        return _elsewhere(ctx, device)
    except FindingError:
        raise
    except BufferError as error:
        return f"refused: {said(error)}"
    except Exception as error:
        reject_system_error(error)
        raise DeviationError(f"raises {said(error)}, no BufferError") from error


class _Special(Exception):
    pass


class _Raising(Source):
    def __dlpack__(self, **keywords: Any) -> NoReturn:
        raise _Special("a reason of the producer's own")


@check(73, ROLE, "the producer's exception")
def _propagates(ctx: Consumers) -> str:
    ctx.objects_only()
    try:
        ctx.take(_Raising())
    except _Special:
        return "it reaches the caller"
    except Exception as error:
        raise FindingError(f"the caller sees {said(error)} instead") from error
    raise FindingError("the exception is swallowed")


@check(74, ROLE, "an object without the methods")
def _no_methods(ctx: Consumers) -> str:
    ctx.objects_only()
    try:
        ctx.take(object())  # type: ignore[arg-type]
    except AttributeError as error:
        return said(error)
    except Exception as error:
        raise FindingError(f"raises {said(error)}, no AttributeError") from error
    raise FindingError("accepted")


@check(75, ROLE, "READ_ONLY")
def _read_only(ctx: Consumers) -> str:
    source = Source(flags=READ_ONLY)
    try:
        result = ctx.take(source)
    except Exception as error:
        raise FindingError(f"refused: {said(error)}") from error
    if not source.last.managed.versioned:
        raise NotApplicableError("the consumer asks for the legacy struct")
    view = ctx.view(result)
    if view.pointer != source.address:
        return "copied"
    return "read-only" if view.readonly else "writable: the user has to know"


@check(97, ROLE, "many imports")
def _many(ctx: Consumers) -> str:
    return _repeated(ctx, Source(shape=(64, 64), data=bytes(64 * 64 * 4)))


@check(97, ROLE, "many imports that fail")
def _many_failures(ctx: Consumers) -> str:
    return _repeated(ctx, Source(dtype=(99, 32, 1)))


class _Prepared(Source):
    """Gives out exports that were made before memory is measured."""

    def prepare(self, count: int) -> None:
        self._made = {
            versioned: [Export(self, versioned, False) for _ in range(count)]
            for versioned in (False, True)
        }
        self._next = {versioned: iter(made) for versioned, made in self._made.items()}

    def __dlpack__(self, *, max_version: Any = None, **keywords: Any) -> Any:
        versioned = max_version is not None and max_version[0] >= 1
        return next(self._next[versioned]).capsule

    def capsule(self) -> Any:
        return next(self._next[not self.legacy]).capsule


def _repeated(ctx: Consumers, source: Source) -> str:
    times = 40
    calls = 4  # of __dlpack__ for an import, at most
    source.__class__ = _Prepared
    assert isinstance(source, _Prepared)
    source.prepare(times * 4 * calls)

    def action() -> None:
        try:
            ctx.take(source)
        except Exception:
            return

    return growth.require_none(action, "imported", times=times)


@check(98, ROLE, "tensors that are alive at the end", at_exit=True)
def _alive_at_end(ctx: Consumers) -> str:
    cycle: list[Any] = [result_of(ctx, Source())]
    cycle.append(cycle)
    ending.keep(result_of(ctx, Source()), cycle)
    return "the process ended well"


@check(99, ROLE, "four threads")
def _threads(ctx: Consumers) -> str:
    prepared = [[Source() for _ in range(25)] for _ in range(4)]
    problems: list[str] = []

    def work(mine: list[Source]) -> None:
        for source in mine:
            try:
                result = ctx.take(source)
                if ctx.view(result).values() != source.values:
                    problems.append("another thread saw other values")
            except NotApplicableError:
                pass
            except Exception as error:
                problems.append(said(error))

    in_threads([functools.partial(work, mine) for mine in prepared], problems)
    return "100 imports by 4 threads"


def _check_dtype(ctx: Consumers, dtype: tuple[int, int, int]) -> str:
    source = Source(dtype=dtype)
    result = ctx.take(source)
    view = ctx.view(result)
    if b"".join(view.values()) != b"".join(source.values):
        raise FindingError("read with other values")
    if view.dtype is not None and view.dtype[:2] != dtype[:2]:
        raise FindingError(f"(code, bits, lanes) {dtype} is read as {view.dtype}")
    return "accepted"


def _standard_dtype(ctx: Consumers, dtype: tuple[int, int, int]) -> str:
    try:
        return _check_dtype(ctx, dtype)
    except (FindingError, NotApplicableError):
        raise
    except Exception as error:
        reject_system_error(error)
        raise DeviationError(f"refused: {said(error)}") from error


def _other_dtype(ctx: Consumers, dtype: tuple[int, int, int]) -> str:
    try:
        return _check_dtype(ctx, dtype)
    except (FindingError, NotApplicableError):
        raise
    except Exception as error:
        reject_system_error(error)
        return f"refused: {said(error)}"


def _packed(ctx: Consumers, dtype: tuple[int, int, int]) -> str:
    """Two elements in a byte: as bytes they can be looked at only in the producer's own memory."""
    source = Source(shape=(4,), dtype=dtype, data=b"\x21\x43")
    try:
        result = ctx.take(source)
    except Exception as error:
        reject_system_error(error)
        return f"refused: {said(error)}"
    view = ctx.view(result)
    if view.shape != source.shape:
        raise FindingError(f"shape {source.shape} is read as {view.shape}")
    if view.pointer != source.address:
        raise NotApplicableError("accepted, and copied")
    if view.dtype is not None and view.dtype[:2] != dtype[:2]:
        raise FindingError(f"(code, bits, lanes) {dtype} is read as {view.dtype}")
    return "accepted, as it is"


def _add(number: int, case: str, run: Callable[..., str], *arguments: Any) -> None:
    check(number, ROLE, case)(lambda ctx: run(ctx, *arguments))


def _accept(ctx: Consumers, fields: dict[str, Any]) -> str:
    return ctx.accept(Source(**fields))


def _use(ctx: Consumers, fields: dict[str, Any]) -> str:
    return ctx.accept_and_use(Source(**fields))


def _refuse(ctx: Consumers, fields: dict[str, Any]) -> str:
    return ctx.refuse(Source(**fields))


def _add_cases() -> None:
    for name, dtype in sources.STANDARD_DTYPES.items():
        _add(77, name, _standard_dtype, dtype)
    for name, dtype in sources.OTHER_DTYPES.items():
        _add(21, name, _other_dtype, dtype)
    for name, dtype in sources.PACKED_DTYPES.items():
        _add(19, name, _packed, dtype)
    for name, dtype in sources.BAD_DTYPES.items():
        _add(21, name, _refuse, {"dtype": dtype})
    for name, fields in sources.LEGAL_LAYOUTS.items():
        _add(11, name, _accept, fields)
    for offset in (64, 4):
        _add(14, f"byte_offset {offset}", _accept, {"byte_offset": offset})
    for shift in (32, 4, 1):
        _add(13, f"{shift} bytes beyond 64", _use, {"shift": shift})
    for count in (5, 9, 33, 65, 1000):
        shape = (2, 3) + (1,) * (count - 2)
        _add(100, f"{count} axes", _accept, {"shape": shape})
    for name, fields in sources.MALFORMED.items():
        _add(76, name, _refuse, fields)


_add_cases()
