"""The checks of a producer: an object with `__dlpack__`."""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Callable
from typing import Any

from . import ending, growth, reading, structs
from .outcomes import (
    FACTORY,
    DeviationError,
    FindingError,
    LeakError,
    NotApplicableError,
    check,
    in_threads,
    said,
)
from .structs import CPU, LEGACY, USED, VERSIONED, Managed

ROLE = "producer"
DTYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
          "float16", "bfloat16", "float32", "float64", "complex64", "complex128")  # fmt: skip
CASES = ("plain", "empty", "scalar", "strided", "reversed", "broadcast", "offset", "lazy",
         "read-only", "byte-swapped", "unexportable", "large", *DTYPES)  # fmt: skip


class Producers:
    """Makes the objects that are checked, and asks them for capsules.

    Attributes:
        struct_only: the capsules are not the producer's own, so only the struct is checked.
    """

    def __init__(
        self, make: Callable[..., Any], has_cases: bool, struct_only: bool = False
    ) -> None:
        self._make, self._has_cases, self.struct_only = make, has_cases, struct_only

    def make(self, case: str = "plain") -> Any:
        if case != "plain" and not self._has_cases:
            raise NotApplicableError("the factory makes one kind of object only")
        try:
            made = self._make(case) if self._has_cases else self._make()
        except Exception as error:
            if case == "plain":
                raise
            raise NotApplicableError(f"the factory raises {said(error)}") from error
        if made is None:
            raise NotApplicableError(f"there is no {case} array")
        return made

    def capsule(self, obj: Any, **keywords: Any) -> Any:
        """A capsule that must be there for the check at hand; others judge the call itself."""
        if not keywords:
            keywords = {"max_version": (1, 3)}
            try:
                return obj.__dlpack__(**keywords)
            except TypeError:
                keywords = {}
            except Exception as error:
                raise NotApplicableError(f"__dlpack__ raised {said(error)}") from error
        try:
            return obj.__dlpack__(**keywords)
        except Exception as error:
            raise NotApplicableError(f"__dlpack__ raised {said(error)}") from error

    def export(self, obj: Any, **keywords: Any) -> tuple[Any, Managed]:
        """A capsule and what it holds."""
        capsule = self.capsule(obj, **keywords)
        managed = reading.fresh(capsule)
        if managed.version and managed.version[0] != 1:
            raise NotApplicableError(f"the version is {managed.version} (item 61)")
        return capsule, managed

    def own(self, obj: Any, **keywords: Any) -> list[Any]:
        """A capsule that nobody else refers to, in a list, so that the list can drop it."""
        holder = [self.export(obj, **keywords)[0]]
        if sys.getrefcount(holder[0]) > 2 and not _free_threaded():
            raise NotApplicableError("the producer keeps the capsule (item 29)")
        return holder

    def on_cpu(self, obj: Any) -> None:
        if self.export(obj)[1].device[0] != CPU:
            raise NotApplicableError("the data is not on the CPU")


def _free_threaded() -> bool:
    return not getattr(sys, "_is_gil_enabled", lambda: True)()


def finish(managed: Managed, capsule: Any) -> None:
    """End a consumption: rename, then the deleter."""
    structs.rename(capsule, USED[VERSIONED if managed.versioned else LEGACY])
    managed.delete()


@check(FACTORY, ROLE, "factory", gate=True, struct=True)
def _factory(ctx: Producers) -> str:
    try:
        obj = ctx.make()
    except NotApplicableError:
        raise FindingError("returns None for the plain array") from None
    except BaseException as error:
        raise FindingError(f"raises {said(error)}") from error
    if ctx.struct_only:
        try:
            obj.__dlpack__()
        except BufferError as error:
            raise FindingError(str(error)) from error
    if not hasattr(type(obj), "__dlpack__"):
        raise FindingError(f"makes an object of type {type(obj).__name__}, without __dlpack__")
    return f"makes objects of type {type(obj).__name__}"


@check(40, ROLE, "a plain call", gate=True)
def _plain(ctx: Producers) -> str:
    obj = ctx.make()
    for keywords in ({"max_version": (1, 3)}, {}):
        try:
            capsule = obj.__dlpack__(**keywords)
        except Exception as error:
            problem = said(error)
            continue
        if not structs.is_capsule(capsule):
            raise FindingError(
                f"__dlpack__ gave an object of class {type(capsule).__name__}, not a PyCapsule"
            )
        return f"gave {structs.capsule_name(capsule)!r}"
    raise FindingError(f"__dlpack__ raised {problem}")


@check(40, ROLE, "keywords")
def _keywords(ctx: Producers) -> str:
    missing = []
    for name in ("stream", "max_version", "dl_device", "copy"):
        try:
            ctx.make().__dlpack__(**{name: None})
        except TypeError:
            missing.append(name)
        except Exception:
            continue
    if missing:
        raise FindingError(f"__dlpack__ does not take {', '.join(missing)} (TypeError)")
    return "all four are taken"


@check(25, ROLE, "names")
def _names(ctx: Producers) -> str:
    name = structs.capsule_name(ctx.capsule(ctx.make()))
    if name not in (LEGACY, VERSIONED):
        raise FindingError(f"the capsule is named {name!r}")
    return repr(name)


@check(26, ROLE, "the same address")
def _static_names(ctx: Producers) -> str:
    obj = ctx.make()
    first, second = ctx.capsule(obj), ctx.capsule(obj)
    if first is second:
        raise NotApplicableError("the producer keeps the capsule (item 29)")
    addresses = structs.name_address(first), structs.name_address(second)
    if addresses[0] != addresses[1]:
        raise FindingError("two capsules have names at different addresses: they are not static")
    return "both names are at one address"


@check(27, ROLE, "dropped without a consumer")
def _dropped(ctx: Producers) -> str:
    obj = ctx.make()
    holder = ctx.own(obj)
    counter = structs.Counter(reading.unkept(holder[0]))
    del holder[0]
    gc.collect()
    calls = _counted(counter)
    if calls == 1:
        return "one call of the deleter"
    if calls:
        raise FindingError(f"the deleter was called {calls} times")
    return _otherwise(lambda: ctx.capsule(obj), "dropped without a consumer")


def _counted(counter: structs.Counter) -> int:
    """Calls of the struct's deleter; 0 if the struct was overwritten.

    The tensor is not freed after that: a destructor may have done more than to call the deleter.
    """
    calls = counter.calls
    return calls if calls < structs.MANY else 0


def _otherwise(drop: Callable[[], object], what: str) -> str:
    """The struct's deleter was not called: everything may be freed without it."""
    growth.require_none(drop, f"the deleter is not called for a capsule {what}")
    return "freed without the struct's deleter"


@check(27, ROLE, "dropped after a consumer")
def _consumed(ctx: Producers) -> str:
    holder = ctx.own(ctx.make())
    counter = structs.Counter(reading.take(holder[0]))
    del holder[0]
    gc.collect()
    if counter.calls:
        raise FindingError("the destructor called the deleter of a capsule that was consumed")
    counter.undo()
    counter.managed.delete()
    return "no call of the deleter"


@check(31, ROLE, "dropped by a failing consumer")
def _pending(ctx: Producers) -> str:
    obj = ctx.make()
    holder = ctx.own(obj)
    if not structs.destructor(holder[0]):
        raise NotApplicableError("the capsule has no destructor (item 27)")
    counter = structs.Counter(reading.unkept(holder[0]))
    kept = structs.drop_with_exception_pending(holder)
    text = "the exception stays, the deleter is called"
    if not _counted(counter):
        text = _otherwise(
            lambda: structs.drop_with_exception_pending([ctx.capsule(obj)]),
            "dropped while an exception is pending",
        )
    if not kept:
        raise FindingError("the destructor replaces or clears an exception that is pending")
    return text


@check(29, ROLE, "two calls")
def _two_calls(ctx: Producers) -> str:
    obj = ctx.make()
    (first, one), (second, two) = ctx.export(obj), ctx.export(obj)
    if first is second:
        raise FindingError("two calls of __dlpack__ gave the same capsule")
    if one.address == two.address:
        raise DeviationError(
            "two capsules hold one managed tensor, whose deleter each consumer calls"
        )
    return "two capsules, two tensors"


@check(7, ROLE, "what the deleter frees", struct=True)
def _frees(ctx: Producers) -> str:
    obj = ctx.make()

    def consume() -> None:
        capsule, managed = ctx.export(obj)
        if not managed.struct.deleter:
            raise NotApplicableError("the deleter is NULL")
        finish(managed, capsule)

    consume()
    gc.collect()
    before = sys.getrefcount(obj)
    for _ in range(20):
        consume()
    gc.collect()
    behind = sys.getrefcount(obj) - before
    if behind >= 20:
        raise LeakError(f"{behind} references to the object stay behind after 20 exports")
    return growth.require_none(consume, "exported and deleted")


@check(7, ROLE, "a large array")
def _frees_large(ctx: Producers) -> str:
    obj = ctx.make("large")
    tensor = ctx.export(obj)[1]
    size = len(tensor.shape) and structs.element_bytes(tensor.dtype)
    for extent in tensor.shape:
        size *= extent

    def consume() -> None:
        try:
            capsule = obj.__dlpack__(max_version=(1, 3), copy=True)
        except Exception:
            capsule = ctx.capsule(obj)
        finish(reading.fresh(capsule), capsule)

    return growth.require_none(consume, "copied and deleted", times=20, size=size)


@check(34, ROLE, "a foreign thread", struct=True)
def _foreign(ctx: Producers) -> str:
    for _ in range(3):
        capsule, managed = ctx.export(ctx.make())
        if not managed.struct.deleter:
            raise NotApplicableError("the deleter is NULL")
        structs.rename(capsule, USED[VERSIONED if managed.versioned else LEGACY])
        structs.delete_in_thread(managed)
    return "deleted by a thread that Python does not know"


@check(99, ROLE, "four threads", struct=True)
def _threads(ctx: Producers) -> str:
    obj = ctx.make()
    (first, one), (second, two) = ctx.export(obj), ctx.export(obj)
    if one.address == two.address:
        raise NotApplicableError("the producer gives one tensor only (item 29)")
    values = reading.read_managed(one) if one.device[0] == CPU else None
    problems: list[str] = []

    def work() -> None:
        for _ in range(50):
            try:
                capsule, managed = ctx.export(obj)
            except Exception as error:
                problems.append(said(error))
                return
            if values is not None and reading.read_managed(managed) != values:
                problems.append("another thread saw other values")
            finish(managed, capsule)

    del first, second

    in_threads([work] * 4, problems)
    return "200 exports by 4 threads"


@check(35, ROLE, "the deleter after Python's end", at_exit=True, struct=True)
def _after_end(ctx: Producers) -> str:
    capsule, managed = ctx.export(ctx.make())
    if not managed.struct.deleter:
        raise NotApplicableError("the deleter is NULL")
    structs.rename(capsule, USED[VERSIONED if managed.versioned else LEGACY])
    register = getattr(structs.system, "__cxa_atexit")
    register.argtypes = [ctypes.c_void_p] * 3
    register(managed.struct.deleter, managed.address, None)
    return "called after Py_Finalize; the process ended well"


@check(98, ROLE, "capsules that are alive at the end", at_exit=True)
def _alive_at_end(ctx: Producers) -> str:
    obj = ctx.make()
    capsule, managed = ctx.export(obj)
    structs.rename(capsule, USED[VERSIONED if managed.versioned else LEGACY])
    cycle: list[Any] = [obj, ctx.export(obj)[0]]
    cycle.append(cycle)
    ending.keep(obj, capsule, ctx.export(obj)[0], cycle)
    return "the process ended well"
